//! Disk requests: starts paired with completions by request packet, and the time the disk itself worked on each.
//!
//! A disk answers one request after another, so a request's service time runs from the completion before it on the same
//! disk, or from its own issue if that was later, to its completion.

use hashbrown::HashMap;
use onoff_etl::{Clock, Record};
use onoff_etw::kernel::{self, DiskFlush, DiskRequestStart, DiskTransfer, IrpFlags};
use onoff_trace::{DiskIo, DiskIos, DiskOperation, IoPriority, Losses, StringId};

use super::counters;
use super::file_names::FileNames;
use super::threads::ThreadOwners;

#[derive(Debug, Default)]
pub(super) struct DiskTracker {
    rows: Vec<DiskIo>,
    started: HashMap<u64, Started>,
    starts_recorded: bool,
    /// Time of the last completion of each disk.
    completed_ns: HashMap<u32, i64>,
}

#[derive(Debug)]
struct Started {
    time_ns: i64,
    tid: Option<u32>,
}

struct Completion {
    disk: u32,
    operation: DiskOperation,
    offset: u64,
    size: u64,
    flags: IrpFlags,
    response_ticks: Option<u64>,
    tid: Option<u32>,
    file_key: u64,
    irp: u64,
}

const NO_THREAD: u32 = u32::MAX;

impl DiskTracker {
    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DiskRequestStart) {
        if start.optical {
            return;
        }
        self.starts_recorded = true;
        self.started.insert(
            start.irp,
            Started { time_ns: record.time_ns(), tid: start.issuing_thread_id.or(record.thread_id()) },
        );
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
        let completion = Completion {
            disk: transfer.disk_number,
            operation: operation(transfer.operation),
            offset: transfer.byte_offset,
            size: u64::from(transfer.transfer_size),
            flags: transfer.irp_flags,
            response_ticks: transfer.response_ticks,
            tid: transfer.issuing_thread_id,
            file_key: transfer.file_key,
            irp: transfer.irp,
        };
        self.complete(record, completion, clock, losses);
    }

    pub(super) fn on_flush(&mut self, record: &Record<'_>, flush: &DiskFlush, clock: &Clock, losses: &mut Losses) {
        if flush.optical {
            losses.add(&counters::OPTICAL_LEFT_OUT, 1);
            return;
        }
        let completion = Completion {
            disk: flush.disk_number,
            operation: DiskOperation::Flush,
            offset: 0,
            size: 0,
            flags: flush.irp_flags,
            response_ticks: Some(flush.response_ticks),
            tid: flush.issuing_thread_id,
            file_key: 0,
            irp: flush.irp,
        };
        self.complete(record, completion, clock, losses);
    }

    fn complete(&mut self, record: &Record<'_>, completion: Completion, clock: &Clock, losses: &mut Losses) {
        let complete_ns = record.time_ns();
        let started = self.started.remove(&completion.irp);
        if started.is_none() && self.starts_recorded {
            losses.add(&counters::DISK_START_MISSING, 1);
        }
        let issue_ns = match (&started, completion.response_ticks) {
            (Some(started), _) => Some(started.time_ns),
            (None, Some(ticks)) => Some(complete_ns.saturating_sub(clock.span_ns(ticks))),
            (None, None) => None,
        };
        let issue_ns = issue_ns.map(|issue_ns| {
            if issue_ns > complete_ns {
                losses.add(&counters::TIME_BACKWARDS, 1);
            }
            issue_ns.min(complete_ns)
        });
        let before_ns = self.completed_ns.insert(completion.disk, complete_ns).unwrap_or(i64::MIN);
        let begun_ns = issue_ns.unwrap_or(complete_ns).max(before_ns);
        // The thread that a completion is logged on is whichever the processor ran, unless Windows 7 or older logged it:
        // there the header is that of the issuer.
        let tid = completion
            .tid
            .or(started.and_then(|started| started.tid))
            .or(record.thread_id())
            .filter(|&tid| tid != NO_THREAD);
        self.rows.push(DiskIo {
            issue_ns,
            complete_ns,
            disk: completion.disk,
            operation: completion.operation,
            offset: completion.offset,
            size: completion.size,
            priority: priority(completion.flags),
            service_ns: (complete_ns - begun_ns).max(0),
            pid: record.process_id(),
            tid,
            file: StringId::EMPTY,
            file_object: completion.file_key,
            irp: completion.irp,
            irp_flags: completion.flags.0,
        });
    }

    /// The table, by completion, with files and processes resolved.
    pub(super) fn finish(self, names: &FileNames, owners: &ThreadOwners, losses: &mut Losses) -> DiskIos {
        losses.add(&counters::DISK_UNFINISHED, self.started.len() as u64);
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
