//! Disk requests: starts paired with completions by request packet, and the time the disk itself worked on each.
//!
//! A disk answers one request after another, so a request's service time runs from the completion before it on the same
//! disk, or from its own issue if that was later, to its completion.

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{self, DiskFlush, DiskRequestStart, DiskTransfer, IrpFlags};
use onoff_trace::{DiskIo, DiskIos, DiskOperation, IoPriority, Losses};

use super::counters;
use super::file_names::FileNames;
use super::threads::ThreadOwners;

/// Requests under way of all disks, and when each disk last completed one.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskRequests {
    started: HashMap<u64, Started>,
    starts_recorded: bool,
    /// Time of the last completion of each disk, by whether it is optical and its number.
    completed_ns: HashMap<(bool, u32), i64>,
    /// Most requests that are followed at a time; `None` for all.
    most: Option<usize>,
}

#[derive(Clone, Debug)]
struct Started {
    time_ns: i64,
    tid: Option<u32>,
}

/// What a completion says by itself.
struct Completion {
    disk: u32,
    optical: bool,
    response_ticks: Option<u64>,
    tid: Option<u32>,
    irp: u64,
}

/// When a request was issued and completed, and by whom it was issued.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompletedRequest {
    /// `None` when neither its start nor how long it took is recorded.
    pub(super) issue_ns: Option<i64>,
    pub(super) complete_ns: i64,
    /// How long it took as its completion says, which is by a clock of its own: µs from what the start says.
    response_ns: Option<i64>,
    /// Since the disk completed the request before; `None` for the first.
    since_last_ns: Option<i64>,
    /// The thread that issued it, where the completion or the start says so; [`NO_THREAD`] for none.
    pub(super) issuing_tid: Option<u32>,
    /// Whether the recording holds starts, and not this one.
    start_missing: bool,
    /// Whether it was issued later than it was completed, as recorded.
    backwards: bool,
}

/// In a thread's place: no thread.
pub(super) const NO_THREAD: u32 = u32::MAX;

impl CompletedRequest {
    /// From issue to completion, by the records' times.
    fn took_ns(&self) -> Option<i64> {
        self.issue_ns.map(|issue_ns| self.complete_ns.saturating_sub(issue_ns))
    }

    /// How long it took, as its completion says where it does.
    pub(super) fn elapsed_ns(&self) -> Option<i64> {
        self.response_ns.or(self.took_ns())
    }

    /// How long of `elapsed_ns` the disk itself worked on it.
    pub(super) fn service_ns(&self, elapsed_ns: i64) -> i64 {
        self.since_last_ns.map_or(elapsed_ns, |since_last_ns| elapsed_ns.min(since_last_ns)).max(0)
    }
}

impl DiskRequests {
    /// Follows no more than `most` requests at a time; others complete without their start.
    pub(super) fn of_at_most(most: usize) -> Self {
        Self { most: Some(most), ..Self::default() }
    }

    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DiskRequestStart) {
        self.starts_recorded = true;
        if self.most.is_some_and(|most| self.started.len() >= most && !self.started.contains_key(&start.irp)) {
            return;
        }
        let tid = start.issuing_thread_id.or(record.thread_id());
        self.started.insert(start.irp, Started { time_ns: record.time_ns(), tid });
    }

    pub(super) fn on_transfer(
        &mut self,
        record: &Record<'_>,
        transfer: &DiskTransfer,
        clock: &Clock,
    ) -> CompletedRequest {
        let completion = Completion {
            disk: transfer.disk_number,
            optical: transfer.optical,
            response_ticks: transfer.response_ticks,
            tid: transfer.issuing_thread_id,
            irp: transfer.irp,
        };
        self.complete(record.time_ns(), &completion, clock)
    }

    pub(super) fn on_flush(&mut self, record: &Record<'_>, flush: &DiskFlush, clock: &Clock) -> CompletedRequest {
        let completion = Completion {
            disk: flush.disk_number,
            optical: flush.optical,
            response_ticks: Some(flush.response_ticks),
            tid: flush.issuing_thread_id,
            irp: flush.irp,
        };
        self.complete(record.time_ns(), &completion, clock)
    }

    fn complete(&mut self, complete_ns: i64, completion: &Completion, clock: &Clock) -> CompletedRequest {
        let started = self.started.remove(&completion.irp);
        let response_ns = completion.response_ticks.map(|ticks| clock.span_ns(ticks));
        let issued_ns = match &started {
            Some(started) => Some(started.time_ns),
            None => response_ns.map(|response_ns| complete_ns.saturating_sub(response_ns)),
        };
        let before_ns = self.completed_ns.insert((completion.optical, completion.disk), complete_ns);
        CompletedRequest {
            issue_ns: issued_ns.map(|issued_ns| issued_ns.min(complete_ns)),
            complete_ns,
            response_ns,
            since_last_ns: before_ns.map(|before_ns| complete_ns.saturating_sub(before_ns).max(0)),
            issuing_tid: completion.tid.or(started.as_ref().and_then(|started| started.tid)),
            start_missing: started.is_none() && self.starts_recorded,
            backwards: issued_ns.is_some_and(|issued_ns| issued_ns > complete_ns),
        }
    }
}

