//! `onoff compare` on simulated recordings.
#![allow(clippy::unwrap_used)]

use crate::running::Folder;
use serde_json::Value;

/// The boot of a scenario under another name, beside the others of a folder.
fn record(folder: &Folder, scenario: &str, name: &str) {
    let recorded = Folder::boot(&format!("{scenario}.toml"));
    folder.file(name, &std::fs::read(recorded.path("boot.etl")).unwrap());
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn measure<'v>(comparison: &'v Value, key: &str) -> &'v Value {
    comparison["measures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|measure| measure["key"] == key)
        .unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn table_5_of_the_paper_beside_each_other() {
    let folder = Folder::new();
    record(&folder, "table-5-run-1", "1.etl");
    record(&folder, "table-5-run-2", "2.etl");
    let comparison = json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --format json"));
    assert_eq!(comparison["transition"], "boot");
    // The paper's Run 1 and Run 2, ms. Its difference is Run 1 less Run 2; here it is what changed from 1 to 2.
    for (key, run_1, run_2) in [
        ("boot.os_loader", 1926, 1926),
        ("boot.phase.PreSMSS", 10_753, 10_642),
        ("boot.phase.SMSSInit", 5_461, 5_601),
        ("boot.phase.WinLogonInit", 3_697, 3_947),
        ("boot.phase.ExplorerInit", 4_861, 3_408),
        ("boot.phase.PostBoot", 16_200, 17_100),
        ("boot.main_path", 24_773, 23_599),
        ("boot.total", 30_973, 30_699),
    ] {
        let measure = measure(&comparison, key);
        let ms = |at: usize| measure["values"][at]["median"].as_i64().unwrap() / 1_000_000;
        assert_eq!((ms(0), ms(1)), (run_1, run_2), "{key}");
        assert_eq!(measure["changes"][0]["verdict"], "unknown", "one run each");
    }
    let explorer = measure(&comparison, "boot.phase.ExplorerInit");
    let percent = explorer["changes"][0]["percent"].as_f64().unwrap();
    assert!((percent + 29.9).abs() < 0.05, "{percent}");

    let text = folder.answer("compare --baseline 1.etl --candidate 2.etl");
    assert!(text.starts_with("The boot took 274 ms (0.9 %) less: 30.7 s, was 31.0 s.\n"), "{text}");
    assert!(text.contains("record 3 or more of each"), "{text}");
}

#[test]
fn a_service_that_left_its_group_starts_after_others() {
    let folder = Folder::new();
    record(&folder, "table-7-slow-service-in-group", "1.etl");
    record(&folder, "table-7-slow-service-in-no-group", "2.etl");
    let comparison = json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --format json"));
    let moved = comparison["moved"].as_array().unwrap();
    let slow = moved.iter().find(|row| row["key"] == "boot.service.Slowsvc").unwrap();
    assert_eq!(slow["was_phase"], "WinLogonInit");
    assert_eq!(slow["is_phase"], "ExplorerInit");
    assert!(slow["now_after"].as_u64() > Some(0), "{slow}");
}

#[test]
fn folders_hold_runs_and_equal_runs_do_not_differ() {
    let folder = Folder::new();
    for side in ["a", "b"] {
        std::fs::create_dir(folder.path(side)).unwrap();
        for run in 1..=3 {
            record(&folder, "services-wes7", &format!("{side}/{run}.etl"));
        }
        folder.file(&format!("{side}/notes.txt"), b"no recording");
    }
    let comparison = json(&folder.answer("compare --baseline a --candidate b --format json"));
    for configuration in comparison["configurations"].as_array().unwrap() {
        assert_eq!(configuration["compared_runs"], 3);
    }
    for measure in comparison["measures"].as_array().unwrap() {
        assert_eq!(measure["changes"][0]["verdict"], "same", "{measure}");
    }
    let text = folder.answer("compare --baseline a --candidate b");
    assert!(text.contains("does not differ beyond noise"), "{text}");

    let csv = folder.answer("compare --baseline a --candidate b --format csv");
    let rows: Vec<&str> = csv.lines().collect();
    let measures = comparison["measures"].as_array().unwrap().len();
    assert_eq!(rows.len(), 1 + 2 * measures);
    let columns = rows[0].split(',').count();
    let total = rows.iter().find(|row| row.starts_with("boot.service.")).unwrap();
    assert_eq!(total.split(',').count(), columns);
}

#[test]
fn sleeps_and_shutdowns_are_compared_too() {
    let folder = Folder::new();
    for (scenario, name) in [
        ("sleep-windows7", "1.etl"),
        ("sleep-slow-driver", "2.etl"),
        ("shutdown-slow-console", "3.etl"),
        ("shutdown-unresponsive-service", "4.etl"),
        ("two-transitions", "5.etl"),
    ] {
        record(&folder, scenario, name);
    }
    // The second one was recorded with call stacks.
    let (code, message) = folder.refusal("compare --baseline 1.etl --candidate 2.etl");
    assert_eq!(code, 2);
    assert!(message.contains("--include analysis-tracing"), "{message}");
    let sleep =
        json(&folder.answer("compare --baseline 1.etl --candidate 2.etl --include analysis-tracing --format json"));
    assert_eq!(sleep["transition"], "suspend");
    measure(&sleep, "suspend.phase.SuspendDevices");
    let shutdown = json(&folder.answer("compare --baseline 3.etl --candidate 4.etl --format json"));
    assert_eq!(shutdown["transition"], "shutdown");
    measure(&shutdown, "shutdown.total");
    // The second transition is a hibernation, and so is not compared with a sleep.
    let (code, message) = folder.refusal("compare --baseline 1.etl --candidate 5.etl --transition suspend:2");
    assert_eq!(code, 2, "{message}");
    let both = json(&folder.answer("compare --baseline 1.etl --candidate 5.etl --transition suspend --format json"));
    let runs = both["configurations"][1]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["set_apart"][0]["reason"], "other_kind");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let folder = Folder::new();
    record(&folder, "services-wes7", "boot.etl");
    record(&folder, "shutdown-slow-console", "off.etl");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (arguments, code, part) in [
        ("compare --baseline boot.etl", 2, "--candidate"),
        ("compare --baseline boot.etl --candidate absent.etl", 1, "absent.etl"),
        ("compare --baseline boot.etl --candidate empty", 2, "no recording in this folder"),
        ("compare --baseline boot.etl --candidate off.etl", 2, "off.etl: the recording holds no boot"),
        ("compare --baseline boot.etl --candidate boot.etl --transition sleep", 2, "--transition"),
    ] {
        let (is, message) = folder.refusal(arguments);
        assert_eq!(is, code, "{arguments}: {message}");
        assert!(message.contains(part), "{arguments}: {message}");
    }
}

