//! A disk that is slower than a healthy hard disk.

use std::collections::BTreeMap;

use onoff_blame::waits::StepKind;
use onoff_evidence::interval::union;
use onoff_trace::DiskOperation;
use onoff_transitions::PhaseName;
use onoff_usage::disk::DiskWork;

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
    // Judge each disk separately: a busy fast disk would hide a slow one.
    let mut disks: BTreeMap<u32, Vec<PhaseWork>> = BTreeMap::new();
    for phase in facts.report.phases.iter().filter(|phase| phase.name < PhaseName::PostBoot) {
        let Some((start_ns, end_ns)) = phase.start_ns.zip(phase.end_ns) else { continue };
        for (disk, work) in work_by_disk(facts, (start_ns, end_ns)) {
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
    Ok(disks.iter().filter_map(|(&disk, phases)| slow_disk_finding(facts, disk, phases)).collect())
}

/// Reads and writes that completed in the interval, by disk.
fn work_by_disk(facts: &BootFacts<'_>, (start_ns, end_ns): Interval) -> BTreeMap<u32, DiskWork> {
    let mut work_by_disk: BTreeMap<u32, DiskWork> = BTreeMap::new();
    let completed = facts.trace.disk_ios.iter().filter(|row| row.complete_ns >= start_ns && row.complete_ns < end_ns);
    for row in completed.filter(|row| row.operation != DiskOperation::Flush) {
        work_by_disk.entry(row.disk).or_default().add(&row);
    }
    work_by_disk
}

/// Returns a finding if the disk is slow.
fn slow_disk_finding(facts: &BootFacts<'_>, disk: u32, phases: &[PhaseWork]) -> Option<RuleFinding> {
    let sum = |value: fn(&PhaseWork) -> i64| phases.iter().map(value).fold(0_i64, i64::saturating_add);
    let (actual, expected) = (sum(|phase| phase.took_ns), sum(|phase| phase.usual_ns));
    let requests = phases.iter().map(|phase| phase.requests).fold(0_u64, u64::saturating_add);
    let lost_ns = actual.saturating_sub(expected);
    if actual < expected.saturating_mul(thresholds::DISK_SLOW_FACTOR) || lost_ns < thresholds::DISK_SLOW_NS {
        return None;
    }
    let mean = actual / i64::try_from(requests).unwrap_or(i64::MAX).max(1);
    let system_disk = facts.trace.system.disks.iter().find(|system_disk| system_disk.number == disk);
    let model = system_disk.map(|system_disk| system_disk.model.clone()).filter(|model| !model.is_empty());
    let name = model.unwrap_or_else(|| format!("disk {disk}"));
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
            // A wait belongs to the disk of the thread's request that completed last during the wait.
            let requests = &facts.trace.disk_ios;
            let is_for_disk = |step: &Step| {
                let end_row = requests.complete_ns.partition_point(|&complete| complete <= step.interval.1);
                let completed = (0..end_row).rev().filter_map(|row| requests.get(row));
                let mut during_wait = completed.take_while(|row| row.complete_ns > step.interval.0);
                let request = during_wait.find(|row| row.tid.is_none_or(|tid| step.tids.contains(&tid)));
                request.is_none_or(|row| row.disk == disk)
            };
            let busy = requests.iter().filter(|row| row.disk == disk).map(|row| {
                let served_ns = row.complete_ns.saturating_sub(row.service_ns.max(0));
                (row.issue_ns.unwrap_or(served_ns).min(served_ns), row.complete_ns)
            });
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
