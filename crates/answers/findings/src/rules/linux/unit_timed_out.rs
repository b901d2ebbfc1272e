//! Units whose start ran into its time-out, or failed after long.

use onoff_trace::ServiceOutcome;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit whose start failed after 1 s or more, by its time-out or otherwise.
    ///
    /// # Why it costs time
    /// What is ordered after it waits until it is given up, 90 s by default, and it serves nobody.
    ///
    /// # Evidence needed
    /// Times and results of units: the journal or the service manager's own dump.
    ///
    /// # What to do
    /// Mend or disable the unit; until then give it a shorter `TimeoutStartSec`. A device that does not come: correct or
    /// remove its line in `/etc/fstab` or `/etc/crypttab`, or give that line `nofail` and a shorter `x-systemd.device-timeout`.
    ///
    /// # When it is wrong
    /// A unit that is restarted may have been there at the second attempt.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStartSec`; systemd.mount(5), `x-systemd.device-timeout`; the limit is onoff's.
    "linux/unit-timed-out", "units whose start failed after long", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    if facts.report.units.is_empty() {
        return Err(lacks_other("when each unit started and was done"));
    }
    Ok(facts
        .report
        .units
        .iter()
        .filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.automatic)
        .filter_map(|unit| {
            let (end, length) = unit.end_ns.zip(unit.duration_ns)?;
            if length < thresholds::UNIT_NS {
                return None;
            }
            let why = match unit.result.as_str() {
                "" => String::new(),
                result => format!(" ({result})"),
            };
            let cost = if unit.on_path { Cost::on_path(length) } else { Cost::at_most(length) };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, unit.name.clone()).with_pid(unit.pid),
                    format!("{} fails to start after {}{why}", unit.name, time(length)),
                )
                .costs(cost)
                .because(unit.start_ns, format!("{} is started", unit.name))
                .because(end, format!("it is given up{why}"))
                .advise(advice(&unit.name)),
            )
        })
        .collect())
}

fn advice(unit: &str) -> String {
    if unit.ends_with(".device") {
        return format!(
            "see who needs it ('systemctl list-dependencies --reverse {unit}'); correct or remove its line in /etc/fstab or \
             /etc/crypttab, or give that line nofail and a shorter x-systemd.device-timeout"
        );
    }
    format!(
        "see why ('journalctl -b -u {unit}') and mend it, or give it a shorter TimeoutStartSec until then; disable it only if nothing \
         needs it"
    )
}
