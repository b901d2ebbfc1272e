//! The read-ahead of a recorded boot.

use std::collections::BTreeMap;

use onoff_trace::{DiskOperation, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_transitions::PhaseName;
use onoff_transitions::boot::{self, BootReport};
use onoff_usage::disk::{DiskWork, is_read_ahead};

/// The tables that [`boot_read_ahead`] reads.
pub const TABLES: TableSet = boot::TABLES.union(TableSet::from_names(&[TableName::DiskIos]));

/// Totals that ReadyBoot reports when it ends.
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
    /// Totals reported by ReadyBoot; `None` if not recorded.
    pub totals: Option<ReadyBootTotals>,
    /// Prefetched bytes that were not used. `None` without `totals`.
    pub wasted_bytes: Option<u64>,
    /// Disk time of all reads, ns.
    pub read_ns: i64,
}

/// Computes the read-ahead of the boot in `report`.
#[must_use]
pub fn boot_read_ahead(trace: &Trace, report: &BootReport, totals: Option<ReadyBootTotals>) -> ReadAheadReport {
    let end_ns = report.phase(PhaseName::PostBoot).and_then(|phase| phase.end_ns).unwrap_or(trace.duration_ns);
    let mut work = ReadAheadReport {
        boot_ns: end_ns.max(0),
        training_count: report.details.read_ahead.training_count.and_then(|count| u64::try_from(count).ok()),
        totals,
        ..ReadAheadReport::default()
    };
    // (disk, start, end, completion) of each prefetch read, last completion first.
    let mut prefetch_reads: Vec<(u32, u64, u64, i64)> = Vec::new();
    let mut demand_reads = Vec::new();
    for row in trace.disk_ios.iter().filter(|row| (0..end_ns).contains(&row.complete_ns)) {
        match row.operation {
            DiskOperation::Read if is_read_ahead(trace.system.kind, &row) => {
                work.ahead.add(&row);
                prefetch_reads.push((row.disk, row.offset, row.offset.saturating_add(row.size), row.complete_ns));
            }
            DiskOperation::Read => {
                work.misses.add(&row);
                demand_reads.push(row);
            }
            DiskOperation::Write => work.writes.add(&row),
            DiskOperation::Flush => {}
        }
    }
    prefetch_reads.sort_by_key(|&(.., complete_ns)| std::cmp::Reverse(complete_ns));
    // Demand reads are sorted by the time when the data was needed, last first, so each prefetch read that completed
    // later is added to the ranges once.
    let needed_ns =
        |row: &onoff_trace::DiskIo| row.issue_ns.unwrap_or_else(|| row.complete_ns.saturating_sub(row.service_ns));
    demand_reads.sort_by_key(|row| std::cmp::Reverse(needed_ns(row)));
    let mut late_ranges = Ranges::default();
    let mut next_prefetches = prefetch_reads.iter().peekable();
    for row in &demand_reads {
        while let Some(&&(disk, start, end, complete_ns)) = next_prefetches.peek() {
            if complete_ns <= needed_ns(row) {
                break;
            }
            late_ranges.add(disk, start, end);
            next_prefetches.next();
        }
        if late_ranges.overlaps(row.disk, row.offset, row.offset.saturating_add(row.size)) {
            work.late.add(row);
        }
    }
    work.read_ns = work.ahead.service_ns.saturating_add(work.misses.service_ns);
    if let Some(totals) = totals {
        work.wasted_bytes = Some(totals.prefetch_bytes.saturating_sub(totals.hit_bytes));
    }
    work
}

/// Byte ranges on disks; adjacent ranges are merged.
#[derive(Debug, Default)]
struct Ranges {
    /// End of each range by disk and start.
    by_start: BTreeMap<(u32, u64), u64>,
}

impl Ranges {
    fn add(&mut self, disk: u32, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        while let Some((&(range_disk, range_start), &range_end)) = self.by_start.range(..=(disk, end)).next_back() {
            if range_disk != disk || range_end < start {
                break;
            }
            start = start.min(range_start);
            end = end.max(range_end);
            self.by_start.remove(&(disk, range_start));
        }
        self.by_start.insert((disk, start), end);
    }

    fn overlaps(&self, disk: u32, start: u64, end: u64) -> bool {
        let last_range = self.by_start.range(..(disk, end)).next_back();
        last_range.is_some_and(|(&(range_disk, _), &range_end)| range_disk == disk && range_end > start)
    }
}
