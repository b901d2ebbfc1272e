//! Units that the way to the default target waits for.

use onoff_trace::ServiceOutcome;

use super::known_waits::{is_known, waits};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit on the way to the default target that takes 1 s or more until it lets the next one go on. Where dependencies were not
    /// recorded, the five slowest units, of which any may have been waited for; for as long as no other unit was starting, it was. Waits that have a rule of their own are left to it.
    ///
    /// # Why it costs time
    /// What is ordered after it starts only then: it is on the critical path, so a shorter start of it makes the boot shorter until another
    /// way becomes the longest.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump) and their ordering (properties of units).
    ///
    /// # What to do
    /// See what the unit waits for (`journalctl -b -u UNIT`). A service becomes `Type=notify` or is started by a socket; an ordering that is not
    /// needed goes (`systemctl edit UNIT`). Services that wait until the network is there are needed only where something at the boot uses it.
    ///
    /// # When it is wrong
    /// Ordering is not a proof: where a trace is at hand, the processors and disks may have been what the unit lacked.
    ///
    /// # Source
    /// systemd-analyze(1), "critical-chain", and what it leaves out; the limit is onoff's.
    "linux/unit-slow", "units that the way to the default target waits for", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let path = &facts.report.details.critical_path;
    // Whoever was waited for in vain has a rule of its own, which says what to do about that.
    let failed = |name: &str| {
        let mut starts = facts.report.units.iter().filter(|unit| unit.name == name && unit.automatic);
        starts.any(|unit| unit.outcome == ServiceOutcome::Failed)
    };
    if path.steps.is_empty() {
        return without_path(facts, failed);
    }
    Ok(path
        .steps
        .iter()
        .filter(|step| !step.unit.ends_with(".target") && step.duration_ns >= thresholds::UNIT_NS)
        .filter(|step| !is_known(&step.unit) && !failed(&step.unit))
        .map(|step| {
            let is_device = step.unit.ends_with(".device");
            let kind = if is_device {
                FindingSubjectKind::Device
            } else {
                FindingSubjectKind::Service
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(kind, step.unit.clone()),
                format!("the boot waits {} for {}", time(step.duration_ns), step.unit),
            )
            .costs(Cost::on_path(step.duration_ns))
            .certain(step.released_by.certainty.and(path.certainty))
            .because(step.start_ns, step.released_by.phrase(&step.unit))
            .because(step.end_ns, "it lets the next one go on")
            .advise(if is_device {
                "see with 'journalctl -b -k' what the kernel waits for before it announces the device; give up mounts and swaps that nobody \
                 needs at the boot ('nofail', 'noauto')"
                    .to_owned()
            } else {
                format!(
                    "see what it waits for ('journalctl -b -u {}'), have it report that it is ready earlier, or drop an ordering that is not \
                     needed; look first at 'systemctl list-dependencies --after --reverse {}'",
                    step.unit, step.unit
                )
            });
            if let Some(busy) = step.busy_percent {
                finding = finding.because(None, format!("processors were {busy:.0} % busy meanwhile"));
            }
            finding
        })
        .collect())
}

/// Slow units that are named where nobody knows who waited for whom, at most.
const MOST_NAMED: usize = 5;

/// The slowest units where dependencies were not recorded: each may have been waited for, or none.
fn without_path(facts: &LinuxBootFacts<'_>, failed: impl Fn(&str) -> bool) -> Outcome {
    // A device "starts" from the moment systemd knows of it until the kernel announces it: nearly all are among the slowest, and
    // hardly any is waited for.
    let is_work =
        |unit: &str| !unit.ends_with(".target") && !unit.ends_with(".device") && !is_known(unit) && !failed(unit);
    let mut slow = waits(facts, is_work, thresholds::UNIT_NS)?;
    slow.sort_by_key(|wait| std::cmp::Reverse(wait.duration_ns));
    Ok(slow
        .iter()
        .take(MOST_NAMED)
        .map(|wait| {
            wait.finding(
                wait.title(),
                "add 'systemctl show \"*\" > units.txt' to the recording: it says who waited for whom",
            )
        })
        .collect())
}
