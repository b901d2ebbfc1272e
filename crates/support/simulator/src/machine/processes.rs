//! Starts, ends and rundowns of processes, threads and modules.

use super::{Machine, ReadySource};
use crate::disk::Disk;
use crate::disk::volume_path;
use crate::program::TruthNote;
use onoff_testkit::assemble::Record;
use onoff_testkit::events::kernel::{self, Image, LifetimeEvent, SwitchReason};
use onoff_testkit::events::storage;

impl Machine<'_> {
    pub(super) fn thread_record(
        &self,
        thread: usize,
        event: LifetimeEvent,
        time: u64,
        logger_tid: u32,
        logger_pid: u32,
    ) -> Record<'static> {
        let plan = &self.threads[thread].plan;
        kernel::Thread {
            id: plan.id,
            process: self.processes[plan.process].plan.id,
            base_priority: plan.priority,
            io_priority: 2,
            service_tag: plan.service_tag,
        }
        .record(event, self.recorder.clock(time), logger_tid, logger_pid)
    }

    pub(super) fn process_record(
        &self,
        process: usize,
        event: LifetimeEvent,
        time: u64,
        logger_tid: u32,
        logger_pid: u32,
    ) -> Record<'static> {
        let plan = &self.processes[process].plan;
        kernel::Process {
            id: plan.id,
            parent: plan.parent,
            session: plan.session,
            exit_status: 0,
            image: &plan.image,
            command_line: &plan.command,
            user: &[18],
        }
        .record(event, self.recorder.clock(time), logger_tid, logger_pid)
    }

    /// Records a process that existed before the recording, with its threads and image.
    pub(super) fn rundown(&mut self, process: usize) {
        let time = self.stamp();
        let record = self.process_record(process, LifetimeEvent::RundownStart, time, 4, 4);
        self.write_record(0, &record);
        let path = self.processes[process].plan.path.clone();
        if !path.is_empty() {
            self.load_image(0, process, path, LifetimeEvent::RundownStart, 4);
        }
        for thread in 0..self.threads.len() {
            if self.threads[thread].plan.process == process {
                let time = self.stamp();
                let record = self.thread_record(thread, LifetimeEvent::RundownStart, time, 4, 4);
                self.write_record(0, &record);
                self.threads[thread].started = true;
            }
        }
    }

    /// Records a module that was loaded before the recording.
    pub(in super::super) fn rundown_image(&mut self, process: usize, path: String) {
        self.load_image(0, process, path, LifetimeEvent::RundownStart, 4);
    }

    pub(super) fn start_process(&mut self, cpu: usize, creator: usize, process: usize, note: Option<TruthNote>) {
        let plan = &self.threads[creator].plan;
        let (creator_tid, creator_pid) = (plan.id, self.processes[plan.process].plan.id);
        let time = self.stamp();
        let record = self.process_record(process, LifetimeEvent::Start, time, creator_tid, creator_pid);
        self.write_record(cpu, &record);
        self.processes[process].start = Some(time);
        if let Some(note) = note {
            self.note(note, time);
        }
        let mut first_tid = None;
        for thread in 0..self.threads.len() {
            if self.threads[thread].plan.process == process && !self.threads[thread].started {
                let time = self.stamp();
                let record = self.thread_record(thread, LifetimeEvent::Start, time, creator_tid, creator_pid);
                self.write_record(cpu, &record);
                self.threads[thread].started = true;
                first_tid.get_or_insert(self.threads[thread].plan.id);
            }
        }
        let loader = first_tid.unwrap_or(creator_tid);
        let path = self.processes[process].plan.path.clone();
        self.load_image(cpu, process, path, LifetimeEvent::Start, loader);
        self.load_image(
            cpu,
            process,
            "\\Device\\HarddiskVolume2\\Windows\\System32\\ntdll.dll".to_owned(),
            LifetimeEvent::Start,
            loader,
        );
        for thread in 0..self.threads.len() {
            if self.threads[thread].plan.process == process {
                self.make_ready(thread, cpu, ReadySource::Thread);
            }
        }
    }

    /// Ends a process and all its threads, whatever they are doing.
    pub(super) fn end_process(&mut self, cpu: usize, initiator: usize, process: usize) {
        if self.processes[process].end.is_some() {
            return;
        }
        let plan = &self.threads[initiator].plan;
        let (initiator_tid, initiator_pid) = (plan.id, self.processes[plan.process].plan.id);
        let mut running = Vec::new();
        for thread in 0..self.threads.len() {
            let state = &mut self.threads[thread];
            if state.plan.process != process || state.ended {
                continue;
            }
            state.ended = true;
            let time = self.stamp();
            let record = self.thread_record(thread, LifetimeEvent::End, time, initiator_tid, initiator_pid);
            self.write_record(cpu, &record);
            for queue in &mut self.ready {
                queue.retain(|&ready| ready != thread);
            }
            for signal in &mut self.signals {
                signal.waiters.retain(|&waiter| waiter != thread);
            }
            running.extend((0..self.cpus.len()).find(|&running_cpu| self.cpus[running_cpu].current == Some(thread)));
        }
        self.processes[process].live_threads = 0;
        let time = self.stamp();
        let record = self.process_record(process, LifetimeEvent::End, time, initiator_tid, initiator_pid);
        self.write_record(cpu, &record);
        self.processes[process].end = Some(time);
        for running_cpu in running {
            self.pause(running_cpu);
            self.leave(running_cpu, SwitchReason::TERMINATED);
        }
    }

    pub(super) fn load_image(&mut self, cpu: usize, process: usize, path: String, event: LifetimeEvent, tid: u32) {
        let kernel_mode = self.processes[process].plan.id == 4;
        let size = 0x2_0000 + self.random.below(64) * 0x1000;
        self.next_base += 0x40_0000;
        let base = if kernel_mode { self.next_base + 0xFFFF_0000_0000_0000 } else { self.next_base };
        let owner = if kernel_mode { 0 } else { self.processes[process].plan.id };
        let time = self.stamp();
        let clock = self.recorder.clock(time);
        let image =
            Image { process: owner, base, size, path: &path, time_stamp: 0x5A00_0000 + (base >> 16) as u32 % 0x1000 };
        let pid = self.processes[process].plan.id;
        let record = image.record(event, clock, tid, pid);
        let symbols = self.processes[process].plan.symbols.map(|id| {
            let name = path.rsplit('\\').next().unwrap_or(&path);
            let stem = name.split('.').next().unwrap_or(name);
            image.symbols(&format!("{stem}.pdb"), id, 1, clock, tid, pid)
        });
        self.write_record(cpu, &record);
        if let Some(symbols) = symbols {
            self.write_record(cpu, &symbols);
        }
        self.processes[process].images.push((base, size, path));
    }

    /// Records everything still alive when the session stops.
    pub(in super::super) fn end_rundown(&mut self) {
        for process in 0..self.processes.len() {
            let is_alive = self.processes[process].end.is_none()
                && (self.processes[process].plan.existing || self.processes[process].start.is_some());
            if !is_alive {
                continue;
            }
            let time = self.stamp();
            let record = self.process_record(process, LifetimeEvent::RundownEnd, time, 4, 4);
            self.write_record(0, &record);
            for thread in 0..self.threads.len() {
                let state = &self.threads[thread];
                if state.plan.process == process && state.started && !state.ended {
                    let time = self.stamp();
                    let record = self.thread_record(thread, LifetimeEvent::RundownEnd, time, 4, 4);
                    self.write_record(0, &record);
                }
            }
            let owner = match self.processes[process].plan.id {
                4 => 0,
                id => id,
            };
            for (base, size, path) in self.processes[process].images.clone() {
                let time = self.stamp();
                let clock = self.recorder.clock(time);
                let image = Image {
                    process: owner,
                    base,
                    size,
                    path: &path,
                    time_stamp: 0x5A00_0000 + (base >> 16) as u32 % 0x1000,
                };
                let record = image.record(LifetimeEvent::RundownEnd, clock, 4, 4);
                self.write_record(0, &record);
            }
        }
        for (key, frames) in self.stack_keys.rundown() {
            self.record_state(|clock| kernel::stack_definition(false, clock, key, &frames));
        }
        let names: Vec<(u64, String)> =
            self.disks.iter().flat_map(Disk::names).map(|(key, path)| (key, path.to_owned())).collect();
        for (key, path) in names {
            let time = self.stamp();
            let clock = self.recorder.clock(time);
            let record = storage::file_name(true, clock, 4, 4, key, &volume_path(&path));
            self.write_record(0, &record);
        }
    }
}
