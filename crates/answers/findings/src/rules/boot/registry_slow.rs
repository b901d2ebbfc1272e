//! A registry hive that takes long to read.

use std::collections::HashMap;

use onoff_blame::account::MIN_DISK_CULPRIT_NS;
use onoff_trace::StringId;

use super::disk_slow::is_slow;
use crate::disk_waits::{DiskWait, is_stuck, service_interval};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Hives of the registry for whose reads the boot waited for 2 s or more.
    ///
    /// # Why it costs time
    /// The kernel reads the system's hives before the session manager continues, and the logon waits for the user's.
    /// A hive that grew, or whose file is fragmented on a hard disk, takes seconds.
    ///
    /// # Evidence needed
    /// Disk requests: kernel flag DISK_IO.
    ///
    /// # What to do
    /// Find out what fills the hive (`reg save` and the size of its keys), remove it, and compact the hive: `reg save`
    /// writes a compact copy. Then check whether the file is fragmented.
    ///
    /// # When it is wrong
    /// On a disk that is slow altogether, the hive is not the cause, so the rule is silent there, and single requests
    /// that took very long are the disk's.
    ///
    /// # Source
    /// onoff's own rule. The threshold is the one of the account for files: every boot reads its hives, for some hundred
    /// milliseconds on a hard disk.
    "boot/registry-slow", "a registry hive that takes long to read", Session(check)
}

/// Maximum number of hives in the evidence.
const MAX_LISTED: usize = 4;

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let mut hives: HashMap<StringId, bool> = HashMap::new();
    for row in facts.trace.disk_ios.iter() {
        hives.entry(row.file).or_insert_with(|| is_hive(facts.trace.text(row.file)));
    }
    let is_hive_request = |row: &onoff_trace::DiskIo| hives.get(&row.file) == Some(&true) && !is_stuck(row);
    let DiskWait { requests, cost } = facts.disk_wait(is_hive_request);
    if cost.ns.unwrap_or(0) < MIN_DISK_CULPRIT_NS || requests.iter().any(|row| is_slow(facts, row.disk)) {
        return Ok(Vec::new());
    }
    let mut files: HashMap<StringId, (i64, u64, usize, i64)> = HashMap::new();
    for row in &requests {
        let (ns, bytes, count, _) = files.entry(row.file).or_insert((0, 0, 0, service_interval(row).0));
        *ns = ns.saturating_add(row.service_ns);
        *bytes = bytes.saturating_add(row.size);
        *count += 1;
    }
    let paths = &facts.trace.system.drive_paths;
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|&(file, (ns, ..))| (std::cmp::Reverse(ns), file));
    let Some(&(largest, _)) = files.first() else { return Ok(Vec::new()) };
    let name = paths.readable(facts.trace.text(largest)).into_owned();
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::File, &name),
        format!("the boot waited {} for registry hives, most of it for {name}", time(cost.ns.unwrap_or(0))),
    )
    .cost(cost)
    .advice("find out what fills the hive and remove it, then compact the hive; check whether its file is fragmented");
    for (file, (ns, bytes, count, start_ns)) in files.into_iter().take(MAX_LISTED) {
        let text = format!(
            "{}: {} of {} took {}",
            paths.readable(facts.trace.text(file)),
            counted(count, "request"),
            size(bytes),
            time(ns)
        );
        finding = finding.evidence(start_ns, text);
    }
    Ok(vec![finding])
}

/// True for the file of a hive or its log.
fn is_hive(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = file_name(&path);
    path.contains("\\windows\\system32\\config\\") || name.starts_with("ntuser.dat") || name.starts_with("usrclass.dat")
}
