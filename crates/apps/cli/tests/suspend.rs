//! `onoff suspend` on simulated transitions: every row matches the truth to the nanosecond.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_simulator::Truth;
use serde_json::Value;

/// The kinds of transitions in each scenario.
const SCENARIOS: [(&str, &[&str]); 10] = [
    ("sleep-slow-service", &["sleep"]),
    ("sleep-slow-driver", &["sleep"]),
    ("sleep-windows7", &["sleep"]),
    ("hibernate", &["hibernate"]),
    ("hybrid-sleep", &["hybrid_sleep"]),
    ("modern-standby", &["modern_standby", "modern_standby"]),
    ("two-transitions", &["sleep", "hibernate"]),
    ("sleep-kernel-logger-only", &["sleep"]),
    ("fast-startup-shutdown", &["fast_startup"]),
    ("fast-startup-cycle", &["fast_startup"]),
];

/// The phases and their names in the simulator.
const PHASES: [(&str, &str); 17] = [
    ("query_apps", "QueryApps"),
    ("query_services", "QueryServices"),
    ("suspend_apps", "SuspendApps"),
    ("suspend_services", "SuspendServices"),
    ("show_ui", "ShowUI"),
    ("hide_ui", "HideUI"),
    ("superfetch", "Superfetch"),
    ("winlogon", "Winlogon"),
    ("pre_sleep_callbacks", "PreSleepCallbacks"),
    ("query_devices", "QueryDevices"),
    ("flush_volumes", "FlushVolumes"),
    ("suspend_devices", "SuspendDevices"),
    ("flush_all_pages", "FlushAllPages"),
    ("build_notify_list", "BuildNotifyList"),
    ("resume_devices", "ResumeDevices"),
    ("resume_services", "ResumeServices"),
    ("resume_apps", "ResumeApps"),
];

fn answer(scenario: &str) -> (Value, Truth) {
    let (folder, truth) = Folder::boot_and_truth(&format!("{scenario}.toml"));
    let output = folder.run("suspend boot.etl --format json");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{scenario}: {stderr}");
    (serde_json::from_slice(&output.stdout).unwrap(), truth)
}

/// Returns the rows of a list in all transitions.
fn rows<'a>(report: &'a Value, list: &str) -> Vec<&'a Value> {
    let transitions = report["transitions"].as_array().unwrap();
    let lists = transitions.iter().map(|row| row[list].as_array().unwrap());
    lists.flatten().collect()
}

#[test]
fn kinds_phases_and_notifications_match_truth() {
    for (scenario, kinds) in SCENARIOS {
        let (report, truth) = answer(scenario);
        let transitions = report["transitions"].as_array().unwrap();
        let actual_kinds: Vec<&str> = transitions.iter().map(|row| row["variant"].as_str().unwrap()).collect();
        assert_eq!(actual_kinds, kinds, "{scenario}");

        let phases = rows(&report, "phases");
        let expected = truth.transitions.activities.iter();
        for row in expected.filter(|row| row.kind == "power_phase") {
            let Some((_, name)) = PHASES.iter().find(|(simulated_name, _)| *simulated_name == row.name) else {
                continue;
            };
            assert!(
                phases.iter().any(|phase| {
                    phase["name"] == *name
                        && phase["start_ns"].as_i64() == Some(row.start_ns)
                        && phase["end_ns"].as_i64() == row.end_ns
                }),
                "{scenario}: {name} at {} to {:?}",
                row.start_ns,
                row.end_ns
            );
        }

        let actual = rows(&report, "notifications");
        let expected = truth.transitions.notifications.iter();
        for row in expected.filter(|row| row.kind.contains("suspend")) {
            assert!(
                actual.iter().any(|actual| {
                    actual["kind"] == *row.kind
                        && actual["start_ns"].as_i64() == Some(row.start_ns)
                        && actual["end_ns"].as_i64() == row.end_ns
                }),
                "{scenario}: {} at {}",
                row.name,
                row.start_ns
            );
        }
    }
}

/// Adds the intervals of a row and of its nested rows.
fn collect_intervals(row: &Value, intervals: &mut Vec<(Option<i64>, Option<i64>)>) {
    intervals.push((row["start_ns"].as_i64(), row["end_ns"].as_i64()));
    for list in ["drivers", "nested"] {
        for row in row[list].as_array().into_iter().flatten() {
            collect_intervals(row, intervals);
        }
    }
}

#[test]
fn device_requests_and_resume_match_truth() {
    let (mut request_count, mut settled_count) = (0, 0);
    for (scenario, _) in SCENARIOS {
        let (report, truth) = answer(scenario);
        let mut intervals = Vec::new();
        for row in rows(&report, "devices") {
            collect_intervals(row, &mut intervals);
        }
        for row in &truth.transitions.power_requests {
            assert!(
                intervals.contains(&(Some(row.start_ns), row.end_ns)),
                "{scenario}: {} {} at {}",
                row.scope,
                row.device,
                row.start_ns
            );
            request_count += 1;
        }
        for transition in report["transitions"].as_array().unwrap() {
            let settling = &transition["settling"];
            let (Some(start_ns), Some(end_ns)) = (settling["start_ns"].as_i64(), settling["end_ns"].as_i64()) else {
                continue;
            };
            let expected = truth.timeline.idle_metric(start_ns, end_ns);
            assert!(expected.is_satisfied, "{scenario}");
            assert_eq!(settling["idle_ns"].as_i64(), Some(expected.idle_ns), "{scenario}");
            assert_eq!(settling["busy_ns"].as_i64(), Some(expected.busy_ns), "{scenario}");
            settled_count += 1;
        }
    }
    assert!(request_count > 50 && settled_count > 0, "{request_count} requests, {settled_count} settled");
}

