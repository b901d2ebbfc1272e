//! `onoff why` on simulated machines: the chain it tells is the one that was played.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "each test program uses its part")]
mod running;

use onoff_testkit::simulate::Truth;
use running::Folder;
use serde_json::Value;

const MS: i64 = 1_000_000;

fn answer(folder: &Folder, question: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("why boot.etl {question} --format json"))).unwrap()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

/// The first stretch, after a check of what holds for all of them.
fn first(report: &Value) -> &Value {
    for stretch in report["stretches"].as_array().unwrap() {
        let path = &stretch["path"];
        let length = number(&path["duration_ns"]);
        for list in ["shares", "kinds"] {
            let rows = path[list].as_array().unwrap();
            let sum: i64 = rows.iter().map(|row| number(&row["ns"])).sum();
            assert_eq!(sum, length, "{list} of {}", stretch["name"]);
        }
        let certain = ["measured_ns", "inferred_ns", "missing_ns"].map(|name| number(&path[name]));
        assert_eq!(certain.iter().sum::<i64>(), length);
        let mut at = number(&path["start_ns"]);
        for step in path["steps"].as_array().unwrap() {
            assert!(number(&step["start_ns"]) >= at);
            at = number(&step["end_ns"]);
        }
    }
    &report["stretches"][0]
}

fn longest(stretch: &Value) -> &Value {
    let steps = stretch["path"]["steps"].as_array().unwrap();
    steps
        .iter()
        .max_by_key(|step| number(&step["duration_ns"]))
        .unwrap()
}

fn share<'a>(stretch: &'a Value, kind: &str, name: &str) -> &'a Value {
    let shares = stretch["path"]["shares"].as_array().unwrap();
    let found = shares
        .iter()
        .find(|share| share["kind"] == kind && share["name"].as_str().unwrap().ends_with(name));
    found.unwrap_or_else(|| panic!("no {kind} of {name}"))
}

fn pid(truth: &Truth, image: &str) -> u32 {
    let found = truth
        .processes
        .iter()
        .find(|row| row.image.ends_with(image));
    found.unwrap().pid
}

/// The thread of a process that has one.
fn only_thread(truth: &Truth, image: &str) -> u32 {
    let pid = pid(truth, image);
    let mut threads = truth.threads.iter().filter(|&(_, &owner)| owner == pid);
    *threads.next().unwrap().0
}

/// The paper's appendix A: thread 44 → 64 → 16 → 20 → timer expiration.
#[test]
fn the_paper_s_slow_driver_is_waited_for_through_three_threads() {
    let (folder, truth) = Folder::boot_and_truth("sleep-slow-driver.toml");
    let report = answer(&folder, r"--device ROOT\MSPIWDDEV\0000 --min 1000");
    let stretch = first(&report);
    let request = truth
        .transitions
        .power_requests
        .iter()
        .find(|row| row.scope == "device" && row.driver == "piwddev" && row.kind == "set")
        .unwrap();
    assert_eq!(number(&stretch["start_ns"]), request.start_ns);
    assert_eq!(Some(number(&stretch["end_ns"])), request.end_ns);
    let step = longest(stretch);
    assert_eq!(step["thread"]["tid"], 20);
    assert_eq!(step["waiters"], serde_json::json!([16, 64, 44]));
    assert_eq!(
        (&step["kind"], &step["certainty"]),
        (&"timer".into(), &"measured".into())
    );
    assert_eq!(number(&step["duration_ns"]) / MS, 20_000);
    assert_eq!(step["device"], r"ROOT\MSPIWDDEV\0000");

    let text = folder.answer("why boot.etl --phase SuspendDevices");
    assert!(
        text.contains("thread 44 → 64 → 16 → 20 of System (4) → a timer"),
        "{text}"
    );
    let folded = folder.answer("why boot.etl --phase SuspendDevices --format folded");
    let sum: i64 = folded
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap())
        .sum();
    let phases = answer(&folder, "--phase SuspendDevices");
    assert_eq!(sum, number(&first(&phases)["duration_ns"]));
}

