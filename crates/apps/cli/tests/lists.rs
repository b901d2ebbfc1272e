//! The list verbs on a simulated boot, and their options.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::harness::Folder;
use serde_json::Value;

const SCENARIO: &str = "table-7-slow-service-in-group.toml";

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("{arguments} --format json"))).unwrap()
}

fn texts(rows: &Value, name: &str) -> Vec<String> {
    let rows = rows.as_array().unwrap();
    rows.iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

#[test]
fn processes_as_text_and_csv() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!("processes_text", folder.answer("processes boot.etl --top 8"));
    insta::assert_snapshot!("processes_csv", folder.answer("processes boot.etl --format csv --range 10s 12s --top 4"));
}

#[test]
fn cpu_as_text_and_csv() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!("cpu_text", folder.answer("cpu boot.etl --top 8"));
    insta::assert_snapshot!(
        "cpu_threads_text",
        folder.answer("cpu boot.etl --by thread --process services.exe --top 4")
    );
    insta::assert_snapshot!(
        "cpu_csv",
        folder.answer("cpu boot.etl --by priority,processor --range 10s 12s --format csv")
    );
}

#[test]
fn interrupts_as_text_and_csv() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!("interrupts_text", folder.answer("interrupts boot.etl --by routine"));
    insta::assert_snapshot!("interrupts_csv", folder.answer("interrupts boot.etl --by module,processor --format csv"));
}

#[test]
fn services_devices_and_policy_as_text() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!("services_text", folder.answer("services boot.etl"));
    insta::assert_snapshot!("devices_text", folder.answer("devices boot.etl --top 8"));
    let folder = Folder::boot("slow-boot.toml");
    insta::assert_snapshot!("policy_text", folder.answer("policy boot.etl"));
}

/// Checks the CPU time of each process and priority in every phase of the boot, to the 100 ns tick. Together with idle
/// and unknown time, it adds up to all CPU time.
#[test]
fn cpu_times_match_truth() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    for phase in &truth.phases {
        let range = format!("--range {}ns {}ns", phase.start_ns, phase.end_ns);
        let list = |verb: &str| json(&folder, &format!("{verb} boot.etl {range}"));
        let sums = |rows: &Value, key: &str, column: &str| -> BTreeMap<u64, i64> {
            let rows = rows.as_array().unwrap().iter();
            rows.filter(|row| row[column].as_i64().is_some_and(|ns| ns > 0))
                .map(|row| (row[key].as_u64().unwrap(), row[column].as_i64().unwrap()))
                .collect()
        };
        let expected: BTreeMap<u64, i64> = phase
            .usage
            .cpu_by_process_ns
            .iter()
            .filter(|&(_, &ns)| ns > 0)
            .map(|(&pid, &ns)| (pid.into(), ns))
            .collect();
        let by_process = list("cpu");
        assert_eq!(sums(&by_process["rows"], "pid", "cpu_ns"), expected, "{}", phase.name);
        let processes = list("processes");
        assert_eq!(sums(&processes["processes"], "pid", "cpu_ns"), expected, "{}", phase.name);
        let by_priority: BTreeMap<u64, i64> = phase
            .usage
            .cpu_by_priority_ns
            .iter()
            .filter(|&(_, &ns)| ns > 0)
            .map(|(&priority, &ns)| (priority.into(), ns))
            .collect();
        let rows = list("cpu --by priority");
        assert_eq!(sums(&rows["rows"], "priority", "cpu_ns"), by_priority, "{}", phase.name);
        let total = |name: &str| by_process["cpu"][name].as_i64().unwrap();
        assert_eq!(total("busy_ns"), expected.values().sum::<i64>());
        assert_eq!(total("idle_ns"), phase.usage.idle_ns, "{}", phase.name);
        assert_eq!(
            total("busy_ns") + total("idle_ns") + total("unknown_ns"),
            (phase.end_ns - phase.start_ns) * total("processors")
        );
        // The total is the same for every grouping.
        for grouping in ["thread", "processor", "process,priority"] {
            let rows = list(&format!("cpu --by {grouping}"));
            let sum: i64 = rows["rows"].as_array().unwrap().iter().map(|row| row["cpu_ns"].as_i64().unwrap()).sum();
            assert_eq!(sum, total("busy_ns"), "{} by {grouping}", phase.name);
        }
    }
}

