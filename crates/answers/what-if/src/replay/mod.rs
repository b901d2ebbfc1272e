//! Replays a graph as a discrete-event simulation: threads on processors, requests on disks.
//!
//! * Processors run threads by priority and preempt. Threads of equal priority take turns.
//! * A disk serves requests in the order of their arrival; low-priority requests wait until no others are queued.
//! * The cost is linear in segments, times the logarithm of the events in flight.
//! * A replay ends when its horizon is reached, because what happens later is not part of any answer.

pub mod log;
mod processors;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use onoff_usage::idle::IdleMetric;

use crate::graph::{Action, Graph, RequestId, Segment, SignalId};
use crate::settle::{Loads, settle_until};
use log::{Origin, ReplayLog, Service, StepKind};

/// Number of priorities.
const PRIORITIES: usize = 128;
/// Time of a signal that was not set.
pub const NEVER: i64 = i64::MAX;
const NONE: u32 = u32::MAX;
/// Maximum number of events for each segment.
const MAX_EVENTS_PER_SEGMENT: u64 = 4;
/// Maximum number of times that equal threads take turns: 2 hours of processor time at 15 ms.
const MAX_SLICES: u64 = 500_000;
/// Simulated time after which to check again whether the horizon is reached, ns: 500 ms.
const HORIZON_CHECK_NS: i64 = 500_000_000;

/// How external waits are replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalRule {
    /// They take as long as recorded.
    Delay,
    /// They end at the recorded time.
    AbsoluteTime,
    /// They scale with the processors' speed, percent, because work that was not recorded ends them.
    Scaled { percent: i64 },
}

/// What a replay has to reach. It ends afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    /// Signals that are set.
    pub signals: Vec<SignalId>,
    /// Signals after which the machine becomes idle, in recorded order. Loads are recorded from the first on.
    pub settling: Vec<SignalId>,
}

/// Settings of the simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine<'h> {
    pub processors: u32,
    pub external_waits: ExternalRule,
    /// Ready threads of equal priority run in the order of the recording, not in the order in which they became ready.
    pub in_recorded_order: bool,
    /// The replay ends when this is reached.
    pub horizon: &'h Horizon,
    /// Lowest priority that counts as load.
    pub min_load_priority: u8,
    /// Whether to log what every task did.
    pub is_logged: bool,
}

/// What a replay produced, on the awake clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Time of each signal, ns; [`NEVER`] if it was not set.
    pub signal_times: Vec<i64>,
    /// Intervals in which a processor worked at normal priority.
    pub cpu_loads: Vec<(i64, i64)>,
    /// Intervals in which a disk worked at normal priority, with the disk's index.
    pub disk_loads: Vec<(u32, i64, i64)>,
    /// True if a wait would have ended at another time by another [`ExternalRule`]. If not, a replay by that rule is
    /// the same.
    pub depends_on_rule: bool,
    pub log: ReplayLog,
}

impl Replay {
    /// Returns the loads of the machine.
    #[must_use]
    pub fn loads(&self) -> Loads<'_> {
        Loads { cpu: &self.cpu_loads, disks: &self.disk_loads }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A wait of a task ends.
    Wake(u32),
    /// A late action is due.
    Act(u32),
    /// A disk completes a request.
    DiskDone(u32),
    /// A processor's run or quantum ends, unless its generation has changed.
    Slice { processor: u32, generation: u32 },
}

/// Whether a task may proceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Status {
    /// It runs, or its last wait is over.
    #[default]
    Active,
    /// It waits for a signal, a request or a time, or has ended.
    Waiting,
    /// It waits for a processor.
    Queued,
}

#[derive(Clone, Copy, Debug)]
struct TaskState {
    next_segment: u32,
    /// Rest of the current run, ns.
    remaining_ns: i64,
    /// When the rest of the run began in the recording, ns.
    recorded_ns: i64,
    priority: u8,
    status: Status,
    /// The processor it runs on; [`NONE`] if it does not run.
    processor: u32,
    /// Next task that waits for the same signal or request.
    next_waiter: u32,
}

impl TaskState {
    /// Returns the segment that the task is in.
    const fn segment(&self) -> u32 {
        self.next_segment.saturating_sub(1)
    }
}

impl TaskState {
    const NEW: Self = Self {
        next_segment: 0,
        remaining_ns: 0,
        recorded_ns: 0,
        priority: 0,
        status: Status::Active,
        processor: NONE,
        next_waiter: NONE,
    };

