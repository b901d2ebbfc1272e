//! What a diagnosis says about recordings whose times of day, or whose start, are not right.

use onoff_findings::diagnosis::{DiagnosisOptions, diagnose};
use onoff_findings::finding::RuleFinding;
use onoff_simulator::Scenario;
use onoff_trace::{Process, Trace};

use crate::accounts::{simulate, simulate_named};

fn caveat(trace: &Trace, code: &str) -> Option<RuleFinding> {
    let diagnosis = diagnose(trace, &DiagnosisOptions::default());
    diagnosis.caveats.into_iter().find(|caveat| caveat.code == code)
}

#[test]
fn says_that_the_wall_clock_was_set() {
    let code = "recording/clock-set";
    let found = caveat(&simulate_named("clock-set-back").0, code).unwrap();
    assert!(found.title.contains("set back by 1 h 00 min"), "{found:#?}");
    assert_eq!(found.evidence.len(), 1, "{found:#?}");
    // A small correction, a boot without one, and sleeps after which Windows sets the clock.
    let small = "name = \"A small correction\"\nover = \"healthy-boot\"\n[logon]\nwork = [\"clock-back 30s\"]\n";
    let small = simulate(&Scenario::from_toml(small).unwrap()).0;
    assert!(small.strings.find(onoff_trace::milestone::CLOCK_SET).is_some());
    let others = ["healthy-boot", "two-transitions", "hibernate"].map(|name| simulate_named(name).0);
    for trace in others.iter().chain([&small]) {
        assert_eq!(caveat(trace, code), None);
    }
}

#[test]
fn says_that_the_recording_started_late() {
    let code = "recording/started-late";
    let (mut trace, _) = simulate_named("healthy-boot");
    assert_eq!(caveat(&trace, code), None);
    // As in a recording that starts after the session manager.
    let rows: Vec<Process> = trace
        .processes
        .iter()
        .map(|row| {
            let is_session_manager = trace.text(row.image).ends_with("smss.exe");
            Process { start_ns: row.start_ns.filter(|_| !is_session_manager), ..row }
        })
        .collect();
    trace.processes = rows.into_iter().collect();
    let found = caveat(&trace, code).unwrap();
    assert!(found.evidence.iter().any(|fact| fact.text.contains("PreSMSS")), "{found:#?}");
    // A shutdown is no boot, so it is not late.
    assert_eq!(caveat(&simulate_named("healthy-shutdown").0, code), None);
}
