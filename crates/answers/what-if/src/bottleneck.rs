//! The subjects that determine how long a transition takes in a replay, from the replay's own critical path.
//!
//! The path leads back from the end of the last phase with a critical path: through the waits of its thread to whatever
//! ended them. Time on the path belongs to the subject of the thread; waits for a processor or a disk belong to the
//! subjects that used it meanwhile. In a phase that ends when the computer is idle, the time without required idle time
//! is divided by the load.

use hashbrown::HashMap;
use onoff_blame::account::{ThreadWork, is_system_component_name};
use onoff_evidence::account_model::AccountSubjectKind;
use serde::Serialize;

use crate::graph::{Graph, RequestId, Segment, SignalId};
use crate::model::NORMAL_PRIORITY;
use crate::replay::log::{ReplayLog, StepKind};
use crate::replay::{NEVER, Replay};

/// Maximum number of steps of a path.
const MAX_STEPS: usize = 10_000_000;
/// Maximum number of threads that wake each other at one time on a path.
const MAX_WAKES_AT_ONE_TIME: u32 = 64;

/// A subject that determines how long a transition takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// Kind of the subject.
    pub kind: AccountSubjectKind,
    /// Name, as in accounts.
    pub name: String,
    /// Its time on the critical path of the replay, ns. In a phase that ends when the computer is idle, its share of
    /// the load.
    pub ns: i64,
    /// True for a part of the system that takes part in every transition.
    pub is_system: bool,
}

impl Bottleneck {
    /// True if a change can remove or move the subject's work.
    pub(crate) fn is_changeable(&self) -> bool {
        !self.is_system
            && matches!(
                self.kind,
                AccountSubjectKind::Service
                    | AccountSubjectKind::Unit
                    | AccountSubjectKind::Driver
                    | AccountSubjectKind::Process
                    | AccountSubjectKind::Script
                    | AccountSubjectKind::Policy
                    | AccountSubjectKind::Subscriber
            )
    }
}

/// A phase that ends when the computer is idle, on the awake clock.
pub(crate) struct SettlingInterval {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) idle_ns: i64,
}

/// Sums the time of subjects.
pub(crate) struct Shares<'a, 'w, 't> {
    graph: &'a Graph,
    replay: &'a Replay,
    work: &'a mut ThreadWork<'w, 't>,
    by_subject: HashMap<u32, i64>,
}

impl<'a, 'w, 't> Shares<'a, 'w, 't> {
    pub(crate) fn new(graph: &'a Graph, replay: &'a Replay, work: &'a mut ThreadWork<'w, 't>) -> Self {
        Self { graph, replay, work, by_subject: HashMap::new() }
    }

    /// Returns the subjects, longest first. Time of unknown subjects is left out.
    pub(crate) fn finish(self) -> Vec<Bottleneck> {
        let mut by_name: HashMap<(AccountSubjectKind, String), i64> = HashMap::new();
        for (subject, ns) in self.by_subject {
            let Some(named) = self.work.subject(subject) else { continue };
            let sum = by_name.entry((named.kind, named.name.to_owned())).or_default();
            *sum = sum.saturating_add(ns);
        }
        let mut shares: Vec<Bottleneck> = by_name
            .into_iter()
            .map(|((kind, name), ns)| {
                let is_kernel = matches!(kind, AccountSubjectKind::Kernel | AccountSubjectKind::Firmware);
                let is_system = is_kernel || is_system_component_name(&name);
                Bottleneck { kind, name, ns, is_system }
            })
            .collect();
        shares.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
        shares
    }