#[test]
fn finds_slow_service_and_driver() {
    let text = |scenario: &str| {
        let (folder, _) = Folder::boot_and_truth(scenario);
        String::from_utf8(folder.run("suspend boot.etl").stdout).unwrap()
    };
    let service = text("sleep-slow-service.toml");
    assert!(service.starts_with("Sleep: "), "{service}");
    assert!(service.contains("Slowsvc did not respond within 30.0 s"), "{service}");
    let driver = text("sleep-slow-driver.toml");
    let second_line = driver.lines().nth(1).unwrap();
    assert!(second_line.starts_with("SuspendDevices took 2"), "{driver}");
    assert!(second_line.contains("piwddev"), "{driver}");
}

#[test]
fn fast_startup_is_a_boot() {
    let (folder, _) = Folder::boot_and_truth("fast-startup-boot.toml");
    let output = folder.run("boot boot.etl");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Fast startup: "), "{text}");

    let (folder, _) = Folder::boot_and_truth("services-wes7.toml");
    let output = folder.run("suspend boot.etl");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(": no sleep, hibernation"), "{stderr}");
}

/// The thread that starts a sleep keeps its processor, but a sleeping computer uses no CPU. All verbs agree on the
/// numbers.
#[test]
fn sleep_has_no_cpu_usage() {
    const SECOND: i64 = 1_000_000_000;
    // Scenario, time asleep, time for writing the image and for firmware before the first record, and processors.
    for (scenario, asleep_ns, unrecorded_ns, processors) in
        [("healthy-sleep", 10 * SECOND, 4 * SECOND / 10, 4), ("hybrid-sleep", 30 * SECOND, 765 * SECOND / 100, 2)]
    {
        let folder = Folder::boot(&format!("{scenario}.toml"));
        let json = |arguments: &str| -> Value {
            serde_json::from_str(&folder.answer(&format!("{arguments} --format json"))).unwrap()
        };
        let suspend = json("suspend boot.etl");
        let phases = suspend["transitions"][0]["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == "Asleep").unwrap();
        // Microseconds pass between the records around the sleep.
        let assert_near = |value: &Value, expected: i64, label: &str| {
            let ns = value.as_i64().unwrap();
            assert!((ns - expected).abs() < SECOND / 1000, "{scenario}: {label} {ns}, not {expected}");
        };
        assert_near(&phase["duration_ns"], asleep_ns, "asleep");
        assert_near(&suspend["transitions"][0]["asleep"]["wall_ns"], asleep_ns, "asleep by the wall clock");
        assert_eq!(phase["cpu"]["busy_ns"], 0, "{scenario}");
        assert_near(&phase["cpu"]["asleep_ns"], asleep_ns * processors, "processors asleep");
        let explanation = json("why boot.etl --phase Asleep");
        assert_near(&explanation["intervals"][0]["duration_ns"], asleep_ns, "why");

        let cpu = json("cpu boot.etl");
        assert_near(&cpu["cpu"]["asleep_ns"], asleep_ns * processors, "cpu");
        assert_near(&cpu["cpu"]["unknown_ns"], unrecorded_ns * processors, "not recorded");
        let system = cpu["rows"].as_array().unwrap().iter().find(|row| row["image"] == "System").unwrap();
        assert!(system["cpu_ns"].as_i64().unwrap() < SECOND, "{scenario}: {system}");
        let by_processor = json("cpu boot.etl --by processor");
        for row in by_processor["rows"].as_array().unwrap() {
            assert!(row["cpu_ns"].as_i64().unwrap() < SECOND, "{scenario}: {row}");
        }
        let processes = json("processes boot.etl");
        let rows = processes["processes"].as_array().unwrap();
        let system = rows.iter().find(|row| row["image"] == "System").unwrap();
        assert!(system["cpu_ns"].as_i64().unwrap() < SECOND, "{scenario}: {system}");
    }
}

/// A second without a context switch is not a sleep: the computer keeps running.
#[test]
fn running_computer_is_not_asleep() {
    let folder = Folder::boot("cpu-bound-logon.toml");
    let cpu: Value = serde_json::from_str(&folder.answer("cpu boot.etl --format json")).unwrap();
    assert_eq!(cpu["cpu"]["asleep_ns"], 0);
}

#[test]
fn modern_standby_has_full_duration() {
    let folder = Folder::boot("modern-standby.toml");
    let diagnosed = folder.answer("diagnose boot.etl");
    assert!(diagnosed.starts_with("Modern standby 1 lasted 20.0 s; modern standby 2 lasted 8.00 s."), "{diagnosed}");
    let text = folder.answer("suspend boot.etl --transition 1");
    assert!(text.starts_with("Modern standby: 20.0 s, 96 % of it in the deepest idle state"), "{text}");
}
