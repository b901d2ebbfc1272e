//! All verbs give a culprit the same name and the same time, in text and JSON.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use onoff_simulator::Scenario;
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
    let of_transition = findings.iter().filter(|finding| {
        finding["phase"].is_string() && (finding["transition"] == transition || finding["phase"] == phase)
    });
    // Findings are in the order of what they save; the culprit is the one with the longest measured time.
    let finding = of_transition.max_by_key(|finding| finding["measured_ns"].as_i64());
    let culprit = finding.map(|finding| {
        (finding["subject"]["name"].as_str(), finding["measured_ns"].as_i64(), finding["phase"].as_str())
    });
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
    let is_first = (&fix["name"], &fix["phase"], &fix["measured_ns"]) == (&name.into(), &phase.into(), &ns.into());
    // The verb may name another finding, or the same culprit over several phases, if that costs more.
    let fix_cost_text = Duration::from_ns(fix["cost_ns"].as_i64().unwrap_or_default()).to_string();
    let names_fix = text.contains(fix["title"].as_str().unwrap_or("?")) && text.contains(&fix_cost_text);
    if !(if is_first { names_culprit(&text) } else { names_fix }) {
        fail(format!("{verb} does not say {duration_text}, or what to fix first"));
    }
    let phases: Vec<(&str, i64)> = first["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| (part["phase"].as_str().unwrap(), part["ns"].as_i64().unwrap()))
        .collect();
    if phases.iter().map(|(_, ns)| ns).sum::<i64>() != ns {
        fail(format!("the phases have {phases:?}"));
    }
    for &(phase, ns) in &phases {
        let why_text = folder.answer(&format!("why boot.etl --phase {phase}"));
        let duration_text = Duration::from_ns(ns).to_string();
        if !why_text.lines().any(|line| line.contains(name) && line.contains(&duration_text)) {
            fail(format!("why says {:?} about {phase}", why_text.lines().next()));
        }
    }

    let option = transition.replace(' ', ":");
    folder.answer(&format!("gate --baseline boot.etl --transition {option} --save-baseline baseline.json"));
    let baseline: Value = serde_json::from_slice(&std::fs::read(folder.path("baseline.json")).unwrap()).unwrap();
    let measures = baseline["runs"][0]["measures"].as_array().unwrap();
    let accounts_of = |name: &str| {
        let is_account = |measure: &&Value| {
            measure["category"] == "account" && phases.iter().any(|(phase, _)| measure["phase"] == *phase)
        };
        measures.iter().filter(is_account).filter(|measure| measure["subject"]["name"] == name).collect::<Vec<&Value>>()
    };
    let attributed_ns = |member: &str| -> Option<i64> {
        let accounts = accounts_of(member);
        let times = accounts.iter().filter_map(|account| account["value"].as_i64());
        (!accounts.is_empty()).then(|| times.take(phases.len()).sum())
    };
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

/// Returns the data of the interactive page.
fn page_data(folder: &Folder) -> Value {
    folder.answer("view boot.etl --output page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    let (_, data) = page.split_once("id=\"page-data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// Checks that `summary`, the page, and the first lines of the verb name the subject that `diagnose` names first, and say
/// whether it is inferred. Returns false if `diagnose` has no finding about the transition.
fn check_first(folder: &Folder, transition: &str, diagnosis: &Value, failures: &mut Vec<String>) -> bool {
    let findings = diagnosis["findings"].as_array().unwrap();
    let Some(first) = findings.iter().find(|finding| finding["transition"] == transition) else { return false };
    let (verb, number) = transition.split_once(' ').unwrap_or((transition, "1"));
    let index = number.parse::<usize>().unwrap() - 1;
    let (subject, title) = (first["subject"]["name"].as_str().unwrap(), first["title"].as_str().unwrap());
    // A finding about the whole transition has no subject.
    let subject = if subject.is_empty() { title } else { subject };
    let summary = json(folder, "summary boot.etl --format json").unwrap();
    let rows: Vec<&Value> =
        summary["rows"].as_array().unwrap().iter().filter(|row| row["transition"] == verb).collect();
    let row = rows[index];
    if row["subject"] != first["subject"]["name"] || row["subject_ns"] != first["cost_ns"] {
        failures.push(format!("{transition}: diagnose names {subject}, summary {}", row["subject"]));
    }
    let mut check = |place: &str, text: String| {
        if !text.contains(subject) {
            failures.push(format!("{transition}: diagnose names {subject}, {place} says {text:?}"));
        }
        if first["certainty"] == "inferred" && !text.contains("inferred") {
            failures.push(format!("{transition}: {subject} is inferred, {place} says {text:?}"));
        }
    };
    let page = page_data(folder);
    let shown = page["recordings"][0]["transitions"].as_array().unwrap();
    if let Some(shown) = shown.iter().filter(|shown| shown["kind"] == verb).nth(index) {
        let lines = shown["headline"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        // The line after the duration.
        check("page", lines.take(2).collect::<Vec<_>>().join("\n"));
    }
    let option = if verb == "suspend" { format!(" --transition {number}") } else { String::new() };
    let text = folder.answer(&format!("{verb} boot.etl{option}"));
    check(verb, text.split("\n\n").next().unwrap().to_owned());
    true
}

type Check = fn(&Folder, &str, &Value, &mut Vec<String>) -> bool;

/// Runs a check on every transition of every scenario, asserts that none fails, and returns how many applied.
fn check_scenarios(check: Check) -> u32 {
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
    checked
}

#[test]
fn summary_page_and_verbs_name_first_finding() {
    let checked = check_scenarios(check_first);
    assert!(checked >= 60, "{checked}");
}

#[test]
fn verbs_agree_on_first_culprit() {
    let checked = check_scenarios(check);
    assert!(checked >= 30, "{checked}");
}

/// Returns whether each service of the boot was waited for.
fn services_on_path(folder: &Folder) -> BTreeMap<String, bool> {
    let boot = json(folder, "boot boot.etl --format json").unwrap();
    let units = boot["units"].as_array().unwrap().iter();
    units.map(|unit| (unit["name"].as_str().unwrap().to_owned(), unit["on_path"].as_bool().unwrap())).collect()
}

#[test]
fn services_that_the_boot_waited_for_are_on_path() {
    assert!(services_on_path(&Folder::boot("service-in-two-phases.toml"))["SignOnAgent"]);
    // A wait that is too short to be a cause, and long work that nothing waits for.
    let below_share = services_on_path(&Folder::boot("causes-below-share.toml"));
    assert!(below_share["SignOnAgent"]);
    assert!(!below_share["Bystander"] && !below_share["Catalog"], "{below_share:?}");
    // Without context switches the path is unknown.
    let scenario = include_str!("../../../support/simulator/scenarios/service-in-two-phases.toml");
    let without_switches = format!("{scenario}\n[recording]\ncontext_switches = false\n");
    let folder = Folder::new();
    folder.file("boot.etl", &Scenario::from_toml(&without_switches).unwrap().simulate().unwrap().files[0]);
    let unknown = services_on_path(&folder);
    assert!(unknown.contains_key("SignOnAgent") && !unknown.values().any(|&on_path| on_path), "{unknown:?}");
}
