//! The critical path of a boot, and the time it spent in a subject or in what the subject waited for.

use onoff_transitions::PhaseName;
use std::collections::BTreeMap;

use onoff_blame::waits::{PathOptions, PathStep, StepKind, Waits};
use onoff_evidence::Certainty;
use onoff_trace::{Lifetimes, Trace};
use onoff_transitions::boot::BootReport;

use crate::cost::{Cost, Interval};
use crate::thresholds;
use onoff_evidence::interval::{covered_ns, union};

/// Maximum number of steps kept per phase, longest first.
const MAX_STEPS: usize = 50_000;
/// If the unknown time exceeds this share of the known time, a cost is an upper bound, percent.
const MAX_UNKNOWN_PERCENT: i64 = 10;

/// A step of a path: its kind, the thread it belongs to, and the threads that waited for it.
#[derive(Debug)]
pub struct Step {
    pub interval: Interval,
    pub kind: StepKind,
    /// Details by kind, such as the file of a disk request.
    pub detail: String,
    /// True for an explicit delay (`Sleep`).
    pub is_sleep: bool,
    pub pid: Option<u32>,
    /// The thread of the step, then the threads that waited for it, innermost first.
    pub tids: Vec<u32>,
    /// The processes of these threads.
    pub pids: Vec<u32>,
    pub is_unknown: bool,
}

/// What a process did on a path, with the total time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathActivity {
    pub pid: Option<u32>,
    pub kind: StepKind,
    /// True for an explicit delay (`Sleep`).
    pub is_sleep: bool,
    pub ns: i64,
}

/// The critical path of a boot from the kernel start to the desktop.
#[derive(Debug, Default)]
pub struct CriticalPath {
    steps: Vec<Step>,
}

impl CriticalPath {
    /// Returns the critical path of the boot; `None` if the recording has no context switches or ready threads.
    #[must_use]
    pub fn from_waits(waits: &Waits<'_>, trace: &Trace, report: &BootReport) -> Option<Self> {
        if trace.context_switches.is_empty() || trace.ready_threads.is_empty() {
            return None;
        }
        let lives = trace.lifetimes();
        let options = PathOptions { min_step_ns: 1, max_steps: MAX_STEPS };
        let mut steps = Vec::new();
        for phase in report.phases.iter().filter(|phase| phase.name < PhaseName::PostBoot) {
            let Some((start, end)) = phase.start_ns.zip(phase.end_ns) else { continue };
            let path = waits.phase(onoff_evidence::Interval::new(start, end), options);
            steps.extend(path.steps.iter().map(|step| convert_step(step, trace, &lives)));
        }
        Some(Self { steps })
    }

    /// Time of the matching steps within `intervals`. If too much of the rest is unknown, the cost is an upper bound
    /// that includes it.
    #[must_use]
    pub fn cost(&self, intervals: &[Interval], is_match: impl Fn(&Step) -> bool) -> Cost {
        let mut matched_intervals = Vec::new();
        let mut unknown_intervals = Vec::new();
        for step in &self.steps {
            let overlaps = intervals
                .iter()
                .map(|&(start, end)| (step.interval.0.max(start), step.interval.1.min(end)))
                .filter(|(start, end)| start < end);
            if is_match(step) {
                matched_intervals.extend(overlaps);
            } else if step.is_unknown {
                unknown_intervals.extend(overlaps);
            }
        }
        let everything = (i64::MIN, i64::MAX);
        let known_ns = covered_ns(matched_intervals, everything);
        let unknown_ns = covered_ns(unknown_intervals, everything);
        if unknown_ns > (known_ns / 100 * MAX_UNKNOWN_PERCENT).max(thresholds::NOISE_NS) {
            Cost::at_most(known_ns.saturating_add(unknown_ns))
        } else {
            Cost::on_path(known_ns)
        }
    }

    /// Sums the matching steps within `window` by process and kind, largest first.
    #[must_use]
    pub fn activity(&self, window: Interval, is_match: impl Fn(&Step) -> bool) -> Vec<PathActivity> {
        let mut sums: BTreeMap<(Option<u32>, StepKind, bool), i64> = BTreeMap::new();
        for step in self.steps.iter().filter(|step| is_match(step)) {
            let (start, end) = (step.interval.0.max(window.0), step.interval.1.min(window.1));
            if start < end {
                let key = (step.pid, step.kind, step.is_sleep);
                let sum = sums.entry(key).or_default();
                *sum = sum.saturating_add(end.saturating_sub(start));
            }
        }
        let mut activity: Vec<PathActivity> =
            sums.into_iter().map(|((pid, kind, is_sleep), ns)| PathActivity { pid, kind, is_sleep, ns }).collect();
        activity.sort_by_key(|item| std::cmp::Reverse(item.ns));
        activity
    }

