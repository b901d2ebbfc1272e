//! What one thread did in a range: it ran, was ready, or waited, and what ended each wait.
//!
//! The causes are the same as in [`Waits::critical_path`], so that a wait has one explanation wherever it is shown.

use onoff_evidence::Certainty;
use onoff_evidence::interval::Interval;
use onoff_usage::owners::file_name;

use super::describe::PathOptions;
use super::history::WakeCause;
use super::path::{CriticalPath, PathStep, PathThread, StackFrame, StepKind};
use super::reason::{self, ThreadState, state_after_switch_out};
use super::timelines::{SwitchDirection, ThreadSwitch};
use super::{EndThread, Waits};

/// What a thread did in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadActivity {
    /// It had a processor.
    Ran,
    /// It could run, but had no processor.
    Ready,
    /// It waited.
    Waited {
        cause: WakeCause,
        certainty: Certainty,
        /// Wait reason recorded by the system; empty if none was recorded.
        reason: &'static str,
    },
}

/// An interval of a thread. Intervals of a thread do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadInterval {
    pub start_ns: i64,
    /// `None` if the recording ended first.
    pub end_ns: Option<i64>,
    pub activity: ThreadActivity,
}

/// A wait of a thread, with names.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadWait {
    pub thread: PathThread,
    pub start_ns: i64,
    /// When the thread could run again; `None` if it still waited when the recording ended.
    pub ready_ns: Option<i64>,
    /// When it ran again; `None` if that was not recorded.
    pub run_ns: Option<i64>,
    /// What it waited for; [`StepKind::Other`] for another thread, or if not known.
    pub kind: StepKind,
    /// File of a disk request, or driver of a timer or interrupt; empty if there is none.
    pub detail: String,
    /// Thread that ended the wait.
    pub ended_by: Option<PathThread>,
    /// Wait reason recorded by the system; empty if none was recorded.
    pub wait_reason: String,
    pub certainty: Certainty,
    /// Call stack of the thread when it ran again, innermost frame first.
    pub stack: Vec<StackFrame>,
    /// Call stack of the thread that ended the wait.
    pub ending_stack: Vec<StackFrame>,
}

