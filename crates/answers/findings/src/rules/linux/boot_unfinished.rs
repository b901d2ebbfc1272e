//! Boots that did not finish.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that was still starting when the recording of an unfinished boot ended.
    ///
    /// # Why it costs time
    /// A boot that hangs continues only after a timeout, if ever. Units ordered after the hanging unit never start.
    ///
    /// # Evidence needed
    /// Unit starts: the journal, or a systemd dump taken while the boot hangs; dependencies for the units that wait.
    ///
    /// # What to do
    /// Find out what it waits for (`journalctl -b BOOT -u UNIT`; while it hangs, `systemctl list-jobs` in the shell
    /// that `systemctl enable debug-shell` provides). Give it a timeout (`TimeoutStartSec=`), or remove it from the
    /// boot.
    ///
    /// # When it is wrong
    /// The recording was made while the computer was still starting, so it ends before the unit is done although
    /// nothing hangs.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStartSec=`; systemd's documentation, Diagnosing Boot Problems.
    "linux/boot-unfinished", "boots that did not finish", LinuxBoot(check)
}

/// Maximum number of units to report: if many hang, they wait for the first ones.
const MAX_UNITS: usize = 5;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    if report.units.is_empty() && report.details.still_starting.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    Ok(report
        .details.still_starting
        .iter()
        .take(MAX_UNITS)
        .map(|starting| {
            let blocked_units = match &starting.holds_up[..] {
                [] => String::new(),
                [unit] => format!("; {unit}, which waits for it, never started"),
                [first, others @ ..] => format!("; {first} and {} more, which wait for it, never started", others.len()),
            };
            let limit = match starting.limit_ns {
                Some(limit) => format!("its start timeout is {}", time(limit)),
                None => "no start timeout is recorded for it".to_owned(),
            };
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, starting.unit.clone()),
                format!(
                    "{} was still starting after {} when the recording ended{blocked_units}",
                    starting.unit,
                    time(starting.elapsed_ns)
                ),
            )
            .cost(Cost::at_most(starting.elapsed_ns))
            .certainty(Certainty::Inferred)
            .evidence(starting.start_ns, format!("{} started", starting.unit))
            .evidence(None, limit)
            .advice(format!(
                "find out what it waits for ('journalctl -b -u {}', or 'systemctl list-jobs' in a debug shell while it hangs), give \
                 it a TimeoutStartSec, or remove it from the boot",
                starting.unit
            ))
        })
        .collect())
}