#[test]
fn services_and_devices_match_truth() {
    let (folder, truth) = Folder::boot_and_truth(SCENARIO);
    let services = json(&folder, "services boot.etl");
    let actual: Vec<(String, i64, i64)> = services["services"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let ns = |name: &str| row[name].as_i64().unwrap();
            let name = row["name"].as_str().unwrap().to_owned();
            (name, ns("start_ns"), ns("end_ns"))
        })
        .collect();
    let expected: Vec<(String, i64, i64)> =
        truth.services.iter().map(|service| (service.name.clone(), service.start_ns, service.end_ns)).collect();
    assert_eq!(actual, expected);
    let devices = json(&folder, "devices boot.etl --sort start");
    let actual: Vec<i64> =
        devices["devices"].as_array().unwrap().iter().map(|row| row["start_ns"].as_i64().unwrap()).collect();
    let mut expected: Vec<i64> = truth.devices.iter().map(|device| device.start_ns).collect();
    expected.sort_unstable();
    assert_eq!(actual, expected);
}

#[test]
fn sorts_reverses_and_limits_tables() {
    let folder = Folder::boot(SCENARIO);
    let sorted = json(&folder, "processes boot.etl --sort image");
    let images = texts(&sorted["processes"], "image");
    assert!(images.len() > 8);
    assert!(images.is_sorted_by_key(|image| image.to_lowercase()));
    let reversed = json(&folder, "processes boot.etl --sort image --reverse --top 2");
    let mut expected: Vec<String> = images.iter().rev().take(2).cloned().collect();
    expected.truncate(2);
    assert_eq!(texts(&reversed["processes"], "image"), expected);
    let csv = folder.answer("processes boot.etl --format csv");
    assert_eq!(csv.lines().count(), images.len() + 1);
}

#[test]
fn selects_processes_by_pattern_and_range() {
    let folder = Folder::boot(SCENARIO);
    let selected = json(&folder, "processes boot.etl --process csrss.exe --process 4 --sort pid");
    let images = texts(&selected["processes"], "image");
    assert_eq!(images.first().map(String::as_str), Some("System"));
    assert!(images[1..].iter().all(|image| image == "csrss.exe"));
    // Only System exists in the first millisecond.
    let early = json(&folder, "processes boot.etl --range 0 1ms");
    for process in early["processes"].as_array().unwrap() {
        assert!(process["start_ns"].is_null(), "{process}");
    }
}

#[test]
fn rejects_empty_results_and_invalid_options() {
    let folder = Folder::boot(SCENARIO);
    for (arguments, expected, message) in [
        ("processes boot.etl --process nobody.exe", 2, "no process matches (the recording has "),
        ("processes boot.etl --sort weight", 64, "--sort: no column 'weight'; columns are image,"),
        ("processes boot.etl --range 5000s 6000s", 2, "is outside the recording"),
        ("processes boot.etl --range 1s soon", 64, "'soon' is not a time"),
        ("cpu boot.etl --by module", 2, "no CPU usage in this recording. Not recorded: profile samples"),
        (
            "interrupts boot.etl --process System",
            64,
            "--process: cannot select processes: interrupts are not attributed to processes",
        ),
        (
            "devices boot.etl --process System",
            64,
            "--process: cannot select processes: device operations are not attributed to processes",
        ),
    ] {
        let (code, stderr) = folder.failure(arguments);
        assert_eq!(code, expected, "{arguments}");
        assert!(stderr.contains(message), "{arguments}: {stderr}");
    }
}
