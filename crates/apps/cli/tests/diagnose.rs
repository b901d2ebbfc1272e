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

/// Returns the codes of findings that are folded into others.
fn folded_codes(diagnosis: &Value) -> Vec<String> {
    let rows = diagnosis["findings"].as_array().unwrap().iter();
    let folded = rows.flat_map(|row| row["folded"].as_array().unwrap());
    folded.map(|row| row["code"].as_str().unwrap().to_owned()).collect()
}

/// This test is slow, because each scenario simulates seconds of a computer.
#[test]
fn scenarios_have_exactly_expected_findings() {
    let mut failures = Vec::new();
    for (scenario, truth) in expectations::all() {
        let diagnosis = diagnosis(&scenario);
        let findings = codes(&diagnosis, "findings");
        let actual: BTreeSet<String> =
            findings.iter().cloned().chain(codes(&diagnosis, "caveats")).chain(folded_codes(&diagnosis)).collect();
        let mut expected: BTreeSet<String> = truth.also.union(&truth.false_).cloned().collect();
        expected.extend(truth.first.clone());
        expected = expected.difference(&truth.missed).cloned().collect();
        if actual != expected || findings.first() != truth.first.as_ref() {
            failures.push(format!(
                "{scenario}: first {:?}, not {:?}; missed {:?}; false {:?}",
                findings.first(),
                truth.first,
                expected.difference(&actual).collect::<Vec<_>>(),
                actual.difference(&expected).collect::<Vec<_>>(),
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Scenarios without expected findings, because they take too long for a test.
const WITHOUT_FINDINGS: [&str; 1] = ["benchmark"];

#[test]
fn every_scenario_lists_expected_findings() {
    let with_expectations: BTreeSet<String> = expectations::all().into_keys().collect();
    let mut scenarios = expectations::scenario_names();
    scenarios.retain(|name| !WITHOUT_FINDINGS.contains(&name.as_str()));
    assert_eq!(with_expectations, scenarios);
    assert!(with_expectations.len() >= 58, "{}", with_expectations.len());
}

#[test]
fn first_finding_costs_injected_time() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for (name, truth) in expectations::all() {
        let Some(cost) = truth.cost else { continue };
        let injected_cost_ns = injected_ns(&expectations::scenario(&name), &cost.put_in);
        let diagnosis = diagnosis(&name);
        let finding = &diagnosis["findings"][0];
        // What it saves may be less, if other work ran at the same time.
        let cost_ns = finding["measured_ns"].as_i64().or(finding["cost_ns"].as_i64()).unwrap();
        let actual = (finding["subject"]["name"].as_str(), finding["cost_basis"].as_str());
        let expected = (Some(cost.subject.as_str()), Some(cost.basis.as_str()));
        if actual != expected || (cost_ns - injected_cost_ns).abs() > cost.within_ms * MS {
            failures.push(format!(
                "{name}: {actual:?}, not {expected:?}; {cost_ns} ns of {injected_cost_ns} ({})",
                cost.because
            ));
        }
        checked += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 7, "{checked}");
}

#[test]
fn chain_ends_with_injected_cause() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for (name, expected) in expectations::all() {
        let Some(chain) = expected.chain else {
            continue;
        };
        let expected_ns = injected_ns(&expectations::scenario(&name), &chain.put_in);
        let (folder, truth) = Folder::boot_and_truth(&format!("{name}.toml"));
        let answer = folder.answer(&format!("why boot.etl {} --format json", chain.question));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let path = &answer["intervals"][0]["path"];
        let rows = |list: &str| path[list].as_array().unwrap().clone();
        let is_kind = |row: &Value| row["kind"] == chain.ends.as_str();
        let chain_ns: i64 = match &chain.device {
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
        if !is_chain || (chain_ns - expected_ns).abs() > chain.within_ms * MS {
            failures.push(format!(
                "{name}: {chain_ns} ns of {expected_ns} ({}), through {through:?}, threads {threads:?}",
                chain.because
            ));
        }
        checked += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 9, "{checked}");
}

#[test]
fn evidence_names_awaited_service() {
    let diagnosis = diagnosis("service-waits-20s");
    let evidence = diagnosis["findings"][0]["evidence"].as_array().unwrap();
    let text = |row: &Value| row["text"].as_str().unwrap().to_owned();
    assert!(
        evidence.iter().map(text).any(|text| text.contains("licencehelper.exe, which slept for 19")),
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
    let listed_codes: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed_codes.len() >= 45, "{} rules", listed_codes.len());
    for code in &listed_codes {
        let text = folder.answer(&format!("diagnose --explain {code}"));
        for heading in ["What it finds", "When it is wrong", "Source"] {
            assert!(text.contains(heading), "{code}: {text}");
        }
    }
    let rules: Value = serde_json::from_str(&folder.answer("diagnose --list --format json")).unwrap();
    assert_eq!(rules["rules"].as_array().unwrap().len(), listed_codes.len());
}

#[test]
fn rejects_unanswerable_queries() {
    let folder = Folder::new();
    let (code, message) = folder.failure("diagnose --explain boot/no-such-rule");
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
            let name = finding["subject"]["name"].as_str().unwrap();
            if ["WinDefend", "RpcSs", "PlugPlay", "EventLog", "ProfSvc"].contains(&name) {
                assert!(!advice.contains("disable") && !advice.contains("on demand"), "{advice}");
            }
        }
    }
}

/// Checks a recording of a lab computer on which an early unit sleeps for 6 s.
#[test]
fn finds_injected_delays_on_real_linux() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let path = samples.join("boot-2.tar.xz");
    let answer = Folder::new().answer(&format!("diagnose {} --format json", path.display()));
    let diagnosis: Value = serde_json::from_str(&answer).unwrap();
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["code"], "linux/unit-slow");
    assert_eq!(finding["subject"]["name"], "slowearly.service");
}

