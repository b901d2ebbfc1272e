//! A disk that is slower than a healthy hard disk.

use std::collections::BTreeMap;

use onoff_blame::waits::StepKind;
use onoff_evidence::interval::union;
use onoff_trace::DiskOperation;
use onoff_transitions::PhaseName;
use onoff_usage::disk::DiskWork;

use crate::disk_waits::{is_stuck, service_interval};
use crate::path::Step;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A disk whose requests took at least twice as long as on a healthy hard disk (18 ms per request plus 50 MiB/s),
    /// by 2 s or more in total before the desktop. Each disk is judged separately.
    ///
    /// # Why it costs time
    /// Every phase reads from the disk, so a slow disk slows down the whole boot and inflates every other finding.
    ///
    /// # Evidence needed
    /// Disk requests: kernel flag DISK_IO.
    ///
    /// # What to do
    /// Check the disk's health (SMART), cable and driver, then consider a faster disk. A solid-state disk serves small
    /// reads more than a hundred times faster.
    ///
    /// # When it is wrong
    /// A virtual or network disk is only as fast as its backing store.
    ///
    /// # Source
    /// onoff's own rule: the paper says that the loader and most phases are disk-bound; the limits come from hard disk
    /// data sheets.
    "boot/disk-slow", "a disk slower than a healthy hard disk", Session(check)
}

/// The requests of one disk in one phase.
struct PhaseWork {
    name: &'static str,
    start_ns: i64,
    requests: u64,
    took_ns: i64,
    usual_ns: i64,
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    Ok(phase_work(facts).iter().filter_map(|(&disk, phases)| slow_disk_finding(facts, disk, phases)).collect())
}

/// True if a disk is slower than a healthy hard disk.
pub(super) fn is_slow(facts: &BootFacts<'_>, disk: u32) -> bool {
    phase_work(facts).get(&disk).is_some_and(|phases| slow_totals(phases).is_some())
}

/// Returns the work of each disk by phase: a busy fast disk would hide a slow one.
fn phase_work(facts: &BootFacts<'_>) -> BTreeMap<u32, Vec<PhaseWork>> {
    let stuck_disks = facts.disks_with_stuck_requests();
    let mut disks: BTreeMap<u32, Vec<PhaseWork>> = BTreeMap::new();
    for phase in facts.report.phases.iter().filter(|phase| phase.name < PhaseName::PostBoot) {
        let Some((start_ns, end_ns)) = phase.start_ns.zip(phase.end_ns) else { continue };
        for (disk, work) in work_by_disk(facts, (start_ns, end_ns), &stuck_disks) {
            let mebibytes_ns =
                i64::try_from(work.bytes >> 10).unwrap_or(i64::MAX).saturating_mul(thresholds::DISK_MEBIBYTE_NS / 1024);
            let requests_ns =
                i64::try_from(work.operations).unwrap_or(i64::MAX).saturating_mul(thresholds::DISK_REQUEST_NS);
            disks.entry(disk).or_default().push(PhaseWork {
                name: phase.name.as_str(),
                start_ns,
                requests: work.operations,
                took_ns: work.service_ns,
                usual_ns: requests_ns.saturating_add(mebibytes_ns),
            });
        }
    }
    disks
}

/// Reads and writes that completed in the interval, by disk.
fn work_by_disk(facts: &BootFacts<'_>, (start_ns, end_ns): Interval, stuck_disks: &[u32]) -> BTreeMap<u32, DiskWork> {
    let mut work_by_disk: BTreeMap<u32, DiskWork> = BTreeMap::new();
    let completed = facts.trace.disk_ios.iter().filter(|row| row.complete_ns >= start_ns && row.complete_ns < end_ns);
    // Single requests on which the disk was stuck are another finding.
    let completed = completed.filter(|row| !(is_stuck(row) && stuck_disks.contains(&row.disk)));
    for row in completed.filter(|row| row.operation != DiskOperation::Flush) {
        work_by_disk.entry(row.disk).or_default().add(&row);
    }
    work_by_disk
}

/// Returns the time that a slow disk took, and the time of a healthy one.
fn slow_totals(phases: &[PhaseWork]) -> Option<(i64, i64)> {
    let sum = |value: fn(&PhaseWork) -> i64| phases.iter().map(value).fold(0_i64, i64::saturating_add);
    let (actual, expected) = (sum(|phase| phase.took_ns), sum(|phase| phase.usual_ns));
    let is_slow = actual >= expected.saturating_mul(thresholds::DISK_SLOW_FACTOR)
        && actual.saturating_sub(expected) >= thresholds::DISK_SLOW_NS;
    is_slow.then_some((actual, expected))
}

/// Returns a finding if the disk is slow.
fn slow_disk_finding(facts: &BootFacts<'_>, disk: u32, phases: &[PhaseWork]) -> Option<RuleFinding> {
    let (actual, expected) = slow_totals(phases)?;
    let lost_ns = actual.saturating_sub(expected);
    let requests = phases.iter().map(|phase| phase.requests).fold(0_u64, u64::saturating_add);
    let mean = actual / i64::try_from(requests).unwrap_or(i64::MAX).max(1);
    let name = facts.disk_name(disk);
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Disk, name.clone()),
        format!(
            "disk {name} took {} per request, {} times as long as a healthy hard disk",
            time(mean),
            actual.saturating_add(expected / 2) / expected.max(1)
        ),
    )
    .cost(match &facts.path {
        // A faster disk can save at most the time the critical path waited for this one.
        Some(path) => {
            let busy = facts.trace.disk_ios.iter().filter(|row| row.disk == disk).map(|row| {
                let served_ns = service_interval(&row).0;
                (row.issue_ns.unwrap_or(served_ns).min(served_ns), row.complete_ns)
            });
            let is_for_disk = |step: &Step| facts.disk_request(step).is_none_or(|row| row.disk == disk);
            let waited_ns =
                path.time_within(&union(busy.collect()), |step| step.kind == StepKind::Disk && is_for_disk(step));
            Cost::at_most(lost_ns.min(waited_ns))
        }
        None => Cost::at_most(lost_ns),
    })
    .advice(
        "check the disk's health, cable and driver first, then consider a faster disk; other findings may be consequences",
    );
    for phase in phases.iter().filter(|phase| phase.took_ns > phase.usual_ns) {
        finding = finding.evidence(
            phase.start_ns,
            format!(
                "{}: {} requests took {}; a healthy hard disk needs {}",
                phase.name,
                phase.requests,
                time(phase.took_ns),
                time(phase.usual_ns)
            ),
        );
    }
    Some(finding)
}
