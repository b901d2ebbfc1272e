//! All verbs give a culprit the same name and the same time, in text and JSON.
#![allow(clippy::unwrap_used)]

use onoff_trace::Duration;
use serde_json::Value;

use crate::expectations;
use crate::harness::Folder;

fn json(folder: &Folder, line: &str) -> Option<Value> {
    let output = folder.run(line);
    (output.status.code() == Some(0)).then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Finds the report of a transition; sleeps are selected by number.
fn report<'a>(answer: &'a Value, transition: &str) -> &'a Value {
    match transition.strip_prefix("suspend ") {
        Some(number) => {
            let all = answer["transitions"].as_array().unwrap();
            all.iter().find(|one| one["number"].as_u64() == number.parse().ok()).unwrap()
        }
        None => answer,
    }
}

/// Checks that the verb of the transition, `why`, `diagnose` and `compare` agree on the first culprit.
fn check(folder: &Folder, transition: &str, diagnosis: &Value, faults: &mut Vec<String>) -> bool {
    let verb = transition.split(' ').next().unwrap();
    let Some(answer) = json(folder, &format!("{verb} boot.etl --format json")) else { return false };
    let report = report(&answer, transition);
    let Some(first) = report["culprits"].as_array().unwrap().iter().find(|one| one["is_system"] == false) else {
        return false;
    };
    let (name, phase) = (first["entry"]["name"].as_str().unwrap(), first["phase"].as_str().unwrap());
    let ns = first["entry"]["ns"].as_i64().unwrap();
    let mut fault = |what: String| faults.push(format!("{transition}, {name} {ns} ns of {phase}: {what}"));

    // A phase shared by two transitions appears once.
    let findings = diagnosis["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|one| one["phase"].is_string() && (one["transition"] == transition || one["phase"] == phase));
    let culprit = found.map(|one| (one["subject"]["name"].as_str(), one["cost_ns"].as_i64(), one["phase"].as_str()));
    // A consistently slow disk is one finding, with what waited for it in each phase.
    let kind = first["entry"]["kind"].as_str().unwrap();
    let of_disk = |one: &&Value| {
        let disk = if kind == "disk" { name } else { first["entry"]["device"].as_str().unwrap() };
        let mut evidence = one["evidence"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap());
        let is_told = evidence.any(|text| text.contains(name) && text.contains(&Duration::from_ns(ns).to_string()));
        one["subject"]["kind"] == "disk" && one["subject"]["name"] == disk && is_told
    };
    let is_of_disk = ["file", "disk"].contains(&kind) && findings.iter().any(|one| of_disk(&one));
    if culprit != Some((Some(name), Some(ns), Some(phase))) && !is_of_disk {
        fault(format!("diagnose says {culprit:?}"));
    }

    let printed = Duration::from_ns(ns).to_string();
    let is_said = |text: &str| text.lines().any(|line| line.contains(name) && line.contains(&printed));
    let text = folder.answer(&format!("{verb} boot.etl"));
    let fix = &report["fix_first"];
    let is_first = (&fix["name"], &fix["phase"], &fix["cost_ns"]) == (&name.into(), &phase.into(), &ns.into());
    // If another finding, or the same culprit over several phases, costs more, that is the first culprit.
    let fix_printed = Duration::from_ns(fix["cost_ns"].as_i64().unwrap_or_default()).to_string();
    let names_fix = text.contains(fix["title"].as_str().unwrap_or("?")) && text.contains(&fix_printed);
    if !(if is_first { is_said(&text) } else { names_fix }) {
        fault(format!("{verb} does not say {printed}, or what to fix first"));
    }
    let why = folder.answer(&format!("why boot.etl --phase {phase}"));
    if !is_said(&why) {
        fault(format!("why says {:?}", why.lines().next()));
    }

    let option = transition.replace(' ', ":");
    folder.answer(&format!("gate --baseline boot.etl --transition {option} --save-baseline kept.json"));
    let kept: Value = serde_json::from_slice(&std::fs::read(folder.path("kept.json")).unwrap()).unwrap();
    let measures = kept["runs"][0]["measures"].as_array().unwrap();
    let of = |member: &str| -> Option<i64> {
        let of_phase = |one: &&Value| one["category"] == "account" && one["phase"] == phase;
        let mut its = measures.iter().filter(of_phase).filter(|one| one["subject"]["name"] == member);
        its.next()?["value"].as_i64()
    };
    // Time is not attributed to disks, but to what waited for them.
    let waited = |reader: &str| -> i64 {
        let of_phase = |one: &&Value| one["category"] == "account" && one["phase"] == phase;
        let its = measures.iter().filter(of_phase).filter(|one| one["subject"]["name"] == reader);
        let did = its.flat_map(|one| one["subject"]["actions"].as_array().unwrap());
        did.filter(|one| one["action"] == "waited_for_disk").map(|one| one["ns"].as_i64().unwrap()).sum()
    };
    if kind == "disk" {
        let readers = first["entry"]["read_by"].as_array().unwrap();
        let all: i64 = readers.iter().map(|one| waited(one["name"].as_str().unwrap())).sum();
        if all != ns {
            fault(format!("compare has {all} of the disk"));
        }
        return true;
    }
    let members: Vec<&str> = first["members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let compared = if members.is_empty() { of(name) } else { members.iter().map(|member| of(member)).sum() };
    if compared != Some(ns) {
        fault(format!("compare has {compared:?}"));
    }
    true
}

#[test]
fn verbs_agree_on_first_culprit() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for name in expectations::all().into_keys() {
        let folder = Folder::boot(&format!("{name}.toml"));
        let diagnosis = json(&folder, "diagnose boot.etl --format json").unwrap();
        for transition in diagnosis["transitions"].as_array().unwrap() {
            let before = faults.len();
            checked += u32::from(check(&folder, transition["name"].as_str().unwrap(), &diagnosis, &mut faults));
            for fault in faults.iter_mut().skip(before) {
                *fault = format!("{name}: {fault}");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked >= 30, "{checked}");
}
