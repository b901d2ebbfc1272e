//! Units that failed to start.

use onoff_trace::ServiceOutcome;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that failed in less than 5 % of the boot (300 ms to 1 s). Units that failed later are covered by
    /// `linux/unit-timed-out`.
    ///
    /// # Why it costs time
    /// The failure itself costs little, but the unit's work is not done, and units that need it do not start or are
    /// retried later.
    ///
    /// # Evidence needed
    /// Unit results: the journal, or systemd's own dump.
    ///
    /// # What to do
    /// Find out why (`journalctl -b -u UNIT`, `systemctl --failed`) and fix it, or disable the unit if nothing needs
    /// it.
    ///
    /// # When it is wrong
    /// Some units fail on computers without their hardware, where nothing needs them.
    ///
    /// # Source
    /// systemd.service(5), `Result`; systemctl(1), `--failed`.
    "linux/unit-failed", "units that failed to start", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let units = &facts.report.units;
    if units.is_empty() {
        return Err(missing_input("unit results"));
    }
    // A unit that failed but started later is available.
    let started_later = |name: &str, after_ns: i64| {
        units
            .iter()
            .any(|unit| unit.name == name && unit.start_ns > after_ns && unit.outcome == ServiceOutcome::Completed)
    };
    Ok(units
        .iter()
        .filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.automatic)
        .filter(|unit| unit.duration_ns.is_none_or(|ns| ns < facts.report.min_cause_ns()))
        .filter(|unit| !started_later(&unit.name, unit.start_ns))
        // Units that failed several times have a separate rule.
        .filter(|unit| {
            let is_service = unit.name.ends_with(".service");
            !is_service || units.iter().filter(|other| other.name == unit.name).count() < 2
        })
        .map(|unit| {
            let result_suffix = if unit.result.is_empty() { String::new() } else { format!(" ({})", unit.result) };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, unit.name.clone()).with_pid(unit.pid),
                format!("{} failed to start{result_suffix}", unit.name),
            )
            .evidence(unit.start_ns, format!("{} started", unit.name))
            .evidence(unit.end_ns, format!("it failed{result_suffix}"))
            .advice(format!(
                "find out why ('journalctl -b -u {}') and fix it; disable it only if nothing needs it",
                unit.name
            ))
        })
        .collect())
}
