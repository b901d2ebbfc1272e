//! `--format json` emits exactly the names that the book documents.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::harness::Folder;
use serde_json::Value;

/// A scenario with most kinds of work.
const SAMPLE: &str = "../../../samples/slow-boot.etl";

/// Names that are omitted if empty.
const OPTIONAL: &[(&str, &str)] = &[
    ("Loss", "first"),
    ("onoff info --format json", "clock_conversions"),
    ("RecordingFile", "content"),
    ("SystemConfiguration", "kernel_command_line"),
    (EVENTS, "activity"),
    (EVENTS, "related_activity"),
    (EVENTS, "derived"),
    ("Derived", "elapsed_ns"),
    ("Derived", "service_ns"),
    ("Derived", "since_last_ns"),
    ("Derived", "ran_ns"),
    ("Derived", "stack_of_ns"),
    ("Derived", "old_state"),
    ("Derived", "old_wait_reason"),
    ("Derived", "file"),
];

const EVENTS: &str = "onoff events --format json";

/// The documented objects and enumerations, with the type of each member.
struct Documentation {
    objects: BTreeMap<String, BTreeMap<String, String>>,
    texts: BTreeMap<String, BTreeSet<String>>,
    /// The arguments by code, for objects with a code and arguments.
    codes: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// What the rows of a table on the page list.
#[derive(Clone, Copy, PartialEq)]
enum RowKind {
    Names,
    Texts,
    Codes,
}

impl Documentation {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/reference/json.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut documentation = Self { objects: BTreeMap::new(), texts: BTreeMap::new(), codes: BTreeMap::new() };
        let mut heading = String::new();
        let mut row_kind = RowKind::Names;
        for line in page.lines() {
            if let Some(title) = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")) {
                heading = title.trim_matches('`').to_owned();
            } else if line.starts_with("| name |") {
                row_kind = RowKind::Names;
            } else if line.starts_with("| text |") {
                row_kind = RowKind::Texts;
            } else if line.starts_with("| code |") {
                row_kind = RowKind::Codes;
            } else if let Some(row) = line.strip_prefix("| `") {
                let (name, cells) = row.split_once("` |").unwrap();
                let second_cell = cells.split('|').next().unwrap().trim().to_owned();
                match row_kind {
                    RowKind::Texts => {
                        documentation.texts.entry(heading.clone()).or_default().insert(name.to_owned());
                    }
                    RowKind::Names => {
                        documentation.objects.entry(heading.clone()).or_default().insert(name.to_owned(), second_cell);
                    }
                    RowKind::Codes => {
                        let arguments = second_cell.split(", ").map(|argument| argument.trim_matches('`').to_owned());
                        let arguments = arguments.filter(|argument| !argument.is_empty()).collect();
                        documentation.codes.entry(heading.clone()).or_default().insert(name.to_owned(), arguments);
                    }
                }
            }
        }
        documentation
    }

    /// Checks `value` against a documented type, and adds the types that occur to `seen_types`.
    fn check(&self, kind: &str, value: &Value, path: &str, seen_types: &mut BTreeSet<String>) {
        if let Some(kind) = kind.strip_suffix(" or null") {
            if !value.is_null() {
                self.check(kind, value, path, seen_types);
            }
            return;
        }
        if let Some(kind) = kind.strip_prefix("list of ") {
            for (index, value) in value.as_array().expect(path).iter().enumerate() {
                self.check(kind, value, &format!("{path}[{index}]"), seen_types);
            }
            return;
        }
        match kind {
            "text" | "name of a table" => assert!(value.is_string(), "{path}: {value}"),
            "integer" => assert!(value.is_i64() || value.is_u64(), "{path}: {value}"),
            "number" => assert!(value.is_number(), "{path}: {value}"),
            "any names" => assert!(value.is_object(), "{path}: {value}"),
            "true or false" => assert!(value.is_boolean(), "{path}: {value}"),
            _ => {
                let name = kind.trim_start_matches('[').split(']').next().unwrap();
                seen_types.insert(name.to_owned());
                if let Some(codes) = self.codes.get(name) {
                    let code = value["code"].as_str().expect(path);
                    let emitted = value.as_object().expect(path).keys().filter(|key| *key != "code").cloned().collect();
                    assert_eq!(codes.get(code), Some(&emitted), "{path}: {code}");
                    return;
                }
                match (self.objects.get(name), self.texts.get(name)) {
                    (Some(_), _) => self.check_object(name, value, path, seen_types),
                    (_, Some(texts)) => {
                        assert!(texts.contains(value.as_str().expect(path)), "{path}: {value} is not a {name}");
                    }
                    _ => panic!("{path}: type '{kind}' is not documented"),
                }
            }
        }
    }

    fn check_object(&self, name: &str, value: &Value, path: &str, seen_types: &mut BTreeSet<String>) {
        let documented = &self.objects[name];
        let emitted = value.as_object().expect(path);
        for key in emitted.keys() {
            assert!(documented.contains_key(key), "{path}.{key} is not documented");
        }
        for (key, kind) in documented {
            match emitted.get(key) {
                Some(value) => self.check(kind, value, &format!("{path}.{key}"), seen_types),
                None => assert!(OPTIONAL.contains(&(name, key.as_str())), "{path}.{key} is documented but not emitted"),
            }
        }
    }
}

