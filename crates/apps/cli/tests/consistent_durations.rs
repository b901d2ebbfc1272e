//! All verbs and formats give a transition the same duration, whether or not someone logged on during it.
#![allow(clippy::unwrap_used)]

use onoff_simulator::Scenario;
use onoff_trace::Duration;
use serde_json::Value;

use crate::harness::Folder;

const MS: i64 = 1_000_000;

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.answer(line)).unwrap()
}

/// A healthy boot with a logon prompt that lasts `credentials`.
fn boot_with(credentials: &str) -> Folder {
    let text =
        format!("name = \"A boot\"\nover = \"healthy-boot\"\nseed = 3\n[logon]\ncredentials = \"{credentials}\"\n");
    let folder = Folder::new();
    let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
    folder.file("boot.etl", &simulated.files[0]);
    folder
}

/// Checks that all outputs agree on the duration of the boot, and returns it in ns.
fn length(folder: &Folder) -> i64 {
    let boot = json(folder, "boot boot.etl --format json");
    let ns = boot["total_ns"].as_i64().unwrap();
    let diagnosis = json(folder, "diagnose boot.etl --format json");
    assert_eq!(diagnosis["transitions"][0]["duration_ns"], ns, "diagnose");
    let summary = json(folder, "summary boot.etl --format json");
    assert_eq!(summary["rows"][0]["duration_ns"], ns, "summary");
    folder.answer("gate --baseline boot.etl --transition boot --save-baseline kept.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(folder.path("kept.json")).unwrap()).unwrap();
    let measures = kept["runs"][0]["measures"].as_array().unwrap();
    let total = measures.iter().find(|one| one["key"] == "boot.total").unwrap();
    assert_eq!(total["value"], ns, "compare and gate");
    let shown = Duration::from_ns(ns).to_string();
    for line in
        ["boot boot.etl", "diagnose boot.etl", "summary boot.etl", "summary boot.etl --format csv", "info boot.etl"]
    {
        let answer = folder.answer(line);
        let is_said = answer.contains(&shown) || answer.contains(&ns.to_string());
        assert!(is_said || line.starts_with("info"), "{line} does not say {shown}:\n{answer}");
    }
    folder.answer("view boot.etl -o page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains(&format!("Boot: {shown}")), "the page does not say {shown}");
    ns
}

#[test]
fn verbs_agree_on_boot_duration() {
    let alone = length(&Folder::boot("healthy-boot.toml"));
    let (person, quick) = (boot_with("6500ms"), boot_with("5ms"));
    for folder in [&person, &quick] {
        assert!((length(folder) - alone).abs() <= 6 * MS);
    }
    assert!(person.answer("boot boot.etl").contains("6.50 s waiting for a user to log on"));
    // Automatic logon takes milliseconds, so there is no wait for a person.
    for line in ["boot boot.etl", "diagnose boot.etl", "why boot.etl --phase WinLogonInit", "compare boot.etl boot.etl"]
    {
        let answer = quick.answer(line);
        assert!(!answer.contains("waiting for a user") && !answer.contains("the user"), "{line}: {answer}");
    }
    assert_eq!(json(&quick, "boot boot.etl --format json")["user_input_ns"], 0);
}
