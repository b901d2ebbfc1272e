//! `onoff diagnose` on scenarios with known findings, its text, and its errors.
#![allow(clippy::unwrap_used)]

use crate::expectations;
use std::collections::{BTreeMap, BTreeSet};

use crate::expectations::{image, injected_ns};
use crate::harness::Folder;
use serde_json::Value;

const MS: i64 = 1_000_000;

fn diagnosis(scenario: &str) -> Value {
    let folder = Folder::boot(&format!("{scenario}.toml"));
    serde_json::from_str(&folder.answer("diagnose boot.etl --format json")).unwrap()
}

fn codes(diagnosis: &Value, list: &str) -> Vec<String> {
    let rows = diagnosis[list].as_array().unwrap();
    let code = |row: &Value| row["code"].as_str().unwrap().to_owned();
    rows.iter().map(code).collect()
}

/// The codes of findings folded into others.
fn folded(diagnosis: &Value) -> Vec<String> {
    let rows = diagnosis["findings"].as_array().unwrap().iter();
    let folded = rows.flat_map(|row| row["folded"].as_array().unwrap());
    folded.map(|row| row["code"].as_str().unwrap().to_owned()).collect()
}

/// Each scenario simulates seconds of a computer, so this test is slow.
#[test]
fn scenarios_have_exactly_expected_findings() {
    let mut faults = Vec::new();
    for (scenario, truth) in expectations::all() {
        let diagnosis = diagnosis(&scenario);
        let found = codes(&diagnosis, "findings");
        let all: BTreeSet<String> =
            found.iter().cloned().chain(codes(&diagnosis, "caveats")).chain(folded(&diagnosis)).collect();
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

/// Scenarios without expected findings; this one is too long for a test.
const WITHOUT_FINDINGS: [&str; 1] = ["benchmark"];

#[test]
fn every_scenario_lists_expected_findings() {
    let known: BTreeSet<String> = expectations::all().into_keys().collect();
    let mut all = expectations::scenarios();
    all.retain(|name| !WITHOUT_FINDINGS.contains(&name.as_str()));
    assert_eq!(known, all);
    assert!(known.len() >= 58, "{}", known.len());
}

#[test]
fn first_finding_costs_injected_time() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for (name, truth) in expectations::all() {
        let Some(cost) = truth.cost else { continue };
        let put_in = injected_ns(&expectations::scenario(&name), &cost.put_in);
        let diagnosis = diagnosis(&name);
        let first = &diagnosis["findings"][0];
        let found = first["cost_ns"].as_i64().unwrap();
        let actual = (first["subject"]["name"].as_str(), first["cost_basis"].as_str());
        let wanted = (Some(cost.subject.as_str()), Some(cost.basis.as_str()));
        if actual != wanted || (found - put_in).abs() > cost.within_ms * MS {
            faults.push(format!("{name}: {actual:?}, not {wanted:?}; {found} ns of {put_in} ({})", cost.because));
        }
        checked += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked >= 7, "{checked}");
}

#[test]
fn chain_ends_with_injected_cause() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for (name, expected) in expectations::all() {
        let Some(chain) = expected.chain else {
            continue;
        };
        let put_in = injected_ns(&expectations::scenario(&name), &chain.put_in);
        let (folder, truth) = Folder::boot_and_truth(&format!("{name}.toml"));
        let answer = folder.answer(&format!("why boot.etl {} --format json", chain.question));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let path = &answer["intervals"][0]["path"];
        let rows = |list: &str| path[list].as_array().unwrap().clone();
        let is_kind = |row: &Value| row["kind"] == chain.ends.as_str();
        let found: i64 = match &chain.device {
            Some(device) => rows("steps")
                .iter()
                .filter(|row| is_kind(row) && row["device"] == device.as_str())
                .map(|row| row["duration_ns"].as_i64().unwrap())
                .sum(),
            // Shares attribute disk waits to the process; the path shows the disk.
            None if chain.ends == "disk" => rows("on_path")
                .iter()
                .filter(|row| row["kind"] == "file" && row["name"].as_str().unwrap().contains(&chain.of))
                .map(|row| row["ns"].as_i64().unwrap())
                .sum(),
            None => rows("shares")
                .iter()
                .filter(|row| is_kind(row) && row["name"].as_str().unwrap().contains(&chain.of))
                .map(|row| row["ns"].as_i64().unwrap())
                .sum(),
        };
        let longest =
            rows("steps").into_iter().filter(is_kind).max_by_key(|row| row["duration_ns"].as_i64()).unwrap_or_default();
        let tid = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let mut threads: Vec<u32> =
            longest["waiters"].as_array().map_or(Vec::new(), |waiters| waiters.iter().rev().map(tid).collect());
        threads.extend(longest["thread"].get("tid").map(tid));
        let mut through: Vec<String> = threads.iter().map(|&tid| image(&truth, tid)).collect();
        through.dedup();
        let is_chain = if chain.threads.is_empty() { through == chain.through } else { threads == chain.threads };
        if !is_chain || (found - put_in).abs() > chain.within_ms * MS {
            faults.push(format!(
                "{name}: {found} ns of {put_in} ({}), through {through:?}, threads {threads:?}",
                chain.because
            ));
        }
        checked += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked >= 9, "{checked}");
}

