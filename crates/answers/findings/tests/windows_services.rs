//! Services that fail to start, in traces. Event logs are tested with the library.

use onoff_findings::diagnosis::{DiagnosisOptions, diagnose};
use onoff_testkit::synthetic::{MS, milestone, process, service};
use onoff_trace::{ServiceOutcome, Trace, milestone};

/// Titles of the findings about failed services in a boot with these services: name, duration, ms, and outcome.
fn titles(services: &[(&str, i64, ServiceOutcome)]) -> Vec<String> {
    let mut trace = Trace { duration_ns: 60_000 * MS, ..Trace::default() };
    process(&mut trace, 300, "smss.exe", Some(1_000 * MS), None);
    process(&mut trace, 500, "winlogon.exe", Some(3_000 * MS), None);
    process(&mut trace, 600, "explorer.exe", Some(20_000 * MS), None);
    milestone(&mut trace, 25_000 * MS, milestone::DESKTOP_READY, "");
    let mut rows = Vec::new();
    for &(name, duration_ms, outcome) in services {
        service(&mut trace, name, "", (5_000, Some(5_010), None, Some(5_000 + duration_ms)));
        rows.extend(
            trace.service_transitions.iter().last().map(|row| onoff_trace::ServiceTransition { outcome, ..row }),
        );
    }
    trace.service_transitions = rows.into_iter().collect();
    let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
    let findings = diagnosis.findings.iter().filter(|finding| finding.code == "boot/service-failed");
    findings.map(|finding| finding.title.clone()).collect()
}

#[test]
fn a_start_that_failed_is_reported() {
    assert_eq!(titles(&[("Scan", 200, ServiceOutcome::Failed)]), ["service Scan failed to start"]);
}

#[test]
fn completed_starts_are_not_reported() {
    assert!(titles(&[("Scan", 200, ServiceOutcome::Completed)]).is_empty());
}

#[test]
fn a_long_failed_start_is_a_slow_start() {
    assert!(titles(&[("Scan", 6_000, ServiceOutcome::Failed), ("Agent", 200, ServiceOutcome::Completed)]).is_empty());
}