    fn log(&self) -> &'a ReplayLog {
        &self.replay.log
    }

    /// Adds time to the subject of a segment.
    fn add(&mut self, task: u32, segment: u32, ns: i64) {
        let Some(row) = self.graph.tasks.get(task as usize).filter(|row| row.tid != 0 && ns > 0) else { return };
        let Some(timed) = row.segments.get(segment as usize).or_else(|| row.segments.last()) else { return };
        if let Some(found) = self.work.at(row.tid, timed.recorded_ns) {
            let sum = self.by_subject.entry(found.subject).or_default();
            *sum = sum.saturating_add(ns);
        }
    }

    /// Adds the critical path that ends with `signal`, from `start_ns` on.
    pub(crate) fn add_path(&mut self, SignalId(signal): SignalId, start_ns: i64) {
        let log = self.log();
        let end_ns = self.replay.signal_times.get(signal as usize).copied().filter(|&end_ns| end_ns != NEVER);
        let (Some(end_ns), Some(&origin)) = (end_ns, log.setters.get(signal as usize)) else { return };
        let (mut task, mut now_ns) = (origin.task, origin.time_ns.min(end_ns));
        self.add(task, origin.segment, end_ns.saturating_sub(now_ns.max(start_ns)));
        let mut wakes = 0_u32;
        for _ in 0..MAX_STEPS {
            let Some(steps) = log.steps.get(task as usize).filter(|_| now_ns > start_ns) else { return };
            // The step that the task was in, just before `now_ns`.
            let index = steps.partition_point(|step| step.end_ns < now_ns);
            let step_start_ns = index.checked_sub(1).and_then(|before| steps.get(before)).map_or(0, |step| step.end_ns);
            let Some(step) = steps.get(index) else {
                // It ended, or was never logged to do anything afterwards.
                let Some(last) = steps.last() else { return };
                self.add(task, last.segment, now_ns.saturating_sub(last.end_ns.max(start_ns)));
                now_ns = last.end_ns;
                continue;
            };
            let from_ns = step_start_ns.max(start_ns);
            let before_ns = now_ns;
            match step.kind {
                StepKind::Run => {
                    self.add(task, step.segment, now_ns.saturating_sub(from_ns));
                    now_ns = step_start_ns;
                }
                StepKind::Ready => {
                    self.add_occupants(task, step.segment, from_ns, now_ns);
                    now_ns = step_start_ns;
                }
                StepKind::Wait => {
                    let segment = self.segment(task, step.segment);
                    match segment {
                        Some(Segment::Await(SignalId(signal))) if wakes < MAX_WAKES_AT_ONE_TIME => {
                            let setter = log.setters.get(signal as usize).filter(|by| by.task != u32::MAX);
                            let set_ns = self.replay.signal_times.get(signal as usize).copied();
                            match (setter, set_ns) {
                                (Some(by), Some(set_ns)) if set_ns > step_start_ns && set_ns <= now_ns => {
                                    self.add(task, step.segment, now_ns.saturating_sub(set_ns.max(start_ns)));
                                    self.add(by.task, by.segment, set_ns.saturating_sub(by.time_ns.max(start_ns)));
                                    (task, now_ns) = (by.task, by.time_ns.min(set_ns));
                                }
                                _ => {
                                    self.add(task, step.segment, now_ns.saturating_sub(from_ns));
                                    now_ns = step_start_ns;
                                }
                            }
                        }
                        Some(Segment::AwaitDisk(RequestId(request))) if wakes < MAX_WAKES_AT_ONE_TIME => {
                            let served_ns = log.service_starts.get(request as usize).copied().unwrap_or(from_ns);
                            let served_ns = served_ns.clamp(from_ns, now_ns);
                            self.add(task, step.segment, now_ns.saturating_sub(served_ns));
                            self.add_queued(request, from_ns, served_ns);
                            let issuer = log.issuers.get(request as usize);
                            match issuer.filter(|by| by.task != u32::MAX && by.time_ns > step_start_ns) {
                                Some(by) => (task, now_ns) = (by.task, by.time_ns.min(now_ns)),
                                None => now_ns = step_start_ns,
                            }
                        }
                        _ => {
                            self.add(task, step.segment, now_ns.saturating_sub(from_ns));
                            now_ns = step_start_ns;
                        }
                    }
                }
            }
            wakes = if now_ns < before_ns { 0 } else { wakes.saturating_add(1) };
        }
    }

    fn segment(&self, task: u32, segment: u32) -> Option<Segment> {
        Some(self.graph.tasks.get(task as usize)?.segments.get(segment as usize)?.segment)
    }

    /// Returns the selected tasks and segments that ran in an interval, each with its time, and the sum, ns.
    fn runs_between(
        &self,
        from_ns: i64,
        to_ns: i64,
        is_selected: impl Fn(u32, u32) -> bool,
    ) -> (Vec<(u32, u32, i64)>, i64) {
        let mut selected: Vec<(u32, u32, i64)> = Vec::new();
        let mut total_ns = 0_i64;
        for runs in &self.log().runs {
            let first = runs.partition_point(|run| run.end_ns <= from_ns);
            let mut start_ns = first.checked_sub(1).and_then(|index| runs.get(index)).map_or(0, |run| run.end_ns);
            for run in runs.get(first..).unwrap_or_default() {
                if start_ns >= to_ns {
                    break;
                }
                let ns = run.end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns));
                if run.task != u32::MAX && is_selected(run.task, run.segment) {
                    selected.push((run.task, run.segment, ns));
                    total_ns = total_ns.saturating_add(ns);
                }
                start_ns = run.end_ns;
            }
        }
        (selected, total_ns)
    }

    /// Adds the time for which a task waited for a processor to the tasks that ran meanwhile, in equal parts.
    fn add_occupants(&mut self, task: u32, segment: u32, from_ns: i64, to_ns: i64) {
        let (occupied, total_ns) = self.runs_between(from_ns, to_ns, |_, _| true);
        self.divide(&occupied, total_ns, to_ns.saturating_sub(from_ns));
        if total_ns == 0 {
            self.add(task, segment, to_ns.saturating_sub(from_ns));
        }
    }

    /// Adds the time for which a request was queued to the requests that were served meanwhile.
    fn add_queued(&mut self, request: u32, from_ns: i64, to_ns: i64) {
        let log = self.log();
        let Some(disk) = self.graph.requests.get(request as usize).map(|request| request.disk) else { return };
        let Some(services) = log.services.get(disk as usize).filter(|_| from_ns < to_ns) else { return };
        let mut served: Vec<(u32, u32, i64)> = Vec::new();
        let mut total_ns = 0_i64;
        let last = services.partition_point(|service| service.start_ns < to_ns);
        for service in services.get(..last).unwrap_or_default().iter().rev() {
            // One request at a time; parallel ones are few.
            if service.end_ns <= from_ns {
                break;
            }
            let ns = service.end_ns.min(to_ns).saturating_sub(service.start_ns.max(from_ns));
            if let Some(by) = log.issuers.get(service.request as usize) {
                served.push((by.task, by.segment, ns));
            }
            total_ns = total_ns.saturating_add(ns);
        }
        self.divide(&served, total_ns, to_ns.saturating_sub(from_ns));
    }

    /// Divides `ns` in proportion to the parts of `total_ns`.
    fn divide(&mut self, parts: &[(u32, u32, i64)], total_ns: i64, ns: i64) {
        for &(task, segment, part_ns) in parts {
            let share = i128::from(ns) * i128::from(part_ns) / i128::from(total_ns.max(1));
            self.add(task, segment, i64::try_from(share).unwrap_or(0));
        }
    }

    /// Adds a phase that ends when the computer is idle: its time without required idle time, divided by the load.
    pub(crate) fn add_settling(&mut self, interval: &SettlingInterval) {
        let (from_ns, to_ns) = (interval.start_ns, interval.end_ns);
        let (mut loads, mut total_ns) = self.runs_between(from_ns, to_ns, |task, segment| self.is_load(task, segment));
        for services in &self.log().services {
            let first = services.partition_point(|service| service.start_ns < from_ns);
            for service in services.get(first..).unwrap_or_default() {
                let is_low =
                    self.graph.requests.get(service.request as usize).is_some_and(|request| request.is_low_priority);
                let ns = service.end_ns.min(to_ns).saturating_sub(service.start_ns);
                if let Some(by) = self.log().issuers.get(service.request as usize).filter(|_| ns > 0 && !is_low) {
                    loads.push((by.task, by.segment, ns));
                    total_ns = total_ns.saturating_add(ns);
                }
            }
        }
        let busy_ns = to_ns.saturating_sub(from_ns).saturating_sub(interval.idle_ns);
        self.divide(&loads, total_ns, busy_ns.max(0));
    }

    fn is_load(&self, task: u32, segment: u32) -> bool {
        match self.segment(task, segment) {
            Some(Segment::Run { priority, .. }) => priority >= NORMAL_PRIORITY,
            _ => true,
        }
    }
}
