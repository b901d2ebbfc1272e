//! `onoff shutdown` compared with simulated truth, published documents and a real recording.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_simulator::Truth;
use serde_json::Value;

/// The scenarios with a complete or truncated shutdown.
const SCENARIOS: [&str; 6] = [
    "shutdown-paper-arithmetic.toml",
    "shutdown-slow-console.toml",
    "shutdown-hung-window.toml",
    "shutdown-unresponsive-service.toml",
    "shutdown-cut.toml",
    "shutdown-windows10-sample.toml",
];

fn report(folder: &Folder) -> Value {
    serde_json::from_str(&folder.answer("shutdown boot.etl --format json")).unwrap()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap()
}

fn ns(value: &Value, name: &str) -> Option<i64> {
    value[name].as_i64()
}

fn phase<'v>(report: &'v Value, name: &str) -> &'v Value {
    let phases = list(report, "phases").iter();
    phases.clone().find(|phase| phase["name"] == name).unwrap()
}

/// Returns the interval of the nth simulated activity of a kind.
fn activity(truth: &Truth, kind: &str, index: usize) -> (i64, Option<i64>) {
    let rows = &truth.transitions.activities;
    let row = rows.iter().filter(|row| row.kind == kind).nth(index).unwrap();
    (row.start_ns, row.end_ns)
}

#[test]
fn applications_match_truth() {
    for scenario in SCENARIOS {
        let (folder, truth) = Folder::boot_and_truth(scenario);
        let report = report(&folder);
        type Row = (i64, Option<u64>, Option<i64>, Option<u64>, Option<u64>);
        let mut actual: Vec<Row> = list(&report, "sessions")
            .iter()
            .flat_map(|session| list(session, "applications"))
            .map(|row| {
                let number = |name: &str| row[name].as_u64();
                let start = ns(row, "start_ns").unwrap();
                (start, number("pid"), ns(row, "end_ns"), number("level"), number("flags"))
            })
            .collect();
        actual.sort_unstable();
        let mut expected: Vec<Row> = truth
            .transitions
            .notifications
            .iter()
            .filter(|row| row.kind == "application_shutdown")
            .map(|row| {
                let number = |value: Option<u32>| value.map(u64::from);
                (row.start_ns, number(row.pid), row.end_ns, number(row.level), number(row.flags))
            })
            .collect();
        expected.sort_unstable();
        assert_eq!(actual, expected, "{scenario}");
    }
}

#[test]
fn services_match_truth() {
    for scenario in SCENARIOS {
        let (folder, truth) = Folder::boot_and_truth(scenario);
        let report = report(&folder);
        type Row = (String, i64, Option<i64>, Option<i64>, bool, bool);
        let mut actual: Vec<Row> = list(&report, "units")
            .iter()
            .map(|row| {
                (
                    row["name"].as_str().unwrap().to_owned(),
                    ns(row, "start_ns").unwrap(),
                    ns(row, "checkpoint_ns"),
                    ns(row, "end_ns"),
                    !row["time_out"].is_null(),
                    row["notification"] == "pre_shutdown",
                )
            })
            .collect();
        actual.sort();
        let mut expected: Vec<Row> = truth
            .transitions
            .service_stops
            .iter()
            .map(|row| (row.name.clone(), row.start_ns, row.pending_ns, row.end_ns, row.unresponsive, row.pre_shutdown))
            .collect();
        expected.sort();
        assert_eq!(actual, expected, "{scenario}");
    }
}

