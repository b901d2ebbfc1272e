//! Builds the graph of a recording: every wait becomes an edge from what ended it.
//!
//! An event that a thread caused (it readied another thread, created one, issued a disk request, logged a boundary) is
//! placed at that thread's progress: after the processor time it had used by then. If the thread was not running, the
//! event follows its last run by a fixed time.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_blame::waits::{HistoryStep, ThreadHistory, Waits, WakeCause, is_ready_after_switch_out};
use onoff_trace::{DiskIo, Severity, StringId, SystemKind, TableName, Trace};

use crate::graph::{
    Action, AwakeClock, DiskModel, ExternalWait, Graph, Request, RequestId, Segment, SignalId, Task, TimedSegment,
};
use crate::idle_times::IdleTimes;

/// Maximum number of disks to distinguish; all further disks count as one.
const MAX_DISKS: usize = 64;

/// Time after which the next thread of equal priority runs, ns, if the recording does not show it: 20 ms.
const DEFAULT_QUANTUM_NS: i64 = 20_000_000;
/// Minimum number of runs that ended because their time was over, to measure the quantum.
const MIN_QUANTUM_RUNS: usize = 8;
/// Maximum number of runs that are examined.
const MAX_QUANTUM_RUNS: usize = 1 << 16;

/// Something that thread `tid` did at a time of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimedAction {
    tid: u32,
    recorded_ns: i64,
    action: Action,
}

/// A moment of the recording at which a thread's progress is a signal, e.g. the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anchor {
    /// The thread that logged it; `None` if unknown.
    pub tid: Option<u32>,
    pub time_ns: i64,
}

/// A graph with the places of its anchors.
#[derive(Debug)]
pub struct BuiltGraph {
    pub graph: Graph,
    pub clock: AwakeClock,
    /// The signals of the anchors, in the order given.
    pub anchors: Vec<SignalId>,
    pub driver_waits: DriverWaits,
}

/// Files of the drivers that ended waits, by thread and recorded start of the wait, ns.
pub type DriverWaits = HashMap<(u32, i64), StringId>;

/// Builds the graph of the recording up to `until_ns`, with a signal for each anchor.
#[must_use]
pub fn build(trace: &Trace, waits: &Waits<'_>, anchors: &[Anchor], until_ns: i64) -> BuiltGraph {
    let mut builder = Builder {
        trace,
        until_ns,
        clock: AwakeClock::new(&waits.awake_intervals()),
        graph: Graph {
            processors: onoff_usage::cpu::processors(trace).max(1),
            quantum_ns: observed_quantum_ns(trace),
            ..Graph::default()
        },
        actions: Vec::new(),
        driver_waits: DriverWaits::new(),
        idle: if trace.system.kind == SystemKind::Linux { IdleTimes::new(trace) } else { IdleTimes::default() },
        is_incomplete: trace
            .losses
            .affecting(&[TableName::ContextSwitches, TableName::ReadyThreads])
            .any(|loss| loss.severity == Severity::Error),
    };
    let requests = builder.add_requests();
    let anchors = builder.add_anchors(anchors);
    let histories = waits.histories(until_ns);
    let signals = builder.add_wakes(&histories);
    builder.add_tasks(&histories, &signals, &requests);
    BuiltGraph { graph: builder.graph, clock: builder.clock, anchors, driver_waits: builder.driver_waits }
}

struct Builder<'t> {
    trace: &'t Trace,
    until_ns: i64,
    clock: AwakeClock,
    graph: Graph,
    actions: Vec<TimedAction>,
    driver_waits: DriverWaits,
    /// Linux: when a processor was idle. A ready thread that did not use it was delayed by the kernel.
    idle: IdleTimes,
    /// True if switches or ready-thread events may have been lost.
    is_incomplete: bool,
}