#[test]
fn a_service_waits_for_another_process_that_sleeps() {
    let (folder, truth) = Folder::boot_and_truth("why-chains.toml");
    let report = answer(&folder, "--service Waiter");
    let stretch = first(&report);
    let service = truth
        .services
        .iter()
        .find(|row| row.name == "Waiter")
        .unwrap();
    assert_eq!(number(&stretch["start_ns"]), service.start_ns);
    assert_eq!(number(&stretch["end_ns"]), service.end_ns);
    let sleeper = share(stretch, "timer", "helper.exe");
    assert_eq!(number(&sleeper["ns"]) / MS, 20_000);
    let step = longest(stretch);
    assert_eq!(step["thread"]["tid"], only_thread(&truth, "helper.exe"));
    let waiters = step["waiters"].as_array().unwrap();
    let waiter = waiters.last().unwrap().as_u64().unwrap();
    assert_eq!(
        truth.threads[&u32::try_from(waiter).unwrap()],
        service.container_pid
    );
    assert_eq!(number(&stretch["path"]["missing_ns"]) / MS, 0);

    // The logon waits for the service's group: the same sleep is on the phase's path, and the service with it.
    let report = answer(&folder, "--phase WinLogonInit");
    let phase = first(&report);
    assert_eq!(
        number(&share(phase, "timer", "helper.exe")["ns"]) / MS,
        20_000
    );
    let on_path = phase["path"]["on_path"].as_array().unwrap();
    let of = |kind: &str, name: &str| {
        let found = on_path
            .iter()
            .find(|row| row["kind"] == kind && row["name"] == name);
        number(&found.unwrap()["ns"]) / MS
    };
    assert_eq!(of("process", "helper.exe"), 20_002);
    assert!((20_000..20_040).contains(&of("service", "Waiter")));
}

#[test]
fn a_reading_service_waits_for_its_file_and_a_starved_program_for_a_processor() {
    let (folder, truth) = Folder::boot_and_truth("why-chains.toml");
    let report = answer(&folder, "--service Reader");
    let read = share(first(&report), "disk", r"\Windows\System32\large.db");
    // 200 requests of 64 KiB: 7 ms each, and 16 ms for each MiB.
    assert_eq!(number(&read["ns"]) / MS, 200 * 8);

    let report = answer(&folder, "--process victim.exe");
    let stretch = first(&report);
    assert_eq!(stretch["thread"]["pid"], pid(&truth, "victim.exe"));
    assert_eq!(longest(stretch)["kind"], "ready");
    assert_eq!(number(&stretch["duration_ns"]) / MS, 5_000);
    let text = folder.answer("why boot.etl --process victim.exe");
    assert!(text.contains("no processor was free"), "{text}");
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_reason() {
    let folder = Folder::boot("why-chains.toml");
    for (question, reason) in [
        ("--process nobody.exe", "no thread of such a process"),
        ("--thread 99999", "no such thread"),
        ("--service Nobody", "no such service"),
        ("--device Nobody", "no request to such a device"),
        ("--phase Nobody", "no such phase"),
        ("--process victim.exe --min 900000", "no wait took"),
        ("--process victim.exe --at yesterday", "is no time"),
    ] {
        let (code, message) = folder.refusal(&format!("why boot.etl {question}"));
        assert_eq!(code, 2, "{question}");
        assert!(message.contains(reason), "{question}: {message}");
    }
    // A time inside the wait finds it, one before does not.
    folder.answer("why boot.etl --process victim.exe --at 42s");
    assert_eq!(
        folder
            .refusal("why boot.etl --process victim.exe --at 47s")
            .0,
        2
    );
}

/// Every phase of every boot that the papers' tables tell: whatever the recording holds, sums are exact.
#[test]
fn shares_sum_to_the_phase_in_boots_shutdowns_and_sleeps() {
    for scenario in ["slow-boot", "shutdown-slow-console", "sleep-slow-service"] {
        let (folder, _) = Folder::boot_and_truth(&format!("{scenario}.toml"));
        let report = answer(&folder, "--min 0");
        assert!(
            !report["stretches"].as_array().unwrap().is_empty(),
            "{scenario}"
        );
        first(&report);
    }
}
