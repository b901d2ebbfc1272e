//! Removes subjects, with the processes that they created.

use std::sync::Arc;

use hashbrown::HashSet;
use onoff_trace::SystemKind;

use super::index::fixed_wait_end_ns;
use super::{ChangeError, Changes};
use crate::graph::{Action, Graph, Segment, SignalId, Task, TimedSegment};

/// Maximum time for which a removed subject waited for kernel threads, ns: 20 ms.
const MAX_KERNEL_WORK_NS: i64 = 20_000_000;

impl Changes<'_, '_, '_> {
    /// Removes the segments of subjects and of the processes that they created, and the time in which drivers interrupted
    /// others. What waits for them passes at once.
    /// Returns the recorded length of what was removed, ns.
    pub(super) fn without(&mut self, graph: &mut Graph, names: &[&str]) -> Result<i64, ChangeError> {
        if let Some(name) = names.iter().find(|name| onoff_blame::account::is_system_component_name(name)) {
            return Err(ChangeError::SystemComponent { name: (*name).to_owned() });
        }
        let matched: HashSet<u32> = self.matching_subjects(names)?;
        let removed_processes = self.removed_processes(&matched);
        let mut dropped_requests = HashSet::new();
        let stops = self.model.service_stops();
        let externals = graph.external_waits.clone();
        let sources = self.kernel_sources(graph);
        let (mut kernel_work_ns, mut removed_ns) = (0_i64, 0_i64);
        let index = self.index();
        for shared in &mut graph.tasks {
            let task = shared.as_ref();
            let tid = task.tid;
            if tid == 0 {
                continue;
            }
            let is_concerned = index.concerns(tid, &matched, &removed_processes);
            let is_interrupted = index.interrupted(tid, &matched);
            if !is_concerned && !is_interrupted && !index.waits_for(tid, &matched) {
                continue;
            }
            let mut kept = Vec::with_capacity(task.segments.len());
            for (position, &timed) in task.segments.iter().enumerate() {
                let is_removed = match timed.segment {
                    Segment::Act(Action::Issue(_)) | Segment::Run { .. } => {
                        is_concerned && self.is_removed(tid, timed.recorded_ns, &matched, &removed_processes)
                    }
                    Segment::Act(Action::Signal(_)) | Segment::ActLater(_) => false,
                    // A thread without work still waits for its creation.
                    _ if position == 0 => false,
                    Segment::Delay(_) | Segment::Timer(_) | Segment::External(_)
                        if self.waits_for_driver(tid, &timed, &matched) =>
                    {
                        true
                    }
                    Segment::Delay(_) | Segment::Timer(_) | Segment::External(_)
                        if self.waits_only_for(fixed_wait_end_ns(&timed, &externals), tid, &matched) =>
                    {
                        // What else it waited for was done by then.
                        let end_ns = fixed_wait_end_ns(&timed, &externals).unwrap_or(timed.recorded_ns);
                        let others =
                            stops.iter().filter(|&&(_, ended_ns)| ended_ns > timed.recorded_ns && ended_ns <= end_ns);
                        kept.extend(
                            others.map(|&(signal, _)| TimedSegment { segment: Segment::Await(signal), ..timed }),
                        );
                        true
                    }
                    _ => is_concerned && self.is_removed(tid, timed.recorded_ns, &matched, &removed_processes),
                };
                if !is_removed {
                    kept.push(match timed.segment {
                        Segment::Run { cpu_ns, priority } if is_interrupted => {
                            let interval = (timed.recorded_ns, timed.recorded_ns.saturating_add(cpu_ns));
                            let driver_ns = index.interrupted_ns(tid, interval, &matched).min(cpu_ns);
                            removed_ns = removed_ns.saturating_add(driver_ns);
                            let segment = Segment::Run { cpu_ns: cpu_ns.saturating_sub(driver_ns), priority };
                            TimedSegment { segment, ..timed }
                        }
                        _ => timed,
                    });
                    continue;
                }
                let end_ns = task.segments.get(position + 1).map_or(timed.recorded_ns, |next| next.recorded_ns);
                let length_ns = match timed.segment {
                    Segment::Run { cpu_ns, .. } => cpu_ns,
                    _ => end_ns.saturating_sub(timed.recorded_ns).max(0),
                };
                removed_ns = removed_ns.saturating_add(length_ns);
                if let Segment::Await(signal) = timed.segment
                    && sources.contains(&signal)
                {
                    kernel_work_ns = kernel_work_ns.saturating_add(length_ns);
                } else if let Segment::Act(Action::Issue(request)) = timed.segment {
                    dropped_requests.insert(request);
                }
            }
            if kept.len() != task.segments.len() || is_concerned || is_interrupted {
                *shared = Arc::new(Task { tid, segments: kept });
            }
        }
        if kernel_work_ns > MAX_KERNEL_WORK_NS {
            let reason = "kernel threads did part of its work, which cannot be separated from their other work";
            return Err(ChangeError::NotPossible { name: names.join(", "), reason });
        }
        if !dropped_requests.is_empty() {
            let is_dropped = |segment: Segment| matches!(segment, Segment::AwaitDisk(request) if dropped_requests.contains(&request));
            for task in &mut graph.tasks {
                if task.segments.iter().any(|timed| is_dropped(timed.segment)) {
                    Arc::make_mut(task).segments.retain(|timed| !is_dropped(timed.segment));
                }
            }
        }
        Ok(removed_ns)
    }

    /// Returns the signals that kernel threads of Linux set. What they do is work for whatever waits for them.
    fn kernel_sources(&mut self, graph: &Graph) -> HashSet<SignalId> {
        let mut signals = HashSet::new();
        if self.model.trace.system.kind != SystemKind::Linux {
            return signals;
        }
        for task in graph.tasks.iter().filter(|task| task.tid != 0) {
            let mut is_kernel = None;
            for timed in &task.segments {
                if let Segment::Act(Action::Signal(signal)) = timed.segment
                    && *is_kernel.get_or_insert_with(|| {
                        self.work.at(task.tid, timed.recorded_ns).is_some_and(|found| found.is_kernel)
                    })
                {
                    signals.insert(signal);
                }
            }
        }
        signals
    }

    /// True if the thread did the work of a removed subject or process at a time.
    pub(super) fn is_removed(
        &mut self,
        tid: u32,
        time_ns: i64,
        matched: &HashSet<u32>,
        processes: &HashSet<usize>,
    ) -> bool {
        // A thread that waits for the subject may run meanwhile.
        self.work.process_row(tid, time_ns).is_some_and(|row| processes.contains(&row))
            || self.work.at(tid, time_ns).is_some_and(|found| matched.contains(&found.subject) && !found.is_waited_for)
    }

    /// True if, at the end of a wait, the thread waited for nothing but removed subjects.
    fn waits_only_for(&mut self, end_ns: Option<i64>, tid: u32, matched: &HashSet<u32>) -> bool {
        let Some(end_ns) = end_ns else { return false };
        let waited_for = self.work.waited_for(tid, end_ns.saturating_sub(1));
        !waited_for.is_empty() && waited_for.iter().all(|subject| matched.contains(subject))
    }

    /// True if a removed driver ended this wait: its timer, or its device.
    fn waits_for_driver(&mut self, tid: u32, timed: &TimedSegment, matched: &HashSet<u32>) -> bool {
        let driver = self.model.driver_waits.get(&(tid, timed.recorded_ns));
        driver.is_some_and(|&driver| matched.contains(&self.work.driver(driver)))
    }

    /// Returns the rows of the processes that would not exist: processes of the subjects, and the processes created by
    /// them.
    pub(super) fn removed_processes(&mut self, matched: &HashSet<u32>) -> HashSet<usize> {
        let trace = self.model.trace;
        let lives = trace.lifetimes();
        let mut removed: HashSet<usize> = HashSet::new();
        // Processes are sorted by start, so creators come first.
        for (row, process) in trace.processes.iter().enumerate() {
            let Some(start_ns) = process.start_ns else { continue };
            let by_parent = process
                .parent_pid
                .and_then(|parent| lives.process(parent, start_ns))
                .is_some_and(|parent| removed.contains(&parent.row()));
            let by_creator = process
                .creator_tid
                .and_then(|creator| self.work.at(creator, start_ns))
                .is_some_and(|found| matched.contains(&found.subject) && !found.is_waited_for);
            if by_parent || by_creator || self.is_own_process(row, matched) {
                removed.insert(row);
            }
        }
        removed
    }

    /// True if all work of a process is work of the subjects.
    fn is_own_process(&mut self, row: usize, matched: &HashSet<u32>) -> bool {
        self.work.process_subject(row).is_some_and(|subject| matched.contains(&subject))
    }
}
