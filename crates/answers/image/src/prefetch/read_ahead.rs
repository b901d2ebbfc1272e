//! What the read-ahead of a recorded boot did, and what it is worth on that computer.

use std::collections::BTreeMap;

use onoff_trace::{DiskOperation, TableName, Tables, Trace};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_transitions::PhaseName;
use onoff_transitions::boot::{self, BootReport};
use onoff_usage::disk::{DiskWork, is_read_ahead};

/// The tables that [`of_boot`] reads.
pub const TABLES: Tables = boot::TABLES.union(Tables::of(&[TableName::DiskIos]));

/// The sums that the read-ahead itself gives when it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadyBootSums {
    /// Reads that it saw.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Reads that it answered from what it had read ahead.
    pub hits: u64,
    /// Their bytes.
    pub hit_bytes: u64,
    /// Reads that it made ahead.
    pub prefetches: u64,
    /// Their bytes.
    pub prefetch_bytes: u64,
    /// Time the disk took for them, µs.
    pub prefetch_disk_us: u64,
}

/// What the read-ahead of a boot did, from its start to the end of PostBoot or of the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadAheadWork {
    /// Length of the boot that was looked at, ns.
    pub boot_ns: i64,
    /// Boots that the read-ahead has learned from; `None` when that was not recorded.
    pub training_count: Option<u64>,
    /// Reads made ahead.
    pub ahead: DiskWork,
    /// Reads that programs waited for: misses.
    pub misses: DiskWork,
    /// Those of the misses whose bytes the read-ahead read too, but was not done with when they were needed.
    pub late: DiskWork,
    /// Writes.
    pub writes: DiskWork,
    /// What the read-ahead says about itself; `None` when that was not recorded.
    pub sums: Option<ReadyBootSums>,
    /// Bytes that were read ahead and that nobody asked for: what was read ahead without what it answered. `None` without `sums`.
    pub wasted_bytes: Option<u64>,
    /// Time of the disks on reads, ns.
    pub read_ns: i64,
    /// The same if nothing had been read ahead, ns: each hit would have been a miss, as long as the misses were in the mean. `None`
    /// without `sums`, or without a miss.
    pub read_without_ns: Option<i64>,
    /// How certain `read_without_ns` is.
    pub certainty: Certainty,
}

/// The read-ahead of the boot that `report` is about.
#[must_use]
pub fn of_boot(trace: &Trace, report: &BootReport, sums: Option<ReadyBootSums>) -> ReadAheadWork {
    let end = report.phase(PhaseName::PostBoot).and_then(|phase| phase.end_ns).unwrap_or(trace.duration_ns);
    let mut work = ReadAheadWork {
        boot_ns: end.max(0),
        training_count: report.details.read_ahead.training_count.and_then(|count| u64::try_from(count).ok()),
        sums,
        ..ReadAheadWork::default()
    };
    // (disk, first byte, byte behind the last, done) of each read ahead, the last done first.
    let mut ahead: Vec<(u32, u64, u64, i64)> = Vec::new();
    let mut demanded = Vec::new();
    for row in trace.disk_ios.iter().filter(|row| (0..end).contains(&row.complete_ns)) {
        match row.operation {
            DiskOperation::Read if is_read_ahead(trace.system.kind, &row) => {
                work.ahead.add(&row);
                ahead.push((row.disk, row.offset, row.offset.saturating_add(row.size), row.complete_ns));
            }
            DiskOperation::Read => {
                work.misses.add(&row);
                demanded.push(row);
            }
            DiskOperation::Write => work.writes.add(&row),
            DiskOperation::Flush => {}
        }
    }
    ahead.sort_by_key(|&(.., done)| std::cmp::Reverse(done));
    // By when they were needed, the last first, so that what was read ahead after a read joins the ranges once.
    let needed =
        |row: &onoff_trace::DiskIo| row.issue_ns.unwrap_or_else(|| row.complete_ns.saturating_sub(row.service_ns));
    demanded.sort_by_key(|row| std::cmp::Reverse(needed(row)));
    let mut ranges = Ranges::default();
    let mut next = ahead.iter().peekable();
    for row in &demanded {
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

/// Ranges of bytes on disks, joined where they touch.
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
