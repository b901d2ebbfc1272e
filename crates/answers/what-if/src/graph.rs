//! The recorded work as a graph: each thread is a sequence of segments, and signals connect threads.
//!
//! Times are on the awake clock: nanoseconds since the start of the recording, without time asleep. Time a thread was
//! ready is not in the graph; it emerges from the simulated scheduler.

use std::sync::Arc;

/// Index of a signal: something that happens once, and that threads may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalId(pub u32);

/// Index of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u32);

/// What a thread causes without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sets a signal.
    Signal(SignalId),
    /// Issues a disk request.
    Issue(RequestId),
}

/// A segment of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segment {
    /// Uses a processor for this long, ns.
    Run { cpu_ns: i64, priority: u8 },
    /// Waits for a fixed time from the start of the wait, ns.
    Delay(i64),
    /// Waits for a timer, this long from the start of the wait, ns.
    Timer(i64),
    /// Waits until a time, ns.
    Until(i64),
    /// Waits for something outside the recorded computer, an index into [`Graph::external_waits`].
    External(u32),
    /// Waits for a signal; passes at once if it is already set.
    Await(SignalId),
    /// Waits until a disk request completes.
    AwaitDisk(RequestId),
    /// Acts at once.
    Act(Action),
    /// Acts later, without waiting: an index into [`Graph::late_actions`].
    ActLater(u32),
}

/// A wait for something outside the recorded computer, e.g. a network, a person, or something unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalWait {
    /// How long it took, ns.
    pub delay_ns: i64,
    /// When it ended, ns.
    pub until_ns: i64,
    /// When it began in the recording, ns on the recording's clock.
    pub recorded_ns: i64,
}

/// An action some time after a thread's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateAction {
    pub delay_ns: i64,
    pub action: Action,
}

/// A segment with the recorded time at which it began, ns on the recording's clock. The time finds the subject of the
/// segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedSegment {
    pub recorded_ns: i64,
    pub segment: Segment,
}

/// The work of a thread, from its creation to its end. Its first segment waits for its creator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub tid: u32,
    pub segments: Vec<TimedSegment>,
}

/// A disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index into [`Graph::disks`].
    pub disk: u32,
    /// Time the disk needs for it, ns.
    pub service_ns: i64,
    pub is_low_priority: bool,
}

/// How a disk serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskModel {
    /// Disk number in the recording.
    pub number: u32,
    /// Requests served at once.
    pub concurrency: u32,
}

/// The start of a service, a device operation, or another piece of work with a start and an end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalSpan {
    /// Row in its table.
    pub row: usize,
    pub start: Option<SignalId>,
    pub end: Option<SignalId>,
}

/// The work of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub processors: u32,
    /// Speed of the processors, percent of the recorded computer's; `None` if it is the same.
    pub processor_percent: Option<i64>,
    /// Time after which the next thread of equal priority runs, ns.
    pub quantum_ns: i64,
    /// Shared between graphs: a change copies only the tasks it edits.
    pub tasks: Vec<Arc<Task>>,
    pub external_waits: Vec<ExternalWait>,
    pub late_actions: Vec<LateAction>,
    pub requests: Vec<Request>,
    pub disks: Vec<DiskModel>,
    /// Number of signals.
    pub signals: u32,
    /// Recorded time of each signal on the awake clock, ns; `i64::MAX` if it has none. Shared between graphs.
    pub signal_times: Arc<Vec<i64>>,
}

impl Graph {
    /// Adds a signal that was set at `time_ns`, on the awake clock.
    pub fn add_signal(&mut self, time_ns: i64) -> SignalId {
        let id = SignalId(self.signals);
        self.signals = self.signals.saturating_add(1);
        Arc::make_mut(&mut self.signal_times).push(time_ns);
        id
    }

    /// Returns the segment that acts after `delay_ns`.
    pub fn act_after(&mut self, delay_ns: i64, action: Action) -> Segment {
        if delay_ns <= 0 {
            return Segment::Act(action);
        }
        let index = u32::try_from(self.late_actions.len()).unwrap_or(u32::MAX);
        self.late_actions.push(LateAction { delay_ns, action });
        Segment::ActLater(index)
    }

    /// Returns the segment of an external wait.
    pub fn external_wait(&mut self, wait: ExternalWait) -> Segment {
        let index = u32::try_from(self.external_waits.len()).unwrap_or(u32::MAX);
        self.external_waits.push(wait);
        Segment::External(index)
    }
}

/// Converts between the recording's clock and the awake clock.
#[derive(Clone, Debug, Default)]
pub struct AwakeClock {
    /// Awake intervals on the recording's clock, each with the awake time before it, ns.
    intervals: Vec<(i64, i64, i64)>,
}

impl AwakeClock {
    /// `intervals` are in order and do not overlap.
    #[must_use]
    pub fn new(intervals: &[(i64, i64)]) -> Self {
        let mut awake_ns = intervals.first().map_or(0, |first| first.0);
        let with_sums = intervals.iter().map(|&(start, end)| {
            let before = awake_ns;
            awake_ns = awake_ns.saturating_add(end.saturating_sub(start));
            (start, end, before)
        });
        Self { intervals: with_sums.collect() }
    }

    /// Converts a time of the recording's clock. Times asleep map to the moment the computer fell asleep.
    #[must_use]
    pub fn awake(&self, recorded_ns: i64) -> i64 {
        let index = self.intervals.partition_point(|&(start, ..)| start <= recorded_ns);
        match index.checked_sub(1).and_then(|index| self.intervals.get(index)) {
            Some(&(start, end, before)) => {
                let is_last = index == self.intervals.len();
                let time_ns = if is_last { recorded_ns } else { recorded_ns.min(end) };
                before.saturating_add(time_ns.saturating_sub(start))
            }
            None => recorded_ns,
        }
    }
}
