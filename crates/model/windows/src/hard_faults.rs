//! Builds the table of hard faults: pages that had to be read from a file.

use onoff_etl::{Clock, Record};
use onoff_etw::kernel;
use onoff_trace::{HardFault, HardFaults, Losses, StringId};

use super::counters;
use super::file_names::FileNames;
use super::threads::ThreadOwners;

#[derive(Debug, Default)]
pub(super) struct HardFaultTracker {
    rows: Vec<HardFault>,
}

impl HardFaultTracker {
    /// Processes a record, which is logged when the fault is resolved and contains the start time.
    pub(super) fn on_fault(
        &mut self,
        record: &Record<'_>,
        fault: &kernel::HardFault,
        clock: &Clock,
        losses: &mut Losses,
    ) {
        let end_ns = record.time_ns();
        let start_ns = clock.ns(fault.start_ticks);
        if start_ns > end_ns {
            losses.add(&counters::TIME_BACKWARDS, 1);
        }
        self.rows.push(HardFault {
            start_ns: start_ns.min(end_ns),
            end_ns,
            pid: record.process_id(),
            tid: fault.thread_id,
            file: StringId::EMPTY,
            file_object: fault.file_key,
            offset: fault.read_offset,
            size: u64::from(fault.byte_count),
            address: fault.virtual_address,
        });
    }

    /// Builds the table, sorted by end, with files and processes resolved.
    pub(super) fn finish(self, names: &FileNames, owners: &ThreadOwners, losses: &mut Losses) -> HardFaults {
        let mut unnamed = 0;
        let table = self
            .rows
            .into_iter()
            .map(|mut row| {
                if let Some(owner) = owners.process(row.tid, row.start_ns) {
                    row.pid = Some(owner);
                }
                row.file = names.name_at(row.file_object, row.end_ns);
                unnamed += u64::from(row.file.is_empty() && row.file_object != 0);
                row
            })
            .collect();
        losses.add(&counters::FILE_NAME_UNKNOWN, unnamed);
        table
    }
}