#[test]
fn evidence_names_awaited_service() {
    let diagnosis = diagnosis("service-waits-20s");
    let evidence = diagnosis["findings"][0]["evidence"].as_array().unwrap();
    let says = |row: &Value| row["text"].as_str().unwrap().to_owned();
    assert!(
        evidence.iter().map(says).any(|text| text.contains("licencehelper.exe, which slept for 19")),
        "{evidence:?}"
    );
}

#[test]
fn text_starts_with_summary() {
    let folder = Folder::boot("slow-boot.toml");
    insta::assert_snapshot!(folder.answer("diagnose boot.etl --top 3"));
}

#[test]
fn healthy_boot_has_no_findings() {
    let folder = Folder::boot("healthy-boot.toml");
    let text = folder.answer("diagnose boot.etl");
    assert!(text.lines().nth(1).unwrap().starts_with("No findings above noise."), "{text}");
}

#[test]
fn lists_and_explains_rules() {
    let folder = Folder::new();
    let list = folder.answer("diagnose --list");
    let listed: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed.len() >= 45, "{} rules", listed.len());
    for code in &listed {
        let text = folder.answer(&format!("diagnose --explain {code}"));
        for heading in ["What it finds", "When it is wrong", "Source"] {
            assert!(text.contains(heading), "{code}: {text}");
        }
    }
    let rules: Value = serde_json::from_str(&folder.answer("diagnose --list --format json")).unwrap();
    assert_eq!(rules["rules"].as_array().unwrap().len(), listed.len());
}

#[test]
fn rejects_unanswerable_queries() {
    let folder = Folder::new();
    let (code, message) = folder.refusal("diagnose --explain boot/no-such-rule");
    assert_eq!(code, 64);
    assert!(message.contains("--list"), "{message}");
    // An empty root folder has no boot.
    assert_eq!(folder.run("diagnose --root .").status.code(), Some(2));
    assert_eq!(folder.run("diagnose absent.etl").status.code(), Some(1));
}

/// Advice never suggests disabling what the system needs.
#[test]
fn never_advises_disabling_required_services() {
    for scenario in ["slow-boot", "services-wes7", "table-7-slow-service-in-group"] {
        for finding in diagnosis(scenario)["findings"].as_array().unwrap() {
            let advice = finding["advice"].as_str().unwrap();
            let names = finding["subject"]["name"].as_str().unwrap();
            if ["WinDefend", "RpcSs", "PlugPlay", "EventLog", "ProfSvc"].contains(&names) {
                assert!(!advice.contains("disable") && !advice.contains("on demand"), "{advice}");
            }
        }
    }
}

