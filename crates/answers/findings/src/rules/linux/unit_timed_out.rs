//! Units that timed out or failed after a long start.

use onoff_trace::ServiceOutcome;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit whose start failed after 5 % of the boot or more (at least 300 ms, at most 1 s), through its timeout or
    /// otherwise.
    ///
    /// # Why it costs time
    /// Units ordered after it wait until systemd gives up, by default after 90 s, and the unit is not available.
    ///
    /// # Evidence needed
    /// Unit times and results: the journal, or systemd's own dump.
    ///
    /// # What to do
    /// Fix or disable the unit; until then, shorten its `TimeoutStartSec`. For a device that does not appear, correct
    /// or remove its line in `/etc/fstab` or `/etc/crypttab`, or add `nofail` and a shorter `x-systemd.device-timeout`.
    ///
    /// # When it is wrong
    /// A restarted unit may have succeeded at the second attempt.
    ///
    /// # Source
    /// systemd.service(5), `TimeoutStartSec`; systemd.mount(5), `x-systemd.device-timeout`; the threshold is onoff's.
    "linux/unit-timed-out", "units that failed after a long start", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    if facts.report.units.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    let is_path_known = !facts.report.details.critical_path.steps.is_empty();
    Ok(facts
        .report
        .units
        .iter()
        .filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.automatic)
        .filter_map(|unit| {
            let (end, length) = unit.end_ns.zip(unit.duration_ns)?;
            if length < facts.report.min_cause_ns() {
                return None;
            }
            let result_suffix = match unit.result.as_str() {
                "" => String::new(),
                result => format!(" ({result})"),
            };
            // What ran beside a known path cost nothing.
            let (cost, parallel_suffix) = match (unit.on_path, is_path_known) {
                (true, _) => (Cost::on_path(length), ""),
                (false, false) => (Cost::at_most(length), ""),
                (false, true) => (Cost::UNKNOWN, "; the boot did not wait for it"),
            };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, unit.name.clone()).with_pid(unit.pid),
                    format!("{} failed to start after {}{result_suffix}{parallel_suffix}", unit.name, time(length)),
                )
                .cost(cost)
                .evidence(unit.start_ns, format!("{} started", unit.name))
                .evidence(end, format!("it failed{result_suffix}"))
                .advice(advice(&unit.name)),
            )
        })
        .collect())
}

fn advice(unit: &str) -> String {
    if unit.ends_with(".device") {
        return format!(
            "find what needs it ('systemctl list-dependencies --reverse {unit}'); correct or remove its line in /etc/fstab or \
             /etc/crypttab, or add nofail and a shorter x-systemd.device-timeout"
        );
    }
    format!(
        "find out why ('journalctl -b -u {unit}') and fix it; until then, shorten its TimeoutStartSec; disable it only if nothing \
         needs it"
    )
}
