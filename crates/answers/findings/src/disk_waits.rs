//! Disk requests that the main path of a boot waited for.

use std::collections::BTreeMap;

use onoff_blame::waits::StepKind;
use onoff_evidence::interval::covered_ns;
use onoff_trace::{DiskIo, DiskOperation};

use crate::context::BootFacts;
use crate::cost::{Cost, Interval};
use crate::path::Step;
use crate::thresholds;

/// If more requests than one in this many are stuck, the whole disk is slow.
const MIN_REQUESTS_PER_STUCK: usize = 10;

/// Reads or writes with one property, and what they cost.
pub(crate) struct DiskWait {
    pub(crate) requests: Vec<DiskIo>,
    pub(crate) cost: Cost,
}

impl BootFacts<'_> {
    /// Finds matching reads and writes on the main path.
    pub(crate) fn disk_wait(&self, is_match: impl Fn(&DiskIo) -> bool) -> DiskWait {
        let main_path = self.main_path();
        let is_match = |row: &DiskIo| row.operation != DiskOperation::Flush && is_match(row);
        let requests: Vec<DiskIo> = self
            .trace
            .disk_ios
            .iter()
            .filter(|row| row.complete_ns > main_path.0 && service_interval(row).0 < main_path.1 && is_match(row))
            .collect();
        let cost = match &self.path {
            _ if requests.is_empty() => Cost::on_path(0),
            Some(path) => Cost::on_path(path.time(main_path, |step| {
                step.kind == StepKind::Disk && self.disk_request(step).is_some_and(|row| is_match(&row))
            })),
            None => Cost::at_most(covered_ns(requests.iter().map(service_interval).collect(), main_path)),
        };
        DiskWait { requests, cost }
    }

    /// Returns the request that ended a wait: the last one of the waiting threads that completed during the wait.
    pub(crate) fn disk_request(&self, step: &Step) -> Option<DiskIo> {
        let requests = &self.trace.disk_ios;
        let end_row = requests.complete_ns.partition_point(|&complete_ns| complete_ns <= step.interval.1);
        let completed = (0..end_row).rev().filter_map(|row| requests.get(row));
        let mut during_wait = completed.take_while(|row| row.complete_ns > step.interval.0);
        during_wait.find(|row| row.tid.is_none_or(|tid| step.tids.contains(&tid)))
    }

    /// Returns the disks on which single requests were stuck. If more of them are, the whole disk is slow.
    pub(crate) fn disks_with_stuck_requests(&self) -> Vec<u32> {
        let mut counts: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        for row in self.trace.disk_ios.iter().filter(|row| row.operation != DiskOperation::Flush) {
            let (stuck, all) = counts.entry(row.disk).or_default();
            *stuck += usize::from(is_stuck(&row));
            *all += 1;
        }
        let is_single = |&(_, (stuck, all)): &(u32, (usize, usize))| {
            stuck > 0 && stuck.saturating_mul(MIN_REQUESTS_PER_STUCK) <= all
        };
        counts.into_iter().filter(is_single).map(|(disk, _)| disk).collect()
    }

    /// Returns the model of a disk, or its number.
    pub(crate) fn disk_name(&self, disk: u32) -> String {
        let system_disk = self.trace.system.disks.iter().find(|system_disk| system_disk.number == disk);
        let model = system_disk.map(|system_disk| system_disk.model.clone()).filter(|model| !model.is_empty());
        model.unwrap_or_else(|| format!("disk {disk}"))
    }
}

/// Returns when the disk worked on a request.
pub(crate) fn service_interval(row: &DiskIo) -> Interval {
    (row.complete_ns.saturating_sub(row.service_ns.max(0)), row.complete_ns)
}

/// True for a request that took much longer than its size explains.
pub(crate) fn is_stuck(row: &DiskIo) -> bool {
    let transfer_ns =
        i64::try_from(row.size >> 10).unwrap_or(i64::MAX).saturating_mul(thresholds::DISK_MEBIBYTE_NS / 1024);
    row.service_ns.saturating_sub(transfer_ns) >= thresholds::DISK_STUCK_NS
}

/// True for the name of a file that holds pages of programs.
pub(crate) fn is_page_file(name: &str) -> bool {
    ["pagefile.sys", "swapfile.sys"].iter().any(|page_file| name.eq_ignore_ascii_case(page_file))
}
