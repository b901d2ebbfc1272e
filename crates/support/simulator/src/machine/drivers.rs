//! What drivers do on a processor: deferred procedure calls, and files that are opened through them.

use super::Machine;
use crate::program::SYSTEM;
use onoff_testkit::events::{kernel, storage};

/// Higher than any thread of a scenario: while a deferred procedure call runs, its processor runs no other thread.
const ABOVE_ALL: u8 = 31;
/// A deferred procedure call that does nothing but wake a thread: 6 µs.
const SHORT_CALL: u64 = 60;
/// An address of no module.
const NOWHERE: u64 = 0xFFFF_F801_2000_4000;
/// Packets of file operations, apart from those of disk requests.
const FIRST_PACKET: u64 = 0xFFFF_FA81_0000_0000;

impl Machine<'_> {
    /// An address in a driver that has been loaded.
    fn routine_of(&self, driver: &str) -> u64 {
        let images = &self.processes[SYSTEM].images;
        images
            .iter()
            .find(|(_, _, path)| {
                let name = path.rsplit('\\').next().unwrap_or(path);
                name.eq_ignore_ascii_case(driver)
            })
            .map_or(NOWHERE, |&(base, _, _)| base + 0x1_0000)
    }

    fn call(&mut self, cpu: usize, began: u64, driver: &str) {
        let routine = self.routine_of(driver);
        let time = self.stamp();
        let record = kernel::dpc(self.recorder.clock(time), self.recorder.clock(began), routine);
        self.put(cpu, &record);
    }

    /// The call of the driver that wakes the thread, if one does.
    pub(super) fn call_of_driver(&mut self, thread: usize, cpu: usize) {
        let driver = std::mem::take(&mut self.threads[thread].woken_by);
        if !driver.is_empty() {
            self.call(cpu, self.now.saturating_sub(SHORT_CALL), &driver);
        }
    }

    /// A call begins: the thread below it keeps its processor until it is over.
    pub(super) fn begin_call(&mut self, thread: usize, ticks: u64) {
        let plan = &mut self.threads[thread].plan;
        let own = std::mem::replace(&mut plan.priority, ABOVE_ALL);
        self.threads[thread].call = Some((self.now, own));
        self.threads[thread].compute_left = ticks;
    }

    pub(super) fn end_call(&mut self, cpu: usize, thread: usize, driver: &str) {
        if let Some((began, own)) = self.threads[thread].call.take() {
            self.threads[thread].plan.priority = own;
            self.call(cpu, began, driver);
        }
    }

    pub(super) fn open(&mut self, cpu: usize, thread: usize, path: &str) {
        let time = self.stamp();
        let packet = FIRST_PACKET + time;
        self.threads[thread].packet = packet;
        let id = self.threads[thread].plan.id;
        let record = storage::file_open(self.recorder.clock(time), packet, id, path);
        self.put(cpu, &record);
    }

    pub(super) fn opened(&mut self, cpu: usize, thread: usize) {
        let time = self.stamp();
        let packet = self.threads[thread].packet;
        let record = storage::file_operation_end(self.recorder.clock(time), packet);
        self.put(cpu, &record);
    }
}
