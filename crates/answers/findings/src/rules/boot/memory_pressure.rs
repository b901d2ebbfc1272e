//! A boot that waits for pages that were moved to the page file.

use onoff_trace::{DiskIo, DiskOperation};

use crate::disk_waits::{DiskWait, is_page_file, is_stuck, service_interval};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot that waited for reads of the page file for 5 % of its time or more (at least 300 ms, at most 1 s).
    ///
    /// # Why it costs time
    /// Memory did not suffice: Windows wrote pages to the page file and had to read them back before the desktop.
    ///
    /// # Evidence needed
    /// Disk requests with file names: kernel flags DISK_IO and FILENAME.
    ///
    /// # What to do
    /// Start fewer programs with the logon, or add memory. `onoff boot FILE` lists the startup programs.
    ///
    /// # When it is wrong
    /// After a fast startup, the memory image may have left pages in the page file.
    ///
    /// # Source
    /// onoff's own rule; the threshold is that of all causes.
    "boot/memory-pressure", "a boot that waits for the page file", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let page_files: Vec<onoff_trace::StringId> = facts
        .trace
        .disk_ios
        .iter()
        .map(|row| row.file)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .filter(|&file| is_page_file(file_name(facts.trace.text(file))))
        .collect();
    let is_paged = |row: &DiskIo| page_files.contains(&row.file) && !is_stuck(row);
    let DiskWait { requests: reads, cost } =
        facts.disk_wait(|row| row.operation == DiskOperation::Read && is_paged(row));
    let writes = facts.disk_wait(|row| row.operation == DiskOperation::Write && is_paged(row)).requests;
    let Some(first) = reads.first().filter(|_| cost.ns.unwrap_or(0) >= facts.report.min_cause_ns()) else {
        return Ok(Vec::new());
    };
    let sum = |rows: &[DiskIo]| rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.size));
    let name = facts.trace.system.drive_paths.readable(facts.trace.text(first.file)).into_owned();
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::File, name),
        format!("the boot waited {} for the page file, because memory did not suffice", time(cost.ns.unwrap_or(0))),
    )
    .cost(cost)
    .evidence(
        service_interval(first).0,
        format!("{} of {} from the page file", counted(reads.len(), "read"), size(sum(&reads))),
    );
    if !writes.is_empty() {
        let text = format!("{} of {} to the page file", counted(writes.len(), "write"), size(sum(&writes)));
        finding = finding.evidence(None, text);
    }
    if facts.trace.system.memory_bytes > 0 {
        finding = finding.evidence(None, format!("memory: {}", size(facts.trace.system.memory_bytes)));
    }
    Ok(vec![finding.advice("start fewer programs with the logon, or add memory")])
}
