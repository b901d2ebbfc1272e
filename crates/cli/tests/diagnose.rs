//! `onoff diagnose`: what it finds in scenarios whose truth is known, what it says, and what it refuses.
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "each test file uses its part")]
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use running::Folder;
use serde_json::Value;

/// What is true of a scenario, from `crates/testkit/expected/findings.toml`.
#[derive(Debug, Default)]
struct Expected {
    /// What must be named first; `None` when nothing may be found.
    first: Option<String>,
    /// What else is true, caveats too.
    also: BTreeSet<String>,
    /// What is true and known not to be found.
    missed: BTreeSet<String>,
    /// What is found and known not to be true.
    false_: BTreeSet<String>,
}

/// The file has tables of texts and lists of texts only: read without a library that the program does not need.
fn expected() -> BTreeMap<String, Expected> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/expected/findings.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows: BTreeMap<String, Expected> = BTreeMap::new();
    let mut name = String::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(heading) = line.strip_prefix('[') {
            name = heading.trim_end_matches(']').to_owned();
            assert!(
                rows.insert(name.clone(), Expected::default()).is_none(),
                "{name} twice"
            );
            continue;
        }
        let (key, value) = line.split_once(" = ").unwrap();
        let texts: BTreeSet<String> = value
            .split('"')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        let row = rows.get_mut(&name).unwrap();
        match key {
            "first" => row.first = texts.into_iter().next(),
            "also" => row.also = texts,
            "missed" => row.missed = texts,
            "false" => row.false_ = texts,
            _ => panic!("{name}: what is {key}?"),
        }
    }
    rows
}

fn diagnosis(scenario: &str) -> Value {
    let folder = Folder::boot(&format!("{scenario}.toml"));
    serde_json::from_str(&folder.answer("diagnose boot.etl --format json")).unwrap()
}

fn codes(diagnosis: &Value, list: &str) -> Vec<String> {
    let rows = diagnosis[list].as_array().unwrap();
    let code = |row: &Value| row["code"].as_str().unwrap().to_owned();
    rows.iter().map(code).collect()
}