#[test]
fn boots_of_linux_are_compared_unit_by_unit() {
    let Some(samples) = onoff_testkit::real::samples("linux") else {
        return;
    };
    let folder = Folder::new();
    for name in ["boot-1.tar.xz", "boot-2.tar.xz"] {
        std::fs::copy(samples.join(name), folder.path(name)).unwrap();
    }
    let comparison = json(&folder.answer("compare --baseline boot-1.tar.xz --candidate boot-2.tar.xz --format json"));
    assert_eq!(comparison["transition"], "boot");
    assert_eq!(comparison["configurations"][0]["kind"], "linux");
    let boots: Vec<Value> = ["boot-1.tar.xz", "boot-2.tar.xz"]
        .map(|name| json(&folder.answer(&format!("boot {name} --format json"))))
        .into();
    let of_report = |at: usize, name: &str| {
        let phases = boots[at]["phases"].as_array().unwrap();
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        phase["duration_ns"].clone()
    };
    for name in ["kernel", "user_space"] {
        let measure = measure(&comparison, &format!("boot.phase.{name}"));
        for at in 0..2 {
            assert_eq!(measure["values"][at]["median"], of_report(at, name), "{name}");
        }
    }
    for (recording, transition, key) in [
        ("suspend-s3.tar.xz", "suspend", "suspend.suspend"),
        ("shutdown-slowstop.tar.xz", "shutdown", "shutdown.phase.stop_units"),
    ] {
        std::fs::copy(samples.join(recording), folder.path(recording)).unwrap();
        let line =
            format!("compare --baseline {recording} --candidate {recording} --transition {transition} --format json");
        let comparison = json(&folder.answer(&line));
        let change = &measure(&comparison, key)["changes"][0];
        assert_eq!(change["difference"], 0, "{recording}");
    }
    let services = comparison["measures"].as_array().unwrap();
    let units = services.iter().filter(|row| row["category"] == "service").count();
    assert!(units > 20, "{units} units");
}