#[test]
fn phases_and_steps_match_truth() {
    for scenario in SCENARIOS {
        let (folder, truth) = Folder::boot_and_truth(scenario);
        let report = report(&folder);
        let transitions = &truth.transitions;
        let interval = |name| {
            let phase = phase(&report, name);
            (ns(phase, "start_ns").unwrap(), ns(phase, "end_ns"))
        };
        let user_session = activity(&truth, "session_shutdown", 0);
        let system_session = activity(&truth, "session_shutdown", 1);
        let pre_shutdown = transitions.activity("shutdown_step", "pre_shutdown_notification").unwrap();
        assert_eq!(interval("UserSession"), user_session, "{scenario}");
        assert_eq!(interval("SystemSession"), (pre_shutdown.start_ns, system_session.1), "{scenario}");
        let kernel_start_ns = transitions.milestone("shutdown.kernel.begin").unwrap().time_ns;
        let shutdown = transitions.activity("kernel_shutdown_step", "graceful_shutdown").unwrap();
        assert_eq!(interval("KernelShutdown"), (kernel_start_ns, shutdown.end_ns), "{scenario}");
        let request_ns = transitions.milestone("shutdown.request").unwrap().time_ns;
        assert_eq!(ns(&report, "total_ns"), shutdown.end_ns.map(|end_ns| end_ns - request_ns), "{scenario}");
        let steps: Vec<(String, i64, Option<i64>)> = list(&report, "kernel_steps")
            .iter()
            .map(|step| {
                let name = step["name"].as_str().unwrap().to_owned();
                (name, ns(step, "start_ns").unwrap(), ns(step, "end_ns"))
            })
            .collect();
        let expected: Vec<(String, i64, Option<i64>)> = transitions
            .activities
            .iter()
            .filter(|row| row.kind == "kernel_shutdown_step")
            .map(|row| (row.name.clone(), row.start_ns, row.end_ns))
            .collect();
        assert_eq!(steps, expected, "{scenario}");
    }
}

#[test]
fn reports_longest_and_reason() {
    for (scenario, name, has_windows, explanation) in [
        (
            "shutdown-slow-console.toml",
            "slow_shutdown.exe",
            false,
            "console program, terminated after its 5.00 s timeout",
        ),
        ("shutdown-hung-window.toml", "unsaved.exe", true, "GUI program, terminated after its 5.00 s timeout"),
    ] {
        let folder = Folder::boot(scenario);
        let report = report(&folder);
        assert_eq!(report["longest"]["name"], name);
        let reason = serde_json::json!({
            "code": "application",
            "has_windows": has_windows,
            "terminated": true,
            "limit_ns": 5_000_000_000_i64,
            "timed_out": true,
        });
        assert_eq!(report["longest"]["reason"], reason, "{scenario}");
        let text = folder.answer("shutdown boot.etl").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(explanation), "{scenario}: {text}");
    }
    let report = report(&Folder::boot("shutdown-hung-window.toml"));
    let hung = list(&report["sessions"][0], "applications").iter().find(|row| row["name"] == "unsaved.exe").unwrap();
    let limits: Vec<(&str, Option<i64>)> =
        list(hung, "time_outs").iter().map(|row| (row["kind"].as_str().unwrap(), ns(row, "limit_ns"))).collect();
    assert_eq!(limits, [("window", Some(5_000_000_000)), ("forced", Some(750_000_000))]);
}

#[test]
fn writes_all_formats() {
    let folder = Folder::boot("shutdown-slow-console.toml");
    insta::assert_snapshot!("shutdown_text", folder.answer("shutdown boot.etl"));
    insta::assert_snapshot!("shutdown_xml", folder.answer("shutdown boot.etl --format xml"));
    insta::assert_snapshot!("shutdown_csv", folder.answer("shutdown boot.etl --format csv"));
    let folder = Folder::boot("shutdown-cut.toml");
    insta::assert_snapshot!("shutdown_cut_text", folder.answer("shutdown boot.etl"));
}

