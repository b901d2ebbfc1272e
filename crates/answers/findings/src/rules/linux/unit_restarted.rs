//! Units that were started again after they failed.

use std::collections::BTreeMap;

use onoff_trace::ServiceOutcome;
use onoff_usage::units::Unit;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that was started twice or more before the start was finished, and failed at least once of these.
    ///
    /// # Why it costs time
    /// Each attempt takes processor and disk from the others, and what needs the service waits until one succeeds.
    ///
    /// # Evidence needed
    /// Starts and results of units: the journal. Properties of units hold the last start only.
    ///
    /// # What to do
    /// See why the first attempts failed (`journalctl -b -u UNIT`). Often a service is started before what it needs is there, and lacks
    /// an `After=`.
    ///
    /// # When it is wrong
    /// A service that a path or a socket triggers again and again starts as often as it should: without a failure it is not reported.
    ///
    /// # Source
    /// systemd.service(5), `Restart=`; systemd.unit(5), `StartLimitBurst=`.
    "linux/unit-restarted", "units that were started again after they failed", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let units = &facts.report.units;
    if units.is_empty() {
        return Err(lacks_other("when each unit started and was done"));
    }
    let mut starts: BTreeMap<&str, Vec<&Unit>> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.name.ends_with(".service")) {
        starts.entry(&unit.name).or_default().push(unit);
    }
    // What was started first when the boot was over is none of its.
    starts.retain(|_, starts| starts.first().is_some_and(|first| first.automatic));
    let is_known = !facts.report.details.critical_path.steps.is_empty();
    Ok(starts
        .into_iter()
        .filter_map(|(name, starts)| {
            let failed = starts.iter().filter(|unit| unit.outcome == ServiceOutcome::Failed).count();
            let (first, last) = (starts.first()?, starts.last()?);
            if starts.len() < 2 || failed == 0 {
                return None;
            }
            // A second attempt after the boot, or off its way, kept nobody waiting.
            let is_waited_for = last.automatic && (!is_known || starts.iter().any(|unit| unit.on_path));
            let length_ns = last.start_ns.saturating_sub(first.start_ns).max(0);
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, name),
                    format!("{name} was started {} times and failed {failed} of them", starts.len()),
                )
                .costs(if is_waited_for { Cost::at_most(length_ns) } else { Cost::UNKNOWN })
                .because(first.start_ns, "the first start")
                .because(last.start_ns, "the last start")
                .advise(format!(
                    "see why the first attempts failed ('journalctl -b -u {name}'): often a service is started before what it needs is \
                     there, and lacks an 'After='"
                )),
            )
        })
        .collect())
}
