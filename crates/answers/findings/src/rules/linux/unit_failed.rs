//! Units that failed to start.

use onoff_trace::ServiceOutcome;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit of the start that failed in less than 1 s. Those that failed after long are `linux/unit-timed-out`.
    ///
    /// # Why it costs time
    /// It costs little by itself, but what it should have done is not done, and what needs it was not started or is tried again later.
    ///
    /// # Evidence needed
    /// Results of units: the journal or the service manager's own dump.
    ///
    /// # What to do
    /// See why (`journalctl -b -u UNIT`, `systemctl --failed`) and mend it, or disable it if nothing needs it.
    ///
    /// # When it is wrong
    /// Some units fail where their hardware is missing, and nobody misses them.
    ///
    /// # Source
    /// systemd.service(5), `Result`; systemctl(1), `--failed`.
    "linux/unit-failed", "units that failed to start", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let units = &facts.report.units;
    if units.is_empty() {
        return Err(lacks_other("whether units started or failed"));
    }
    // A unit that failed and started later is there.
    let is_there = |name: &str, after_ns: i64| {
        units
            .iter()
            .any(|unit| unit.name == name && unit.start_ns > after_ns && unit.outcome == ServiceOutcome::Completed)
    };
    Ok(units
        .iter()
        .filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.automatic)
        .filter(|unit| unit.duration_ns.is_none_or(|ns| ns < thresholds::UNIT_NS))
        .filter(|unit| !is_there(&unit.name, unit.start_ns))
        .map(|unit| {
            let why = if unit.result.is_empty() { String::new() } else { format!(" ({})", unit.result) };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, unit.name.clone()).with_pid(unit.pid),
                format!("{} failed to start{why}", unit.name),
            )
            .because(unit.start_ns, format!("{} is started", unit.name))
            .because(unit.end_ns, format!("it has failed{why}"))
            .advise(format!(
                "see why ('journalctl -b -u {}') and mend it; disable it only if nothing needs it",
                unit.name
            ))
        })
        .collect())
}