impl Builder<'_> {
    /// Adds the disk requests, and the actions that issue them. Returns the request of each row.
    fn add_requests(&mut self) -> Vec<RequestId> {
        let rows = &self.trace.disk_ios;
        let mut disks: HashMap<u32, u32> = HashMap::new();
        for row in rows.iter() {
            if disks.len() < MAX_DISKS && !disks.contains_key(&row.disk) {
                disks.insert(row.disk, u32::try_from(disks.len()).unwrap_or(0));
            }
        }
        let disk_count = disks.len().max(1);
        let disk_of = |row: &DiskIo| disks.get(&row.disk).copied().unwrap_or(0);
        let mut by_disk: Vec<Vec<(i64, i64, bool)>> = vec![Vec::new(); disk_count];
        for row in rows.iter() {
            if let Some(list) = by_disk.get_mut(disk_of(&row) as usize) {
                list.push((issue_ns(&row), row.complete_ns, row.priority.is_low()));
            }
        }
        let concurrency: Vec<u32> = by_disk.into_iter().map(observed_concurrency).collect();
        let mut numbers: Vec<(u32, u32)> = disks.iter().map(|(&number, &index)| (index, number)).collect();
        numbers.sort_unstable();
        let model = |(index, number): (u32, u32)| DiskModel {
            number,
            concurrency: concurrency.get(index as usize).copied().unwrap_or(1),
        };
        self.graph.disks = numbers.into_iter().map(model).collect();
        let mut ids = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            let id = RequestId(u32::try_from(self.graph.requests.len()).unwrap_or(u32::MAX));
            let disk = disk_of(&row);
            let is_parallel = concurrency.get(disk as usize).is_some_and(|&concurrency| concurrency > 1);
            let service_ns = if is_parallel { row.complete_ns.saturating_sub(issue_ns(&row)) } else { row.service_ns };
            let is_low_priority = row.priority.is_low();
            self.graph.requests.push(Request { disk, service_ns: service_ns.max(0), is_low_priority });
            ids.push(id);
            let (recorded_ns, action) = (issue_ns(&row), Action::Issue(id));
            if recorded_ns <= self.until_ns {
                self.actions.push(TimedAction { tid: row.tid.unwrap_or(0), recorded_ns, action });
            }
        }
        ids
    }

    fn add_anchors(&mut self, anchors: &[Anchor]) -> Vec<SignalId> {
        let mut signals = Vec::with_capacity(anchors.len());
        for anchor in anchors {
            let signal = self.graph.add_signal(self.clock.awake(anchor.time_ns));
            let tid = anchor.tid.unwrap_or(0);
            self.actions.push(TimedAction { tid, recorded_ns: anchor.time_ns, action: Action::Signal(signal) });
            signals.push(signal);
        }
        signals
    }

    /// Adds a signal for each wait that another thread ended. Returns the signals by thread history and step.
    fn add_wakes(&mut self, histories: &[ThreadHistory]) -> Vec<Vec<(usize, SignalId)>> {
        let mut signals = Vec::with_capacity(histories.len());
        for history in histories {
            let mut of_history = Vec::new();
            for (index, step) in history.steps.iter().enumerate() {
                if let &HistoryStep::Wait { cause: WakeCause::Thread(tid), cause_ns, ready_ns: Some(_), .. } = step {
                    let signal = self.graph.add_signal(self.clock.awake(cause_ns));
                    self.actions.push(TimedAction { tid, recorded_ns: cause_ns, action: Action::Signal(signal) });
                    of_history.push((index, signal));
                }
            }
            signals.push(of_history);
        }
        signals
    }

    /// Adds the tasks, with the actions of each at its progress.
    fn add_tasks(&mut self, histories: &[ThreadHistory], signals: &[Vec<(usize, SignalId)>], requests: &[RequestId]) {
        let mut actions = std::mem::take(&mut self.actions);
        // Actions at one time keep the order in which they were found.
        actions.sort_by_key(|action| (action.tid, action.recorded_ns));
        let mut next_action = 0;
        let mut index = 0;
        while let Some(history) = histories.get(index) {
            // The lives of one thread id are consecutive.
            let tid = history.tid;
            let lives = histories.get(index..).unwrap_or_default().iter().take_while(|other| other.tid == tid).count();
            while actions.get(next_action).is_some_and(|action| action.tid < tid) {
                self.add_unplaced(actions.get(next_action).copied());
                next_action += 1;
            }
            let count = actions.get(next_action..).unwrap_or_default().iter().take_while(|row| row.tid == tid).count();
            let mut pending = actions.get(next_action..next_action + count).unwrap_or_default();
            next_action += count;
            for life in index..index + lives {
                let (Some(history), Some(signals)) = (histories.get(life), signals.get(life)) else { continue };
                // A life takes the actions up to the first run of the next.
                let end_ns = histories.get(life + 1).filter(|_| life + 1 < index + lives).and_then(first_run_ns);
                let split = end_ns
                    .map_or(pending.len(), |end_ns| pending.partition_point(|action| action.recorded_ns < end_ns));
                let (own, later) = pending.split_at(split);
                pending = later;
                self.add_task(history, signals, requests, own);
            }
            index += lives;
        }
        while let Some(action) = actions.get(next_action) {
            self.add_unplaced(Some(*action));
            next_action += 1;
        }
    }

    /// Adds an action of an unknown thread: it happens at its recorded time.
    fn add_unplaced(&mut self, action: Option<TimedAction>) {
        let Some(action) = action else { return };
        let time_ns = self.clock.awake(action.recorded_ns);
        let timed = |segment| TimedSegment { recorded_ns: action.recorded_ns, segment };
        let segments = vec![timed(Segment::Until(time_ns)), timed(Segment::Act(action.action))];
        self.graph.tasks.push(Arc::new(Task { tid: 0, segments }));
    }

    fn add_task(
        &mut self,
        history: &ThreadHistory,
        signals: &[(usize, SignalId)],
        requests: &[RequestId],
        actions: &[TimedAction],
    ) {
        let mut signals = signals.iter().peekable();
        let mut segments: Vec<TimedSegment> = Vec::with_capacity(history.steps.len() + actions.len());
        let first_ns = first_run_ns(history).unwrap_or(i64::MAX);
        let placed = actions.partition_point(|action| action.recorded_ns < first_ns);
        let (early, mut actions) = actions.split_at(placed);
        for &action in early {
            self.add_unplaced(Some(action));
        }
        if let Some(&HistoryStep::Run { start_ns, .. }) = history.steps.first() {
            let segment = Segment::Until(self.clock.awake(start_ns));
            segments.push(TimedSegment { recorded_ns: start_ns, segment });
        }
        for (index, step) in history.steps.iter().enumerate() {
            match *step {
                HistoryStep::Run { start_ns, end_ns, priority } => {
                    let next_start_ns =
                        history.steps.get(index + 1..).unwrap_or_default().iter().find_map(run_start_ns);
                    let count = next_start_ns.map_or(actions.len(), |next_ns| {
                        actions.partition_point(|action| action.recorded_ns < next_ns)
                    });
                    let (own, later) = actions.split_at(count);
                    actions = later;
                    let previous = index.checked_sub(1).and_then(|previous| history.steps.get(previous));
                    if let Some(ready_ns) = previous.and_then(ready_ns) {
                        let delay_ns = self.idle.between(ready_ns, start_ns);
                        if delay_ns > 0 {
                            segments.push(TimedSegment { recorded_ns: ready_ns, segment: Segment::Delay(delay_ns) });
                        }
                    }
                    self.add_run((start_ns, end_ns), priority.max(0) as u8, own, &mut segments);
                }
                HistoryStep::Wait { start_ns, cause, cause_ns, ready_ns } => {
                    let signal = signals.next_if(|(step, _)| *step == index).map(|&(_, signal)| signal);
                    let Some(ready_ns) = ready_ns else { continue };
                    if let WakeCause::Timer(driver) | WakeCause::Device(driver) = cause
                        && driver != StringId::EMPTY
                    {
                        self.driver_waits.insert((history.tid, start_ns), driver);
                    }
                    let (start, ready) = (self.clock.awake(start_ns), self.clock.awake(ready_ns));
                    let segment = match (cause, signal) {
                        (WakeCause::Thread(_), Some(signal)) => Segment::Await(signal),
                        (WakeCause::Disk(row), _) => match requests.get(row as usize) {
                            Some(&request) => Segment::AwaitDisk(request),
                            None => Segment::Delay(ready.saturating_sub(start).max(0)),
                        },
                        // A thread whose creator is unknown begins at its recorded time.
                        _ if index == 0 => Segment::Until(ready),
                        (WakeCause::Timer(_), _) if !self.is_incomplete => {
                            Segment::Timer(ready.saturating_sub(start).max(0))
                        }
                        (WakeCause::Device(_), _) if !self.is_incomplete => {
                            Segment::Delay(ready.saturating_sub(start).max(0))
                        }
                        // With lost events, a thread may have ended the wait.
                        _ => self.graph.external_wait(ExternalWait {
                            delay_ns: ready.saturating_sub(start).max(0),
                            until_ns: ready,
                            recorded_ns: start_ns,
                        }),
                    };
                    segments.push(TimedSegment { recorded_ns: start_ns, segment });
                    let rest_ns = ready.saturating_sub(self.clock.awake(cause_ns));
                    if matches!(segment, Segment::Await(_) | Segment::AwaitDisk(_)) && rest_ns > 0 {
                        segments.push(TimedSegment { recorded_ns: cause_ns, segment: Segment::Delay(rest_ns) });
                    }
                }
            }
        }
        self.graph.tasks.push(Arc::new(Task { tid: history.tid, segments }));
    }

    /// Adds a run, cut at the actions in it. Actions after its end follow it by a fixed time.
    fn add_run(
        &mut self,
        (start_ns, end_ns): (i64, i64),
        priority: u8,
        actions: &[TimedAction],
        segments: &mut Vec<TimedSegment>,
    ) {
        let mut from_ns = start_ns;
        let end = self.clock.awake(end_ns);
        let mut has_run = false;
        for action in actions {
            let time_ns = action.recorded_ns.clamp(from_ns, end_ns.max(from_ns));
            if time_ns > from_ns || !has_run {
                let cpu_ns = self.clock.awake(time_ns).saturating_sub(self.clock.awake(from_ns)).max(0);
                segments.push(TimedSegment { recorded_ns: from_ns, segment: Segment::Run { cpu_ns, priority } });
                has_run = true;
                from_ns = time_ns;
            }
            let late_ns = self.clock.awake(action.recorded_ns).saturating_sub(end).max(0);
            let segment = self.graph.act_after(late_ns, action.action);
            segments.push(TimedSegment { recorded_ns: action.recorded_ns, segment });
        }
        if from_ns < end_ns || !has_run {
            let cpu_ns = end.saturating_sub(self.clock.awake(from_ns)).max(0);
            segments.push(TimedSegment { recorded_ns: from_ns, segment: Segment::Run { cpu_ns, priority } });
        }
    }
}

