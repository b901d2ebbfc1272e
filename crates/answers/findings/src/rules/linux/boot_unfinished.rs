//! Boots that did not finish.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that was still starting when the recording ended, of a boot that never finished its start.
    ///
    /// # Why it costs time
    /// A boot that hangs takes until a time-out, or for ever. What is ordered after the unit never starts.
    ///
    /// # Evidence needed
    /// Starts of units: the journal, or a dump of the service manager while it hangs; dependencies for who waits.
    ///
    /// # What to do
    /// See what it waits for (`journalctl -b BOOT -u UNIT`; while it hangs, `systemctl list-jobs` in a shell that `systemctl enable
    /// debug-shell` opens). Give it a time-out (`TimeoutStartSec=`), or take it out of the boot.
    ///
    /// # When it is wrong
    /// A recording that was taken while the computer was still starting ends before the unit does, and nothing hangs.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStartSec=`; systemd's documentation, Diagnosing Boot Problems.
    "linux/boot-unfinished", "boots that did not finish", LinuxBoot(check)
}

/// Units that are named, at most: where many hang, they hang for the first ones.
const MAX_NAMED: usize = 5;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    if report.units.is_empty() && report.details.still_starting.is_empty() {
        return Err(lacks_other("when each unit started and was done"));
    }
    Ok(report
        .details.still_starting
        .iter()
        .take(MAX_NAMED)
        .map(|still| {
            let waiting = match &still.holds_up[..] {
                [] => String::new(),
                [one] => format!("; {one} never started after it"),
                [first, more @ ..] => format!("; {first} and {} more never started after it", more.len()),
            };
            let limit = match still.limit_ns {
                Some(limit) => format!("systemd gives up {} after it began", time(limit)),
                None => "no time-out is recorded for it".to_owned(),
            };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, still.unit.clone()),
                format!(
                    "{} was still starting after {} when the recording ended{waiting}",
                    still.unit,
                    time(still.for_ns)
                ),
            )
            .costs(Cost::at_most(still.for_ns))
            .certain(Certainty::Inferred)
            .because(still.start_ns, format!("{} is started", still.unit))
            .because(None, limit)
            .advise(format!(
                "see what it waits for ('journalctl -b -u {}'; while it hangs 'systemctl list-jobs' in a debug shell), give it a \
                 TimeoutStartSec, or take it out of the boot",
                still.unit
            ))
        })
        .collect())
}