    /// Counts processor time of the current run.
    fn advance(&mut self, used_ns: i64) {
        self.remaining_ns = self.remaining_ns.saturating_sub(used_ns).max(0);
        self.recorded_ns = self.recorded_ns.saturating_add(used_ns);
    }

    const fn is_running(&self) -> bool {
        self.processor != NONE
    }
}

#[derive(Clone, Copy, Debug)]
struct Processor {
    task: u32,
    since_ns: i64,
    quantum_end_ns: i64,
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waitable {
    time_ns: i64,
    first_waiter: u32,
}

#[derive(Clone, Debug, Default)]
struct Disk {
    normal: VecDeque<u32>,
    low: VecDeque<u32>,
    in_service: u32,
}

struct Simulation<'g> {
    graph: &'g Graph,
    machine: Machine<'g>,
    now_ns: i64,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    pushed: u64,
    tasks: Vec<TaskState>,
    processors: Vec<Processor>,
    ready: Vec<VecDeque<u32>>,
    /// One bit per priority with a ready task.
    ready_mask: u128,
    signals: Vec<Waitable>,
    requests: Vec<Waitable>,
    disks: Vec<Disk>,
    /// Tasks that may proceed without a processor, or have one.
    runnable: VecDeque<u32>,
    /// Loads are recorded from this time on.
    loads_from_ns: i64,
    /// When to check whether the horizon is reached, ns.
    next_check_ns: i64,
    replay: Replay,
}

/// Replays `graph` on `machine`.
#[must_use]
pub fn replay<'g>(graph: &'g Graph, machine: Machine<'g>) -> Replay {
    let waitable = Waitable { time_ns: NEVER, first_waiter: NONE };
    let mut simulation = Simulation {
        graph,
        machine,
        now_ns: 0,
        events: BinaryHeap::new(),
        pushed: 0,
        tasks: vec![TaskState::NEW; graph.tasks.len()],
        processors: vec![
            Processor { task: NONE, since_ns: 0, quantum_end_ns: 0, generation: 0 };
            machine.processors.max(1) as usize
        ],
        ready: vec![VecDeque::new(); PRIORITIES],
        ready_mask: 0,
        signals: vec![waitable; graph.signals as usize],
        requests: vec![waitable; graph.requests.len()],
        disks: vec![Disk::default(); graph.disks.len()],
        runnable: (0..u32::try_from(graph.tasks.len()).unwrap_or(NONE)).collect(),
        loads_from_ns: NEVER,
        next_check_ns: i64::MIN,
        replay: Replay::default(),
    };
    if machine.is_logged {
        simulation.replay.log = ReplayLog::new(graph, simulation.processors.len());
    }
    simulation.run();
    let mut replay = simulation.replay;
    replay.signal_times = simulation.signals.iter().map(|signal| signal.time_ns).collect();
    replay
}

