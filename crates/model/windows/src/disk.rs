//! Builds the table of disk requests: pairs starts with completions by IRP, and computes service times.
//!
//! A disk serves one request after another, so the service time of a request runs from the previous completion on the
//! same disk, or from its issue if later, to its completion.

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{self, DiskFlush, DiskRequestStart, DiskTransfer, IrpFlags};
use onoff_trace::{DiskIo, DiskIos, DiskOperation, IoPriority, Losses};

use super::counters;
use super::file_names::FileNames;
use super::threads::ThreadOwners;

/// Requests in flight on all disks, and the last completion of each disk.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskRequests {
    started: HashMap<u64, StartedRequest>,
    starts_recorded: bool,
    /// Time of the last completion of each disk, by (is optical, disk number).
    completed_ns: HashMap<(bool, u32), i64>,
    /// Maximum number of requests tracked at a time; `None` for unlimited.
    max_in_flight: Option<usize>,
}

#[derive(Clone, Debug)]
struct StartedRequest {
    time_ns: i64,
    tid: Option<u32>,
}

/// Fields of a completion event.
struct Completion {
    disk: u32,
    optical: bool,
    response_ticks: Option<u64>,
    tid: Option<u32>,
    irp: u64,
}

/// Times and issuer of a completed request.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompletedRequest {
    /// `None` when neither the start nor the response time is recorded.
    pub(super) issue_ns: Option<i64>,
    pub(super) complete_ns: i64,
    /// Response time from the completion event. It is measured with a different clock, so it differs by microseconds
    /// from the time since the start event.
    response_ns: Option<i64>,
    /// Time since the disk's previous completion; `None` for the first.
    since_last_ns: Option<i64>,
    /// Issuing thread from the completion or the start; [`NO_THREAD`] for none.
    pub(super) issuing_tid: Option<u32>,
    /// True if starts were recorded, but not the start of this request.
    start_missing: bool,
    /// True if the recorded issue is after the completion.
    is_issued_after_completion: bool,
}

/// Thread id that means "no thread".
pub(super) const NO_THREAD: u32 = u32::MAX;

impl CompletedRequest {
    /// Returns the time from issue to completion according to the times of the events.
    fn issue_to_completion_ns(&self) -> Option<i64> {
        self.issue_ns.map(|issue_ns| self.complete_ns.saturating_sub(issue_ns))
    }

    /// Returns the response time from the completion event, otherwise from the times of the events.
    pub(super) fn elapsed_ns(&self) -> Option<i64> {
        self.response_ns.or(self.issue_to_completion_ns())
    }

    /// Returns the part of `elapsed_ns` that the disk spent on the request.
    pub(super) fn service_ns(&self, elapsed_ns: i64) -> i64 {
        self.since_last_ns.map_or(elapsed_ns, |since_last_ns| elapsed_ns.min(since_last_ns)).max(0)
    }
}

impl DiskRequests {
    /// Tracks at most `max_in_flight` requests at a time; further requests complete without a start.
    pub(super) fn with_limit(max_in_flight: usize) -> Self {
        Self { max_in_flight: Some(max_in_flight), ..Self::default() }
    }

    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DiskRequestStart) {
        self.starts_recorded = true;
        if self.max_in_flight.is_some_and(|max| self.started.len() >= max && !self.started.contains_key(&start.irp)) {
            return;
        }
        let tid = start.issuing_thread_id.or(record.thread_id());
        self.started.insert(start.irp, StartedRequest { time_ns: record.time_ns(), tid });
    }

    pub(super) fn on_transfer(
        &mut self,
        record: &Record<'_>,
        transfer: &DiskTransfer,
        clock: &Clock,
    ) -> CompletedRequest {
        let completion = Completion {
            disk: transfer.disk_number,
            optical: transfer.is_optical,
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
        let response_ns = completion.response_ticks.map(|ticks| clock.duration_ns(ticks));
        let issued_ns = match &started {
            Some(started) => Some(started.time_ns),
            None => response_ns.map(|response_ns| complete_ns.saturating_sub(response_ns)),
        };
        let previous_ns = self.completed_ns.insert((completion.optical, completion.disk), complete_ns);
        CompletedRequest {
            issue_ns: issued_ns.map(|issued_ns| issued_ns.min(complete_ns)),
            complete_ns,
            response_ns,
            since_last_ns: previous_ns.map(|previous_ns| complete_ns.saturating_sub(previous_ns).max(0)),
            issuing_tid: completion.tid.or(started.as_ref().and_then(|started| started.tid)),
            start_missing: started.is_none() && self.starts_recorded,
            is_issued_after_completion: issued_ns.is_some_and(|issued_ns| issued_ns > complete_ns),
        }
    }
}

/// Builds the disk I/O table.
#[derive(Debug, Default)]
pub(super) struct DiskTracker {
    rows: Vec<DiskIo>,
    requests: DiskRequests,
}

impl DiskTracker {
    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DiskRequestStart) {
        if !start.is_optical {
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
        if transfer.is_optical {
            losses.add(&counters::OPTICAL_SKIPPED, 1);
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
            losses.add(&counters::OPTICAL_SKIPPED, 1);
            return;
        }
        let completed = self.requests.on_flush(record, flush, clock);
        let row = row(record, completed, flush.irp, flush.irp_flags, losses);
        self.rows.push(DiskIo { disk: flush.disk_number, ..row });
    }

    /// Builds the table, sorted by completion, with files and processes resolved.
    pub(super) fn finish(self, names: &FileNames, owners: &ThreadOwners, losses: &mut Losses) -> DiskIos {
        losses.add(&counters::DISK_UNFINISHED, self.requests.started.len() as u64);
        let mut unnamed = 0;
        let table = self
            .rows
            .into_iter()
            .map(|mut row| {
                let issued_ns = row.issue_ns.unwrap_or(row.complete_ns);
                if let Some(owner) = row.tid.and_then(|tid| owners.process(tid, issued_ns)) {
                    row.pid = Some(owner);
                }
                row.file = names.name_at(row.file_object, row.complete_ns);
                unnamed += u64::from(row.file.is_empty() && row.file_object != 0);
                row
            })
            .collect();
        losses.add(&counters::FILE_NAME_UNKNOWN, unnamed);
        table
    }
}

/// Builds a row with the fields that all operations have in common; by default a flush of disk 0.
fn row(record: &Record<'_>, completed: CompletedRequest, irp: u64, flags: IrpFlags, losses: &mut Losses) -> DiskIo {
    if completed.start_missing {
        losses.add(&counters::DISK_START_MISSING, 1);
    }
    if completed.is_issued_after_completion {
        losses.add(&counters::TIME_BACKWARDS, 1);
    }
    DiskIo {
        issue_ns: completed.issue_ns,
        complete_ns: completed.complete_ns,
        operation: DiskOperation::Flush,
        priority: priority(flags),
        service_ns: completed.issue_to_completion_ns().map_or(0, |elapsed_ns| completed.service_ns(elapsed_ns)),
        pid: record.process_id(),
        // A completion is logged on whichever thread the processor was running, except on Windows 7 and older, where
        // the header contains the issuer.
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

/// Parses bits 17 to 19 of the IRP flags: 0 if not set, otherwise the priority hint plus one.
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
