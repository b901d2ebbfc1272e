//! All verbs give a culprit the same name and the same time, in text and JSON.
#![allow(clippy::unwrap_used)]

use onoff_trace::Duration;
use serde_json::Value;

use crate::expectations;
use crate::harness::Folder;

fn json(folder: &Folder, arguments: &str) -> Option<Value> {
    let output = folder.run(arguments);
    (output.status.code() == Some(0)).then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Returns the report of a transition. Sleeps are selected by number.
fn report<'a>(answer: &'a Value, transition: &str) -> &'a Value {
    match transition.strip_prefix("suspend ") {
        Some(number) => {
            let transitions = answer["transitions"].as_array().unwrap();
            transitions.iter().find(|transition| transition["number"].as_u64() == number.parse().ok()).unwrap()
        }
        None => answer,
    }
}

/// Checks that the verb of the transition, `why`, `diagnose` and `compare` agree on the first culprit. Returns false if
/// there is no culprit.
fn check(folder: &Folder, transition: &str, diagnosis: &Value, failures: &mut Vec<String>) -> bool {
    let verb = transition.split(' ').next().unwrap();
    let Some(answer) = json(folder, &format!("{verb} boot.etl --format json")) else { return false };
    let report = report(&answer, transition);
    let Some(first) = report["culprits"].as_array().unwrap().iter().find(|culprit| culprit["is_system"] == false)
    else {
        return false;
    };
    let (name, phase) = (first["entry"]["name"].as_str().unwrap(), first["phase"].as_str().unwrap());
    let ns = first["entry"]["ns"].as_i64().unwrap();
    let mut fail = |message: String| failures.push(format!("{transition}, {name} {ns} ns of {phase}: {message}"));

    // A phase shared by two transitions appears once.
    let findings = diagnosis["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| {
        finding["phase"].is_string() && (finding["transition"] == transition || finding["phase"] == phase)
    });
    let culprit = finding
        .map(|finding| (finding["subject"]["name"].as_str(), finding["cost_ns"].as_i64(), finding["phase"].as_str()));
    // A disk that is slow in every phase is one finding, whose evidence lists what waited for it in each phase.
    let kind = first["entry"]["kind"].as_str().unwrap();
    let is_disk_finding = |finding: &&Value| {
        let disk = if kind == "disk" { name } else { first["entry"]["device"].as_str().unwrap() };
        let mut evidence = finding["evidence"].as_array().unwrap().iter().map(|item| item["text"].as_str().unwrap());
        let is_in_evidence =
            evidence.any(|text| text.contains(name) && text.contains(&Duration::from_ns(ns).to_string()));
        finding["subject"]["kind"] == "disk" && finding["subject"]["name"] == disk && is_in_evidence
    };
    let is_disk_culprit = ["file", "disk"].contains(&kind) && findings.iter().any(|finding| is_disk_finding(&finding));
    if culprit != Some((Some(name), Some(ns), Some(phase))) && !is_disk_culprit {
        fail(format!("diagnose says {culprit:?}"));
    }

    let duration_text = Duration::from_ns(ns).to_string();
    let names_culprit = |text: &str| text.lines().any(|line| line.contains(name) && line.contains(&duration_text));
    let text = folder.answer(&format!("{verb} boot.etl"));
    let fix = &report["fix_first"];
    let is_first = (&fix["name"], &fix["phase"], &fix["cost_ns"]) == (&name.into(), &phase.into(), &ns.into());
    // The verb may name another finding, or the same culprit over several phases, if that costs more.
    let fix_cost_text = Duration::from_ns(fix["cost_ns"].as_i64().unwrap_or_default()).to_string();
    let names_fix = text.contains(fix["title"].as_str().unwrap_or("?")) && text.contains(&fix_cost_text);
    if !(if is_first { names_culprit(&text) } else { names_fix }) {
        fail(format!("{verb} does not say {duration_text}, or what to fix first"));
    }
    let why_text = folder.answer(&format!("why boot.etl --phase {phase}"));
    if !names_culprit(&why_text) {
        fail(format!("why says {:?}", why_text.lines().next()));
    }

    let option = transition.replace(' ', ":");
    folder.answer(&format!("gate --baseline boot.etl --transition {option} --save-baseline baseline.json"));
    let baseline: Value = serde_json::from_slice(&std::fs::read(folder.path("baseline.json")).unwrap()).unwrap();
    let measures = baseline["runs"][0]["measures"].as_array().unwrap();
    let accounts_of = |name: &str| {
        let is_account = |measure: &&Value| measure["category"] == "account" && measure["phase"] == phase;
        measures.iter().filter(is_account).filter(|measure| measure["subject"]["name"] == name).collect::<Vec<&Value>>()
    };
    let attributed_ns = |member: &str| accounts_of(member).first()?["value"].as_i64();
    // Time is not attributed to disks, but to what waited for them.
    let disk_wait_ns = |reader: &str| -> i64 {
        let accounts = accounts_of(reader).into_iter();
        let actions = accounts.flat_map(|account| account["subject"]["actions"].as_array().unwrap());
        let disk_waits = actions.filter(|action| action["action"] == "waited_for_disk");
        disk_waits.map(|action| action["ns"].as_i64().unwrap()).sum()
    };
    if kind == "disk" {
        let readers = first["entry"]["read_by"].as_array().unwrap();
        let total_ns: i64 = readers.iter().map(|reader| disk_wait_ns(reader["name"].as_str().unwrap())).sum();
        if total_ns != ns {
            fail(format!("compare has {total_ns} ns of the disk"));
        }
        return true;
    }
    let members: Vec<&str> = first["members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let compared_ns =
        if members.is_empty() { attributed_ns(name) } else { members.iter().map(|member| attributed_ns(member)).sum() };
    if compared_ns != Some(ns) {
        fail(format!("compare has {compared_ns:?}"));
    }
    true
}

#[test]
fn verbs_agree_on_first_culprit() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for name in expectations::all().into_keys() {
        let folder = Folder::boot(&format!("{name}.toml"));
        let diagnosis = json(&folder, "diagnose boot.etl --format json").unwrap();
        for transition in diagnosis["transitions"].as_array().unwrap() {
            let previous_count = failures.len();
            checked += u32::from(check(&folder, transition["name"].as_str().unwrap(), &diagnosis, &mut failures));
            for failure in failures.iter_mut().skip(previous_count) {
                *failure = format!("{name}: {failure}");
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 30, "{checked}");
}
