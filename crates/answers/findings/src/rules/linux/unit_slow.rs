//! Units that delay the default target.

use onoff_trace::ServiceOutcome;
use onoff_usage::units::Unit;

use super::known_waits::waits;
use super::{
    encrypted_volume_wait, file_system_check, modules_load_slow, network_wait, random_seed_wait, selinux_relabel,
    udev_settle,
};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit on the critical path to the default target that takes 5 % of the boot or more (at least 300 ms, at most 1
    /// s) until the next unit can start. If dependencies were not recorded: the five slowest units, any of which may
    /// have delayed the boot; the time in which no other unit was starting certainly did. In that case, a device is
    /// reported only if nothing else was starting until it appeared, for 1 s or more. Waits with a specific rule are left to that rule.
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
    if path.steps.is_empty() {
        return without_path(facts, has_failed);
    }
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
            .evidence(step.start_ns, step.released_by.phrase(&step.unit))
            .evidence(step.end_ns, "the next unit started")
            .advice(if is_device {
                "use 'journalctl -b -k' to see what the kernel waits for before it announces the device; exclude unneeded mounts and \
                 swap devices from the boot ('nofail', 'noauto')"
                    .to_owned()
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

/// Maximum number of slow units to report if dependencies were not recorded.
const MAX_UNITS: usize = 5;

/// Returns the slowest units of a recording without dependencies: any of them may have delayed the boot, or none.
fn without_path(facts: &LinuxBootFacts<'_>, has_failed: impl Fn(&str) -> bool) -> Outcome {
    // A device unit "starts" when systemd learns of it and is done when the kernel announces it: nearly all are among
    // the slowest units, but hardly any delays the boot.
    let is_work = |unit: &str| {
        !unit.ends_with(".target") && !unit.ends_with(".device") && !has_specific_rule(unit) && !has_failed(unit)
    };
    let mut slow_waits = waits(facts, is_work, facts.report.min_cause_ns())?;
    slow_waits.sort_by_key(|wait| std::cmp::Reverse(wait.duration_ns));
    let units = slow_waits.iter().take(MAX_UNITS).map(|wait| wait.finding(wait.title(), RECORD_ORDER));
    let devices = lone_devices(facts).into_iter().map(|(device, lone_ns, end_ns)| {
        let title = format!(
            "the boot waited {} for {}: nothing else was starting, and units started when it appeared",
            time(lone_ns),
            device.name
        );
        RuleFinding::new(FindingSubject::new(FindingSubjectKind::Device, device.name.clone()), title)
            .cost(Cost::on_path(lone_ns))
            .certainty(Certainty::Inferred)
            .evidence(end_ns.saturating_sub(lone_ns), "only device units were starting")
            .evidence(device.end_ns, format!("{} appeared; the next unit started {} later", device.name, time(end_ns.saturating_sub(device.end_ns.unwrap_or(end_ns)))))
            .advice(format!(
                "use 'journalctl -b -k' to see what the kernel waits for before it announces the device; exclude unneeded mounts and \
                 swap devices from the boot ('nofail', 'noauto'); {RECORD_ORDER}"
            ))
    });
    Ok(units.chain(devices).collect())
}

/// Advice on recording unit ordering.
const RECORD_ORDER: &str = "add 'systemctl show \"*\" > units.txt' to the recording to see which unit waited for which";

/// Minimum wait for a device, ns: every boot waits for its disk, for up to a second.
const MIN_DEVICE_NS: i64 = onoff_evidence::significance::NOTICEABLE_NS;

/// Maximum time from a device event to the next unit start, ns: systemd has to handle the event first. Chosen from
/// recorded boots of a slow emulated computer.
const AFTER_DEVICE_NS: i64 = 100_000_000;

/// Finds devices the boot must have waited for, in a recording without dependencies: for at least the minimum
/// time before the device appeared, no other unit was starting, and a unit started right after. Returns each
/// device with the duration and the end of that wait.
fn lone_devices<'a>(facts: &LinuxBootFacts<'a>) -> Vec<(&'a Unit, i64, i64)> {
    let report = facts.report;
    let min_ns = MIN_DEVICE_NS;
    let is_device = |unit: &&Unit| unit.name.ends_with(".device");
    let target_ns = report.details.default_target.as_ref().map(|target| target.reached_ns);
    let mut others: Vec<(i64, i64)> = report
        .units
        .iter()
        .filter(|unit| unit.automatic && !is_device(unit))
        .map(|unit| (unit.start_ns, unit.end_ns.unwrap_or(i64::MAX)))
        .collect();
    others.sort();
    let mut devices = Vec::new();
    let mut busy_until_ns = None::<i64>;
    for (start_ns, end_ns) in others {
        if target_ns.is_some_and(|target| start_ns > target) {
            break;
        }
        if let Some(since_ns) = busy_until_ns {
            let last_device = report
                .units
                .iter()
                .filter(is_device)
                .filter(|unit| unit.start_ns < start_ns.saturating_sub(min_ns))
                .filter(|unit| {
                    unit.end_ns.is_some_and(|end| {
                        end > since_ns && end <= start_ns && start_ns.saturating_sub(end) <= AFTER_DEVICE_NS
                    })
                })
                .max_by_key(|unit| unit.end_ns);
            if let Some(device) = last_device {
                let lone_ns = start_ns.saturating_sub(since_ns.max(device.start_ns));
                if lone_ns >= min_ns {
                    devices.push((device, lone_ns, start_ns));
                }
            }
        }
        busy_until_ns = Some(busy_until_ns.map_or(end_ns, |until| until.max(end_ns)));
    }
    devices
}