#[test]
fn documented_names_match_output() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    let documentation = Documentation::read();
    let mut seen_types = BTreeSet::new();
    for verb in [
        "info",
        "boot",
        "diagnose",
        "processes",
        "cpu",
        "interrupts",
        "disk",
        "hardfaults",
        "services",
        "devices",
        "policy",
        "why",
        "what-if",
    ] {
        let answer: Value = serde_json::from_str(&folder.answer(&format!("{verb} boot.etl --format json"))).unwrap();
        let name = format!("onoff {verb} --format json");
        documentation.check_object(&name, &answer, verb, &mut seen_types);
    }
    for (arguments, name) in [("--plan 2", "onoff what-if --plan N"), ("--limit", "onoff what-if --limit")] {
        let answer: Value =
            serde_json::from_str(&folder.answer(&format!("what-if boot.etl {arguments} --format json"))).unwrap();
        documentation.check_object(&format!("{name} --format json"), &answer, "what-if", &mut seen_types);
    }
    // Empty lists would check nothing, so most types must occur.
    for name in [
        "Phase",
        "CpuUsage",
        "DiskUsage",
        "Unit",
        "DeviceWorkOfInitialization",
        "NamedActivity",
        "ProcessLifetime",
        "KindCount",
        "Slice",
        "ProcessRow",
        "CpuRow",
        "InterruptRow",
        "ProcessorInterrupts",
        "PathStep",
        "PathShare",
        "SubjectOnPath",
        "RuleFinding",
        "FindingEvidence",
        "UncheckedRule",
        "PlanStep",
        "Bound",
    ] {
        assert!(seen_types.contains(name), "the sample has no {name}");
    }
}

#[test]
fn documented_linux_boot_names_match_output() {
    let documentation = Documentation::read();
    let folder = Folder::linux_boot();
    let mut seen_types = BTreeSet::new();
    for (arguments, heading) in [
        ("boot linux --format json", "onoff boot --format json` of a Linux recording"),
        ("boot linux --list-boots --format json", "onoff boot --list-boots --format json"),
    ] {
        let answer: Value = serde_json::from_str(&folder.answer(arguments)).unwrap();
        documentation.check_object(heading, &answer, arguments, &mut seen_types);
    }
    for name in ["Phase", "Unit", "UnitPathStep", "MissingEvidence", "RecordedBoot"] {
        assert!(seen_types.contains(name), "the recording has no {name}");
    }
}

#[test]
fn documented_sleep_history_names_match_output() {
    let documentation = Documentation::read();
    let folder = Folder::new();
    let mut log = "[    0.000000] Linux version 6.1.0\n[    1.000000] Run /sbin/init as init process\n".to_owned();
    for sleep in 0..3 {
        let second = 100 * (sleep + 1);
        for (ms, text) in [
            (0, "PM: suspend entry (deep)"),
            (100, "Freezing user space processes"),
            (900, "PM: suspend devices took 0.700 seconds"),
            (1_000, "ACPI: PM: Preparing to enter system sleep state S3"),
            (1_100, "ACPI: PM: Low-level resume complete"),
            (2_000, "PM: resume devices took 0.800 seconds"),
            (2_100, "PM: suspend exit"),
        ] {
            log += &format!("[{:5}.{:03}000] {text}\n", second + ms / 1_000, ms % 1_000);
        }
    }
    folder.file("dmesg.txt", log.as_bytes());
    let answer = folder.answer("compare --sleeps dmesg.txt --format json");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let mut seen_types = BTreeSet::new();
    documentation.check_object("onoff compare --sleeps --format json", &answer, "sleeps", &mut seen_types);
    assert!(seen_types.contains("HistoricSleep"), "{seen_types:?}");
    assert_eq!(answer["sleeps"].as_array().unwrap().len(), 3);
    let text = folder.answer("compare --sleeps dmesg.txt --last 2");
    assert!(text.starts_with("The last 2 sleeps, none failed: too few"), "{text}");
    assert!(text.contains("Omitted: 1 earlier sleep (see --last)."), "{text}");
    let csv = folder.answer("compare --sleeps dmesg.txt --format csv");
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let (code, message) = folder.failure("compare --last 5 a b");
    assert!(code != 0 && message.contains("--last requires --boots or --sleeps"), "{message}");
}

