//! The machine: processors that run threads by priority, disks and timers. It records only the context switches it
//! performs, so CPU accounting is exact.
//!
//! ```text
//!          make_ready                 switch                      block, exit
//! waiting ────────────► ready queue ─────────► running ─────────────────────────► waiting
//!    ▲                       ▲                    │                                   │
//!    │ timer, disk, signal   └────────────────────┘ preempted, quantum over           │
//!    └────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The clock advances by at least one tick per record, so every record has a unique time and the order of records is
//! the order of time on every processor.

mod drivers;
mod processes;
mod requests;
mod steps;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::accounting::Accounting;
use super::disk::Disk;
use super::program::{ProcessPlan, ThreadPlan, TruthNote};
use super::random::Random;
use super::recorder::Recorder;
use super::stack_keys::StackKeys;
use super::truth::Stack;
use super::usage::SLICE;
use onoff_testkit::assemble::{Header, PointerSize, Record};
use onoff_testkit::events::kernel::{self, ContextSwitch, SwitchReason};

/// Ticks a thread runs before the next thread of its priority gets its turn: two clock intervals.
const QUANTUM: u64 = 312_500;
/// Clock interrupt interval, the unit of recorded wait times.
const CLOCK_INTERVAL: u64 = 156_250;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A sleeping thread's timer expires.
    Wake(usize),
    /// A processor's current computation or quantum ends, unless its generation has changed.
    Slice { cpu: usize, generation: u64 },
    /// A wait times out, unless it has already ended.
    Timeout { thread: usize, signal: usize, wait: u64 },
    /// The request of a disk completes.
    DiskDone(usize),
    /// A slice of the idle metric ends.
    Metric,
    /// A profile sample is due on every processor.
    Sample,
    /// The maximum length of the recording is reached.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadySource {
    /// The thread running on the processor, or no thread.
    Thread,
    /// A DPC of a timer or a disk.
    Dpc,
}

#[derive(Clone, Debug, Default)]
struct SignalState {
    is_set: bool,
    /// Indexes of the waiting threads.
    waiters: Vec<usize>,
}

struct Cpu {
    current: Option<usize>,
    /// Time up to which the processor is accounted for.
    accounted: u64,
    computing_since: Option<u64>,
    quantum_end: u64,
    generation: u64,
}

struct Thread {
    plan: ThreadPlan,
    next_step: usize,
    remaining_compute: u64,
    block_start: u64,
    ready_since: u64,
    /// Number of waits that have ended.
    waits: u64,
    last_cpu: usize,
    /// The pausing half of a loop comes next.
    loop_pauses: bool,
    /// Driver whose DPC wakes the thread; empty for a timer.
    woken_by: String,
    /// Request packet of the file operation in flight.
    packet: u64,
    /// Start of the DPC on its processor, and the thread's original priority.
    dpc: Option<(u64, u8)>,
    started: bool,
    ended: bool,
}

pub(super) struct Process {
    pub(super) plan: ProcessPlan,
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
    /// Modules as (base, size, path).
    images: Vec<(u64, u64, String)>,
    live_threads: usize,
}

/// Settings of the machine and its recording.
pub(super) struct Settings {
    pub(super) processors: u32,
    /// For each disk: access time, and transfer time per MiB.
    pub(super) disks: Vec<(u64, u64)>,
    /// Path and access time of a file on the boot disk that is hard to read.
    pub(super) bad_file: Option<(String, u64)>,
    pub(super) seed: u64,
    pub(super) sample_interval: Option<u64>,
    pub(super) switch_stacks_percent: u32,
    pub(super) keyed_stacks: bool,
    pub(super) disk_issue: bool,
    pub(super) context_switches: bool,
    pub(super) tail: u64,
    pub(super) max_length: u64,
    /// The scenario has transitions, so the end of PostBoot does not end the recording.
    pub(super) transitions: bool,
    pub(super) readied_by_dpc: bool,
    pub(super) ready_threads: bool,
}