fn run_start_ns(step: &HistoryStep) -> Option<i64> {
    match *step {
        HistoryStep::Run { start_ns, .. } => Some(start_ns),
        HistoryStep::Wait { .. } => None,
    }
}

/// Returns from when on a thread was ready after a step, ns.
fn ready_ns(step: &HistoryStep) -> Option<i64> {
    match *step {
        HistoryStep::Run { end_ns, .. } => Some(end_ns),
        HistoryStep::Wait { ready_ns, .. } => ready_ns,
    }
}

fn first_run_ns(history: &ThreadHistory) -> Option<i64> {
    history.steps.iter().find_map(run_start_ns)
}

/// Returns when a request was issued, ns; if that was not recorded, when the disk began to serve it.
fn issue_ns(row: &DiskIo) -> i64 {
    row.issue_ns.unwrap_or_else(|| row.complete_ns.saturating_sub(row.service_ns.max(0))).min(row.complete_ns)
}

/// Returns how many requests a disk serves at once. It serves one at a time unless a request overtook another of the
/// same priority; then as many as were in flight at once.
fn observed_concurrency(mut requests: Vec<(i64, i64, bool)>) -> u32 {
    requests.sort_unstable();
    let mut latest = [i64::MIN; 2];
    let mut is_parallel = false;
    for &(_, complete_ns, is_low) in &requests {
        if let Some(latest) = latest.get_mut(usize::from(is_low)) {
            is_parallel |= complete_ns < *latest;
            *latest = complete_ns.max(*latest);
        }
    }
    if !is_parallel {
        return 1;
    }
    let mut changes: Vec<(i64, i32)> =
        requests.iter().flat_map(|&(issue, complete, _)| [(issue, 1), (complete, -1)]).collect();
    changes.sort_unstable();
    let mut in_flight = 0_i32;
    let most = changes.into_iter().map(|(_, change)| {
        in_flight += change;
        in_flight
    });
    u32::try_from(most.max().unwrap_or(1)).unwrap_or(1).max(1)
}

