//! Waits of any thread or process, the chain that a wait depended on, and one process over time.

use hashbrown::HashMap;
use onoff_blame::waits::{CriticalPath, PathOptions, PathStep, PathThread, StackFrame, StepKind, ThreadWait, Waits};
use onoff_evidence::{Certainty, Interval};
use onoff_lanes::DrawnLane;
use onoff_lanes::path_tracks::{path_slice, step_tone};
use onoff_lanes::process_tracks::process_tracks;
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_report::text::why::thread_name;
use onoff_trace::Trace;
use serde::Serialize;

use crate::path::{self, DrawnArrow, PageSteps};

/// Maximum number of listed waits.
const MAX_WAITS: usize = 500;
/// Maximum number of steps of a chain. All steps count in its sums.
const CHAIN_OPTIONS: PathOptions = PathOptions { min_step_ns: 0, max_steps: 5_000 };
/// Maximum number of threads of a chain that are drawn.
const MAX_CHAIN_THREADS: usize = 32;

/// The waits of a thread, or of all threads of a process, in a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageWaits {
    /// Waits, longest first.
    pub waits: Vec<PageWait>,
    /// Number of waits, including those that are not listed.
    pub of: usize,
    /// Message if there are no waits; empty otherwise.
    pub nothing: String,
}

/// A wait of a thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageWait {
    /// Thread that waited.
    pub thread: PageThread,
    /// Start, ns.
    pub start_ns: i64,
    /// When the thread could run again, ns; `None` if it still waited when the recording ended.
    pub ready_ns: Option<i64>,
    /// When it ran again, ns; `None` if that was not recorded.
    pub run_ns: Option<i64>,
    /// What it waited for.
    pub waited_for: String,
    /// Index into `PageLegend::tones`.
    pub tone: u8,
    /// Thread that ended the wait.
    pub ended_by: Option<PageThread>,
    /// Wait reason recorded by the system; empty if none was recorded.
    pub reason: String,
    pub certainty: Certainty,
    /// Call stack of the thread when it ran again, innermost frame first.
    pub stack: Vec<String>,
    /// Call stack of the thread that ended the wait.
    pub ending_stack: Vec<String>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageThread {
    /// Thread id.
    pub tid: u32,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Name with the process.
    pub name: String,
}

/// Rows above the lanes: the threads of a chain, or one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRows {
    pub title: String,
    pub rows: Vec<PageRow>,
    /// Which thread readied which: indexes into `rows`.
    pub arrows: Vec<DrawnArrow>,
    /// Number of threads without a row.
    pub omitted: usize,
    /// Steps of the chain; none for a process.
    pub steps: PageSteps,
}

/// A row above the lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRow {
    pub name: String,
    /// Additional text, such as the scale; may be empty.
    pub note: String,
    /// Thread of the row; `None` for a row of all threads of a process.
    pub thread: Option<u32>,
    pub lane: DrawnLane,
}

/// The subject of a query about waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSubject {
    Thread(u32),
    Process(u32),
}

/// Returns the waits of `subject` in `range`.
#[must_use]
pub fn waits(trace: &Trace, subject: WaitSubject, range: Interval) -> PageWaits {
    let index = Waits::new(trace);
    let tids = match subject {
        WaitSubject::Thread(tid) => vec![tid],
        WaitSubject::Process(pid) => index.threads_of_process(pid),
    };
    let (waits, of) = index.thread_waits(&tids, range, MAX_WAITS);
    let nothing = match (of, trace.context_switches.is_empty()) {
        (0, true) => "Waits are not known: context switches were not recorded.",
        (0, false) => "No waits in this range.",
        _ => "",
    };
    PageWaits { waits: waits.iter().map(page_wait).collect(), of, nothing: nothing.to_owned() }
}

