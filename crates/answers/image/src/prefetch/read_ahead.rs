//! The read-ahead of a recorded boot, and how much time it saved.

use std::collections::BTreeMap;

use onoff_trace::{DiskOperation, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_transitions::PhaseName;
use onoff_transitions::boot::{self, BootReport};
use onoff_usage::disk::{DiskWork, is_read_ahead};

/// The tables that [`boot_read_ahead`] reads.
pub const TABLES: TableSet = boot::TABLES.union(TableSet::of(&[TableName::DiskIos]));

/// Totals reported by ReadyBoot at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadyBootTotals {
    /// Number of reads observed.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Number of reads served from prefetched data.
    pub hits: u64,
    /// Bytes of these reads.
    pub hit_bytes: u64,
    /// Number of prefetch reads.
    pub prefetches: u64,
    /// Bytes of these reads.
    pub prefetch_bytes: u64,
    /// Disk time of the prefetch reads, µs.
    pub prefetch_disk_us: u64,
}

/// The read-ahead of a boot, from its start to the end of PostBoot or of the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadAheadReport {
    /// Duration of the analyzed boot, ns.
    pub boot_ns: i64,
    /// Number of training boots; `None` if not recorded.
    pub training_count: Option<u64>,
    /// Prefetch reads.
    pub ahead: DiskWork,
    /// Demand reads: misses.
    pub misses: DiskWork,
    /// Misses whose data was also prefetched, but too late.
    pub late: DiskWork,
    /// Writes.
    pub writes: DiskWork,
    /// ReadyBoot's own totals; `None` if not recorded.
    pub totals: Option<ReadyBootTotals>,
    /// Prefetched bytes that were not used. `None` without `sums`.
    pub wasted_bytes: Option<u64>,
    /// Disk time of all reads, ns.
    pub read_ns: i64,
    /// Estimated disk time without read-ahead, ns: each hit would have been a miss of average duration. `None` without
    /// `sums` or without a miss.
    pub read_without_ns: Option<i64>,
    /// Certainty of `read_without_ns`.
    pub certainty: Certainty,
}

/// The read-ahead of the boot in `report`.
#[must_use]
pub fn boot_read_ahead(trace: &Trace, report: &BootReport, sums: Option<ReadyBootTotals>) -> ReadAheadReport {
    let end = report.phase(PhaseName::PostBoot).and_then(|phase| phase.end_ns).unwrap_or(trace.duration_ns);
    let mut work = ReadAheadReport {
        boot_ns: end.max(0),
        training_count: report.details.read_ahead.training_count.and_then(|count| u64::try_from(count).ok()),
        totals: sums,
        ..ReadAheadReport::default()
    };
    // (disk, first byte, end, completion) of each prefetch read, last completion first.
    let mut ahead: Vec<(u32, u64, u64, i64)> = Vec::new();
    let mut demand = Vec::new();
    for row in trace.disk_ios.iter().filter(|row| (0..end).contains(&row.complete_ns)) {
        match row.operation {
            DiskOperation::Read if is_read_ahead(trace.system.kind, &row) => {
                work.ahead.add(&row);
                ahead.push((row.disk, row.offset, row.offset.saturating_add(row.size), row.complete_ns));
            }
            DiskOperation::Read => {
                work.misses.add(&row);
                demand.push(row);
            }
            DiskOperation::Write => work.writes.add(&row),
            DiskOperation::Flush => {}
        }
    }
    ahead.sort_by_key(|&(.., done)| std::cmp::Reverse(done));
    // Sorted by the time they were needed, last first, so that each prefetch read that completed later is added to the
    // ranges once.
    let needed =
        |row: &onoff_trace::DiskIo| row.issue_ns.unwrap_or_else(|| row.complete_ns.saturating_sub(row.service_ns));
    demand.sort_by_key(|row| std::cmp::Reverse(needed(row)));
    let mut ranges = Ranges::default();
    let mut next = ahead.iter().peekable();
    for row in &demand {
        while let Some(&&(disk, from, to, done)) = next.peek() {
            if done <= needed(row) {
                break;
            }
            ranges.add(disk, from, to);
            next.next();
        }
        if ranges.overlaps(row.disk, row.offset, row.offset.saturating_add(row.size)) {
            work.late.add(row);
        }
    }
    work.read_ns = work.ahead.service_ns.saturating_add(work.misses.service_ns);
    if let Some(sums) = sums {
        work.wasted_bytes = Some(sums.prefetch_bytes.saturating_sub(sums.hit_bytes));
        if let (Ok(misses), Ok(hits)) = (i64::try_from(work.misses.operations), i64::try_from(sums.hits))
            && misses > 0
        {
            let mean = work.misses.service_ns / misses;
            work.read_without_ns = Some(mean.saturating_mul(hits).saturating_add(work.misses.service_ns));
            work.certainty = Certainty::Inferred;
        }
    }
    if work.read_without_ns.is_none() {
        work.certainty = Certainty::Missing;
    }
    work
}

/// Byte ranges on disks; adjacent ones are merged.
#[derive(Debug, Default)]
struct Ranges {
    by_start: BTreeMap<(u32, u64), u64>,
}

impl Ranges {
    fn add(&mut self, disk: u32, mut from: u64, mut to: u64) {
        if from >= to {
            return;
        }
        while let Some((&(other, start), &end)) = self.by_start.range(..=(disk, to)).next_back() {
            if other != disk || end < from {
                break;
            }
            from = from.min(start);
            to = to.max(end);
            self.by_start.remove(&(disk, start));
        }
        self.by_start.insert((disk, from), to);
    }

    fn overlaps(&self, disk: u32, from: u64, to: u64) -> bool {
        let before = self.by_start.range(..(disk, to)).next_back();
        before.is_some_and(|(&(other, _), &end)| other == disk && end > from)
    }
}
