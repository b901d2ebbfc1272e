//! What every recorded thread did, in order: it ran, waited, and was made ready by something.
//!
//! The causes are the same as in [`Waits::critical_path`], so that a wait has one explanation wherever it is used. Time
//! spent ready is not a step: it is the gap between the end of a wait and the next run.

use onoff_evidence::Certainty;
use onoff_trace::StringId;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::cause::{Cause, is_kernel};
use super::reason::{ThreadState, state_after_switch_out};
use super::timelines::{IN_INTERRUPT, SwitchDirection, ThreadSwitch, WakeUp};
use super::{FIRST_THREAD, Waits};

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeCause {
    /// The thread with this id, at [`HistoryStep::Wait::cause_ns`].
    Thread(u32),
    /// The disk request in this row, at its completion.
    Disk(u32),
    /// A timer of the driver in this file; empty for a timer of the kernel or of a program.
    Timer(StringId),
    /// An interrupt or DPC of the driver in this file.
    Device(StringId),
    /// Not known, or outside the recording.
    Unknown,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryStep {
    /// It had a processor.
    Run { start_ns: i64, end_ns: i64, priority: i8 },
    /// It waited. A wait that had not ended when the recording did has no `ready_ns`.
    Wait {
        start_ns: i64,
        cause: WakeCause,
        /// When the cause occurred. Not later than `ready_ns`.
        cause_ns: i64,
        /// When the thread could run: it had been made ready and, if a processor was idle, that processor had woken up.
        ready_ns: Option<i64>,
    },
}

/// The life of a thread. It begins with a wait, unless the thread was running when the recording started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadHistory {
    pub tid: u32,
    pub steps: Vec<HistoryStep>,
}