    /// Time of the matching steps within `intervals`, which must be sorted and must not overlap, ns.
    #[must_use]
    pub fn time_within(&self, intervals: &[Interval], is_match: impl Fn(&Step) -> bool) -> i64 {
        let steps = union(self.steps.iter().filter(|step| is_match(step)).map(|step| step.interval).collect());
        let mut remaining = intervals.iter().peekable();
        let mut sum = 0_i64;
        for (start, end) in steps {
            while let Some(&&(interval_start, interval_end)) = remaining.peek() {
                sum = sum.saturating_add(end.min(interval_end).saturating_sub(start.max(interval_start)).max(0));
                if interval_end > end {
                    break;
                }
                remaining.next();
            }
        }
        sum
    }

    /// Time of the matching steps within `window`, ns.
    #[must_use]
    pub fn time(&self, window: Interval, is_match: impl Fn(&Step) -> bool) -> i64 {
        let steps = self.steps.iter().filter(|step| is_match(step));
        covered_ns(steps.map(|step| step.interval).collect(), window)
    }
}

fn convert_step(step: &PathStep, trace: &Trace, lives: &Lifetimes) -> Step {
    let mut tids = vec![step.thread.tid];
    tids.extend(&step.waiters);
    let mut pids: Vec<u32> = step.thread.pid.into_iter().collect();
    let pid_of_thread = |&tid: &u32| trace.threads.pid.get(lives.thread(tid, step.start_ns)?.row()).copied();
    pids.extend(step.waiters.iter().filter_map(pid_of_thread));
    Step {
        interval: (step.start_ns, step.end_ns),
        kind: step.kind,
        detail: step.detail.clone(),
        is_sleep: step.kind == StepKind::Timer && step.wait_reason.ends_with("DelayExecution"),
        pid: step.thread.pid,
        tids,
        pids,
        is_unknown: step.kind == StepKind::Other || step.certainty == Certainty::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(when: Interval, pid: u32, waiters: &[u32], is_unknown: bool) -> Step {
        Step {
            interval: when,
            kind: if is_unknown { StepKind::Other } else { StepKind::Timer },
            detail: String::new(),
            is_sleep: false,
            pid: Some(pid),
            tids: Vec::new(),
            pids: [&[pid], waiters].concat(),
            is_unknown,
        }
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn cost_includes_waits_and_unknown_time_makes_it_a_bound() {
        let path = CriticalPath {
            steps: vec![
                step((0, SECOND), 8, &[], false),
                // Process 12 sleeps for 20 s while process 8 waits for it.
                step((SECOND, 21 * SECOND), 12, &[8, 4], false),
                step((21 * SECOND, 25 * SECOND), 4, &[], true),
            ],
        };
        let all = [(0, 30 * SECOND)];
        let process_cost = |pid: u32, intervals: &[Interval]| path.cost(intervals, |step| step.pids.contains(&pid));
        assert_eq!(process_cost(8, &[(0, 21 * SECOND)]), Cost::on_path(21 * SECOND));
        assert_eq!(process_cost(12, &[(0, 11 * SECOND)]), Cost::on_path(10 * SECOND));
        assert_eq!(process_cost(99, &[(0, 21 * SECOND)]), Cost::on_path(0));
        assert_eq!(process_cost(8, &all), Cost::at_most(25 * SECOND));
        assert_eq!(path.time((0, 30 * SECOND), |step| step.kind == StepKind::Timer), 21 * SECOND);
        let parts =
            [(-SECOND, SECOND / 2), (2 * SECOND, 3 * SECOND), (20 * SECOND, 26 * SECOND), (40 * SECOND, 41 * SECOND)];
        assert_eq!(path.time_within(&parts, |step| step.kind == StepKind::Timer), SECOND / 2 + SECOND + SECOND);
        assert_eq!(path.time_within(&parts, |_| true), SECOND / 2 + SECOND + 5 * SECOND);
    }
}
