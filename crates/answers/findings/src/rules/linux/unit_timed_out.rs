//! Units that timed out or failed after a long start.

use onoff_trace::ServiceOutcome;

use super::unexplained_gap;
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
    let mut findings = missing_devices(facts);
    findings.extend(
        facts.report.units.iter().filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.automatic).filter_map(
            |unit| {
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
            },
        ),
    );
    Ok(findings)
}

/// Returns the devices that gaps before units on the path waited for in vain.
fn missing_devices(facts: &LinuxBootFacts<'_>) -> Vec<RuleFinding> {
    let path = &facts.report.details.critical_path;
    let missing = path.steps.iter().filter_map(|step| {
        let (unit, (start_ns, end_ns)) = unexplained_gap::timed_out_device(facts.report, step)?;
        let waited_ns = end_ns.saturating_sub(start_ns);
        (waited_ns >= facts.report.min_cause_ns()).then(|| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Device, unit.name.clone()),
                format!("the boot waited {} for {}, which did not appear (timeout)", time(waited_ns), unit.name),
            )
            .cost(Cost::on_path(waited_ns))
            .certainty(Certainty::Inferred)
            .evidence(start_ns, "nothing on the path was starting from here")
            .evidence(end_ns, format!("the service manager gave up waiting for {}", unit.name))
            .evidence(step.start_ns, format!("{} started", step.unit))
            .advice(advice(&unit.name))
        })
    });
    missing.collect()
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
