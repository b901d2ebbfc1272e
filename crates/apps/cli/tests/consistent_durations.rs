//! All verbs and formats give a transition the same duration, whether or not someone logged on during it.
#![allow(clippy::unwrap_used)]

use onoff_simulator::Scenario;
use onoff_trace::Duration;
use serde_json::Value;

use crate::harness::Folder;

const MS: i64 = 1_000_000;

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(arguments)).unwrap()
}

/// Simulates a healthy boot with a logon prompt that lasts `credentials`.
fn boot_with_logon(credentials: &str) -> Folder {
    let text =
        format!("name = \"A boot\"\nover = \"healthy-boot\"\nseed = 3\n[logon]\ncredentials = \"{credentials}\"\n");
    let folder = Folder::new();
    let simulation = Scenario::from_toml(&text).unwrap().simulate().unwrap();
    folder.file("boot.etl", &simulation.files[0]);
    folder
}

/// Checks that all outputs agree on the duration of the boot, and returns it in ns.
fn duration_ns(folder: &Folder) -> i64 {
    let boot = json(folder, "boot boot.etl --format json");
    let ns = boot["total_ns"].as_i64().unwrap();
    let diagnosis = json(folder, "diagnose boot.etl --format json");
    assert_eq!(diagnosis["transitions"][0]["duration_ns"], ns, "diagnose");
    let summary = json(folder, "summary boot.etl --format json");
    assert_eq!(summary["rows"][0]["duration_ns"], ns, "summary");
    folder.answer("gate --baseline boot.etl --transition boot --save-baseline baseline.json");
    let baseline: Value = serde_json::from_slice(&std::fs::read(folder.path("baseline.json")).unwrap()).unwrap();
    let measures = baseline["runs"][0]["measures"].as_array().unwrap();
    let total = measures.iter().find(|measure| measure["key"] == "boot.total").unwrap();
    assert_eq!(total["value"], ns, "compare and gate");
    let text = Duration::from_ns(ns).to_string();
    for arguments in
        ["boot boot.etl", "diagnose boot.etl", "summary boot.etl", "summary boot.etl --format csv", "info boot.etl"]
    {
        let answer = folder.answer(arguments);
        let has_duration = answer.contains(&text) || answer.contains(&ns.to_string());
        assert!(has_duration || arguments.starts_with("info"), "{arguments} does not say {text}:\n{answer}");
    }
    folder.answer("view boot.etl -o page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains(&format!("Boot: {text}")), "the page does not say {text}");
    ns
}

#[test]
fn verbs_agree_on_boot_duration() {
    let without_person_ns = duration_ns(&Folder::boot("healthy-boot.toml"));
    let (with_person, automatic) = (boot_with_logon("6500ms"), boot_with_logon("5ms"));
    for folder in [&with_person, &automatic] {
        assert!((duration_ns(folder) - without_person_ns).abs() <= 6 * MS);
    }
    assert!(with_person.answer("boot boot.etl").contains("6.50 s waiting for a user to log on"));
    // Automatic logon takes milliseconds, so there is no wait for a person.
    for arguments in
        ["boot boot.etl", "diagnose boot.etl", "why boot.etl --phase WinLogonInit", "compare boot.etl boot.etl"]
    {
        let answer = automatic.answer(arguments);
        assert!(!answer.contains("waiting for a user") && !answer.contains("the user"), "{arguments}: {answer}");
    }
    assert_eq!(json(&automatic, "boot boot.etl --format json")["user_input_ns"], 0);
}