/// The time of a step of the test is up when all scenarios have been played: each is a simulated computer of seconds.
#[test]
fn each_scenario_has_its_findings_and_no_others() {
    let mut faults = Vec::new();
    for (scenario, truth) in expected() {
        let diagnosis = diagnosis(&scenario);
        let found = codes(&diagnosis, "findings");
        let all: BTreeSet<String> = found
            .iter()
            .cloned()
            .chain(codes(&diagnosis, "caveats"))
            .collect();
        let mut wanted: BTreeSet<String> = truth.also.union(&truth.false_).cloned().collect();
        wanted.extend(truth.first.clone());
        wanted = wanted.difference(&truth.missed).cloned().collect();
        if all != wanted || found.first() != truth.first.as_ref() {
            faults.push(format!(
                "{scenario}: first {:?}, not {:?}; missed {:?}; false {:?}",
                found.first(),
                truth.first,
                wanted.difference(&all).collect::<Vec<_>>(),
                all.difference(&wanted).collect::<Vec<_>>(),
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_cost_on_the_path_is_the_truth() {
    // The helper sleeps 20 s, and nothing else of the boot goes on meanwhile.
    let diagnosis = diagnosis("service-waits-20s");
    let first = &diagnosis["findings"][0];
    assert_eq!(first["subject"]["name"], "LicenceGate");
    assert_eq!(first["cost_basis"], "critical_path");
    let cost = first["cost_ns"].as_i64().unwrap();
    // The service was asked for 140 ms after the helper began, and made its container before it waited.
    assert!((19_700_000_000..20_000_000_000).contains(&cost), "{cost}");
    let evidence = first["evidence"].as_array().unwrap();
    let says = |row: &Value| row["text"].as_str().unwrap().to_owned();
    assert!(
        evidence
            .iter()
            .map(says)
            .any(|text| text.contains("licencehelper.exe sleeps for 19")),
        "{evidence:?}"
    );
}

#[test]
fn the_text_answers_first() {
    let folder = Folder::boot("slow-boot.toml");
    insta::assert_snapshot!(folder.answer("diagnose boot.etl --top 3"));
}

#[test]
fn a_healthy_boot_says_so() {
    let folder = Folder::boot("healthy-boot.toml");
    let text = folder.answer("diagnose boot.etl");
    assert!(
        text.lines()
            .nth(1)
            .unwrap()
            .starts_with("Nothing found that costs more than noise"),
        "{text}"
    );
}

#[test]
fn rules_are_listed_and_explained() {
    let folder = Folder::new();
    let list = folder.answer("diagnose --list");
    let listed: Vec<&str> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(listed.len() >= 45, "{} rules", listed.len());
    for code in &listed {
        let text = folder.answer(&format!("diagnose --explain {code}"));
        for heading in ["What it finds", "When it is wrong", "Source"] {
            assert!(text.contains(heading), "{code}: {text}");
        }
    }
    let rules: Value =
        serde_json::from_str(&folder.answer("diagnose --list --format json")).unwrap();
    assert_eq!(rules.as_array().unwrap().len(), listed.len());
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let folder = Folder::new();
    let (code, message) = folder.refusal("diagnose --explain boot/no-such-rule");
    assert_eq!(code, 2);
    assert!(message.contains("--list"), "{message}");
    assert_eq!(folder.run("diagnose").status.code(), Some(2));
    assert_eq!(folder.run("diagnose absent.etl").status.code(), Some(1));
}

/// Advice about what the system needs never speaks of turning it off.
#[test]
fn nobody_is_told_to_turn_off_what_windows_needs() {
    for scenario in [
        "slow-boot",
        "services-wes7",
        "table-7-slow-service-in-group",
    ] {
        for finding in diagnosis(scenario)["findings"].as_array().unwrap() {
            let advice = finding["advice"].as_str().unwrap();
            let names = finding["subject"]["name"].as_str().unwrap();
            if ["WinDefend", "RpcSs", "PlugPlay", "EventLog", "ProfSvc"].contains(&names) {
                assert!(
                    !advice.contains("disable") && !advice.contains("on demand"),
                    "{advice}"
                );
            }
        }
    }
}

/// A recording of a laboratory computer in which one early unit was made to sleep 6 s.
#[test]
fn a_real_linux_computer_is_told_what_was_made_slow() {
    let Some(samples) = onoff_testkit::real::samples("linux") else {
        return;
    };
    let path = samples.join("boot-2.tar.xz");
    let answer = Folder::new().answer(&format!("diagnose {} --format json", path.display()));
    let diagnosis: Value = serde_json::from_str(&answer).unwrap();
    let first = &diagnosis["findings"][0];
    assert_eq!(first["code"], "linux/unit-slow");
    assert_eq!(first["subject"]["name"], "slowearly.service");
}

#[test]
fn drivers_files_tell_how_they_are_signed() {
    let folder = Folder::boot("slow-boot.toml");
    let drivers = folder.path("drivers");
    std::fs::create_dir(&drivers).unwrap();
    let put = |name: &str, certificate: Option<&[u8]>| {
        std::fs::write(drivers.join(name), onoff_testkit::program(certificate)).unwrap();
    };
    // iaStorAC starts with the boot, LegacyScan with the system.
    put("iaStorAC.sys", None);
    put("LegacyScan.sys", None);
    put("igfx.sys", Some(b"CN=WDKTestCert somebody"));
    let codes = |line: &str| {
        let answer: Value = serde_json::from_str(&folder.answer(line)).unwrap();
        let mut found = BTreeMap::new();
        for list in ["findings", "caveats"] {
            for finding in answer[list].as_array().unwrap() {
                let subject = finding["subject"]["name"].as_str().unwrap().to_owned();
                found.insert(finding["code"].as_str().unwrap().to_owned(), subject);
            }
        }
        found
    };
    let found = codes("diagnose boot.etl --format json --drivers drivers");
    assert_eq!(found["boot/catalog-signed-boot-driver"], "iastorac.sys");
    assert!(found.contains_key("recording/test-signed-drivers"));
    let without = codes("diagnose boot.etl --format json");
    assert!(!without.contains_key("boot/catalog-signed-boot-driver"));
    assert!(!without.contains_key("recording/test-signed-drivers"));
}