/// Returns the quantum of the recorded scheduler: the median length of runs after which another thread of the same
/// priority ran while the first was still ready.
fn observed_quantum_ns(trace: &Trace) -> i64 {
    let mut switched_in: HashMap<u16, (u32, i64)> = HashMap::new();
    let mut lengths: Vec<i64> = Vec::new();
    'chunks: for chunk in trace.context_switches.chunks() {
        let threads = chunk.old_tid.iter().zip(&chunk.new_tid);
        let priorities = chunk.old_priority.iter().zip(&chunk.new_priority);
        let columns = chunk.cpu.iter().zip(&chunk.time_ns).zip(threads.zip(priorities)).zip(&chunk.old_state);
        for (((&cpu, &time_ns), ((&old_tid, &new_tid), (old_priority, new_priority))), &old_state) in columns {
            let since = switched_in.insert(cpu, (new_tid, time_ns));
            let is_over =
                old_tid != 0 && new_tid != 0 && old_priority == new_priority && is_ready_after_switch_out(old_state);
            if let Some((_, since_ns)) = since.filter(|&(tid, _)| is_over && tid == old_tid) {
                lengths.push(time_ns.saturating_sub(since_ns));
            }
            if lengths.len() >= MAX_QUANTUM_RUNS {
                break 'chunks;
            }
        }
    }
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().filter(|_| lengths.len() >= MIN_QUANTUM_RUNS);
    median.filter(|&quantum_ns| quantum_ns > 0).unwrap_or(DEFAULT_QUANTUM_NS)
}