/// Checks sleeps of emulated lab computers against a manual analysis: the `noirq` resume of the network card takes
/// 448 ms of a 611 ms phase. For 344 ms of this, no other callback on the path runs; later it is on the path for
/// another 90 ms. No device takes 300 ms in the hibernation.
#[test]
fn real_linux_sleeps_have_correct_findings() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    for (name, kind, expected) in
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
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn driver_files_show_signatures() {
    let folder = Folder::boot("slow-boot.toml");
    let drivers = folder.path("drivers");
    std::fs::create_dir(&drivers).unwrap();
    let write_driver = |name: &str, certificate: Option<&[u8]>| {
        std::fs::write(drivers.join(name), onoff_testkit::program(certificate)).unwrap();
    };
    // iaStorAC is a boot-start driver, LegacyScan a system-start driver.
    write_driver("iaStorAC.sys", None);
    write_driver("LegacyScan.sys", None);
    write_driver("igfx.sys", Some(b"CN=WDKTestCert somebody"));
    let codes = |arguments: &str| {
        let answer: Value = serde_json::from_str(&folder.answer(arguments)).unwrap();
        let mut subjects_by_code = BTreeMap::new();
        for list in ["findings", "caveats"] {
            for finding in answer[list].as_array().unwrap() {
                let subject = finding["subject"]["name"].as_str().unwrap().to_owned();
                subjects_by_code.insert(finding["code"].as_str().unwrap().to_owned(), subject);
            }
        }
        subjects_by_code
    };
    let with_drivers = codes("diagnose boot.etl --format json --drivers drivers");
    assert_eq!(with_drivers["boot/catalog-signed-boot-driver"], "iastorac.sys");
    assert!(with_drivers.contains_key("recording/test-signed-drivers"));
    let without_drivers = codes("diagnose boot.etl --format json");
    assert!(!without_drivers.contains_key("boot/catalog-signed-boot-driver"));
    assert!(!without_drivers.contains_key("recording/test-signed-drivers"));
}

/// Returns the quoted onoff commands in advice.
fn commands(advice: &str) -> Vec<String> {
    let parts = advice.split("'onoff ").skip(1);
    parts.map(|part| part.split('\'').next().unwrap().to_owned()).collect()
}

#[test]
fn commands_in_advice_are_runnable() {
    let mut failures = Vec::new();
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
                    failures.push(format!("{scenario}: no line has 'onoff {command}'"));
                }
                let mut shell = std::process::Command::new("sh");
                let line = format!("{} {command}", env!("CARGO_BIN_EXE_onoff"));
                let output = shell.arg("-c").arg(&line).current_dir(folder.path(".")).output().unwrap();
                if output.status.code() != Some(0) {
                    let stderr = String::from_utf8_lossy(&output.stderr);
                    failures.push(format!("{scenario}, {}: onoff {command}: {stderr}", finding["code"]));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(verbs.get("why").is_some_and(|&count| count >= 10), "{verbs:?}");
}
