//! What drivers do on a processor: DPCs, and opening files.

use super::Machine;
use crate::program::SYSTEM;
use onoff_testkit::events::{kernel, storage};

/// Higher than any thread of a scenario, so no thread runs on the processor during a DPC.
const DPC_PRIORITY: u8 = 31;
/// Length of a DPC that only wakes a thread: 6 µs.
const SHORT_DPC: u64 = 60;
/// An address outside every module.
const UNKNOWN_ROUTINE: u64 = 0xFFFF_F801_2000_4000;
/// Request packets of file operations, distinct from those of disk requests.
const FIRST_PACKET: u64 = 0xFFFF_FA81_0000_0000;

impl Machine<'_> {
    /// Address of a routine in a loaded driver.
    fn routine_in(&self, driver: &str) -> u64 {
        let images = &self.processes[SYSTEM].images;
        images
            .iter()
            .find(|(_, _, path)| {
                let name = path.rsplit('\\').next().unwrap_or(path);
                name.eq_ignore_ascii_case(driver)
            })
            .map_or(UNKNOWN_ROUTINE, |&(base, _, _)| base + 0x1_0000)
    }

    fn record_dpc(&mut self, cpu: usize, start: u64, driver: &str) {
        let routine = self.routine_in(driver);
        let time = self.stamp();
        let record = kernel::dpc(self.recorder.clock(time), self.recorder.clock(start), routine);
        self.write_record(cpu, &record);
    }

    /// Records the DPC of the driver that wakes the thread, if any.
    pub(super) fn record_wakeup_dpc(&mut self, thread: usize, cpu: usize) {
        let driver = std::mem::take(&mut self.threads[thread].woken_by);
        if !driver.is_empty() {
            self.record_dpc(cpu, self.now.saturating_sub(SHORT_DPC), &driver);
        }
    }

    /// Starts a DPC; the interrupted thread keeps its processor until it ends.
    pub(super) fn begin_dpc(&mut self, thread: usize, ticks: u64) {
        let plan = &mut self.threads[thread].plan;
        let original_priority = std::mem::replace(&mut plan.priority, DPC_PRIORITY);
        self.threads[thread].dpc = Some((self.now, original_priority));
        self.threads[thread].remaining_compute = ticks;
    }

    pub(super) fn end_dpc(&mut self, cpu: usize, thread: usize, driver: &str) {
        if let Some((start, original_priority)) = self.threads[thread].dpc.take() {
            self.threads[thread].plan.priority = original_priority;
            self.record_dpc(cpu, start, driver);
        }
    }

    pub(super) fn start_open(&mut self, cpu: usize, thread: usize, path: &str) {
        let time = self.stamp();
        let packet = FIRST_PACKET + time;
        self.threads[thread].packet = packet;
        let id = self.threads[thread].plan.id;
        let record = storage::file_open(self.recorder.clock(time), packet, id, path);
        self.write_record(cpu, &record);
    }

    pub(super) fn complete_open(&mut self, cpu: usize, thread: usize) {
        let time = self.stamp();
        let packet = self.threads[thread].packet;
        let record = storage::file_operation_end(self.recorder.clock(time), packet);
        self.write_record(cpu, &record);
    }
}