#[test]
fn documented_shutdown_names_match_output() {
    let documentation = Documentation::read();
    let mut seen_types = BTreeSet::new();
    for scenario in ["shutdown-hung-window.toml", "shutdown-unresponsive-service.toml", "shutdown-slow-console.toml"] {
        let folder = Folder::boot(scenario);
        let answer = folder.answer("shutdown boot.etl --format json");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        documentation.check_object("onoff shutdown --format json", &answer, scenario, &mut seen_types);
    }
    for name in [
        "Phase",
        "ShutdownInterval",
        "SessionEnd",
        "NotifiedOfEndRequest",
        "WindowThreadRequest",
        "TimeOut",
        "Unit",
        "LongestWork",
        "ProcessExit",
        "MissingEvidence",
        "RecordingCommand",
        "CpuUsage",
        "DiskUsage",
    ] {
        assert!(seen_types.contains(name), "no scenario has a {name}");
    }
}

#[test]
fn documented_comparison_names_match_output() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let folder = Folder::boot("services-wes7.toml");
    std::fs::copy(sample, folder.path("slow.etl")).unwrap();
    let documentation = Documentation::read();
    let mut seen_types = BTreeSet::new();
    // The sample has call stacks.
    let runs = "--baseline boot.etl --candidate slow.etl boot.etl --include losses --format json";
    let answer: Value = serde_json::from_str(&folder.answer(&format!("compare {runs}"))).unwrap();
    documentation.check_object("onoff compare --format json", &answer, "compare", &mut seen_types);
    let mut gate = folder.command(&format!("gate {runs} --least-runs 1 --limit"));
    let output = gate.arg("boot.* 1000%").output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    documentation.check_object("onoff gate --format json", &answer, "gate", &mut seen_types);
    for name in ["ComparedMeasure", "MeasureSpread", "Change", "RunSummary", "Exclusion", "LimitReport", "LimitCheck"] {
        assert!(seen_types.contains(name), "no document has a {name}");
    }
}

#[test]
fn documented_event_names_match_output() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    let documentation = Documentation::read();
    let mut seen_types = BTreeSet::new();
    let mut derived = BTreeSet::new();
    for line in folder.answer("events boot.etl --format json").lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        documentation.check_object(EVENTS, &event, "event", &mut seen_types);
        derived.extend(event.get("derived").into_iter().flat_map(|names| names.as_object().unwrap().keys().cloned()));
    }
    for name in ["elapsed_ns", "service_ns", "since_last_ns", "ran_ns", "old_state", "old_wait_reason", "file"] {
        assert!(derived.contains(name), "no event of the sample has {name}");
    }
}

#[test]
fn stable_names_exist() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE);
    let folder = Folder::new();
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    let assert_has = |value: &Value, names: &[&str]| {
        for name in names {
            assert!(value.get(name).is_some(), "{name} in {value}");
        }
    };
    let info: Value = serde_json::from_str(&folder.answer("info boot.etl --format json")).unwrap();
    assert_has(
        &info,
        &[
            "os_build",
            "pointer_bits",
            "processors",
            "start_utc",
            "duration_ns",
            "events",
            "events_lost",
            "buffers_lost",
            "compressed",
            "finished",
            "losses",
            "providers",
            "kinds",
        ],
    );
    assert_has(&info["providers"][0], &["guid", "name", "events"]);
    assert_has(&info["kinds"][0], &["name", "events"]);
    let boot: Value = serde_json::from_str(&folder.answer("boot boot.etl --format json")).unwrap();
    assert_has(&boot, &["total_ns", "os_loader_ns", "phases", "settling", "units", "devices", "processes", "losses"]);
    assert_has(
        &boot["phases"][0],
        &["name", "start_ns", "end_ns", "starts", "ends", "recorded_ns", "work", "certainty"],
    );
    assert_has(&boot["settling"], &["idle_ns", "busy_ns"]);
    assert_has(&boot["units"][0], &["name", "group", "start_ns", "end_ns", "duration_ns", "command"]);
    assert_has(&boot["devices"][0], &["kind", "device", "driver", "start_ns", "pend_ns", "end_ns"]);
    assert_has(&boot["processes"][0], &["pid", "image", "start_ns", "end_ns"]);
}

#[test]
fn documented_linux_names_match_output() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let documentation = Documentation::read();
    let folder = Folder::new();
    let mut seen_types = BTreeSet::new();
    for (verb, sample) in [("suspend", "suspend-s3"), ("suspend", "hibernate-s4"), ("shutdown", "shutdown-slowstop")] {
        let path = samples.join(format!("{sample}.tar.xz"));
        std::fs::copy(path, folder.path("linux.tar.xz")).unwrap();
        let answer = folder.answer(&format!("{verb} linux.tar.xz --format json"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let heading = format!("onoff {verb} --format json` of a Linux recording");
        documentation.check_object(&heading, &answer, sample, &mut seen_types);
    }
    for name in [
        "LinuxSleep",
        "Phase",
        "CallbackStep",
        "DeviceWorkOfCallback",
        "DeviceSleep",
        "FrozenTask",
        "MemoryImage",
        "WakeSource",
        "Phase",
        "Unit",
        "UnitProcess",
        "StopStep",
        "ProcessStop",
        "LongestStop",
        "MissingEvidence",
    ] {
        assert!(seen_types.contains(name), "no sample has a {name}");
    }
}