fn page_wait(wait: &ThreadWait) -> PageWait {
    let detail = |kind: &str| if wait.detail.is_empty() { kind.to_owned() } else { format!("{kind}: {}", wait.detail) };
    let (waited_for, tone) = match wait.kind {
        StepKind::Other => match (&wait.ended_by, wait.ready_ns) {
            (Some(thread), _) => (thread_name(thread), Tone::Thread),
            (None, Some(_)) => ("not known".to_owned(), Tone::Unknown),
            (None, None) => ("not known: still waiting when the recording ended".to_owned(), Tone::Unknown),
        },
        StepKind::Disk => (detail("disk"), Tone::Disk),
        StepKind::Timer => (detail("timer"), Tone::Timer),
        StepKind::Device => (detail("device"), Tone::Interrupt),
        kind => (detail(kind.as_str()), step_tone(kind)),
    };
    let labels = |stack: &[StackFrame]| stack.iter().map(StackFrame::label).collect();
    PageWait {
        thread: page_thread(&wait.thread),
        start_ns: wait.start_ns,
        ready_ns: wait.ready_ns,
        run_ns: wait.run_ns,
        waited_for,
        tone: tone as u8,
        ended_by: wait.ended_by.as_ref().map(page_thread),
        reason: wait.wait_reason.clone(),
        certainty: wait.certainty,
        stack: labels(&wait.stack),
        ending_stack: labels(&wait.ending_stack),
    }
}

fn page_thread(thread: &PathThread) -> PageThread {
    PageThread { tid: thread.tid, pid: thread.pid, name: thread_name(thread) }
}

/// Returns the chain that a wait of thread `tid` depended on: a row for each thread, and the steps. `wait` is the time
/// from the start of the wait until the thread ran again.
#[must_use]
pub fn chain(trace: &Trace, tid: u32, wait: Interval, pixels: u32) -> PageRows {
    let path = Waits::new(trace).wait_chain(tid, wait, CHAIN_OPTIONS);
    let (order, omitted) = thread_order(&path);
    let row_of = |tid: u32| order.iter().position(|&ordered| ordered == tid);
    let mut slices: Vec<Vec<LaneSlice>> = order.iter().map(|_| Vec::new()).collect();
    for step in &path.steps {
        if let Some(slices) = row_of(step.thread.tid).and_then(|row| slices.get_mut(row)) {
            slices.push(path_slice(step));
        }
        let mut awaited = step.thread.tid;
        for &waiter in &step.waiters {
            if let Some(slices) = row_of(waiter).and_then(|row| slices.get_mut(row)) {
                add_wait(slices, step, (waiter, awaited));
            }
            awaited = waiter;
        }
    }
    let names: HashMap<u32, String> =
        path.steps.iter().map(|step| (step.thread.tid, thread_name(&step.thread))).collect();
    let rows = order.iter().zip(slices).map(|(&tid, slices)| PageRow {
        name: names.get(&tid).cloned().unwrap_or_else(|| format!("thread {tid}")),
        note: String::new(),
        thread: Some(tid),
        lane: DrawnLane::Slices(SliceLane::new(slices).draw(wait.start_ns, wait.end_ns, pixels)),
    });
    let rows: Vec<PageRow> = rows.collect();
    let threads: Vec<String> = order.iter().map(u32::to_string).collect();
    PageRows {
        title: format!("Thread {}", threads.join(" → ")),
        arrows: arrows(&path, row_of),
        rows,
        omitted,
        steps: path::steps(std::slice::from_ref(&path), wait.start_ns, wait.end_ns, path::MAX_STEPS),
    }
}

/// Returns the threads of a chain as they are reached walking back: the waiting thread first, then the threads it
/// waited for in turn. Also returns the number of further threads.
fn thread_order(path: &CriticalPath) -> (Vec<u32>, usize) {
    let mut order: Vec<u32> = Vec::new();
    for step in path.steps.iter().rev() {
        for tid in step.waiters.iter().rev().copied().chain([step.thread.tid]) {
            if tid != 0 && !order.contains(&tid) {
                order.push(tid);
            }
        }
    }
    let omitted = order.len().saturating_sub(MAX_CHAIN_THREADS);
    order.truncate(MAX_CHAIN_THREADS);
    (order, omitted)
}

/// Adds the time in which a thread waited for another one, together with the same wait before.
fn add_wait(slices: &mut Vec<LaneSlice>, step: &PathStep, (waiter, awaited): (u32, u32)) {
    let label = format!("waited for thread {awaited}");
    match slices.last_mut() {
        Some(last) if last.end_ns == step.start_ns && last.label == label => last.end_ns = step.end_ns,
        _ => slices.push(LaneSlice::new(step.start_ns, step.end_ns, label, Tone::Thread).with_thread(Some(waiter))),
    }
}

