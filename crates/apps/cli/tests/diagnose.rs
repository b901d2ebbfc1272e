//! `onoff diagnose`: what it finds in scenarios whose truth is known, what it says, and what it refuses.
#![allow(clippy::unwrap_used)]

use crate::expected;
use std::collections::{BTreeMap, BTreeSet};

use crate::expected::{image, put_in_ns};
use crate::running::Folder;
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

/// The codes of what was folded below other findings.
fn folded(diagnosis: &Value) -> Vec<String> {
    let rows = diagnosis["findings"].as_array().unwrap().iter();
    let folded = rows.flat_map(|row| row["folded"].as_array().unwrap());
    folded.map(|row| row["code"].as_str().unwrap().to_owned()).collect()
}

/// The time of a step of the test is up when all scenarios have been played: each is a simulated computer of seconds.
#[test]
fn each_scenario_has_its_findings_and_no_others() {
    let mut faults = Vec::new();
    for (scenario, truth) in expected::all() {
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

/// Scenarios that nothing is expected of: it is too long for a test.
const WITHOUT_FINDINGS: [&str; 1] = ["benchmark"];

#[test]
fn every_scenario_says_what_must_be_found() {
    let known: BTreeSet<String> = expected::all().into_keys().collect();
    let mut all = expected::scenarios();
    all.retain(|name| !WITHOUT_FINDINGS.contains(&name.as_str()));
    assert_eq!(known, all);
    assert!(known.len() >= 58, "{}", known.len());
}

#[test]
fn the_first_finding_costs_what_was_put_in() {
    let mut faults = Vec::new();
    let mut held = 0;
    for (name, truth) in expected::all() {
        let Some(cost) = truth.cost else { continue };
        let put_in = put_in_ns(&expected::scenario(&name), &cost.put_in);
        let diagnosis = diagnosis(&name);
        let first = &diagnosis["findings"][0];
        let found = first["cost_ns"].as_i64().unwrap();
        let said = (first["subject"]["name"].as_str(), first["cost_basis"].as_str());
        let wanted = (Some(cost.subject.as_str()), Some(cost.basis.as_str()));
        if said != wanted || (found - put_in).abs() > cost.within_ms * MS {
            faults.push(format!("{name}: {said:?}, not {wanted:?}; {found} ns of {put_in} ({})", cost.because));
        }
        held += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(held >= 7, "{held}");
}

#[test]
fn the_chain_is_who_waits_for_whom_and_ends_with_what_was_put_in() {
    let mut faults = Vec::new();
    let mut held = 0;
    for (name, expected) in expected::all() {
        let Some(chain) = expected.chain else {
            continue;
        };
        let put_in = put_in_ns(&expected::scenario(&name), &chain.put_in);
        let (folder, truth) = Folder::boot_and_truth(&format!("{name}.toml"));
        let answer = folder.answer(&format!("why boot.etl {} --format json", chain.question));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let path = &answer["stretches"][0]["path"];
        let rows = |list: &str| path[list].as_array().unwrap().clone();
        let is_kind = |row: &Value| row["kind"] == chain.ends.as_str();
        let found: i64 = match &chain.device {
            Some(device) => rows("steps")
                .iter()
                .filter(|row| is_kind(row) && row["device"] == device.as_str())
                .map(|row| row["duration_ns"].as_i64().unwrap())
                .sum(),
            // Waits for disks are their process's in the shares; what was waited for is on the path.
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
        held += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(held >= 9, "{held}");
}

#[test]
fn the_evidence_says_for_whom_a_service_waited() {
    let diagnosis = diagnosis("service-waits-20s");
    let evidence = diagnosis["findings"][0]["evidence"].as_array().unwrap();
    let says = |row: &Value| row["text"].as_str().unwrap().to_owned();
    assert!(evidence.iter().map(says).any(|text| text.contains("licencehelper.exe, which slept for 19")), "{evidence:?}");
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
    assert!(text.lines().nth(1).unwrap().starts_with("No finding costs more than noise."), "{text}");
}

#[test]
fn rules_are_listed_and_explained() {
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
fn what_cannot_be_answered_is_refused() {
    let folder = Folder::new();
    let (code, message) = folder.refusal("diagnose --explain boot/no-such-rule");
    assert_eq!(code, 64);
    assert!(message.contains("--list"), "{message}");
    // An empty tree in place of this computer has no boot to tell of.
    assert_eq!(folder.run("diagnose --root .").status.code(), Some(2));
    assert_eq!(folder.run("diagnose absent.etl").status.code(), Some(1));
}

/// Advice about what the system needs never speaks of turning it off.
#[test]
fn nobody_is_told_to_turn_off_what_windows_needs() {
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

/// Sleeps of laboratory computers under emulation, read by eye: the network card's `noirq` resume takes 448 ms of a phase of
/// 611 ms, for 344 of them while no callback runs that the phase's end waited for, and 90 ms later on the path; no device of the
/// hibernation takes 300 ms.
#[test]
fn real_sleeps_of_linux_are_told_what_they_waited_for_or_nothing() {
    let Some(samples) = onoff_testkit::real::samples("linux") else {
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

/// The commands of ours that advice prints, in quotes.
fn commands(advice: &str) -> Vec<String> {
    let parts = advice.split("'onoff ").skip(1);
    parts.map(|part| part.split('\'').next().unwrap().to_owned()).collect()
}

#[test]
fn every_command_that_a_finding_prints_runs_as_it_is_printed() {
    let mut faults = Vec::new();
    let mut verbs: BTreeMap<String, u32> = BTreeMap::new();
    for scenario in expected::all().into_keys() {
        let folder = Folder::boot(&format!("{scenario}.toml"));
        let diagnosis: Value = serde_json::from_str(&folder.answer("diagnose boot.etl --format json")).unwrap();
        let text = folder.answer("diagnose boot.etl --top 100");
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        for finding in findings.chain(diagnosis["caveats"].as_array().unwrap()) {
            for command in commands(finding["advice"].as_str().unwrap()) {
                *verbs.entry(command.split(' ').next().unwrap().to_owned()).or_default() += 1;
                // As a person copies it: from the text, in one line, into a shell.
                if finding["cost_ns"].is_number()
                    && !text.lines().any(|line| line.contains(&format!("'onoff {command}'")))
                {
                    faults.push(format!("{scenario}: no line has 'onoff {command}'"));
                }
                let mut shell = std::process::Command::new("sh");
                let line = format!("{} {command}", env!("CARGO_BIN_EXE_onoff"));
                let output = shell.arg("-c").arg(&line).current_dir(folder.path(".")).output().unwrap();
                if output.status.code() != Some(0) {
                    let said = String::from_utf8_lossy(&output.stderr);
                    faults.push(format!("{scenario}, {}: onoff {command}: {said}", finding["code"]));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(verbs.get("why").is_some_and(|&count| count >= 10), "{verbs:?}");
}
