//! Runs profiles on simulated recordings and compares the files with onoff's own lists and with readers of such files.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use onoff_evidence::Scope;
use onoff_lists::cpu::{CpuGroup, list, tables};
use onoff_simulator::Scenario;
use onoff_simulator::file_operations::FileOperationSequence;
use onoff_sources::{Options, Progress, files_from_bytes};
use onoff_trace::{TableName, TableSet, Trace};
use onoff_wpaexporter::{CommandLine, parse, run};
use onoff_xperf::{Failure, ReadingProgress};
use tempfile::TempDir;

struct NoProgress;

impl ReadingProgress for NoProgress {
    fn listener(&self) -> Arc<dyn Fn(Progress) + Send + Sync> {
        Arc::new(|_| {})
    }
}

/// A simulated boot, and a folder with it and a profile.
struct Case {
    folder: TempDir,
    recording: Vec<u8>,
}

impl Case {
    fn new(profile: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/slow-boot.toml");
        let text = std::fs::read_to_string(path).unwrap();
        Self::of(Scenario::from_toml(&text).unwrap().simulate().unwrap().files[0].clone(), profile)
    }

    fn of(recording: Vec<u8>, profile: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("boot.etl"), &recording).unwrap();
        std::fs::write(folder.path().join("a.wpaProfile"), profile).unwrap();
        Self { folder, recording }
    }

    /// Exports with further options, and returns the files by name.
    fn export(&self, options: &[&str]) -> (Result<(), Failure>, BTreeMap<String, String>) {
        let path = |name: &str| self.folder.path().join(name).into_os_string();
        let out = self.folder.path().join("out");
        let _ = std::fs::remove_dir_all(&out);
        let mut words: Vec<OsString> = ["-i".into(), path("boot.etl"), "-profile".into(), path("a.wpaProfile")].into();
        words.extend(["-outputfolder".into(), out.clone().into_os_string()]);
        words.extend(options.iter().map(OsString::from));
        let Ok(CommandLine::Export(export)) = parse(words) else { panic!("an export") };
        let result = run(&export, &|| Box::new(NoProgress), None);
        let files = std::fs::read_dir(&out).map_or_else(
            |_| BTreeMap::new(),
            |entries| {
                let entries = entries.map(|entry| entry.unwrap());
                entries
                    .map(|entry| {
                        (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
                    })
                    .collect()
            },
        );
        (result, files)
    }

    fn trace(&self, wanted: TableSet) -> Trace {
        let files = files_from_bytes([("boot.etl".to_owned(), self.recording.clone())], &Options::default().limits);
        onoff_sources::open_files(&files.unwrap(), wanted, &Options::default()).unwrap()
    }
}