impl Waits<'_> {
    /// Returns what thread `tid` did in `range`, in order of time. The first and the last interval may extend beyond
    /// the range.
    #[must_use]
    pub fn thread_states(&self, tid: u32, range: Interval) -> Vec<ThreadInterval> {
        let mut states: Vec<ThreadInterval> = Vec::new();
        let first = self.timelines.switches_before(tid, range.start_ns).saturating_sub(1);
        let mut previous: Option<ThreadSwitch<'_>> = None;
        for index in first.. {
            let Some(switch) = self.timelines.switch(tid, index) else {
                if let Some(last) = previous {
                    self.push_last_state(tid, &last, &mut states);
                }
                break;
            };
            match previous {
                Some(previous) => self.push_states_between(tid, &previous, &switch, &mut states),
                // It ran when the recording started.
                None if switch.direction == SwitchDirection::Out && index == 0 => {
                    let start_ns = self.trace.start_ns.max(0).min(switch.time_ns);
                    states.push(ran(start_ns, Some(switch.time_ns)));
                }
                None => {}
            }
            if switch.time_ns > range.end_ns {
                break;
            }
            previous = Some(switch);
        }
        states
            .retain(|state| state.start_ns < range.end_ns && state.end_ns.is_none_or(|end_ns| end_ns > range.start_ns));
        states
    }

    fn push_states_between(
        &self,
        tid: u32,
        previous: &ThreadSwitch<'_>,
        next: &ThreadSwitch<'_>,
        states: &mut Vec<ThreadInterval>,
    ) {
        let (start_ns, end_ns) = (previous.time_ns, next.time_ns);
        if previous.direction == SwitchDirection::In {
            states.push(ran(start_ns, Some(end_ns)));
            return;
        }
        match state_after_switch_out(previous.old_state()) {
            // The id was used again.
            ThreadState::Ended => {}
            ThreadState::Ready => states.push(ready(start_ns, Some(end_ns))),
            ThreadState::Waiting => {
                let (wait, ready_ns) = self.wait_between(tid, previous, Some(next));
                if ready_ns > start_ns {
                    states.push(ThreadInterval { start_ns, end_ns: Some(ready_ns), activity: wait });
                }
                if ready_ns < end_ns {
                    states.push(ready(ready_ns.max(start_ns), Some(end_ns)));
                }
            }
        }
    }

    fn push_last_state(&self, tid: u32, last: &ThreadSwitch<'_>, states: &mut Vec<ThreadInterval>) {
        let start_ns = last.time_ns;
        match (last.direction, state_after_switch_out(last.old_state())) {
            (SwitchDirection::In, _) => states.push(ran(start_ns, None)),
            (SwitchDirection::Out, ThreadState::Waiting) => {
                let ready_at = self.timelines.ready_of_wait(tid, last, None);
                let (activity, ready_ns) = self.wait_between(tid, last, None);
                states.push(ThreadInterval { start_ns, end_ns: ready_at.map(|_| ready_ns), activity });
            }
            (SwitchDirection::Out, ThreadState::Ready) => states.push(ready(start_ns, None)),
            (SwitchDirection::Out, ThreadState::Ended) => {}
        }
    }

    /// Returns the wait that began with the switch `out`, and when it ended: at the end of the recording if it did not.
    fn wait_between(&self, tid: u32, out: &ThreadSwitch<'_>, next: Option<&ThreadSwitch<'_>>) -> (ThreadActivity, i64) {
        let start_ns = out.time_ns;
        let ready = self.timelines.ready_of_wait(tid, out, next);
        let reason = reason::recorded_reason(self.trace.system.kind, out.old_wait_mode(), out.old_wait_reason());
        let is_unfinished = ready.is_none() && next.is_none();
        if is_unfinished {
            let activity = ThreadActivity::Waited { cause: WakeCause::Unknown, certainty: Certainty::Missing, reason };
            return (activity, self.trace.duration_ns.max(start_ns));
        }
        let end_ns = next.map_or(self.trace.duration_ns, |next| next.time_ns);
        if ready.is_none() && self.timelines.was_woken_while_leaving(tid, out) {
            let activity = ThreadActivity::Waited { cause: WakeCause::Unknown, certainty: Certainty::Missing, reason };
            return (activity, start_ns);
        }
        let ready_ns = ready.map_or(end_ns, |ready| ready.time_ns).max(start_ns);
        let (cause, _, certainty) = self.wake_cause(tid, out, ready.as_ref(), ready_ns);
        (ThreadActivity::Waited { cause, certainty, reason }, ready_ns)
    }

    /// Returns the waits of `tids` in `range`, longest first, at most `max`, and the number of all.
    #[must_use]
    pub fn thread_waits(&self, tids: &[u32], range: Interval, max: usize) -> (Vec<ThreadWait>, usize) {
        let mut found: Vec<(u32, ThreadInterval, Option<i64>)> = Vec::new();
        for &tid in tids {
            let states = self.thread_states(tid, range);
            for (index, state) in states.iter().enumerate() {
                if !matches!(state.activity, ThreadActivity::Waited { .. }) {
                    continue;
                }
                let run = states.iter().skip(index + 1).find(|next| next.activity != ThreadActivity::Ready);
                let run_ns = run.filter(|next| next.activity == ThreadActivity::Ran).map(|next| next.start_ns);
                found.push((tid, *state, run_ns));
            }
        }
        let count = found.len();
        let end_ns = self.trace.duration_ns;
        found.sort_by_key(|(tid, state, _)| {
            let ns = state.end_ns.unwrap_or(end_ns).saturating_sub(state.start_ns);
            (std::cmp::Reverse(ns), state.start_ns, *tid)
        });
        found.truncate(max);
        let mut waits: Vec<ThreadWait> =
            found.into_iter().filter_map(|(tid, state, run_ns)| self.describe_wait(tid, &state, run_ns)).collect();
        self.add_wait_stacks(&mut waits);
        (waits, count)
    }

    fn describe_wait(&self, tid: u32, state: &ThreadInterval, run_ns: Option<i64>) -> Option<ThreadWait> {
        let ThreadActivity::Waited { cause, certainty, reason } = state.activity else { return None };
        let text = |id| self.trace.text(id);
        let (kind, detail, ended_by) = match cause {
            WakeCause::Thread(other) => {
                (StepKind::Other, String::new(), Some(self.path_thread(other, state.end_ns.unwrap_or(state.start_ns))))
            }
            WakeCause::Disk(row) => {
                let file = self.trace.disk_ios.file.get(row as usize).copied().unwrap_or_default();
                (StepKind::Disk, self.trace.system.drive_paths.readable(text(file)).into_owned(), None)
            }
            WakeCause::Timer(driver) => (StepKind::Timer, file_name(text(driver)).to_owned(), None),
            WakeCause::Device(driver) => (StepKind::Device, file_name(text(driver)).to_owned(), None),
            WakeCause::Unknown => (StepKind::Other, String::new(), None),
        };
        Some(ThreadWait {
            thread: self.path_thread(tid, state.start_ns),
            start_ns: state.start_ns,
            ready_ns: state.end_ns,
            run_ns,
            kind,
            detail,
            ended_by,
            wait_reason: reason.to_owned(),
            certainty,
            stack: Vec::new(),
            ending_stack: Vec::new(),
        })
    }

    /// Adds call stacks in one pass over the stack table.
    fn add_wait_stacks(&self, waits: &mut [ThreadWait]) {
        let step = |thread: &PathThread, time_ns: Option<i64>| PathStep {
            start_ns: 0,
            end_ns: 0,
            duration_ns: 0,
            thread: thread.clone(),
            kind: StepKind::Other,
            detail: String::new(),
            service: None,
            certainty: Certainty::Missing,
            wait_reason: String::new(),
            readies_tid: None,
            waiters: Vec::new(),
            device: String::new(),
            stack: Vec::new(),
            stack_ns: time_ns,
        };
        let steps = waits.iter().flat_map(|wait| {
            let ending = wait.ended_by.as_ref().map(|thread| step(thread, wait.ready_ns));
            [step(&wait.thread, wait.run_ns), ending.unwrap_or_else(|| step(&wait.thread, None))]
        });
        let mut path = CriticalPath { steps: steps.collect(), ..CriticalPath::default() };
        self.add_stacks(vec![&mut path]);
        for (wait, steps) in waits.iter_mut().zip(path.steps.chunks_mut(2)) {
            let mut stacks = steps.iter_mut().map(|step| std::mem::take(&mut step.stack));
            wait.stack = stacks.next().unwrap_or_default();
            wait.ending_stack = stacks.next().unwrap_or_default();
        }
    }

    /// Names a thread at a time.
    fn path_thread(&self, tid: u32, time_ns: i64) -> PathThread {
        self.describer(&self.blockers, PathOptions::default()).thread(tid, time_ns)
    }

    /// Returns the chain of threads that a wait of `tid` depended on, from its start to when the thread ran again.
    #[must_use]
    pub fn wait_chain(&self, tid: u32, range: Interval, options: PathOptions) -> CriticalPath {
        let mut chain = self.critical_path(range, &EndThread::from_tid(tid), options);
        self.add_stacks(vec![&mut chain]);
        chain
    }

    /// Returns the ids of the threads of process `pid` that appear in a context switch or wake-up, ascending.
    #[must_use]
    pub fn threads_of_process(&self, pid: u32) -> Vec<u32> {
        self.identities.threads_of(pid)
    }
}