/// Returns where one thread of a chain readied the next one.
fn arrows(path: &CriticalPath, row_of: impl Fn(u32) -> Option<usize>) -> Vec<DrawnArrow> {
    let row = |tid: u32| row_of(tid).and_then(|row| u32::try_from(row).ok());
    let pairs = path.steps.iter().zip(path.steps.iter().skip(1));
    pairs
        .filter(|(step, next)| step.readies_tid == Some(next.thread.tid) && step.end_ns == next.start_ns)
        .filter_map(|(step, next)| Some((step.end_ns, row(step.thread.tid)?, row(next.thread.tid)?)))
        .filter(|(_, from, to)| from != to)
        .map(|(time_ns, from, to)| DrawnArrow { time_ns, from, to, count: 1 })
        .collect()
}

/// Returns the CPU usage, disk usage and threads of the process that had id `pid` at `time_ns`, in `range`.
#[must_use]
pub fn process(trace: &Trace, (pid, time_ns): (u32, i64), range: Interval, pixels: u32) -> PageRows {
    let found = process_tracks(&Waits::new(trace), trace, (pid, time_ns), range, pixels);
    let rows = found.tracks.iter().map(|(track, thread)| PageRow {
        name: track.name.clone(),
        note: track.note.clone(),
        thread: *thread,
        lane: track.draw(range.start_ns, range.end_ns, pixels),
    });
    PageRows { title: found.name.clone(), rows: rows.collect(), omitted: found.omitted_threads, ..PageRows::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{self, MS};

    /// Thread 44 waits for 64, which waits for a timer from 10 to 90 ms.
    fn trace() -> Trace {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        synthetic::process(&mut trace, 4, "System", None, None);
        for tid in [44, 64, 99] {
            synthetic::thread(&mut trace, tid, 4, None, None);
        }
        synthetic::switches_in_ms(
            &mut trace,
            &[
                (0, 0, 0, (2, 0), 44),
                (5, 1, 0, (2, 0), 64),
                (9, 0, 44, (5, 0), 0),
                (10, 1, 64, (5, 4), 0),
                (20, 0, 0, (2, 0), 99),
                (22, 0, 99, (5, 0), 0),
                (90, 1, 0, (2, 0), 64),
                (92, 0, 0, (2, 0), 44),
                (95, 1, 64, (5, 0), 0),
                (96, 0, 44, (5, 0), 0),
            ],
        );
        synthetic::ready_threads(&mut trace, &[(91 * MS, 44, 64)]);
        trace
    }

    #[test]
    fn lists_waits_with_the_thread_that_ended_them() {
        let trace = trace();
        let listed = waits(&trace, WaitSubject::Thread(44), Interval::new(0, 100 * MS));
        assert_eq!(listed.of, 2);
        let wait = &listed.waits[0];
        assert_eq!((wait.start_ns, wait.ready_ns, wait.run_ns), (9 * MS, Some(91 * MS), Some(92 * MS)));
        assert_eq!(wait.waited_for, "thread 64 of System (4)");
        assert!(waits(&trace, WaitSubject::Thread(7), Interval::new(0, MS)).nothing.contains("No waits"));
        let without = Trace { duration_ns: 9, ..Trace::default() };
        assert!(waits(&without, WaitSubject::Process(4), Interval::new(0, 9)).nothing.contains("not recorded"));
    }

    #[test]
    fn chain_is_a_stair_from_the_waiting_thread_to_the_timer() {
        let trace = trace();
        let chain = chain(&trace, 44, Interval::new(9 * MS, 92 * MS), 1_000);
        assert_eq!(chain.title, "Thread 44 → 64");
        let row = |index: usize| match &chain.rows[index].lane {
            DrawnLane::Slices(slices) => slices.labels.clone(),
            lane => panic!("{lane:?}"),
        };
        assert_eq!(row(0)[0], "waited for thread 64");
        assert!(row(1).iter().any(|label| label.contains("timer")), "{:?}", row(1));
        assert!(chain.rows.iter().all(|row| row.thread != Some(99)), "a thread beside the chain");
        assert_eq!(chain.arrows, [DrawnArrow { time_ns: 91 * MS, from: 1, to: 0, count: 1 }]);
        assert!(chain.steps.steps.iter().any(|step| step.kind == "timer"));
    }

    #[test]
    fn process_has_a_row_for_each_thread() {
        let rows = process(&trace(), (4, 0), Interval::new(0, 100 * MS), 100);
        assert_eq!(rows.title, "System (4)");
        assert_eq!(rows.rows.iter().filter_map(|row| row.thread).collect::<Vec<_>>(), [44, 64, 99]);
    }
}
