//! The cost of a finding is what fixing it saves. The truth is the total of a machine that differs only in the fix.

use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions, diagnose};
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_simulator::Scenario;
use onoff_trace::Trace;
use onoff_transitions::{TransitionOptions, find_all};

use crate::accounts::{simulate, simulate_named};

const MS: i64 = 1_000_000;

/// Simulates a healthy boot with services that the logon waits for.
fn boot_with(services: &[(&str, u64)]) -> Trace {
    let mut text = "name = \"A boot\"\nover = \"healthy-boot\"\nseed = 41\n".to_owned();
    for (name, sleep_ms) in services {
        text += &format!(
            "[[services.service]]\nname = \"{name}\"\ngroup = \"ProfSvc_Group\"\ncontainer = \"30ms\"\nload = \"4ms\"\n\
             image = \"\\\\Program Files\\\\{name}\\\\{name}.exe\"\ninit = \"60ms\"\nwork = [\"sleep {sleep_ms}ms\"]\n\n"
        );
    }
    simulate(&Scenario::from_toml(&text).unwrap()).0
}

fn total_ns(trace: &Trace) -> i64 {
    find_all(trace, &TransitionOptions::default())[0].duration_ns().unwrap()
}

fn diagnosis(trace: &Trace) -> Diagnosis {
    diagnose(trace, &DiagnosisOptions::default())
}

fn about<'d>(diagnosis: &'d Diagnosis, name: &str) -> &'d RuleFinding {
    let found = diagnosis.findings.iter().find(|finding| finding.subject.name == name);
    found.unwrap_or_else(|| panic!("no finding about {name}: {:#?}", diagnosis.findings))
}

/// Asserts that both are equal within 10 % and 50 ms.
fn assert_close(predicted_ns: i64, truth_ns: i64) {
    let tolerance_ns = (truth_ns.abs() / 10).max(50 * MS);
    assert!((predicted_ns - truth_ns).abs() <= tolerance_ns, "predicted {predicted_ns}, truth {truth_ns}");
}

#[test]
fn cost_is_what_the_fix_saves() {
    let slow = boot_with(&[("AlphaAgent", 4_000), ("BetaAgent", 3_200)]);
    let diagnosis = diagnosis(&slow);
    let alpha = about(&diagnosis, "AlphaAgent");
    assert_eq!(alpha.cost_basis, CostBasis::Predicted);
    assert_close(alpha.cost_ns.unwrap(), total_ns(&slow) - total_ns(&boot_with(&[("BetaAgent", 3_200)])));
    // It took much longer than it costs.
    assert!(alpha.measured_ns.unwrap() > 3 * alpha.cost_ns.unwrap(), "{alpha:#?}");
    assert!(alpha.evidence[0].text.starts_with("replayed "), "{alpha:#?}");
    let alone = boot_with(&[("AlphaAgent", 4_000)]);
    let diagnosis = self::diagnosis(&alone);
    let alpha = about(&diagnosis, "AlphaAgent");
    assert_close(alpha.cost_ns.unwrap(), total_ns(&alone) - total_ns(&boot_with(&[])));
    assert_close(alpha.cost_ns.unwrap(), alpha.measured_ns.unwrap());
}

#[test]
fn equal_causes_save_nothing_alone_and_everything_together() {
    let slow = boot_with(&[("AlphaAgent", 3_000), ("BetaAgent", 3_000)]);
    let diagnosis = diagnosis(&slow);
    for finding in diagnosis.findings.iter().filter(|finding| finding.subject.name.ends_with("Agent")) {
        assert!(finding.cost_ns.unwrap() < 300 * MS, "{finding:#?}");
    }
    let combined = diagnosis.transitions[0].combined_saving.as_ref().unwrap();
    assert_close(combined.saving.ns, total_ns(&slow) - total_ns(&boot_with(&[])));
}

#[test]
fn cost_without_context_switches_is_time_on_the_path() {
    let mut trace = boot_with(&[("AlphaAgent", 4_000)]);
    trace.context_switches = Default::default();
    let diagnosis = diagnosis(&trace);
    assert!(diagnosis.findings.iter().all(|finding| finding.cost_basis != CostBasis::Predicted));
    assert!(diagnosis.findings.iter().all(|finding| finding.changes.is_empty() && finding.cost_min_ns.is_none()));
    let boot = &diagnosis.transitions[0];
    assert_eq!(boot.combined_saving, None);
    assert_eq!(boot.no_prediction, "context switches were not recorded");
}

#[test]
fn recordings_that_a_replay_cannot_trust_keep_measured_costs() {
    for (scenario, reason) in [
        ("lost-events", "context switches or ready-thread events were lost"),
        ("never-idle", "the recording does not show the whole transition"),
    ] {
        let diagnosis = diagnosis(&simulate_named(scenario).0);
        assert!(!diagnosis.findings.is_empty(), "{scenario}");
        assert!(diagnosis.findings.iter().all(|finding| finding.cost_ns == finding.measured_ns), "{scenario}");
        assert_eq!(diagnosis.transitions[0].no_prediction, reason, "{scenario}");
    }
}
