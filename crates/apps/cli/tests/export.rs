//! `onoff export`. Decodes the Perfetto file by the wire format of protocol buffers and the published field numbers,
//! independently of the writer.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::Folder;
use serde_json::Value;

/// The value of a field.
#[derive(Debug, Clone)]
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, remaining) = bytes.split_first().unwrap();
        *bytes = remaining;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint of more than 10 bytes")
}

/// Decodes the fields of a message.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (value, remaining) = bytes.split_at(8);
                bytes = remaining;
                Field::Number(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (value, remaining) = bytes.split_at(length);
                bytes = remaining;
                Field::Bytes(value)
            }
            kind => panic!("wire type {kind}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

fn number(message: &[(u64, Field<'_>)], field_number: u64) -> Option<u64> {
    message.iter().find_map(|(number, field)| match field {
        Field::Number(value) if *number == field_number => Some(*value),
        _ => None,
    })
}

fn bytes<'b>(message: &[(u64, Field<'b>)], field_number: u64) -> Option<&'b [u8]> {
    message.iter().find_map(|(number, field)| match field {
        Field::Bytes(value) if *number == field_number => Some(*value),
        _ => None,
    })
}

fn text(message: &[(u64, Field<'_>)], field_number: u64) -> String {
    String::from_utf8(bytes(message, field_number).unwrap_or_default().to_vec()).unwrap()
}

fn export_bytes(format: &str) -> Vec<u8> {
    let folder = Folder::boot("slow-boot.toml");
    folder.answer(&format!("export boot.etl --format {format} -o out"));
    std::fs::read(folder.path("out")).unwrap()
}

#[test]
fn perfetto_file_has_tracks_counters_and_flows() {
    let file = export_bytes("perfetto");
    let mut tracks: BTreeMap<u64, (String, Option<u64>)> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut slices: Vec<(String, String, u64, u64)> = Vec::new();
    let mut counters = 0;
    // Start and end times by flow id.
    let mut flows: BTreeMap<u64, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
    for (tag, packet) in fields(&file) {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        assert_eq!(tag, 1, "Trace.packet");
        let packet = fields(packet);
        assert_eq!(number(&packet, 10), Some(1), "trusted_packet_sequence_id");
        if let Some(track) = bytes(&packet, 60) {
            let track = fields(track);
            let parent = number(&track, 5);
            assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)), "a parent comes first");
            tracks.insert(number(&track, 1).unwrap(), (text(&track, 2), parent));
        }
        let Some(event) = bytes(&packet, 11) else { continue };
        let event = fields(event);
        let (time_ns, track) = (number(&packet, 8).unwrap(), number(&event, 11).unwrap());
        let name = &tracks[&track].0;
        match number(&event, 9).unwrap() {
            1 => {
                open.entry(track).or_default().push((text(&event, 23), time_ns));
                for (field, value) in &event {
                    let Field::Number(id) = value else { continue };
                    match field {
                        47 => flows.entry(*id).or_default().0.push(time_ns),
                        48 => flows.entry(*id).or_default().1.push(time_ns),
                        _ => {}
                    }
                }
            }
            2 => {
                let (label, start_ns) = open.get_mut(&track).and_then(Vec::pop).expect("an end has a begin");
                assert!(time_ns > start_ns, "{name}: {label}");
                slices.push((name.clone(), label, start_ns, time_ns));
            }
            3 => {}
            4 => counters += 1,
            kind => panic!("an event of type {kind}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every interval ends");
    assert!(counters > 100, "{counters} values of counters");
    for group in ["Boot", "CPU", "Disks", "Critical path", "Devices and drivers", "Services", "Processes"] {
        assert!(tracks.values().any(|(name, parent)| name == group && parent.is_none()), "{group}");
    }
    // The scenario's service takes 6.02 s to start, its driver 3.18 s.
    let longest = |track: &str| {
        let track_slices = slices.iter().filter(|(name, ..)| name == track);
        track_slices.map(|(_, _, start_ns, end_ns)| end_ns - start_ns).max().unwrap_or_default()
    };
    assert_eq!(longest("SoundShaper") / 10_000_000, 602);
    assert_eq!(longest("LegacyScan") / 10_000_000, 318);
    assert!(!flows.is_empty());
    for (id, (departures, arrivals)) in &flows {
        assert_eq!((departures.len(), arrivals.len()), (1, 1), "flow {id}");
        assert!(departures[0] <= arrivals[0], "flow {id} goes back in time");
    }
}

#[test]
fn firefox_profile_is_valid() {
    let profile: Value = serde_json::from_slice(&export_bytes("firefox")).unwrap();
    assert_eq!(profile["meta"]["product"], "onoff");
    assert!(profile["meta"]["preprocessedProfileVersion"].as_u64() > Some(40));
    let threads = profile["threads"].as_array().unwrap();
    let length = |table: &Value| table["length"].as_u64().unwrap();
    let mut samples = 0;
    for thread in threads {
        // All columns have the table's length, and every stack refers to an earlier one.
        for (table, column) in
            [("samples", "stack"), ("markers", "name"), ("stackTable", "frame"), ("frameTable", "func")]
        {
            assert_eq!(
                thread[table][column].as_array().unwrap().len() as u64,
                length(&thread[table]),
                "{table}.{column}"
            );
        }
        for (index, prefix) in thread["stackTable"]["prefix"].as_array().unwrap().iter().enumerate() {
            assert!(prefix.is_null() || prefix.as_u64() < Some(index as u64));
        }
        for stack in thread["samples"]["stack"].as_array().unwrap() {
            assert!(stack.is_null() || stack.as_u64() < Some(length(&thread["stackTable"])));
        }
        samples += length(&thread["samples"]);
    }
    assert!(samples > 500, "{samples} samples");
    let thread =
        |name: &str| threads.iter().find(|thread| thread["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    // Five phases before the kernel, and five of the system.
    assert_eq!(length(&thread("Phases")["markers"]), 10);
    assert!(length(&thread("Services")["markers"]) > 10);
}

#[test]
fn chrome_file_has_the_tracks_of_the_perfetto_file() {
    let file: Value = serde_json::from_slice(&export_bytes("chrome")).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let of_kind = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    let threads: BTreeMap<(u64, u64), &str> = of_kind("M")
        .filter(|event| event["name"] == "thread_name")
        .map(|event| {
            ((event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap()), event["args"]["name"].as_str().unwrap())
        })
        .collect();
    let longest_us = |track: &str| {
        let of_track = of_kind("X")
            .filter(|event| threads[&(event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())] == track);
        of_track.map(|event| event["dur"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    assert!((6.02e6..6.03e6).contains(&longest_us("SoundShaper")), "{}", longest_us("SoundShaper"));
    assert!((3.18e6..3.19e6).contains(&longest_us("LegacyScan")), "{}", longest_us("LegacyScan"));
    let phase = of_kind("X").find(|event| event["cat"] == "phase" && event["name"] == "WinLogonInit").unwrap();
    assert!(phase["args"]["blamed on, s"]["SoundShaper"].as_f64().unwrap() > 6.0, "{phase}");
    assert!(of_kind("X").chain(of_kind("i")).all(|event| event["ts"].as_f64().unwrap() >= 0.0));
    assert!(of_kind("C").count() > 100);
}

#[test]
fn pprof_file_adds_up_to_the_samples() {
    let file = export_bytes("pprof");
    let profile = fields(&file);
    let messages = |tag: u64| {
        profile.iter().filter_map(move |(number, field)| match field {
            Field::Bytes(value) if *number == tag => Some(*value),
            _ => None,
        })
    };
    let texts: Vec<&str> = messages(6).map(|text| std::str::from_utf8(text).unwrap()).collect();
    assert_eq!(texts[0], "");
    let text_at = |index: Option<u64>| texts[usize::try_from(index.unwrap_or(0)).unwrap()];
    let types: Vec<(&str, &str)> =
        messages(1).map(fields).map(|row| (text_at(number(&row, 1)), text_at(number(&row, 2)))).collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    let functions: BTreeMap<u64, &str> =
        messages(5).map(fields).map(|row| (number(&row, 1).unwrap(), text_at(number(&row, 2)))).collect();
    let locations: Vec<u64> = messages(4).map(|location| number(&fields(location), 1).unwrap()).collect();
    assert_eq!(locations, functions.keys().copied().collect::<Vec<_>>());
    let (mut samples, mut cpu_ns) = (0, 0);
    for sample in messages(2).map(fields) {
        let mut values = bytes(&sample, 2).unwrap();
        samples += varint(&mut values);
        cpu_ns += varint(&mut values);
        let mut stack = bytes(&sample, 1).unwrap();
        while !stack.is_empty() {
            assert!(functions.contains_key(&varint(&mut stack)));
        }
    }
    let folder = Folder::boot("slow-boot.toml");
    let csv = folder.answer("export boot.etl --format csv --tables samples -o tables");
    assert!(csv.contains("samples.csv"), "{csv}");
    let rows = std::fs::read_to_string(folder.path("tables/samples.csv")).unwrap();
    let column = rows.lines().next().unwrap().split(',').position(|name| name == "tid").unwrap();
    let is_idle = |row: &&str| row.split(',').nth(column) == Some("0");
    let recorded = rows.lines().skip(1).filter(|row| !is_idle(row)).count() as u64;
    assert_eq!(samples, recorded);
    assert!(cpu_ns / samples > 900_000, "about 1 ms each: {cpu_ns} ns for {samples}");
}

#[test]
fn spans_have_parents_times_and_blame() {
    let file: Value = serde_json::from_slice(&export_bytes("otlp")).unwrap();
    let spans = file["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<i64>().unwrap();
    let ids: BTreeMap<&str, &Value> = spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
    assert_eq!(ids.len(), spans.len(), "every span has an id");
    let (root, others) = spans.split_first().unwrap();
    assert_eq!((root["name"].as_str(), root["parentSpanId"].as_str()), (Some("Boot"), Some("")));
    for span in others {
        let parent = ids[span["parentSpanId"].as_str().unwrap()];
        assert!(time(parent, "startTimeUnixNano") <= time(span, "startTimeUnixNano"), "{span}");
        assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"), "{span}");
    }
    let attribute = |span: &'_ Value, key: &str| -> Value {
        let attributes = span["attributes"].as_array().unwrap();
        attributes.iter().find(|attribute| attribute["key"] == key).map(|found| found["value"].clone()).unwrap()
    };
    let phase = others.iter().find(|span| span["name"] == "WinLogonInit").unwrap();
    let list = |key: &str| attribute(phase, key)["arrayValue"]["values"].as_array().unwrap().clone();
    let (subjects, times) = (list("onoff.blame.subjects"), list("onoff.blame.ns"));
    assert_eq!(subjects.len(), times.len());
    assert_eq!(subjects[0]["stringValue"], "SoundShaper");
    let length_ns = |span: &Value| time(span, "endTimeUnixNano") - time(span, "startTimeUnixNano");
    let service =
        others.iter().filter(|span| span["name"] == "SoundShaper").max_by_key(|span| length_ns(span)).unwrap();
    assert_eq!(length_ns(service) / 10_000_000, 602);
    assert_eq!(service["parentSpanId"], phase["spanId"]);
    let finding = &root["events"][0];
    assert!(finding["name"].as_str().unwrap().starts_with("boot/"), "{finding}");
    // A second export replaces the first in whatever stores it.
    assert_eq!(export_bytes("otlp"), export_bytes("otlp"));
}

#[test]
fn metrics_are_the_numbers_of_the_summary() {
    let folder = Folder::boot("slow-boot.toml");
    folder.answer("export boot.etl --format openmetrics -o boot.prom");
    let metrics = std::fs::read_to_string(folder.path("boot.prom")).unwrap();
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let value = |series: &str| -> f64 {
        let line =
            metrics.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("{series}: {metrics}"));
        line.trim().parse().unwrap()
    };
    let summary: Value = serde_json::from_str(&folder.answer("summary boot.etl --format json")).unwrap();
    let row = &summary["rows"][0];
    let seconds = |value: &Value| value.as_i64().unwrap() as f64 / 1e9;
    let series =
        format!("onoff_transition_duration_seconds{{transition=\"boot\",number=\"1\",variant={}}}", row["variant"]);
    assert!((value(&series) - seconds(&row["duration_ns"])).abs() < 1e-6);
    for phase in row["phases"].as_array().unwrap() {
        let series =
            format!("onoff_phase_duration_seconds{{transition=\"boot\",number=\"1\",phase={}}}", phase["phase"]);
        assert!((value(&series) - seconds(&phase["duration_ns"])).abs() < 1e-6, "{phase}");
    }
    assert!(metrics.contains(
        "onoff_blame_seconds{transition=\"boot\",number=\"1\",phase=\"WinLogonInit\",subject=\"SoundShaper\""
    ));
    assert!(value("onoff_recording_lost_events") == 0.0);
}

#[test]
fn metrics_of_network_boots_are_the_numbers_of_the_summary() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/netboot-slow-link.pcap.xz");
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.pcap.xz")).unwrap();
    folder.answer("export boot.pcap.xz --format openmetrics -o boot.prom");
    let metrics = std::fs::read_to_string(folder.path("boot.prom")).unwrap();
    let summary: Value = serde_json::from_str(&folder.answer("summary boot.pcap.xz --format json")).unwrap();
    let row = &summary["rows"][0];
    let seconds = |value: &Value| value.as_i64().unwrap() as f64 / 1e9;
    let labels = format!("transition=\"netboot\",number=\"1\",variant={}", row["variant"]);
    let duration = format!("onoff_transition_duration_seconds{{{labels}}} {}\n", seconds(&row["duration_ns"]));
    assert!(metrics.contains(&duration), "{duration} in {metrics}");
    let phase = format!(
        "onoff_phase_duration_seconds{{transition=\"netboot\",number=\"1\",phase={}}} {}\n",
        row["phase"],
        seconds(&row["phase_ns"])
    );
    assert!(metrics.contains(&phase), "{phase} in {metrics}");
}

#[test]
fn formats_refuse_what_the_recording_lacks() {
    let folder = Folder::new();
    folder.file("dmesg.txt", b"[    0.000000] Linux version 6.1.0\n[    1.000000] Run /sbin/init as init process\n");
    let (code, message) = folder.failure("export dmesg.txt --format otlp -o out");
    assert_eq!((code, message.contains("wall-clock time")), (2, true), "{message}");
    let (code, message) = folder.failure("export dmesg.txt --format pprof -o out");
    assert_eq!((code, message.contains("no CPU samples")), (2, true), "{message}");
    assert!(!folder.path("out").exists());
    let (code, message) = folder.failure("export dmesg.txt --format chrome --symbols . -o out");
    assert_eq!((code, message.contains("--symbols")), (64, true), "{message}");
}

#[test]
fn binary_output_needs_file() {
    let folder = Folder::boot("healthy-boot.toml");
    let error = folder.run("export boot.etl --format perfetto");
    assert_eq!(error.status.code(), Some(64));
    let output = folder.file("no.etl", b"not a recording").run("export no.etl --format perfetto -o out");
    assert!(!output.status.success());
    assert!(!folder.path("out").exists());
}

#[test]
fn svg_names_culprits_and_rejects_other_transitions() {
    let folder = Folder::boot("slow-boot.toml");
    let picture = folder.answer("boot boot.etl --format svg");
    // The service takes 6.11 s with its host process, 6.08 s of it on the critical path. Anything that did not block
    // the boot has no row.
    for expected in ["<svg ", "WinLogonInit: 9.17 s", ">SoundShaper<", ">6.08 s<", ">LegacyScan<"] {
        assert!(picture.contains(expected), "{expected}");
    }
    assert!(!picture.contains(">USBXHCI<"), "a driver that pends blocks nothing");
    let (code, message) = folder.failure("shutdown boot.etl --format svg");
    assert_eq!(code, 2);
    assert!(message.contains("no shutdown") && message.contains("boot"), "{message}");
}

#[test]
fn svgs_load_no_external_resources() {
    let folder = Folder::boot("slow-boot.toml");
    // The service waits for six seconds in its initialization, ending with a step of 5.88 s.
    let chain = folder.answer("why boot.etl --phase --format svg");
    assert!(chain.contains("WinLogonInit: 9.17 s"), "{chain}");
    assert!(chain.contains("5.88 s  thread") && chain.contains("SoundShaper) waited for a timer"), "{chain}");
    // LegacyScan belongs to another phase, so it is only in the picture of all phases.
    assert!(!chain.contains("PreSMSS") && folder.answer("why boot.etl --format svg").contains("PreSMSS"));
    let waits = folder.answer("why boot.etl --phase --format flamegraph");
    assert!(waits.contains("winlogon.exe (276): 9.17 s, 100 %"), "{waits}");
    // The largest entry comes first in the list.
    let samples = folder.answer("cpu boot.etl --phase PostBoot --format svg");
    assert!(samples.contains("<title>CloudBox.exe (528): "), "{samples}");
    let one_process = folder.answer("cpu boot.etl --process explorer.exe --format svg");
    assert!(one_process.contains("explorer.exe") && !one_process.contains("CloudBox"));
    let summary = folder.answer("summary boot.etl --format svg");
    assert!(summary.contains("30.0 s; longest phase: WinLogonInit 9.17 s, SoundShaper 6.46 s"), "{summary}");
    for picture in [chain, waits, samples, one_process, summary] {
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
        for reference in ["<script", "href", "url(", "@import", "<image"] {
            assert!(!picture.contains(reference), "{reference}");
        }
    }
    let (code, message) = folder.failure("disk boot.etl --format svg");
    assert!(code == 2 && message.contains("call stacks of these events"), "{message}");
    let (code, message) = folder.failure("files boot.etl --format svg");
    assert_eq!(code, 64, "{message}");
}

#[test]
fn writes_sorted_tables_to_new_folder() {
    let (folder, truth) = Folder::boot_and_truth("slow-boot.toml");
    let output = folder.answer("export boot.etl --format csv -o tables");
    let table_text = |name: &str| std::fs::read_to_string(folder.path(&format!("tables/{name}.csv"))).unwrap();
    let services = table_text("service_transitions");
    let (header, rows) = services.split_once('\n').unwrap();
    assert!(header.contains("start_ns") && header.contains("end_ns"), "{header}");
    // The simulator knows which services it started.
    assert!(!truth.services.is_empty());
    for service in &truth.services {
        assert!(rows.contains(&service.name), "{}: {rows}", service.name);
    }
    let switches = table_text("context_switches");
    let times: Vec<i64> =
        switches.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(times.len() > 100 && times.is_sorted());
    let line = output.lines().find(|line| line.starts_with("context_switches.csv ")).unwrap();
    let count: String = line.split_whitespace().nth(1).unwrap().chars().filter(char::is_ascii_digit).collect();
    assert_eq!(count, times.len().to_string(), "{line}");
    let recording: Value =
        serde_json::from_slice(&std::fs::read(folder.path("tables/recording.json")).unwrap()).unwrap();
    assert_eq!(recording["onoff"]["document"], "info");
    assert_eq!(recording["losses"], serde_json::json!([]));

    // A second export does not overwrite anything.
    let (code, message) = folder.failure("export boot.etl --format csv -o tables");
    assert_eq!((code, message.contains("tables") && message.contains("not empty")), (1, true), "{message}");
    assert_eq!(table_text("context_switches"), switches);
}

#[test]
fn writes_named_empty_tables_and_rejects_unknown() {
    let folder = Folder::boot("slow-boot.toml");
    folder.answer("export boot.etl --format csv --tables dhcp_messages,processes -o tables");
    let mut names: Vec<String> = std::fs::read_dir(folder.path("tables"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dhcp_messages.csv", "processes.csv", "recording.json"]);
    assert_eq!(std::fs::read_to_string(folder.path("tables/dhcp_messages.csv")).unwrap().lines().count(), 1);
    let output = folder.run("export boot.etl --format csv --tables proceses -o other");
    assert_eq!(output.status.code(), Some(64));
    let (code, message) = folder.failure("export boot.etl --format perfetto --tables processes -o other");
    assert_eq!((code, message.contains("--tables")), (64, true), "{message}");
    let (code, message) = folder.failure("export boot.etl --format csv -o boot.etl");
    assert_eq!((code, message.contains("boot.etl")), (64, true), "{message}");
    assert!(!folder.path("other").exists());
}