/// A graph of a profile: GUID, preset, number of key columns, further attributes, and columns.
fn graph(guid: &str, preset: &str, keys: usize, attributes: &str, columns: &[(&str, &str, &str)]) -> String {
    let columns: String = columns
        .iter()
        .map(|(guid, name, attributes)| {
            format!(r#"<Column Guid="{guid}" Name="{name}" IsVisible="true" {attributes} />"#)
        })
        .collect();
    format!(
        r#"<Graph Guid="{guid}"><Preset Name="{preset}" KeyColumnCount="{keys}" {attributes}><Columns>{columns}</Columns></Preset></Graph>"#
    )
}

fn profile(graphs: &[String]) -> String {
    let graphs = graphs.concat();
    format!(
        "<WpaProfileContainer Version=\"2\"><Content><Views><View><Graphs>{graphs}</Graphs></View></Views></Content></WpaProfileContainer>"
    )
}

const SAMPLED: &str = "b855361e-7be0-4bc8-a754-3e8507715ca5";
const PRECISE: &str = "c58f5fea-0319-4046-932d-e695ebe20b47";
const DISK: &str = "12c5387c-58ca-45d4-a5c6-450475c30e06";
const FILE_IO: &str = "e2a7d340-0dbd-4f24-8b26-e5388eeaf562";
const EVENTS: &str = "04f69f98-176e-4d1c-b44e-97f734996ab8";
const PROCESSES: &str = "b186f02d-8d06-4bbb-9ad1-abf7985fb61a";
const PHASES: &str = "da13748b-71c7-4ba1-a61d-6ae4e527e261";

const NEW_PROCESS: (&str, &str, &str) = ("b065487c-5e32-4f1f-a2cd-581e086ce29e", "New Process", "");
const NEW_THREAD: (&str, &str, &str) = ("944ed37a-5774-421e-b2d5-84f17a4b3a05", "New Thread Id", "");
const SWITCHES: (&str, &str, &str) = ("d227f58f-ec9b-4a52-8fe5-e082771c55c6", "Count", r#"AggregationMode="Count""#);
const CPU_USAGE: (&str, &str, &str) = (
    "e008ed7a-15b0-40ab-854b-b5f6392f298b",
    "CPU Usage (in view)",
    r#"AggregationMode="Sum" SortOrder="Descending" CellFormat="mN""#,
);
const SWITCH_IN: (&str, &str, &str) = ("5417f63c-9b79-45aa-beb9-73e3c1959221", "Switch-In Time", "");

/// Splits a file into its cells, as a reader of CSV does.
fn rows(text: &str) -> Vec<Vec<String>> {
    let text = text.strip_prefix('\u{feff}').unwrap();
    assert!(text.ends_with("\r\n"));
    let lines = text.split_terminator("\r\n");
    lines
        .map(|line| {
            let (mut cells, mut is_quoted) = (vec![String::new()], false);
            for character in line.chars() {
                match character {
                    '"' => is_quoted = !is_quoted,
                    ',' if !is_quoted => cells.push(String::new()),
                    character => cells.last_mut().unwrap().push(character),
                }
            }
            cells
        })
        .collect()
}

fn number(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap()
}

#[test]
fn cpu_time_by_process_agrees_with_the_list_of_context_switches() {
    let case = Case::new(&profile(&[graph(PRECISE, "Summary by Process", 1, "", &[NEW_PROCESS, SWITCHES, CPU_USAGE])]));
    for options in [&[][..], &["-range", "2s", "9500ms"]] {
        let (result, files) = case.export(options);
        result.unwrap();
        let rows = rows(&files["CPU_Usage_(Precise)_Summary_by_Process.csv"]);
        assert_eq!(rows[0], ["New Process", "Count", "CPU Usage (in view) (ms)"]);
        let trace = case.trace(tables(&[CpuGroup::Process]));
        let scope = match options {
            [] => Scope::whole_recording(&trace),
            _ => Scope::between(&trace, 2_000_000_000, 9_500_000_000).unwrap(),
        };
        let expected: BTreeMap<String, i64> = list(&trace, &scope, &[CpuGroup::Process])
            .rows
            .iter()
            .map(|row| (format!("{} ({})", row.image, row.pid.unwrap()), row.cpu_ns))
            .collect();
        let written: BTreeMap<String, i64> =
            rows[1..].iter().map(|row| (row[0].clone(), (number(&row[2]) * 1e6).round() as i64)).collect();
        let busy: BTreeMap<_, _> = written.into_iter().filter(|(process, _)| process != "Idle (0)").collect();
        assert!(busy.len() > 1, "{busy:?}");
        assert_eq!(busy, expected);
        let times: Vec<f64> = rows[1..].iter().map(|row| number(&row[2])).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "the preset sorts by CPU usage");
    }
}

#[test]
fn counts_are_the_recorded_switches() {
    let case = Case::new(&profile(&[graph(PRECISE, "p", 1, "", &[NEW_PROCESS, SWITCHES])]));
    let (_, files) = case.export(&[]);
    let total: f64 = rows(&files["CPU_Usage_(Precise)_p.csv"])[1..].iter().map(|row| number(&row[1])).sum();
    let trace = case.trace(TableSet::from_names(&[TableName::ContextSwitches]));
    assert_eq!(total as usize, trace.context_switches.len());
}

#[test]
fn samples_agree_with_the_list() {
    let columns = [
        ("5b77e48f-6d24-4f29-8972-69c30e32f87d", "Process", ""),
        ("ccdb05c1-04a9-4289-aaa6-a376d1d66012", "Module", ""),
        ("01a82c2c-5048-4c9d-ac37-eaf6556f6af5", "Count", r#"AggregationMode="Sum""#),
        ("63cfb4e2-a24c-4e9d-80f2-393f03794d60", "Weight (in view)", r#"AggregationMode="Sum" CellFormat="mN""#),
    ];
    let expand =
        r#"InitialExpansionQuery="[Series Depth]:&lt;=1" InitialFilterQuery="[Process]:=&quot;Idle (0)&quot;""#;
    let case = Case::new(&profile(&[graph(SAMPLED, "Modules", 2, expand, &columns)]));
    let (result, files) = case.export(&[]);
    result.unwrap();
    let rows = rows(&files["CPU_Usage_(Sampled)_Modules.csv"]);
    assert_eq!(rows[0], ["Process", "Module", "Count", "Weight (in view) (ms)"]);
    let trace = case.trace(tables(&[CpuGroup::Module]));
    let groups = [CpuGroup::Process, CpuGroup::Module];
    let expected: BTreeMap<(String, String), u64> = list(&trace, &Scope::whole_recording(&trace), &groups)
        .rows
        .iter()
        .map(|row| {
            let module = if row.module.is_empty() { "?" } else { &row.module };
            ((format!("{} ({})", row.image, row.pid.unwrap()), module.to_owned()), row.samples.unwrap())
        })
        .collect();
    // Lines of a process with several modules are groups.
    let written: BTreeMap<(String, String), u64> = rows[1..]
        .iter()
        .filter(|row| !row[1].is_empty())
        .map(|row| ((row[0].clone(), row[1].clone()), row[2].parse().unwrap()))
        .collect();
    assert!(expected.len() > 5);
    assert_eq!(written, expected);
}

#[test]
fn disk_requests_agree_with_the_table() {
    let columns = [
        ("0372579e-31f1-483c-8295-221e175f0cbd", "IO Type", ""),
        ("a026c5ce-1efd-4073-b379-82882f08b68d", "Count", r#"AggregationMode="Count""#),
        ("c01c5ca8-59e6-4c1d-9db7-32e00186d65c", "Disk Service Time", r#"AggregationMode="Sum" CellFormat="uN""#),
        ("a0cb7c64-4495-494b-baeb-c699693162cc", "Size", r#"AggregationMode="Sum" CellFormat="B""#),
    ];
    let case = Case::new(&profile(&[graph(DISK, "SizeAndServiceTimeByIOType", 1, "", &columns)]));
    let (result, files) = case.export(&[]);
    result.unwrap();
    let rows = rows(&files["Disk_Usage_SizeAndServiceTimeByIOType.csv"]);
    assert_eq!(rows[0], ["IO Type", "Count", "Disk Service Time (µs)", "Size (B)"]);
    let trace = case.trace(TableSet::from_names(&[TableName::DiskIos]));
    for row in &rows[1..] {
        let ios = trace.disk_ios.iter().filter(|io| io.operation.as_str().eq_ignore_ascii_case(&row[0]));
        let (count, service_ns, size) =
            ios.fold((0, 0, 0), |(count, ns, size), io| (count + 1, ns + io.service_ns, size + io.size));
        assert_eq!((number(&row[1]), number(&row[3])), (f64::from(count), size as f64));
        assert_eq!((number(&row[2]) * 1e3).round() as i64, service_ns);
    }
    assert!(rows.len() > 1);
}

/// The expected rows come from the simulator's Process Monitor file of the same operations.
#[test]
fn file_operations_agree_with_process_monitor() {
    let columns = [
        ("db4da22c-8331-4243-9094-44f05969de01", "Event Type", ""),
        ("01cb52ab-5bb1-4cb6-9cff-e50ce2836e39", "Process", ""),
        ("0b043700-c82e-4d03-bc9c-ae7138093b47", "File Path", ""),
        ("1a6168db-c962-472b-9c4a-a04621f1dc03", "Count", r#"AggregationMode="Count""#),
        ("0f0fd63e-942e-441d-829b-3f921965cc9a", "Duration", r#"AggregationMode="Sum" CellFormat="nN""#),
        ("8b8d220b-a24d-4773-81cb-6c6caebb084f", "Size", r#"AggregationMode="Sum" CellFormat="B""#),
    ];
    let sequence = FileOperationSequence::new(7, 400);
    let by_type = profile(&[graph(FILE_IO, "Types", 1, "", &[columns[0], columns[3], columns[4], columns[5]])]);
    let by_path = profile(&[graph(FILE_IO, "Paths", 1, "", &[columns[2], columns[3]])]);
    let by_process = profile(&[graph(FILE_IO, "Processes", 1, "", &[columns[1], columns[3]])]);

    // Operation, process, path, duration in units of 100 ns, and length of each line.
    let csv = sequence.process_monitor_csv();
    let operations: Vec<(String, String, String, u64, u64)> = rows(&csv)[1..]
        .iter()
        .map(|cells| {
            let operation = cells[4].trim_end_matches("File").trim_end_matches("Buffers").to_owned();
            let length = cells[8].split("Length: ").nth(1).map_or("0", |rest| rest.split(", ").next().unwrap());
            let duration = cells[7].replace('.', "").parse().unwrap();
            let process = format!("{} ({})", cells[1], cells[2]);
            (operation, process, cells[5].clone(), duration, length.replace(',', "").parse().unwrap())
        })
        .collect();

    let (result, files) = Case::of(sequence.event_trace(), &by_type).export(&[]);
    result.unwrap();
    let lines = rows(&files["File_I_O_Types.csv"]);
    assert_eq!(lines[0], ["Event Type", "Count", "Duration (ns)", "Size (B)"]);
    assert_eq!(lines.len(), 4);
    for line in &lines[1..] {
        let matching = operations.iter().filter(|(operation, ..)| *operation == line[0]);
        let (count, units, size) =
            matching.fold((0, 0, 0), |(count, units, size), row| (count + 1, units + row.3, size + row.4));
        let actual = (number(&line[1]), number(&line[2]), number(&line[3]));
        assert_eq!(actual, (f64::from(count), (units * 100) as f64, size as f64), "{}", line[0]);
    }
    for (text, name, get) in [
        (by_path, "File_I_O_Paths.csv", (|row| row.2.clone()) as fn(&(String, String, String, u64, u64)) -> String),
        (by_process, "File_I_O_Processes.csv", |row| row.1.clone()),
    ] {
        let (result, files) = Case::of(sequence.event_trace(), &text).export(&[]);
        result.unwrap();
        let mut expected: BTreeMap<String, u32> = BTreeMap::new();
        operations.iter().for_each(|row| *expected.entry(get(row)).or_default() += 1);
        let lines = rows(&files[name]);
        let actual = lines[1..].iter().map(|line| (line[0].clone(), number(&line[1]) as u32));
        assert_eq!(actual.collect::<BTreeMap<_, _>>(), expected, "{name}");
    }
}

/// The simulated boot has names of files, but no operations.
#[test]
fn file_operations_that_were_not_recorded_are_no_file() {
    let columns = [("1a6168db-c962-472b-9c4a-a04621f1dc03", "Count", "")];
    let (result, files) = Case::new(&profile(&[graph(FILE_IO, "Types", 0, "", &columns)])).export(&[]);
    assert!(result.is_err());
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn boot_phases_are_read_as_a_public_reader_does() {
    let columns = [
        ("09f9ab65-72c9-5447-c56b-99d749bced3c", "Phase Name", ""),
        ("4d7f9f8e-bbe4-5ca7-003d-b982d1642eb9", "Phase #", ""),
        ("40fb0280-d775-513b-203f-77a5fb761913", "Duration", ""),
        ("12020749-a4c5-5ed4-7316-9eefb76c72c9", "Start Time", r#"SortOrder="Ascending""#),
    ];
    let case = Case::new(&profile(&[graph(PHASES, "BootPhasesFlat", 0, "", &columns)]));
    let (result, files) = case.export(&["-delimiter", r"\t", "-prefix", "boot%%LCID1033", "-tle", "-tti"]);
    result.unwrap();
    // The reader skips the title and splits at tabs: the phase is the first value, its seconds the third.
    let text = &files["boot%%LCID1033Boot_Phases_Summary_Table_BootPhasesFlat.csv"];
    let phases: Vec<(&str, f64)> = text
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|values| (values[0], values[2].parse().unwrap()))
        .collect();
    let names: Vec<&str> = phases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names[..5], ["Pre Session Init", "Session Init", "Winlogon Init", "Explorer Init", "Post Boot"]);
    let trace = case.trace(onoff_transitions::boot::TABLES);
    let report = onoff_transitions::boot::analyze(&trace, &onoff_transitions::boot::BootOptions::default()).unwrap();
    let explorer = report.phases.iter().find(|phase| phase.name == onoff_transitions::PhaseName::ExplorerInit).unwrap();
    let duration_ns = explorer.end_ns.unwrap() - explorer.start_ns.unwrap();
    assert_eq!((phases[3].1 * 1e9).round() as i64, duration_ns);
}

#[test]
fn events_are_filtered_and_counted() {
    let columns = [
        ("8b4c40f8-0d99-437d-86ab-56ec200137dc", "Provider Name", ""),
        ("c72e1c5a-f6db-4c84-8c0b-85989e514075", "Id", ""),
        ("7ee6a5ff-1faf-428a-a7c2-7d2cb2b5cf26", "Process", ""),
        ("bbfc990a-b6c9-4dcd-858b-f040ab4a1efe", "Time", ""),
        ("0c5cf8cd-9b9e-5798-1a5d-09d429f7fa3c", "Field 1", ""),
    ];
    let filter = r#"InitialFilterShouldKeep="true" InitialFilterQuery="[Provider Name]:~&gt;&quot;Kernel-PnP&quot;""#;
    let case = Case::new(&profile(&[graph(EVENTS, "PnP", 0, filter, &columns)]));
    let (result, files) = case.export(&[]);
    result.unwrap();
    let rows = rows(&files["Generic_Events_PnP.csv"]);
    assert_eq!(rows[0], ["Provider Name", "Id", "Process", "Time (s)", "Field 1"]);
    assert!(rows[1..].iter().all(|row| row[0] == "Microsoft-Windows-Kernel-PnP"));
    let trace = case.trace(TableSet::from_names(&[TableName::Inventory]));
    let recorded: u64 = trace
        .inventory
        .unwrap()
        .kinds
        .iter()
        .filter(|kind| kind.detail.guid == "9c205a39-1250-487d-abd7-e831c6290539")
        .map(|kind| kind.events)
        .sum();
    assert!(recorded > 0);
    assert_eq!(rows.len() as u64 - 1, recorded);
}

#[test]
fn lifetimes_have_the_texts_of_posted_tables() {
    let columns = [
        ("0edbeee1-8d7b-5652-6639-86415222c6e0", "Process", ""),
        ("1093bbae-e3f8-570d-d300-fe006ec801fe", "Command Line", ""),
        ("1ba44c8d-e138-5cfa-c4d8-49580277ab41", "Lifetime", ""),
        ("c4cf3680-7ab6-5b50-a66e-bb282e861842", "Duration", r#"AggregationMode="Sum""#),
    ];
    let case = Case::new(&profile(&[graph(PROCESSES, "Lifetime", 0, "", &columns)]));
    let (result, files) = case.export(&[]);
    result.unwrap();
    let rows = rows(&files["Processes_Lifetime.csv"]);
    assert_eq!(rows[0], ["Process", "Command Line", "Lifetime", "Duration (s)"]);
    let system = rows.iter().find(|row| row[0] == "System (4)").unwrap();
    assert_eq!(system[1..3], ["<Unknown>", "Permanent"]);
    assert!(rows.iter().any(|row| row[0].starts_with("explorer.exe (") && row[2] == "Transient"));
}

#[test]
fn what_is_not_known_is_an_omission_and_the_rest_is_written() {
    let unknown_column = ("00000000-0000-0000-0000-000000000001", "New Column", "");
    let peak = ("d227f58f-ec9b-4a52-8fe5-e082771c55c6", "Count", r#"AggregationMode="Peak""#);
    let hidden = r#"InitialFilterQuery="[New Column]:=1""#;
    let case = Case::new(&profile(&[
        graph("00000000-0000-0000-0000-000000000002", "other", 0, "", &[NEW_PROCESS]),
        graph(PRECISE, "part", 1, "", &[NEW_PROCESS, unknown_column, peak, CPU_USAGE]),
        graph(PRECISE, "filtered", 1, hidden, &[NEW_PROCESS, CPU_USAGE]),
    ]));
    let (result, files) = case.export(&[]);
    assert!(matches!(result, Err(Failure::Reported(2))), "{result:?}");
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(names, ["CPU_Usage_(Precise)_part.csv"]);
    assert_eq!(rows(&files["CPU_Usage_(Precise)_part.csv"])[0], ["New Process", "CPU Usage (in view) (ms)"]);
}

#[test]
fn presets_with_one_name_get_two_files() {
    let by_thread = graph(PRECISE, "Same: name", 1, "", &[NEW_THREAD, CPU_USAGE]);
    let case = Case::new(&profile(&[graph(PRECISE, "Same: name", 1, "", &[NEW_PROCESS, CPU_USAGE]), by_thread]));
    let (result, files) = case.export(&[]);
    result.unwrap();
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(names, ["CPU_Usage_(Precise)_Same__name.csv", "CPU_Usage_(Precise)_Same__name_(2).csv"]);
}

#[test]
fn waits_of_single_switches_end_where_the_thread_runs() {
    let columns = [
        NEW_PROCESS,
        NEW_THREAD,
        SWITCH_IN,
        ("71d9a1a9-f32c-4b0b-8f09-09b56cbbb843", "Last Switch-Out Time", ""),
        ("7bb1053b-8f03-4c72-89f1-a5f8b9c45a9e", "Ready Time", ""),
        ("6d598aa8-2ec4-46cd-b71a-88a239dfacf7", "Waits", r#"AggregationMode="Sum" CellFormat="uN""#),
        ("906ea81e-ab68-4dfd-9b9f-3adafab60f83", "Ready", r#"AggregationMode="Sum" CellFormat="uN""#),
    ];
    let case = Case::new(&profile(&[graph(PRECISE, "flat", 0, "", &columns)]));
    let (_, files) = case.export(&[]);
    let rows = rows(&files["CPU_Usage_(Precise)_flat.csv"]);
    assert_eq!(rows[0][5..], ["Waits (µs)", "Ready (µs)"]);
    let mut waits = 0;
    for row in rows[1..].iter().filter(|row| row[3..].iter().all(|cell| !cell.is_empty())) {
        let [switch_in, last_out, ready] = [2, 3, 4].map(|index| (number(&row[index]) * 1e9).round());
        let [waited, was_ready] = [5, 6].map(|index| (number(&row[index]) * 1e3).round());
        assert!(last_out <= ready && ready <= switch_in, "{row:?}");
        assert_eq!((waited, was_ready), (ready - last_out, switch_in - ready), "{row:?}");
        waits += 1;
    }
    assert!(waits > 100, "{waits}");
}