/// The table of disk requests.
#[derive(Debug, Default)]
pub(super) struct DiskTracker {
    rows: Vec<DiskIo>,
    requests: DiskRequests,
}

impl DiskTracker {
    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DiskRequestStart) {
        if !start.optical {
            self.requests.on_start(record, start);
        }
    }

    pub(super) fn on_transfer(
        &mut self,
        record: &Record<'_>,
        transfer: &DiskTransfer,
        clock: &Clock,
        losses: &mut Losses,
    ) {
        if transfer.optical {
            losses.add(&counters::OPTICAL_LEFT_OUT, 1);
            return;
        }
        let completed = self.requests.on_transfer(record, transfer, clock);
        self.rows.push(DiskIo {
            disk: transfer.disk_number,
            operation: operation(transfer.operation),
            offset: transfer.byte_offset,
            size: u64::from(transfer.transfer_size),
            file_object: transfer.file_key,
            ..row(record, completed, transfer.irp, transfer.irp_flags, losses)
        });
    }

    pub(super) fn on_flush(&mut self, record: &Record<'_>, flush: &DiskFlush, clock: &Clock, losses: &mut Losses) {
        if flush.optical {
            losses.add(&counters::OPTICAL_LEFT_OUT, 1);
            return;
        }
        let completed = self.requests.on_flush(record, flush, clock);
        let row = row(record, completed, flush.irp, flush.irp_flags, losses);
        self.rows.push(DiskIo { disk: flush.disk_number, ..row });
    }

    /// The table, by completion, with files and processes resolved.
    pub(super) fn finish(self, names: &FileNames, owners: &ThreadOwners, losses: &mut Losses) -> DiskIos {
        losses.add(&counters::DISK_UNFINISHED, self.requests.started.len() as u64);
        let mut unnamed = 0;
        let table = self
            .rows
            .into_iter()
            .map(|mut row| {
                let asked_ns = row.issue_ns.unwrap_or(row.complete_ns);
                if let Some(owner) = row.tid.and_then(|tid| owners.process(tid, asked_ns)) {
                    row.pid = Some(owner);
                }
                row.file = names.at(row.file_object, row.complete_ns);
                unnamed += u64::from(row.file.is_empty() && row.file_object != 0);
                row
            })
            .collect();
        losses.add(&counters::FILE_NAME_UNKNOWN, unnamed);
        table
    }
}

/// A row of the table: a flush of disk 0, until more is said.
fn row(record: &Record<'_>, completed: CompletedRequest, irp: u64, flags: IrpFlags, losses: &mut Losses) -> DiskIo {
    if completed.start_missing {
        losses.add(&counters::DISK_START_MISSING, 1);
    }
    if completed.backwards {
        losses.add(&counters::TIME_BACKWARDS, 1);
    }
    DiskIo {
        issue_ns: completed.issue_ns,
        complete_ns: completed.complete_ns,
        operation: DiskOperation::Flush,
        priority: priority(flags),
        service_ns: completed.took_ns().map_or(0, |took_ns| completed.service_ns(took_ns)),
        pid: record.process_id(),
        // The thread that a completion is logged on is whichever the processor ran, unless Windows 7 or older logged
        // it: there the header is that of the issuer.
        tid: completed.issuing_tid.or(record.thread_id()).filter(|&tid| tid != NO_THREAD),
        irp,
        irp_flags: flags.0,
        ..DiskIo::UNKNOWN
    }
}

fn operation(operation: kernel::DiskOperation) -> DiskOperation {
    match operation {
        kernel::DiskOperation::Read => DiskOperation::Read,
        kernel::DiskOperation::Write => DiskOperation::Write,
        kernel::DiskOperation::Flush => DiskOperation::Flush,
    }
}

/// Bits 17 to 19 of the request flags: 0 not set, otherwise one more than the priority hint.
fn priority(flags: IrpFlags) -> IoPriority {
    match flags.priority() {
        1 => IoPriority::VeryLow,
        2 => IoPriority::Low,
        3 => IoPriority::Normal,
        4 => IoPriority::High,
        5 => IoPriority::Critical,
        _ => IoPriority::Unknown,
    }
}
