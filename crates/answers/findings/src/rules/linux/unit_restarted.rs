//! Units that were restarted after a failure.

use std::collections::BTreeMap;

use onoff_trace::ServiceOutcome;
use onoff_usage::units::Unit;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that was started twice or more before the boot was finished, and failed at least once.
    ///
    /// # Why it costs time
    /// Each attempt takes CPU and disk from the rest of the boot, and whatever needs the service waits until one
    /// attempt succeeds.
    ///
    /// # Evidence needed
    /// Unit starts and results: the journal. Unit properties only have the last start.
    ///
    /// # What to do
    /// Find out why the first attempts failed (`journalctl -b -u UNIT`). Often a service starts before what it needs is
    /// available because it has no `After=`.
    ///
    /// # When it is wrong
    /// A service that a path or a socket unit triggers repeatedly starts as often as it should; it is not reported
    /// unless it failed.
    ///
    /// # Source
    /// systemd.service(5), `Restart=`; systemd.unit(5), `StartLimitBurst=`.
    "linux/unit-restarted", "units that were restarted after a failure", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let units = &facts.report.units;
    if units.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    let mut starts: BTreeMap<&str, Vec<&Unit>> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.name.ends_with(".service")) {
        starts.entry(&unit.name).or_default().push(unit);
    }
    // Ignore units first started after the boot.
    starts.retain(|_, starts| starts.first().is_some_and(|first_start| first_start.automatic));
    let has_critical_path = !facts.report.details.critical_path.steps.is_empty();
    Ok(starts
        .into_iter()
        .filter_map(|(name, starts)| {
            let failed_count = starts.iter().filter(|unit| unit.outcome == ServiceOutcome::Failed).count();
            let (first_start, last_start) = (starts.first()?, starts.last()?);
            if starts.len() < 2 || failed_count == 0 {
                return None;
            }
            // A retry after the boot or off the critical path delayed nothing.
            let is_waited_for = last_start.automatic && (!has_critical_path || starts.iter().any(|unit| unit.on_path));
            let length_ns = last_start.start_ns.saturating_sub(first_start.start_ns).max(0);
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, name),
                    format!("{name} was started {} times, {failed_count} of them failed", starts.len()),
                )
                .cost(if is_waited_for { Cost::at_most(length_ns) } else { Cost::UNKNOWN })
                .evidence(first_start.start_ns, "first start")
                .evidence(last_start.start_ns, "last start")
                .advice(format!(
                    "find out why the first attempts failed ('journalctl -b -u {name}'): often a service starts before what it needs is \
                     available because it has no 'After='"
                )),
            )
        })
        .collect())
}
