//! A disk that is stuck on single requests.

use std::cmp::Reverse;

use crate::disk_waits::{DiskWait, is_stuck, service_interval};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A disk on which single reads or writes took 500 ms longer than their size explains while the others were fast,
    /// if the boot waited for them for 5 % of its time or more (at least 300 ms, at most 1 s).
    ///
    /// # Why it costs time
    /// A disk that cannot read a sector tries again for seconds, and so does the driver if the disk does not respond.
    /// Everything that needs the disk waits meanwhile.
    ///
    /// # Evidence needed
    /// Disk requests: kernel flag DISK_IO.
    ///
    /// # What to do
    /// Check the disk's health (SMART: pending and reallocated sectors) and its cable, and look for the disk's and its
    /// controller's warnings in the System log (events 7, 11, 51, 129, 153). Save the data first.
    ///
    /// # When it is wrong
    /// That the disk tries again is inferred from the time. A disk that has to spin up also takes seconds for its first
    /// request.
    ///
    /// # Source
    /// onoff's own rule; the limits come from disk data sheets.
    "boot/disk-retries", "a disk that is stuck on single requests", Session(check)
}

/// Maximum number of requests in the evidence.
const MAX_LISTED: usize = 3;
fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    Ok(facts.disks_with_stuck_requests().into_iter().filter_map(|disk| finding(facts, disk)).collect())
}

fn finding(facts: &BootFacts<'_>, disk: u32) -> Option<RuleFinding> {
    let all = facts.disk_wait(|row| row.disk == disk).requests.len();
    let DiskWait { requests: mut stuck, cost } = facts.disk_wait(|row| row.disk == disk && is_stuck(row));
    if cost.ns.unwrap_or(0) < facts.report.min_cause_ns() {
        return None;
    }
    stuck.sort_by_key(|row| Reverse(row.service_ns));
    let name = facts.disk_name(disk);
    let longest_ns = stuck.first()?.service_ns;
    let title = format!(
        "disk {name} was stuck on {} of {}, for up to {}",
        stuck.len(),
        counted(all, "request"),
        time(longest_ns)
    );
    let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Disk, name), title)
        .certainty(Certainty::Inferred)
        .cost(cost)
        .advice(
            "save the data, then check the disk's health (SMART) and cable; the System log has the warnings of the disk \
             and its controller",
        );
    let paths = &facts.trace.system.drive_paths;
    for row in stuck.iter().take(MAX_LISTED) {
        let file = paths.readable(facts.trace.text(row.file));
        let file = if file.is_empty() { "a file whose name was not recorded".into() } else { file };
        let (start_ns, end_ns) = service_interval(row);
        let reader = row.pid.and_then(|pid| facts.images.image_at(pid, row.complete_ns));
        let by = reader.map_or_else(String::new, |image| format!(" of {}", file_name(image)));
        let text = format!("{}{by} took {}: {file}", row.operation.as_str(), time(end_ns.saturating_sub(start_ns)));
        finding = finding.evidence(start_ns, text);
    }
    Some(finding)
}
