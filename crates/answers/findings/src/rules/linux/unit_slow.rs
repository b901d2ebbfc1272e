//! Units that delay the default target.

use onoff_trace::ServiceOutcome;
use onoff_usage::units::WaitKind;

use super::known_waits::waits;
use super::{
    encrypted_volume_wait, file_system_check, modules_load_slow, network_wait, random_seed_wait, selinux_relabel,
    udev_settle,
};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit on the critical path to the default target that takes 5 % of the boot or more (at least 300 ms, at most 1
    /// s) until the next unit can start. If dependencies were not recorded, the path is inferred from times: a unit that
    /// finished right before another started is on it, a unit after whose end nothing started for 2 s is not, and a
    /// device only if nothing else was starting for 1 s until it appeared. If the end of the boot was not recorded
    /// either: the five slowest units. Waits with a specific rule are left to that rule.
    ///
    /// # Why it costs time
    /// Units ordered after it start only then. It is on the critical path, so a faster start shortens the boot until
    /// another path becomes the longest.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump) and unit ordering (unit properties).
    ///
    /// # What to do
    /// Find out what the unit waits for (`journalctl -b -u UNIT`). Make a service `Type=notify` or socket-activated,
    /// and remove unneeded ordering (`systemctl edit UNIT`). Services that wait for the network are needed only if
    /// something in the boot uses it.
    ///
    /// # When it is wrong
    /// Ordering is not proof: with a trace, check whether CPUs or disks were the bottleneck.
    ///
    /// # Source
    /// systemd-analyze(1), "critical-chain", and what it omits; the threshold is onoff's.
    "linux/unit-slow", "units that delay the default target", LinuxBoot(check)
}

/// True if a more specific rule covers the unit.
fn has_specific_rule(unit: &str) -> bool {
    [
        encrypted_volume_wait::is_encrypted_volume,
        file_system_check::is_file_system_check,
        modules_load_slow::is_module_load,
        network_wait::is_network_wait,
        random_seed_wait::is_entropy_wait,
        selinux_relabel::is_relabel,
        udev_settle::is_udev_settle,
    ]
    .into_iter()
    .any(|is_match| is_match(unit))
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let path = &facts.report.details.critical_path;
    // Failed units have a separate rule with specific advice.
    let has_failed = |name: &str| {
        let mut starts = facts.report.units.iter().filter(|unit| unit.name == name && unit.automatic);
        starts.any(|unit| unit.outcome == ServiceOutcome::Failed)
    };
    if path.steps.is_empty() || !facts.report.details.untimed_units.is_empty() {
        return without_path(facts, has_failed);
    }
    let by_times = !path.has_declared_order();
    let min_ns = |unit: &str| if unit.ends_with(".device") { MIN_DEVICE_NS } else { facts.report.min_cause_ns() };
    Ok(path
        .steps
        .iter()
        .filter(|step| !step.unit.ends_with(".target") && step.duration_ns >= min_ns(&step.unit))
        .filter(|step| !has_specific_rule(&step.unit) && !has_failed(&step.unit))
        .map(|step| {
            let is_device = step.unit.ends_with(".device");
            let kind = if is_device {
                FindingSubjectKind::Device
            } else {
                FindingSubjectKind::Service
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(kind, step.unit.clone()),
                format!("the boot waited {} for {}", time(step.duration_ns), step.unit),
            )
            .cost(Cost::on_path(step.duration_ns))
            .certainty(step.released_by.certainty.and(path.certainty))
            .evidence(
                step.start_ns,
                match step.released_by.kind {
                    WaitKind::Manager if by_times => format!("{} was the first unit to start", step.unit),
                    _ => step.released_by.phrase(&step.unit),
                },
            )
            .evidence(step.end_ns, "the next unit started")
            .advice(if is_device && by_times {
                format!("{DEVICE_ADVICE}; {RECORD_ORDER}")
            } else if is_device {
                DEVICE_ADVICE.to_owned()
            } else if by_times {
                format!("find out what it waits for ('journalctl -b -u {}'), or start it later; {RECORD_ORDER}", step.unit)
            } else {
                format!(
                    "find out what it waits for ('journalctl -b -u {}'), have it report readiness earlier, or remove unneeded ordering \
                     after checking 'systemctl list-dependencies --after --reverse {}'",
                    step.unit, step.unit
                )
            });
            if let Some(busy) = step.busy_percent {
                finding = finding.evidence(None, format!("CPU utilization meanwhile: {busy:.0} %"));
            }
            finding
        })
        .collect())
}

const DEVICE_ADVICE: &str = "use 'journalctl -b -k' to see what the kernel waits for before it announces the device; exclude \
    unneeded mounts and swap devices from the boot ('nofail', 'noauto')";

/// Maximum number of slow units to report if the path is unknown.
const MAX_UNITS: usize = 5;

/// Returns the slowest units of a recording without dependencies and without the end of the boot: any of them may have
/// delayed the boot, or none.
fn without_path(facts: &LinuxBootFacts<'_>, has_failed: impl Fn(&str) -> bool) -> Outcome {
    // A device unit "starts" when systemd learns of it and is done when the kernel announces it: nearly all are among
    // the slowest units, but hardly any delays the boot.
    let is_work = |unit: &str| {
        !unit.ends_with(".target") && !unit.ends_with(".device") && !has_specific_rule(unit) && !has_failed(unit)
    };
    let mut slow_waits = waits(facts, is_work, facts.report.min_cause_ns())?;
    slow_waits.sort_by_key(|wait| std::cmp::Reverse(wait.duration_ns));
    let units = slow_waits.iter().take(MAX_UNITS).map(|wait| wait.finding(wait.title(), RECORD_ORDER));
    Ok(units.collect())
}

/// Advice on recording unit ordering.
const RECORD_ORDER: &str = "add 'systemctl show \"*\" > units.txt' to the recording to see which unit waited for which";

/// Minimum wait for a device, ns: every boot waits for its disk, for up to a second.
const MIN_DEVICE_NS: i64 = onoff_evidence::significance::NOTICEABLE_NS;
