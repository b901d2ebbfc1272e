//! Executes the steps of threads.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Event, Machine, ReadySource};
use crate::program::{Signal, Step, TruthNote};
use crate::usage::SLICE;
use onoff_testkit::assemble::Record;
use onoff_testkit::events::kernel::{self, LifetimeEvent, SwitchReason};
use onoff_testkit::events::storage::Operation;
use onoff_testkit::events::{network, power};

/// The machine's own addresses and port in network connections.
const LOCAL_V4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 7);
const LOCAL_PORT: u16 = 49_152;

impl Machine<'_> {
    /// Executes the steps of a processor's thread until one takes time.
    pub(super) fn execute(&mut self, cpu: usize) {
        let Some(thread) = self.cpus[cpu].current else {
            return;
        };
        if self.cpus[cpu].computing_since.is_some() {
            return;
        }
        loop {
            // A step may have readied a higher-priority thread on this processor.
            if self.cpus[cpu].current != Some(thread) {
                return;
            }
            let remaining = self.threads[thread].remaining_compute;
            if remaining > 0 {
                let slot = &mut self.cpus[cpu];
                slot.computing_since = Some(self.now);
                slot.generation += 1;
                let generation = slot.generation;
                let end = (self.now + remaining).min(slot.quantum_end.max(self.now + 1));
                self.schedule(end, Event::Slice { cpu, generation });
                return;
            }
            let Some(step) = self.threads[thread].plan.steps.get(self.threads[thread].next_step).cloned() else {
                self.exit(cpu, thread);
                return;
            };
            if !matches!(step, Step::Loop { .. }) {
                self.threads[thread].next_step += 1;
            }
            if !self.step(cpu, thread, step) {
                return;
            }
        }
    }

    /// Executes one step; returns true if the thread keeps running.
    pub(super) fn step(&mut self, cpu: usize, thread: usize, step: Step) -> bool {
        match step {
            Step::Compute(ticks) => {
                self.threads[thread].remaining_compute = ticks;
                true
            }
            Step::Sleep(ticks) => self.sleep_until(cpu, thread, self.now + ticks),
            Step::Until(time) => self.sleep_until(cpu, thread, time),
            Step::Begin => {
                self.threads[thread].block_start = self.now;
                true
            }
            Step::PadTo(ticks) => {
                let until = self.threads[thread].block_start + ticks;
                self.sleep_until(cpu, thread, until)
            }
            Step::Emit(event, notes) => {
                let time = self.stamp();
                let plan = &self.threads[thread].plan;
                let process = self.processes[plan.process].plan.id;
                let wall_clock = self.wall_clock(time);
                let record = event.with_wall_clock_time(wall_clock).record(self.recorder.clock(time), plan.id, process);
                self.write_record(cpu, &record);
                for note in notes {
                    self.note(note, time);
                }
                true
            }
            Step::Kernel { hook, payload, notes } => {
                let time = self.stamp();
                let plan = &self.threads[thread].plan;
                let process = self.processes[plan.process].plan.id;
                let clock = self.recorder.clock(time);
                let record = Record::system(hook, 2, clock, plan.id, process, payload);
                self.write_record(cpu, &record);
                for note in notes {
                    self.note(note, time);
                }
                true
            }
            Step::Off { ticks, clock_stopped } => {
                if clock_stopped {
                    self.wall_ahead += ticks;
                    return true;
                }
                self.turn_off(cpu, ticks);
                true
            }
            Step::Mark(text) => {
                let time = self.stamp();
                let record = kernel::mark(self.recorder.clock(time), &text);
                self.write_record(cpu, &record);
                true
            }
            Step::Send { size, destination } => {
                let plan = &self.threads[thread].plan;
                let (thread, process) = (plan.id, self.processes[plan.process].plan.id);
                let source =
                    SocketAddr::new(if destination.is_ipv4() { LOCAL_V4.into() } else { LOCAL_V6.into() }, LOCAL_PORT);
                for event in [
                    network::tcp_sent(process, size, source, destination),
                    network::tcp_received(process, size, destination, source),
                ] {
                    let time = self.stamp();
                    let record = event.record(self.recorder.clock(time), thread, process);
                    self.write_record(cpu, &record);
                }
                true
            }
            Step::SetAfterSleep { ticks, notes } => {
                let time = self.stamp();
                let new_time = self.wall_clock(time);
                let event = power::clock_set_before_22h2(
                    new_time,
                    new_time.wrapping_sub(ticks),
                    power::clock_set_reason::SLEEP,
                );
                let plan = &self.threads[thread].plan;
                let process = self.processes[plan.process].plan.id;
                let record = event.record(self.recorder.clock(time), plan.id, process);
                self.write_record(cpu, &record);
                for note in notes {
                    self.note(note, time);
                }
                true
            }
            Step::SetClockBack(ticks) => {
                let time = self.stamp();
                let old_time = self.wall_clock(time);
                self.wall_ahead = self.wall_ahead.wrapping_sub(ticks);
                let plan = &self.threads[thread].plan;
                let process = self.processes[plan.process].plan.id;
                let event =
                    power::clock_set_before_22h2(self.wall_clock(time), old_time, power::clock_set_reason::PROGRAM);
                let record = event.record(self.recorder.clock(time), plan.id, process);
                self.write_record(cpu, &record);
                self.note(TruthNote::ClockSetBack(ticks), time);
                true
            }
            Step::Disk { transfer, size, path } => {
                self.request(cpu, thread, transfer, size, &path);
                self.leave(cpu, SwitchReason::DISK);
                false
            }
            Step::Flush => {
                let request = self.disk_request(thread, 0, Operation::Flush, 0, (0, 0));
                self.issue(cpu, thread, request, false);
                self.leave(cpu, SwitchReason::DISK);
                false
            }
            Step::Set(Signal(signal)) => {
                self.signals[signal].is_set = true;
                for waiter in std::mem::take(&mut self.signals[signal].waiters) {
                    self.make_ready(waiter, cpu, ReadySource::Thread);
                }
                true
            }
            Step::Wait(Signal(signal)) => {
                if self.signals[signal].is_set {
                    return true;
                }
                self.signals[signal].waiters.push(thread);
                self.leave(cpu, SwitchReason::WAITING);
                false
            }
            Step::WaitAtMost(Signal(signal), ticks) => {
                if self.signals[signal].is_set {
                    return true;
                }
                self.signals[signal].waiters.push(thread);
                let wait = self.threads[thread].waits;
                self.schedule(self.now + ticks, Event::Timeout { thread, signal, wait });
                self.leave(cpu, SwitchReason::WAITING);
                false
            }
            Step::Device(ticks, driver) => {
                self.threads[thread].woken_by = driver;
                self.schedule(self.now + ticks, Event::Wake(thread));
                self.leave(cpu, SwitchReason::WAITING);
                false
            }
            Step::Open(path) => {
                self.start_open(cpu, thread, &path);
                true
            }
            Step::Opened => {
                self.complete_open(cpu, thread);
                true
            }
            Step::DpcBegin(ticks) => {
                self.begin_dpc(thread, ticks);
                true
            }
            Step::DpcEnd(driver) => {
                self.end_dpc(cpu, thread, &driver);
                true
            }
            Step::Start(process, note) => {
                self.start_process(cpu, thread, process, note);
                true
            }
            Step::End(process) => {
                self.end_process(cpu, thread, process);
                // A process that ended itself has lost its processor.
                !self.threads[thread].ended
            }
            Step::Finish => {
                self.stop_at = Some(self.now + self.settings.tail);
                true
            }
            Step::Load(path) => {
                let process = self.threads[thread].plan.process;
                let id = self.threads[thread].plan.id;
                self.load_image(cpu, process, path, LifetimeEvent::Start, id);
                true
            }
            Step::Loop { burst, pause, until } => {
                if until.is_some_and(|until| self.now >= until) {
                    self.threads[thread].next_step += 1;
                    return true;
                }
                if std::mem::replace(&mut self.threads[thread].loop_pauses, true) {
                    self.threads[thread].loop_pauses = false;
                    let pause = self.random.vary(pause).max(1);
                    return self.sleep_until(cpu, thread, self.now + pause);
                }
                self.threads[thread].remaining_compute = self.random.vary(burst).max(1);
                true
            }
        }
    }

    pub(super) fn sleep_until(&mut self, cpu: usize, thread: usize, time: u64) -> bool {
        if time <= self.now {
            return true;
        }
        self.schedule(time, Event::Wake(thread));
        self.leave(cpu, SwitchReason::DELAY);
        false
    }

    pub(super) fn note(&mut self, note: TruthNote, time: u64) {
        match note {
            TruthNote::Phase => {
                self.account_all();
                self.accounting.next_phase(time);
            }
            TruthNote::DesktopReady => {
                self.account_all();
                self.accounting.desktop_ready(time);
                self.schedule(time + SLICE, Event::Metric);
            }
            TruthNote::WallClock(row) => {
                let wall_clock = self.wall_clock(time);
                self.wall_clocks.push((row, wall_clock));
            }
            _ => {}
        }
        self.notes.push((note, time));
    }

    pub(super) fn exit(&mut self, cpu: usize, thread: usize) {
        let plan = &self.threads[thread].plan;
        let (id, process) = (plan.id, plan.process);
        let owner = self.processes[process].plan.id;
        let time = self.stamp();
        let record = self.thread_record(thread, LifetimeEvent::End, time, id, owner);
        self.write_record(cpu, &record);
        self.threads[thread].ended = true;
        self.processes[process].live_threads -= 1;
        if self.processes[process].live_threads == 0 {
            let time = self.stamp();
            let record = self.process_record(process, LifetimeEvent::End, time, id, owner);
            self.write_record(cpu, &record);
            self.processes[process].end = Some(time);
        }
        self.leave(cpu, SwitchReason::TERMINATED);
    }
}
