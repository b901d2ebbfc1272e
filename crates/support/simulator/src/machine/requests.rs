//! Disk requests from issue to completion.

use super::{Event, Machine, ReadySource};
use crate::disk::QueuedRequest;
use crate::disk::{disk_index, volume_path};
use crate::work::Transfer;
use onoff_testkit::events::kernel;
use onoff_testkit::events::storage::{self, DiskRequest, Operation};

impl Machine<'_> {
    pub(super) fn disk_request(
        &mut self,
        thread: usize,
        disk: usize,
        operation: Operation,
        size: u32,
        (file, offset): (u64, u64),
    ) -> DiskRequest {
        DiskRequest {
            disk: disk as u32,
            operation,
            size,
            offset,
            file,
            irp: self.disks[disk].next_packet(),
            priority: self.threads[thread].plan.io_priority,
            thread: self.threads[thread].plan.id,
        }
    }

    pub(super) fn request(&mut self, cpu: usize, thread: usize, transfer: Transfer, size: u32, path: &str) {
        let disk = disk_index(path);
        let (key, offset, is_new) = self.disks[disk].locate(path, size);
        // A written file is new in this boot, so its name is recorded immediately; other names come in the rundown.
        if is_new && transfer == Transfer::Write {
            let time = self.stamp();
            let plan = &self.threads[thread].plan;
            let process = self.processes[plan.process].plan.id;
            let clock = self.recorder.clock(time);
            let record = storage::file_name(false, clock, plan.id, process, key, &volume_path(path));
            self.write_record(cpu, &record);
        }
        let operation = if transfer == Transfer::Write { Operation::Write } else { Operation::Read };
        let request = self.disk_request(thread, disk, operation, size, (key, offset));
        self.issue(cpu, thread, request, transfer == Transfer::Fault);
    }

    pub(super) fn issue(&mut self, cpu: usize, thread: usize, request: DiskRequest, is_fault: bool) {
        let issued = if self.settings.disk_issue {
            let time = self.stamp();
            let record = request.issue(self.recorder.clock(time));
            self.write_record(cpu, &record);
            time
        } else {
            self.now
        };
        let disk = request.disk as usize;
        self.disks[disk].queue(QueuedRequest { request, issued, thread, is_fault });
        self.begin_disk(disk);
    }

    pub(super) fn begin_disk(&mut self, disk: usize) {
        if let Some(time) = self.disks[disk].start_next(self.now) {
            self.schedule(self.now + time, Event::DiskDone(disk));
        }
    }

    pub(super) fn disk_done(&mut self, disk: usize) {
        let Some((queued, accounted)) = self.disks[disk].active.take() else {
            return;
        };
        let cpu = self.threads[queued.thread].last_cpu;
        let start = self.now;
        let time = self.stamp();
        let record = kernel::isr(
            self.recorder.clock(time),
            self.recorder.clock(start.saturating_sub(40)),
            0xFFFF_F801_2000_1000,
            0x61,
        );
        self.write_record(cpu, &record);
        let time = self.stamp();
        self.accounting.disk_busy(queued.request.priority, accounted, time);
        self.accounting.disk_completed(queued.request.operation, queued.request.size, time);
        let record = queued.request.complete(self.recorder.clock(time), time - queued.issued);
        self.write_record(cpu, &record);
        // The disk starts the next request at once, before anything else is recorded.
        self.begin_disk(disk);
        if queued.is_fault {
            let time = self.stamp();
            let record = storage::hard_fault(
                self.recorder.clock(time),
                self.recorder.clock(queued.issued),
                queued.request.file,
                queued.request.offset,
                queued.request.size,
                queued.request.thread,
            );
            self.write_record(cpu, &record);
        }
        let time = self.stamp();
        let record = kernel::dpc(self.recorder.clock(time), self.recorder.clock(start), 0xFFFF_F801_2000_4000);
        self.write_record(cpu, &record);
        self.make_ready(queued.thread, cpu, ReadySource::Dpc);
    }
}