/// Checks the numbers of the paper in xperf's document: 13066 - 6642 - 2675 = 3749.
#[test]
fn xml_matches_paper_arithmetic() {
    let xml = Folder::boot("shutdown-paper-arithmetic.toml").answer("xperf -i boot.etl -a shutdown");
    for line in [
        "<timing shutdownTime=\"13066\" servicesShutdownDuration=\"2675\">",
        "<sessionShutdown sessionID=\"1\" startTime=\"448\" endTime=\"7091\" duration=\"6642\">",
        "<sessionShutdown sessionID=\"0\" startTime=\"8335\" endTime=\"11010\" duration=\"2675\">",
    ] {
        assert!(xml.lines().any(|row| row == line), "{line}");
    }
}

/// Compares the published document line by line, except for times that the scenario cannot know.
#[test]
fn xml_matches_published_structure() {
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("xperf-output") else {
        return;
    };
    let without_values = |line: &str| {
        let mut structure = String::new();
        let mut quoted = false;
        for character in line.trim().chars() {
            if character == '"' {
                quoted = !quoted;
            }
            if !quoted {
                structure.push(character);
            }
        }
        structure
    };
    let published = std::fs::read_to_string(folder.join("shutdown.xml")).unwrap();
    let published: Vec<String> = published
        .lines()
        .filter(|line| !line.starts_with("<!--") && !line.starts_with("..."))
        .map(str::to_owned)
        .collect();
    let actual = Folder::boot("shutdown-windows10-sample.toml").answer("shutdown boot.etl --format xml");
    let actual: Vec<&str> = actual.lines().collect();
    assert!(published.len() > 20);
    for (published, actual) in published.iter().zip(&actual) {
        assert_eq!(without_values(published), without_values(actual));
    }
    // The values that the scenario was modeled on match exactly.
    assert_eq!(published[..5], actual[..5]);
}

#[test]
fn real_shutdown_without_shutdown_providers() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("etl") else {
        return;
    };
    let recording = samples.join("ShutdownPerfDiagLogger.etl");
    let folder = Folder::new();
    std::fs::copy(recording, folder.path("boot.etl")).unwrap();
    let report = report(&folder);
    assert!(report["total_ns"].is_null());
    let exits = &report["exits"];
    // According to the events, 60 processes end. Check the first and the last.
    let ended = list(exits, "processes");
    assert_eq!(ended.len(), 60);
    assert_eq!(ended[0]["image"], "SecurityHealthSystray.exe");
    assert_eq!(ended[0]["end_ns"], 29_519_691_619_600_i64);
    assert_eq!(ended[59]["image"], "MsMpEng.exe");
    assert_eq!(exits["duration_ns"], 29_522_624_728_200_i64 - 29_519_691_619_600);
    for (name, start, end) in [
        ("UserSession", 29_519_691_619_600_i64, Some(29_520_973_377_300_i64)),
        ("SystemSession", 29_520_973_377_300, Some(29_522_624_728_200)),
        ("KernelShutdown", 29_522_624_728_200, None),
    ] {
        let phase = phase(&report, name);
        assert_eq!(ns(phase, "start_ns"), Some(start), "{name}");
        assert_eq!(ns(phase, "end_ns"), end, "{name}");
        assert_ne!(phase["certainty"], "measured");
    }
    let missing: Vec<&str> =
        list(&report["missing_evidence"], "items").iter().map(|item| item["provider"].as_str().unwrap()).collect();
    assert!(missing.contains(&"Microsoft-Windows-Subsys-Csr"), "{missing:?}");
    let text = folder.answer("shutdown boot.etl");
    assert!(text.contains("Inferred from process exits"), "{text}");
    assert!(text.contains("{e8316a2d-0d94-4f52-85dd-1e15b66c5891}"), "{text}");
}

#[test]
fn boot_is_not_a_shutdown() {
    let folder = Folder::boot("services-wes7.toml");
    let (code, message) = folder.failure("shutdown boot.etl");
    assert_eq!(code, 2);
    assert!(message.contains("no shutdown in this recording ("), "{message}");
    assert!(message.contains("It looks like a boot; try 'onoff boot FILE'"), "{message}");
}