impl Simulation<'_> {
    /// Runs until the horizon is reached, or nothing happens any more. Damaged recordings have work for centuries, so the
    /// number of events is bounded; the phases that have not ended by then do not end.
    fn run(&mut self) {
        let segments: u64 = self.graph.tasks.iter().map(|task| task.segments.len() as u64).sum();
        let max_events = segments.saturating_mul(MAX_EVENTS_PER_SEGMENT).saturating_add(MAX_SLICES);
        for _ in 0..max_events {
            while let Some(task) = self.runnable.pop_front() {
                self.advance(task);
            }
            let Some(Reverse((time_ns, _, event))) = self.events.pop() else { break };
            self.now_ns = self.now_ns.max(time_ns);
            if self.now_ns >= self.next_check_ns && self.has_reached_horizon() {
                // Logs what still runs.
                for processor in 0..self.processors.len() {
                    self.count_load(processor);
                }
                break;
            }
            match event {
                Event::Wake(task) => self.wake(task),
                Event::Act(index) => {
                    if let Some(late) = self.graph.late_actions.get(index as usize) {
                        let origin = self.replay.log.late.get(index as usize).copied();
                        self.act(late.action, origin.unwrap_or(Origin::UNKNOWN));
                    }
                }
                Event::DiskDone(request) => self.disk_done(request),
                Event::Slice { processor, generation } => self.slice_over(processor, generation),
            }
        }
    }

    /// Returns true if nothing later can change the times of the horizon. Otherwise sets the time of the next check.
    fn has_reached_horizon(&mut self) -> bool {
        self.next_check_ns = self.now_ns.saturating_add(HORIZON_CHECK_NS);
        let time_ns = |SignalId(signal): SignalId| self.signals.get(signal as usize).map(|signal| signal.time_ns);
        let horizon = self.machine.horizon;
        if horizon.signals.iter().chain(&horizon.settling).any(|&signal| time_ns(signal) == Some(NEVER)) {
            return false;
        }
        // The time up to which all work was counted as load.
        let busy = self.processors.iter().filter(|processor| processor.task != NONE);
        let counted_ns = busy.map(|processor| processor.since_ns).fold(self.now_ns, i64::min);
        let metric = IdleMetric::default();
        for start_ns in horizon.settling.iter().filter_map(|&signal| time_ns(signal)) {
            if let Err(idle_ns) =
                settle_until(self.replay.loads(), start_ns, self.machine.processors, metric, counted_ns)
            {
                // The idle time cannot be complete earlier.
                let missing_ns = metric.required_idle_ns.saturating_sub(idle_ns);
                self.next_check_ns = self.now_ns.saturating_add(missing_ns.max(metric.slice_ns));
                return false;
            }
        }
        true
    }

    fn schedule(&mut self, time_ns: i64, event: Event) {
        self.pushed += 1;
        self.events.push(Reverse((time_ns, self.pushed, event)));
    }

    /// Moves a task forward until it waits, needs a processor, or uses one.
    fn advance(&mut self, index: u32) {
        let graph = self.graph;
        let Some(task) = graph.tasks.get(index as usize) else { return };
        loop {
            let Some(state) = self.tasks.get_mut(index as usize) else { return };
            if state.status != Status::Active {
                return;
            }
            if state.remaining_ns > 0 {
                if state.is_running() {
                    self.start_slice(index);
                } else {
                    self.make_ready(index);
                }
                return;
            }
            let Some(timed) = task.segments.get(state.next_segment as usize) else {
                self.suspend(index);
                return;
            };
            if let Segment::Run { cpu_ns, priority } = timed.segment {
                state.priority = priority.min(PRIORITIES as u8 - 1);
                state.recorded_ns = timed.recorded_ns;
                if !state.is_running() {
                    self.make_ready(index);
                    return;
                }
                if self.yields(index) {
                    return;
                }
                let Some(state) = self.tasks.get_mut(index as usize) else { return };
                state.next_segment += 1;
                state.remaining_ns = cpu_ns;
                continue;
            }
            state.next_segment += 1;
            match timed.segment {
                Segment::Run { .. } => {}
                Segment::Delay(delay_ns) | Segment::Timer(delay_ns) => {
                    if self.wait_until(index, self.now_ns.saturating_add(delay_ns)) {
                        return;
                    }
                }
                Segment::Until(time_ns) => {
                    if self.wait_until(index, time_ns) {
                        return;
                    }
                }
                Segment::External(wait) => {
                    let Some(wait) = graph.external_waits.get(wait as usize) else { continue };
                    let delayed_ns = self.now_ns.saturating_add(wait.delay_ns);
                    let is_scaled = graph.processor_percent.is_some();
                    self.replay.depends_on_rule |= is_scaled || delayed_ns != wait.until_ns;
                    let time_ns = match self.machine.external_waits {
                        ExternalRule::Delay => delayed_ns,
                        ExternalRule::AbsoluteTime => wait.until_ns,
                        ExternalRule::Scaled { percent } => {
                            self.now_ns.saturating_add(wait.delay_ns.saturating_mul(100) / percent.max(1))
                        }
                    };
                    if self.wait_until(index, time_ns) {
                        return;
                    }
                }
                Segment::Await(SignalId(signal)) => {
                    if add_waiter(&mut self.signals, signal, index, &mut self.tasks) {
                        self.suspend(index);
                        return;
                    }
                }
                Segment::AwaitDisk(RequestId(request)) => {
                    if add_waiter(&mut self.requests, request, index, &mut self.tasks) {
                        self.suspend(index);
                        return;
                    }
                }
                Segment::Act(action) => {
                    let origin = Origin { task: index, segment: state.segment(), time_ns: self.now_ns };
                    self.act(action, origin);
                }
                Segment::ActLater(late) => {
                    if let Some(origin) = self.replay.log.late.get_mut(late as usize) {
                        *origin = Origin { task: index, segment: state.segment(), time_ns: self.now_ns };
                    }
                    if let Some(action) = graph.late_actions.get(late as usize) {
                        self.schedule(self.now_ns.saturating_add(action.delay_ns), Event::Act(late));
                    }
                }
            }
        }
    }

    /// Starts a wait; returns false if the time has passed.
    fn wait_until(&mut self, task: u32, time_ns: i64) -> bool {
        if time_ns <= self.now_ns {
            return false;
        }
        self.suspend(task);
        self.schedule(time_ns, Event::Wake(task));
        true
    }

    fn act(&mut self, action: Action, by: Origin) {
        match action {
            Action::Signal(SignalId(signal)) => {
                if let Some(setter) = self.replay.log.setters.get_mut(signal as usize)
                    && setter.task == NONE
                {
                    *setter = by;
                }
                if self.machine.horizon.settling.first() == Some(&SignalId(signal)) {
                    self.loads_from_ns = self.loads_from_ns.min(self.now_ns);
                }
                self.set(signal, false);
            }
            Action::Issue(RequestId(request)) => {
                if let Some(issuer) = self.replay.log.issuers.get_mut(request as usize) {
                    *issuer = by;
                }
                let Some(row) = self.graph.requests.get(request as usize) else { return };
                let Some(disk) = self.disks.get_mut(row.disk as usize) else { return };
                if row.is_low_priority {
                    disk.low.push_back(request);
                } else {
                    disk.normal.push_back(request);
                }
                self.serve(row.disk);
            }
        }
    }

    /// Sets a signal, or completes a request, and wakes the tasks that wait for it.
    fn set(&mut self, index: u32, is_request: bool) {
        let list = if is_request { &mut self.requests } else { &mut self.signals };
        let Some(waitable) = list.get_mut(index as usize) else { return };
        if waitable.time_ns != NEVER {
            return;
        }
        waitable.time_ns = self.now_ns;
        let mut next = std::mem::replace(&mut waitable.first_waiter, NONE);
        while let Some(state) = self.tasks.get_mut(next as usize) {
            let following = std::mem::replace(&mut state.next_waiter, NONE);
            self.wake(next);
            next = following;
        }
    }

    /// Lets a task whose wait is over proceed.
    fn wake(&mut self, index: u32) {
        if let Some(state) = self.tasks.get_mut(index as usize) {
            if self.machine.is_logged && state.status == Status::Waiting {
                self.replay.log.add_step(index, state.segment(), StepKind::Wait, self.now_ns);
            }
            state.status = Status::Active;
            self.runnable.push_back(index);
        }
    }

    /// Marks a task as waiting and releases its processor.
    fn suspend(&mut self, index: u32) {
        self.release(index);
        if let Some(state) = self.tasks.get_mut(index as usize) {
            state.status = Status::Waiting;
        }
    }

    fn serve(&mut self, disk_index: u32) {
        let Some(model) = self.graph.disks.get(disk_index as usize) else { return };
        while let Some(disk) = self.disks.get_mut(disk_index as usize)
            && disk.in_service < model.concurrency.max(1)
            && let Some(request) = disk.normal.pop_front().or_else(|| disk.low.pop_front())
        {
            disk.in_service += 1;
            let Some(row) = self.graph.requests.get(request as usize) else { continue };
            let end_ns = self.now_ns.saturating_add(row.service_ns.max(0));
            if self.loads_from_ns < end_ns && !row.is_low_priority {
                self.replay.disk_loads.push((disk_index, self.now_ns.max(self.loads_from_ns), end_ns));
            }
            if let Some(services) = self.replay.log.services.get_mut(disk_index as usize) {
                services.push(Service { start_ns: self.now_ns, end_ns, request });
                if let Some(start) = self.replay.log.service_starts.get_mut(request as usize) {
                    *start = self.now_ns;
                }
            }
            self.schedule(end_ns, Event::DiskDone(request));
        }
    }

    fn disk_done(&mut self, request: u32) {
        let Some(row) = self.graph.requests.get(request as usize) else { return };
        if let Some(disk) = self.disks.get_mut(row.disk as usize) {
            disk.in_service = disk.in_service.saturating_sub(1);
        }
        self.serve(row.disk);
        self.set(request, true);
    }
}

/// Adds a task to those that wait; returns false if there is nothing to wait for.
fn add_waiter(list: &mut [Waitable], index: u32, task: u32, tasks: &mut [TaskState]) -> bool {
    let (Some(waitable), Some(state)) = (list.get_mut(index as usize), tasks.get_mut(task as usize)) else {
        return false;
    };
    if waitable.time_ns != NEVER {
        return false;
    }
    state.next_waiter = std::mem::replace(&mut waitable.first_waiter, task);
    true
}
