//! Pairs the issue and completion events of block requests into disk I/O rows.

use hashbrown::HashMap;
use onoff_ftrace::{BlockRequest, RequestStage};
use onoff_trace::{DiskIo, DiskOperation, IoPriority, TableName, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_ISSUE = "disk_requests_without_issue", Notice, [DiskIos],
        "Disk requests completed without a recorded issue: they started before the recording, or block:block_rq_issue was not recorded.";
    NO_TRANSFERS = "disk_requests_without_transfer", Notice, [DiskIos],
        "Discards and driver-private requests were skipped: they transfer no data.";
}

const SECTOR_BYTES: u64 = 512;
/// Maximum number of requests in flight.
const MAX_IN_FLIGHT: usize = 1 << 16;
/// Sector number of a completed request without data.
const NO_SECTOR: u64 = u64::MAX;

type Device = (u32, u32);

#[derive(Clone, Copy, Debug)]
struct Issue {
    time_ns: i64,
    tid: u32,
    sectors: u64,
}

#[derive(Debug, Default)]
pub(super) struct DiskTracker {
    /// Requests in flight by device and first sector; requests without data use [`NO_SECTOR`].
    in_flight: HashMap<(Device, u64), Issue>,
    /// Submitting thread by device and first sector; the request itself is often issued by a kernel thread.
    submitters: HashMap<(Device, u64), u32>,
    last_completion: HashMap<Device, i64>,
}

impl DiskTracker {
    pub(super) fn on_request(&mut self, time_ns: i64, tid: u32, request: &BlockRequest<'_>, assembly: &mut Assembly) {
        if !assembly.wants(TableName::DiskIos) {
            return;
        }
        match request.stage {
            RequestStage::Queued => {
                if self.submitters.len() >= MAX_IN_FLIGHT {
                    self.submitters.clear();
                }
                self.submitters.insert((request.device, request.sector), tid);
            }
            RequestStage::Inserted => {}
            RequestStage::Issued => {
                let sector = if request.sectors == 0 { NO_SECTOR } else { request.sector };
                let submitter = self.submitters.remove(&(request.device, request.sector));
                if self.in_flight.len() < MAX_IN_FLIGHT {
                    let issue = Issue { time_ns, tid: submitter.unwrap_or(tid), sectors: request.sectors };
                    self.in_flight.insert((request.device, sector), issue);
                }
            }
            RequestStage::Completed => self.on_completion(time_ns, request, assembly),
        }
    }

    fn on_completion(&mut self, time_ns: i64, request: &BlockRequest<'_>, assembly: &mut Assembly) {
        let device = request.device;
        // A write with a flush completes a second time, without sectors, when all its parts are done.
        if request.sectors == 0 && request.sector != NO_SECTOR {
            return;
        }
        let issue = self.in_flight.remove(&(device, request.sector));
        if let Some(issue) = issue
            && request.sectors > 0
            && issue.sectors > request.sectors
        {
            let remainder = Issue { sectors: issue.sectors - request.sectors, ..issue };
            let sector = request.sector.saturating_add(request.sectors);
            self.in_flight.insert((device, sector), remainder);
        }
        let previous_completion_ns = self.last_completion.insert(device, time_ns);
        let Some(operation) = operation(request.operation) else {
            assembly.losses.add(&NO_TRANSFERS, 1);
            return;
        };
        if issue.is_none() {
            assembly.losses.add(&WITHOUT_ISSUE, 1);
        }
        let issue_ns = issue.map(|issue| issue.time_ns);
        let begin_ns = issue_ns.max(previous_completion_ns).unwrap_or(time_ns);
        let disk = assembly.disk(device);
        let offset = if request.sector == NO_SECTOR { 0 } else { request.sector.saturating_mul(SECTOR_BYTES) };
        assembly.disk_ios.push(DiskIo {
            issue_ns,
            complete_ns: time_ns,
            disk,
            operation,
            offset,
            size: request.sectors.saturating_mul(SECTOR_BYTES),
            priority: IoPriority::Unknown,
            service_ns: time_ns.saturating_sub(begin_ns).max(0),
            pid: issue.map(|issue| issue.tid),
            tid: issue.map(|issue| issue.tid),
            irp_flags: if is_read_ahead(request.operation) { DiskIo::LINUX_READ_AHEAD } else { 0 },
            ..DiskIo::UNKNOWN
        });
    }
}

/// Parses the kernel's letters (`blk_fill_rwbs`). A leading `F` is a flush before the request.
fn operation(letters: &str) -> Option<DiskOperation> {
    let operation_letters = letters.strip_prefix('F').unwrap_or(letters);
    match operation_letters.as_bytes().first() {
        Some(b'R') => Some(DiskOperation::Read),
        Some(b'W') => Some(DiskOperation::Write),
        Some(b'F') => Some(DiskOperation::Flush),
        None | Some(b'S' | b'N') if letters.starts_with('F') => Some(DiskOperation::Flush),
        _ => None,
    }
}

/// True for a read with the letter `A`: kernel read-ahead (`REQ_RAHEAD`).
fn is_read_ahead(letters: &str) -> bool {
    operation(letters) == Some(DiskOperation::Read) && letters.contains('A')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_operation_letters() {
        let operations = ["R", "RA", "WS", "FWFS", "FF", "F", "FN", "D", "DS", "N", ""].map(operation);
        let (read, write) = (Some(DiskOperation::Read), Some(DiskOperation::Write));
        let flush = Some(DiskOperation::Flush);
        assert_eq!(operations, [read, read, write, write, flush, flush, flush, None, None, None, None]);
    }

    #[test]
    fn detects_read_ahead() {
        let flags = ["R", "RA", "RAM", "RSM", "RM", "WA", "WS", "FF", "D", ""].map(is_read_ahead);
        assert_eq!(flags, [false, true, true, false, false, false, false, false, false, false]);
    }
}