/// A recording of a lab computer on which one early unit sleeps for 6 s.
#[test]
fn finds_injected_delays_on_real_linux() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let path = samples.join("boot-2.tar.xz");
    let answer = Folder::new().answer(&format!("diagnose {} --format json", path.display()));
    let diagnosis: Value = serde_json::from_str(&answer).unwrap();
    let first = &diagnosis["findings"][0];
    assert_eq!(first["code"], "linux/unit-slow");
    assert_eq!(first["subject"]["name"], "slowearly.service");
}

/// Sleeps of emulated lab computers, analyzed manually: the network card's `noirq` resume takes 448 ms of a 611 ms
/// phase. For 344 ms of it no other callback on the path runs, and it is on the path for 90 ms later; no device of the
/// hibernation takes 300 ms.
#[test]
fn real_linux_sleeps_have_correct_findings() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    for (name, kind, wanted) in
        [("suspend-s3", "suspend to memory", vec![("e1000e", 434)]), ("hibernate-s4", "hibernation", vec![])]
    {
        let path = samples.join(format!("{name}.tar.xz"));
        let answer = Folder::new().answer(&format!("diagnose {} --format json", path.display()));
        let diagnosis: Value = serde_json::from_str(&answer).unwrap();
        let transitions = diagnosis["transitions"].as_array().unwrap();
        assert!(transitions.iter().any(|row| row["kind"] == kind), "{name}");
        let found: Vec<(&str, i64)> = diagnosis["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["transition"] == "suspend 1")
            .map(|row| {
                let cost = row["cost_ns"].as_i64().unwrap();
                (row["subject"]["name"].as_str().unwrap(), cost / MS)
            })
            .collect();
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn driver_files_show_signatures() {
    let folder = Folder::boot("slow-boot.toml");
    let drivers = folder.path("drivers");
    std::fs::create_dir(&drivers).unwrap();
    let put = |name: &str, certificate: Option<&[u8]>| {
        std::fs::write(drivers.join(name), onoff_testkit::program(certificate)).unwrap();
    };
    // iaStorAC is a boot-start driver, LegacyScan a system-start driver.
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

/// The quoted onoff commands in advice.
fn commands(advice: &str) -> Vec<String> {
    let parts = advice.split("'onoff ").skip(1);
    parts.map(|part| part.split('\'').next().unwrap().to_owned()).collect()
}

#[test]
fn commands_in_advice_are_runnable() {
    let mut faults = Vec::new();
    let mut verbs: BTreeMap<String, u32> = BTreeMap::new();
    for scenario in expectations::all().into_keys() {
        let folder = Folder::boot(&format!("{scenario}.toml"));
        let diagnosis: Value = serde_json::from_str(&folder.answer("diagnose boot.etl --format json")).unwrap();
        let text = folder.answer("diagnose boot.etl --top 100");
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        for finding in findings.chain(diagnosis["caveats"].as_array().unwrap()) {
            for command in commands(finding["advice"].as_str().unwrap()) {
                *verbs.entry(command.split(' ').next().unwrap().to_owned()).or_default() += 1;
                // Run as a user would copy it: from unwrapped text into a shell.
                if finding["cost_ns"].is_number()
                    && !text.lines().any(|line| line.contains(&format!("'onoff {command}'")))
                {
                    faults.push(format!("{scenario}: no line has 'onoff {command}'"));
                }
                let mut shell = std::process::Command::new("sh");
                let line = format!("{} {command}", env!("CARGO_BIN_EXE_onoff"));
                let output = shell.arg("-c").arg(&line).current_dir(folder.path(".")).output().unwrap();
                if output.status.code() != Some(0) {
                    let printed = String::from_utf8_lossy(&output.stderr);
                    faults.push(format!("{scenario}, {}: onoff {command}: {printed}", finding["code"]));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(verbs.get("why").is_some_and(|&count| count >= 10), "{verbs:?}");
}
