//! Units that the way to the default target waits for.

use onoff_trace::ServiceOutcome;
use onoff_usage::units::Unit;

use super::known_waits::waits;
use super::{
    encrypted_volume_waited_for, file_system_check, kernel_modules_loaded, network_waited_for,
    random_numbers_waited_for, relabeled, udev_settled,
};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit on the way to the default target that takes 1 s or more until it lets the next one go on. Where dependencies were not
    /// recorded, the five slowest units, of which any may have been waited for; for as long as no other unit was starting, it was. A device
    /// is named then only if nothing else was starting until it appeared. Waits that another rule is about are left to it.
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

/// Whether another rule than that about slow units is about this unit.
fn is_known(unit: &str) -> bool {
    [
        encrypted_volume_waited_for::is_it,
        file_system_check::is_it,
        kernel_modules_loaded::is_it,
        network_waited_for::is_it,
        random_numbers_waited_for::is_it,
        relabeled::is_it,
        udev_settled::is_it,
    ]
    .into_iter()
    .any(|is_it| is_it(unit))
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
const MAX_NAMED: usize = 5;

/// The slowest units where dependencies were not recorded: each may have been waited for, or none.
fn without_path(facts: &LinuxBootFacts<'_>, failed: impl Fn(&str) -> bool) -> Outcome {
    // A device "starts" from the moment systemd knows of it until the kernel announces it: nearly all are among the slowest, and
    // hardly any is waited for.
    let is_work =
        |unit: &str| !unit.ends_with(".target") && !unit.ends_with(".device") && !is_known(unit) && !failed(unit);
    let mut slow = waits(facts, is_work, thresholds::UNIT_NS)?;
    slow.sort_by_key(|wait| std::cmp::Reverse(wait.duration_ns));
    let units = slow.iter().take(MAX_NAMED).map(|wait| wait.finding(wait.title(), RECORD_ORDER));
    let devices = lone_devices(facts).into_iter().map(|(device, lone_ns, end_ns)| {
        let title = format!(
            "the boot waits {} for {}: only devices were expected, and units started when it appeared",
            time(lone_ns),
            device.name
        );
        RuleFinding::new(FindingSubject::new(FindingSubjectKind::Device, device.name.clone()), title)
            .costs(Cost::on_path(lone_ns))
            .certain(Certainty::Inferred)
            .because(end_ns.saturating_sub(lone_ns), "no unit was starting but devices")
            .because(device.end_ns, format!("{} appears; the next unit starts {} later", device.name, time(end_ns.saturating_sub(device.end_ns.unwrap_or(end_ns)))))
            .advise(format!(
                "see with 'journalctl -b -k' what the kernel waits for before it announces the device; give up mounts and swaps that nobody \
                 needs at the boot ('nofail', 'noauto'); {RECORD_ORDER}"
            ))
    });
    Ok(units.chain(devices).collect())
}

/// What says who waited for whom.
const RECORD_ORDER: &str = "add 'systemctl show \"*\" > units.txt' to the recording: it says who waited for whom";

/// A device lets the next unit go on within this time, ns: systemd has to handle its event first. Chosen: what the recorded boots of a slow
/// emulated computer need.
const AFTER_DEVICE_NS: i64 = 100_000_000;

/// Devices that the start can only have waited for, where dependencies were not recorded: for the limit of slow units or longer no other unit
/// was starting before the device appeared, and one started right after. Each with that time and its end, ns.
fn lone_devices<'a>(facts: &LinuxBootFacts<'a>) -> Vec<(&'a Unit, i64, i64)> {
    let report = facts.report;
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
            let released = report
                .units
                .iter()
                .filter(is_device)
                .filter(|unit| unit.start_ns < start_ns.saturating_sub(thresholds::UNIT_NS))
                .filter(|unit| {
                    unit.end_ns.is_some_and(|end| {
                        end > since_ns && end <= start_ns && start_ns.saturating_sub(end) <= AFTER_DEVICE_NS
                    })
                })
                .max_by_key(|unit| unit.end_ns);
            if let Some(device) = released {
                let lone_ns = start_ns.saturating_sub(since_ns.max(device.start_ns));
                if lone_ns >= thresholds::UNIT_NS {
                    devices.push((device, lone_ns, start_ns));
                }
            }
        }
        busy_until_ns = Some(busy_until_ns.map_or(end_ns, |until| until.max(end_ns)));
    }
    devices
}