pub(super) struct Machine<'s> {
    settings: Settings,
    pub(super) recorder: Recorder<'s>,
    pub(super) accounting: Accounting,
    pub(super) processes: Vec<Process>,
    pub(super) disks: Vec<Disk>,
    pub(super) notes: Vec<(TruthNote, u64)>,
    pub(super) stacks: Vec<Stack>,
    stack_keys: StackKeys,
    /// Milestone rows and the wall clock (`FILETIME`) at each.
    pub(super) wall_clocks: Vec<(usize, u64)>,
    /// How far the wall clock is ahead of the recording's clock: time it advanced while the recording's clock was
    /// stopped, minus the time it was set back.
    wall_ahead: u64,
    is_off: bool,
    threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    ready: Vec<VecDeque<usize>>,
    signals: Vec<SignalState>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    pushed: u64,
    /// Processors whose thread has steps to execute.
    runnable: VecDeque<usize>,
    random: Random,
    now: u64,
    last_record: u64,
    stop_at: Option<u64>,
    next_base: u64,
    /// The recording does not stop before it has this many records.
    pub(super) min_records: Option<u64>,
    records: u64,
}

impl<'s> Machine<'s> {
    pub(super) fn new(
        settings: Settings,
        recorder: Recorder<'s>,
        processes: Vec<ProcessPlan>,
        threads: Vec<ThreadPlan>,
        signals: usize,
    ) -> Self {
        let mut live = vec![0; processes.len()];
        for thread in &threads {
            live[thread.process] += 1;
        }
        Self {
            accounting: Accounting::new(settings.processors),
            disks: (0..)
                .zip(&settings.disks)
                .map(|(number, &(access, per_mib))| {
                    let bad_file = settings.bad_file.clone().filter(|_| number == 0);
                    Disk::new(number, access, per_mib, bad_file)
                })
                .collect(),
            random: Random::new(settings.seed),
            recorder,
            notes: Vec::new(),
            stacks: Vec::new(),
            stack_keys: StackKeys::default(),
            wall_clocks: Vec::new(),
            wall_ahead: 0,
            is_off: false,
            processes: processes
                .into_iter()
                .zip(live)
                .map(|(plan, live_threads)| Process { plan, start: None, end: None, images: Vec::new(), live_threads })
                .collect(),
            threads: threads
                .into_iter()
                .map(|plan| Thread {
                    last_cpu: plan.first_cpu % settings.processors as usize,
                    plan,
                    next_step: 0,
                    remaining_compute: 0,
                    block_start: 0,
                    ready_since: 0,
                    waits: 0,
                    loop_pauses: false,
                    woken_by: String::new(),
                    packet: 0,
                    dpc: None,
                    started: false,
                    ended: false,
                })
                .collect(),
            cpus: (0..settings.processors)
                .map(|_| Cpu { current: None, accounted: 0, computing_since: None, quantum_end: 0, generation: 0 })
                .collect(),
            ready: vec![VecDeque::new(); 32],
            signals: vec![SignalState::default(); signals],
            events: BinaryHeap::new(),
            pushed: 0,
            runnable: VecDeque::new(),
            now: 0,
            last_record: 0,
            stop_at: None,
            next_base: 0x7FF6_0000_0000,
            min_records: None,
            records: 0,
            settings,
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the next record's time, which is unique and later than the previous one.
    fn stamp(&mut self) -> u64 {
        self.now = self.now.max(self.last_record + 1);
        self.last_record = self.now;
        self.now
    }

    /// Writes a record that the machine itself logs, on processor 0.
    pub(super) fn record_state(&mut self, make: impl FnOnce(u64) -> Record<'static>) -> u64 {
        let time = self.stamp();
        let record = make(self.recorder.clock(time));
        self.write_record(0, &record);
        time
    }

    fn write_record(&mut self, cpu: usize, record: &Record<'_>) {
        self.records += 1;
        self.recorder.record(cpu as u16, record);
    }

    fn write_perfinfo(&mut self, cpu: usize, hook: u16, version: u8, time: u64, payload: &[u8]) {
        let record = Record {
            ticks: self.recorder.clock(time),
            pointer_size: PointerSize::Eight,
            header: Header::Perfinfo { hook, version, pebs_index: None, counters: &[] },
            payload: Cow::Borrowed(payload),
        };
        self.write_record(cpu, &record);
    }

    fn schedule(&mut self, time: u64, event: Event) {
        self.pushed += 1;
        self.events.push(Reverse((time, self.pushed, event)));
    }

    /// Runs until the recording ends: after PostBoot and the tail, or at the maximum length.
    pub(super) fn run(&mut self) {
        for process in 0..self.processes.len() {
            if self.processes[process].plan.existing {
                self.rundown(process);
            }
        }
        for thread in 0..self.threads.len() {
            if self.processes[self.threads[thread].plan.process].plan.existing {
                self.make_ready(thread, 0, ReadySource::Thread);
            }
        }
        self.schedule(self.settings.max_length, Event::Stop);
        if let Some(interval) = self.settings.sample_interval {
            self.schedule(interval, Event::Sample);
        }
        while !self.recorder.has_failed() {
            while let Some(cpu) = self.runnable.pop_front() {
                self.execute(cpu);
            }
            let Some(Reverse((time, _, event))) = self.events.pop() else {
                break;
            };
            let has_min_records = self.min_records.is_none_or(|min| self.records >= min);
            if self.stop_at.is_some_and(|stop| time >= stop) && has_min_records {
                self.now = self.now.max(self.stop_at.unwrap_or(time));
                break;
            }
            self.now = self.now.max(time);
            match event {
                Event::Wake(thread) => {
                    let cpu = self.threads[thread].last_cpu;
                    self.record_wakeup_dpc(thread, cpu);
                    self.make_ready(thread, cpu, ReadySource::Dpc);
                }
                Event::Slice { cpu, generation } => self.slice_over(cpu, generation),
                Event::Timeout { thread, signal, wait } => self.timed_out(thread, signal, wait),
                Event::DiskDone(disk) => self.disk_done(disk),
                Event::Metric => self.metric(time),
                Event::Sample => self.sample(time),
                Event::Stop if has_min_records => break,
                Event::Stop => {}
            }
        }
        self.account_all();
    }

    fn metric(&mut self, time: u64) {
        self.account_all();
        match self.accounting.evaluate(self.now) {
            Some(_) if self.settings.transitions => {}
            Some(end) => self.stop_at = Some(end + self.settings.tail),
            None => self.schedule(time + SLICE, Event::Metric),
        }
    }

    fn sample(&mut self, time: u64) {
        for cpu in 0..self.cpus.len() {
            if let Some(thread) = self.cpus[cpu].current {
                let sample_time = self.stamp();
                let plan = &self.threads[thread].plan;
                let (id, process) = (plan.id, plan.process);
                // A planned call stack starts at the sampled address; without one, both are random.
                let address = match self.processes[process].plan.stack.is_empty() {
                    false => self.frames(process).first().copied().unwrap_or_default(),
                    true => self.address_in(process),
                };
                self.write_perfinfo(cpu, 0x0F2E, 2, sample_time, &kernel::sampled_profile(address, id));
                self.stack(cpu, sample_time, process, id);
            }
        }
        if let Some(interval) = self.settings.sample_interval {
            self.schedule(time + interval, Event::Sample);
        }
    }

    /// Returns a random address in one of the process's modules.
    fn address_in(&mut self, process: usize) -> u64 {
        let images = &self.processes[process].images;
        let index = self.random.below(images.len() as u64) as usize;
        images.get(index).map_or(0xFFFF_F800_0000_1000, |&(base, size, _)| base + self.random.below(size.max(1)))
    }

    fn frames(&mut self, process: usize) -> Vec<u64> {
        let state = &self.processes[process];
        if let (Some(&(base, ..)), false) = (state.images.first(), state.plan.stack.is_empty()) {
            return state.plan.stack.iter().map(|offset| base + offset).collect();
        }
        let depth = 6 + self.random.below(14) as usize;
        (0..depth).map(|_| self.address_in(process)).collect()
    }

    fn stack(&mut self, cpu: usize, event_time: u64, process: usize, thread: u32) {
        let frames = self.frames(process);
        let id = self.processes[process].plan.id;
        let event_clock = self.recorder.clock(event_time);
        let record = if self.settings.keyed_stacks {
            let (key, evicted) = self.stack_keys.assign(&frames);
            if let Some(frames) = evicted {
                self.record_state(|clock| kernel::stack_definition(true, clock, key, &frames));
            }
            let time = self.stamp();
            kernel::stack_reference(self.recorder.clock(time), event_clock, id, thread, key)
        } else {
            let time = self.stamp();
            kernel::stack(self.recorder.clock(time), event_clock, id, thread, &frames)
        };
        self.write_record(cpu, &record);
        self.stacks.push(Stack { event_ns: super::nanoseconds(event_time), pid: id, tid: thread, frames });
    }

    fn account(&mut self, cpu: usize, end: u64) {
        let start = self.cpus[cpu].accounted;
        if end > start {
            let running_thread = self.cpus[cpu].current.map(|thread| {
                let plan = &self.threads[thread].plan;
                // Time of a DPC counts as the interrupted thread's time.
                let original_priority = self.threads[thread].dpc.map(|(_, priority)| priority);
                let priority = original_priority.unwrap_or(plan.priority);
                (self.processes[plan.process].plan.id, priority)
            });
            self.accounting.cpu(running_thread, start, end);
            self.cpus[cpu].accounted = end;
        }
    }

    /// Accounts for everything that runs, up to now.
    pub(super) fn account_all(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.account(cpu, self.now);
        }
        for disk in &mut self.disks {
            if let Some((queued, accounted)) = disk.active {
                self.accounting.disk_busy(queued.request.priority, accounted, self.now);
                disk.active = Some((queued, self.now));
            }
        }
    }

    fn timed_out(&mut self, thread: usize, signal: usize, wait: u64) {
        let waiters = &mut self.signals[signal].waiters;
        if self.threads[thread].waits == wait
            && let Some(index) = waiters.iter().position(|&waiter| waiter == thread)
        {
            waiters.remove(index);
            let cpu = self.threads[thread].last_cpu;
            self.make_ready(thread, cpu, ReadySource::Dpc);
        }
    }

    fn make_ready(&mut self, thread: usize, cpu: usize, source: ReadySource) {
        if self.threads[thread].ended {
            return;
        }
        self.threads[thread].waits += 1;
        if self.settings.context_switches && self.settings.ready_threads {
            let time = self.stamp();
            let flags = u8::from(source == ReadySource::Dpc && self.settings.readied_by_dpc);
            let payload = kernel::ready_thread(self.threads[thread].plan.id, 1, 0, flags);
            self.write_perfinfo(cpu, 0x0532, 2, time, &payload);
        }
        self.threads[thread].ready_since = self.now;
        let last_cpu = self.threads[thread].last_cpu;
        let idle_cpu = if self.cpus[last_cpu].current.is_none() {
            Some(last_cpu)
        } else {
            self.cpus.iter().position(|cpu| cpu.current.is_none())
        };
        if let Some(cpu) = idle_cpu {
            self.switch(cpu, Some(thread), SwitchReason::IDLE);
            return;
        }
        let priority = self.threads[thread].plan.priority;
        let lowest_priority = (0..self.cpus.len())
            .filter_map(|cpu| Some((self.threads[self.cpus[cpu].current?].plan.priority, cpu)))
            .min();
        match lowest_priority {
            Some((lowest, cpu)) if lowest < priority => {
                self.pause(cpu);
                let preempted = self.cpus[cpu].current;
                self.switch(cpu, Some(thread), SwitchReason::PREEMPTED);
                if let Some(preempted) = preempted {
                    self.threads[preempted].ready_since = self.now;
                    self.ready[usize::from(lowest)].push_front(preempted);
                }
            }
            _ => self.ready[usize::from(priority)].push_back(thread),
        }
    }

    /// Subtracts the time computed so far from a processor's current computation.
    fn pause(&mut self, cpu: usize) {
        if let (Some(since), Some(thread)) = (self.cpus[cpu].computing_since.take(), self.cpus[cpu].current) {
            let remaining = &mut self.threads[thread].remaining_compute;
            *remaining = remaining.saturating_sub(self.now - since);
        }
        self.cpus[cpu].generation += 1;
    }

    /// Returns the wall clock as a `FILETIME`.
    fn wall_clock(&self, time: u64) -> u64 {
        (self.recorder.start_time() + time).wrapping_add(self.wall_ahead)
    }

    /// Turns the computer off while the recording's clock keeps running: no thread runs, and all timers are extended by
    /// `ticks`. The thread that performs the transition keeps its processor, because no context switch happens while
    /// the computer turns off and on.
    fn turn_off(&mut self, cpu: usize, ticks: u64) {
        self.is_off = true;
        for other_cpu in 0..self.cpus.len() {
            let Some(running) = self.cpus[other_cpu].current.filter(|_| other_cpu != cpu) else {
                continue;
            };
            self.pause(other_cpu);
            self.switch(other_cpu, None, SwitchReason::PREEMPTED);
            self.threads[running].ready_since = self.now;
            let priority = self.threads[running].plan.priority;
            self.ready[usize::from(priority)].push_front(running);
        }
        self.account_all();
        let pending: Vec<_> = self.events.drain().collect();
        self.events
            .extend(pending.into_iter().map(|Reverse((time, order, event))| Reverse((time + ticks, order, event))));
        self.now += ticks;
        self.is_off = false;
        for cpu in &mut self.cpus {
            cpu.accounted = self.now;
        }
        while let Some(idle_cpu) = self.cpus.iter().position(|cpu| cpu.current.is_none()) {
            let Some(next) = self.next_ready() else {
                break;
            };
            self.switch(idle_cpu, Some(next), SwitchReason::IDLE);
        }
    }

    fn next_ready(&mut self) -> Option<usize> {
        if self.is_off {
            return None;
        }
        self.ready.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    fn switch(&mut self, cpu: usize, next: Option<usize>, reason: SwitchReason) {
        let time = self.stamp();
        self.account(cpu, time);
        let previous = self.cpus[cpu].current;
        let describe = |thread: Option<usize>| {
            thread.map_or((0, 0), |thread| {
                let plan = &self.threads[thread].plan;
                (plan.id, plan.priority as i8)
            })
        };
        let (new_thread, new_priority) = describe(next);
        let (old_thread, old_priority) = describe(previous);
        let wait_intervals = next.map_or(0, |thread| (time - self.threads[thread].ready_since) / CLOCK_INTERVAL);
        if self.settings.context_switches {
            let payload = ContextSwitch {
                new_thread,
                old_thread,
                new_priority,
                old_priority,
                reason: if previous.is_none() { SwitchReason::IDLE } else { reason },
                wait_ticks: wait_intervals as u32,
            }
            .payload();
            self.write_perfinfo(cpu, 0x0524, 4, time, &payload);
            if let Some(thread) = next
                && self.random.below(100) < u64::from(self.settings.switch_stacks_percent)
            {
                let process = self.threads[thread].plan.process;
                self.stack(cpu, time, process, new_thread);
            }
        }
        let slot = &mut self.cpus[cpu];
        slot.current = next;
        slot.generation += 1;
        slot.computing_since = None;
        slot.quantum_end = self.now + QUANTUM;
        if let Some(thread) = next {
            self.threads[thread].last_cpu = cpu;
            self.runnable.push_back(cpu);
        }
    }

    /// Switches from the running thread to the best ready thread, or to idle.
    fn leave(&mut self, cpu: usize, reason: SwitchReason) {
        let next = self.next_ready();
        self.switch(cpu, next, reason);
    }

    fn slice_over(&mut self, cpu: usize, generation: u64) {
        if self.cpus[cpu].generation != generation {
            return;
        }
        let Some(thread) = self.cpus[cpu].current else {
            return;
        };
        self.pause(cpu);
        if self.threads[thread].remaining_compute > 0 && self.now >= self.cpus[cpu].quantum_end {
            let priority = usize::from(self.threads[thread].plan.priority);
            if let Some(next) = self.ready[priority].pop_front() {
                self.threads[thread].ready_since = self.now;
                self.ready[priority].push_back(thread);
                self.switch(cpu, Some(next), SwitchReason::QUANTUM_END);
                return;
            }
            self.cpus[cpu].quantum_end = self.now + QUANTUM;
        }
        self.runnable.push_back(cpu);
    }

    /// Pairs of thread id and process id.
    pub(super) fn identities(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.threads.iter().map(|thread| (thread.plan.id, self.processes[thread.plan.process].plan.id))
    }
}