impl Waits<'_> {
    /// Returns what every thread that appears in a context switch did up to `until_ns`, by thread id and time.
    #[must_use]
    pub fn histories(&self, until_ns: i64) -> Vec<ThreadHistory> {
        let of_thread = |tid: u32| {
            let mut histories = Vec::new();
            self.add_histories((tid, until_ns), &mut histories);
            histories
        };
        self.timelines.tids().into_par_iter().flat_map_iter(of_thread).collect()
    }

    /// Returns the intervals in which the machine was awake, in order.
    #[must_use]
    pub fn awake_intervals(&self) -> Vec<(i64, i64)> {
        let end_ns = self.trace.duration_ns.max(0);
        self.timelines.asleep().awake(self.trace.start_ns.min(0), end_ns.saturating_add(1)).collect()
    }

    /// Adds the lives of a thread, given by its id and the time up to which it is followed.
    fn add_histories(&self, (tid, until_ns): (u32, i64), histories: &mut Vec<ThreadHistory>) {
        let mut steps: Vec<HistoryStep> = Vec::new();
        let mut previous: Option<ThreadSwitch<'_>> = None;
        let mut wakes_before = 0;
        // The thread does not change before this time, unless it ends.
        let mut same_until_ns = i64::MIN;
        for index in 0.. {
            let switch = self.timelines.switch(tid, index).filter(|switch| switch.time_ns <= until_ns);
            let Some(switch) = switch else { break };
            let time_ns = switch.time_ns;
            match switch.direction {
                SwitchDirection::In => {
                    let is_new = previous
                        .is_none_or(|previous| self.is_new_life(tid, &previous, &switch, time_ns < same_until_ns));
                    if time_ns >= same_until_ns {
                        same_until_ns = self.identities.same_until(tid, time_ns);
                    }
                    if is_new {
                        close(tid, &mut steps, histories);
                        let from_ns = previous.map_or(i64::MIN, |previous| previous.time_ns);
                        steps.push(self.first_wait(tid, from_ns, &switch));
                    } else if let Some(previous) = previous {
                        self.add_wait(tid, (&previous, &switch), &mut wakes_before, &mut steps);
                    }
                    self.add_wake_latency(&switch, &mut steps);
                }
                SwitchDirection::Out => {
                    let start = previous.filter(|previous| previous.direction == SwitchDirection::In);
                    let (start_ns, priority) = match (start, previous) {
                        (Some(start), _) => (start.time_ns, start.new_priority()),
                        (None, None) => (self.trace.start_ns.max(0).min(time_ns), switch.old_priority()),
                        // Its switch-in was lost.
                        (None, Some(previous)) => {
                            self.add_wait(tid, (&previous, &switch), &mut wakes_before, &mut steps);
                            (time_ns, switch.old_priority())
                        }
                    };
                    steps.push(HistoryStep::Run { start_ns, end_ns: time_ns, priority });
                }
            }
            previous = Some(switch);
        }
        let end_ns = self.trace.duration_ns.min(until_ns);
        if let Some(last) = previous {
            let start_ns = last.time_ns;
            match (last.direction, state_after_switch_out(last.old_state())) {
                (SwitchDirection::In, _) => {
                    let priority = last.new_priority();
                    steps.push(HistoryStep::Run { start_ns, end_ns: end_ns.max(start_ns), priority });
                }
                (SwitchDirection::Out, ThreadState::Waiting) => {
                    let cause = WakeCause::Unknown;
                    steps.push(HistoryStep::Wait { start_ns, cause, cause_ns: end_ns, ready_ns: None });
                }
                (SwitchDirection::Out, ThreadState::Ready | ThreadState::Ended) => {}
            }
        }
        close(tid, &mut steps, histories);
    }

    /// True if the thread switched in is not the one that was switched out with `previous`: ids are reused.
    /// `is_listed_same` is true if no other thread with this id started in between.
    fn is_new_life(
        &self,
        tid: u32,
        previous: &ThreadSwitch<'_>,
        switch: &ThreadSwitch<'_>,
        is_listed_same: bool,
    ) -> bool {
        let has_ended = previous.direction == SwitchDirection::Out
            && state_after_switch_out(previous.old_state()) == ThreadState::Ended;
        let has_started = || {
            let start_ns = self.identities.start_of(tid, switch.time_ns);
            start_ns.is_some_and(|start_ns| start_ns > previous.time_ns && start_ns <= switch.time_ns)
        };
        has_ended || (!is_listed_same && has_started())
    }

    /// Returns the wait of a thread from its creation, or from the start of the recording, to its first run.
    fn first_wait(&self, tid: u32, from_ns: i64, first: &ThreadSwitch<'_>) -> HistoryStep {
        let first_ns = first.time_ns;
        let start = self.identities.start_of(tid, first_ns).filter(|&start| start <= first_ns && start >= from_ns);
        let start_ns = start.unwrap_or(self.trace.start_ns.max(0)).min(first_ns);
        let ready = self.timelines.first_ready(tid, start.unwrap_or(from_ns)).filter(|ready| ready.time_ns <= first_ns);
        let readying_tid = ready.filter(|ready| ready.flags & IN_INTERRUPT == 0).and_then(|ready| ready.readying_tid);
        let ready_ns = ready.map(|ready| ready.time_ns);
        if let (Some(readying_tid), Some(ready_ns)) =
            (readying_tid.filter(|&other| other != 0 && other != tid), ready_ns)
        {
            let cause = WakeCause::Thread(readying_tid);
            return HistoryStep::Wait { start_ns, cause, cause_ns: ready_ns, ready_ns: Some(ready_ns) };
        }
        let creator_tid = self.identities.creator_of(tid, first_ns);
        let creator_tid =
            creator_tid.filter(|&creator| creator != 0 && creator != tid && self.identities.is_known(creator));
        match (creator_tid, start) {
            (Some(creator_tid), Some(start_ns)) => HistoryStep::Wait {
                start_ns,
                cause: WakeCause::Thread(creator_tid),
                cause_ns: start_ns,
                ready_ns: Some(ready_ns.unwrap_or(start_ns)),
            },
            _ => {
                let ready_ns = ready_ns.unwrap_or(first_ns);
                HistoryStep::Wait { start_ns, cause: WakeCause::Unknown, cause_ns: ready_ns, ready_ns: Some(ready_ns) }
            }
        }
    }

    /// Adds the wait between two switches of a thread; if it was only preempted, nothing.
    /// `wakes_before` is the number of wake-ups of the thread before an earlier wait, and is raised.
    fn add_wait(
        &self,
        tid: u32,
        (out, next): (&ThreadSwitch<'_>, &ThreadSwitch<'_>),
        wakes_before: &mut usize,
        steps: &mut Vec<HistoryStep>,
    ) {
        if out.direction == SwitchDirection::In {
            // Its switch-out was lost.
            let (start_ns, end_ns) = (out.time_ns, next.time_ns);
            steps.push(HistoryStep::Run { start_ns, end_ns, priority: out.new_priority() });
            return;
        }
        if state_after_switch_out(out.old_state()) != ThreadState::Waiting {
            return;
        }
        let start_ns = out.time_ns;
        let ready = self.timelines.ready_of_next_wait(tid, out, next, wakes_before);
        let is_instantaneous = match ready {
            Some(ready) => ready.time_ns <= start_ns,
            None => self.timelines.was_woken_while_leaving(tid, out),
        };
        if is_instantaneous {
            return;
        }
        let ready_ns = ready.map_or(next.time_ns, |ready| ready.time_ns);
        let (cause, cause_ns, _) = self.wake_cause(tid, out, ready.as_ref(), ready_ns);
        steps.push(HistoryStep::Wait { start_ns, cause, cause_ns, ready_ns: Some(ready_ns) });
    }

    /// Returns what ended the wait that began with `out`, when it occurred, and how certain that is. The thread could
    /// run again at `ready_ns`; `ready` is `None` if that was not recorded.
    pub(super) fn wake_cause(
        &self,
        tid: u32,
        out: &ThreadSwitch<'_>,
        ready: Option<&WakeUp>,
        ready_ns: i64,
    ) -> (WakeCause, i64, Certainty) {
        let (cause, certainty) = self.causes.wait_cause(out, ready, ready_ns);
        match cause {
            Cause::Thread(readying_tid) => (WakeCause::Thread(readying_tid), ready_ns, certainty),
            Cause::Disk(row) => {
                let complete_ns = self.trace.disk_ios.complete_ns.get(row as usize).copied().unwrap_or(ready_ns);
                (WakeCause::Disk(row), complete_ns.min(ready_ns), certainty)
            }
            // systemd sets timers while it waits for units.
            Cause::Timer(driver) if tid != FIRST_THREAD || !self.identities.is_linux() => {
                let is_kernel = is_kernel(self.trace.text(driver));
                let timer = WakeCause::Timer(if is_kernel { StringId::EMPTY } else { driver });
                (timer, ready_ns, certainty)
            }
            Cause::Device(driver) => (WakeCause::Device(driver), ready_ns, certainty),
            Cause::Timer(_) | Cause::Unknown(_) => {
                let unexplained = match cause {
                    Cause::Timer(_) => WakeCause::Timer(StringId::EMPTY),
                    _ => WakeCause::Unknown,
                };
                match self.service_that_ended(tid, (out.time_ns, ready_ns)) {
                    Some((service_tid, time_ns)) => (WakeCause::Thread(service_tid), time_ns, Certainty::Inferred),
                    None => (unexplained, ready_ns, certainty),
                }
            }
        }
    }

    /// If the processor was idle when the thread was made ready, the thread did not wait for a processor, but for the
    /// processor to wake up: extends its wait until it ran.
    fn add_wake_latency(&self, switch: &ThreadSwitch<'_>, steps: &mut [HistoryStep]) {
        let Some(HistoryStep::Wait { ready_ns: Some(ready_ns), .. }) = steps.last_mut() else { return };
        // It was idle at that time, and no other thread ran until this one.
        if switch.old_tid() == 0 && !self.timelines.became_idle_between(*ready_ns, switch) {
            *ready_ns = switch.time_ns.max(*ready_ns);
        }
    }

    /// Returns the thread of the service that a service manager waited for, and when that service was ready.
    fn service_that_ended(&self, tid: u32, (start_ns, end_ns): (i64, i64)) -> Option<(u32, i64)> {
        let pid = self.identities.pid_of(tid, end_ns)?;
        let index = self.blockers.blocker_of_wait(self.trace, &self.identities, pid, (start_ns, end_ns))?;
        let blocker = self.blockers.get(index)?;
        let ready_ns = blocker.ready_ns.filter(|&ready_ns| ready_ns > start_ns && ready_ns <= end_ns)?;
        let service_tid = blocker.thread(&self.timelines, &self.identities, ready_ns)?;
        (service_tid != tid).then_some((service_tid, ready_ns))
    }
}

fn close(tid: u32, steps: &mut Vec<HistoryStep>, histories: &mut Vec<ThreadHistory>) {
    if !steps.is_empty() {
        histories.push(ThreadHistory { tid, steps: std::mem::take(steps) });
    }
}