const fn ran(start_ns: i64, end_ns: Option<i64>) -> ThreadInterval {
    ThreadInterval { start_ns, end_ns, activity: ThreadActivity::Ran }
}

const fn ready(start_ns: i64, end_ns: Option<i64>) -> ThreadInterval {
    ThreadInterval { start_ns, end_ns, activity: ThreadActivity::Ready }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{self, MS};
    use onoff_trace::Trace;

    /// Thread 70 runs to 10 ms, waits until thread 80 readies it at 40 ms, and runs from 41 ms. Thread 80 sleeps before
    /// that.
    fn trace() -> Trace {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        synthetic::process(&mut trace, 7, "work.exe", None, None);
        synthetic::process(&mut trace, 8, "helper.exe", None, None);
        synthetic::thread(&mut trace, 70, 7, None, None);
        synthetic::thread(&mut trace, 80, 8, None, None);
        synthetic::switches_in_ms(
            &mut trace,
            &[
                (0, 0, 0, (2, 0), 70),
                (5, 1, 0, (2, 0), 80),
                (10, 0, 70, (5, 0), 0),
                (12, 1, 80, (5, 4), 0),
                (38, 1, 0, (2, 0), 80),
                (41, 0, 0, (2, 0), 70),
                (60, 1, 80, (5, 0), 0),
                (90, 0, 70, (5, 0), 0),
            ],
        );
        synthetic::ready_threads(&mut trace, &[(40 * MS, 70, 80)]);
        trace
    }

    #[test]
    fn thread_runs_waits_and_is_ready() {
        let trace = trace();
        let waits = Waits::new(&trace);
        let states = waits.thread_states(70, Interval::new(0, 100 * MS));
        let bounds: Vec<(i64, Option<i64>)> =
            states.iter().map(|state| (state.start_ns / MS, state.end_ns.map(|end| end / MS))).collect();
        assert_eq!(bounds, [(0, Some(10)), (10, Some(40)), (40, Some(41)), (41, Some(90)), (90, None)]);
        assert!(
            matches!(states[1].activity, ThreadActivity::Waited { cause: WakeCause::Thread(80), .. }),
            "{:?}",
            states[1]
        );
        assert_eq!(waits.thread_states(70, Interval::new(20 * MS, 30 * MS)).len(), 1);
        assert!(waits.thread_states(12_345, Interval::new(0, 100 * MS)).is_empty());
    }

    #[test]
    fn wait_names_its_end_and_its_chain_reaches_the_timer() {
        let trace = trace();
        let waits = Waits::new(&trace);
        let (listed, count) = waits.thread_waits(&waits.threads_of_process(7), Interval::new(0, 100 * MS), 1);
        assert_eq!((listed.len(), count), (1, 2));
        let wait = &listed[0];
        assert_eq!((wait.start_ns, wait.ready_ns, wait.run_ns), (10 * MS, Some(40 * MS), Some(41 * MS)));
        assert_eq!(
            wait.ended_by.as_ref().map(|thread| (thread.tid, thread.process.as_str())),
            Some((80, "helper.exe"))
        );
        let chain = waits.wait_chain(70, Interval::new(10 * MS, 41 * MS), PathOptions::default());
        let timer = chain.steps.iter().find(|step| step.kind == StepKind::Timer).unwrap();
        assert_eq!((timer.thread.tid, timer.waiters.as_slice()), (80, &[70][..]));
    }

    #[test]
    fn wait_without_an_end_has_none() {
        let trace = trace();
        let (listed, _) = Waits::new(&trace).thread_waits(&[80], Interval::new(61 * MS, 100 * MS), 9);
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].ready_ns, listed[0].certainty), (None, Certainty::Missing));
    }
}
