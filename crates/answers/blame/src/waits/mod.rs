//! Wait chains, and the critical path of a phase.
//!
//! [`Waits`] indexes the context switches and ready-thread events of a recording by thread. [`Waits::critical_path`]
//! starts at the thread that ended an interval and walks back to the interval's start: where the thread ran, the time
//! is CPU; where it waited, the walk continues with whatever ended the wait, like an analyst following the ready
//! thread's stack. The shares of a path sum exactly to the interval.
//!
//! ```
//! use onoff_blame::waits::{EndThread, PathOptions, StepKind, Waits};
//! use onoff_evidence::Interval;
//! use onoff_trace::{ContextSwitch, ContextSwitches, Trace};
//!
//! // Thread 8 runs from 0 to 3 ms, sleeps (`DelayExecution`), and runs again from 10 ms.
//! let switch = |time_ns, old_tid, new_tid, old_state, old_wait_reason| ContextSwitch {
//!     time_ns, cpu: 0, new_tid, old_tid, new_priority: 8, old_priority: 8, old_wait_reason,
//!     old_wait_mode: 1, old_state, previous_c_state: 0, old_ideal_processor: 0, new_wait_ticks: 0,
//! };
//! let mut trace = Trace { duration_ns: 12_000_000, ..Trace::default() };
//! trace.context_switches.push(ContextSwitches::from_iter([
//!     switch(0, 0, 8, 2, 0),
//!     switch(3_000_000, 8, 0, 5, 4),
//!     switch(10_000_000, 0, 8, 2, 0),
//! ]));
//! let waits = Waits::new(&trace);
//! let end = EndThread::from_tid(8);
//! let path = waits.critical_path(Interval::new(0, 12_000_000), &end, PathOptions::default());
//! assert_eq!(path.kind_ns(StepKind::Cpu), 5_000_000);
//! assert_eq!(path.kind_ns(StepKind::Timer), 7_000_000);
//! ```

mod cause;
mod describe;
mod end;
mod history;
pub(crate) mod identities;
mod path;
mod phases;
pub(crate) mod reason;
mod requests;
pub(crate) mod service_waits;
mod stacks;
mod states;
#[cfg(test)]
mod tests;
pub(crate) mod timelines;
mod walk;

use std::sync::OnceLock;

use onoff_trace::{ServiceChange, StringId, SystemKind, TableName, TableSet, Trace};

pub use describe::PathOptions;
pub use end::EndThread;
pub use history::{HistoryStep, ThreadHistory, WakeCause};
pub use path::{
    CriticalPath, KindShare, PathShare, PathStep, PathThread, ServiceWait, StackFrame, StepGroup, StepKind, Subject,
    SubjectKind, SubjectOnPath, WaitedService,
};

pub(crate) use cause::UnknownCause;
pub use path::driver_name;
pub(crate) use phases::RecordedPhases;
pub use phases::{TransitionPhase, phases};
pub use reason::is_ready_after_switch_out;
pub use states::{ThreadActivity, ThreadInterval, ThreadWait};

use cause::Causes;
use describe::Describer;
use end::BoundaryRecords;
use identities::Identities;
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_usage::modules::Modules;
use requests::Requests;
use service_waits::{Blockers, Segment};
use timelines::Timelines;
pub(crate) use walk::{RawStep, WalkResult, Work, threads_of};
use walk::{Waiter, Walk};

/// The tables that wait chains need. With fewer of them, more steps end as unknown.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::Images,
    TableName::ContextSwitches,
    TableName::ReadyThreads,
    TableName::Interrupts,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::ServiceProcesses,
    TableName::DeviceOperations,
    TableName::PowerRequests,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
]);

/// The first thread on Linux: the service manager.
const FIRST_THREAD: u32 = 1;

/// Tables whose losses break wait chains.
const CHAIN_TABLES: [TableName; 3] = [TableName::ContextSwitches, TableName::ReadyThreads, TableName::Threads];

/// An index of the waits in a whole recording. It costs about eight bytes per context switch and four per ready-thread
/// event: build it once and reuse it.
#[derive(Debug)]
pub struct Waits<'t> {
    pub(crate) trace: &'t Trace,
    pub(crate) timelines: Timelines<'t>,
    pub(crate) identities: Identities<'t>,
    causes: Causes<'t>,
    boundary_records: BoundaryRecords<'t>,
    requests: Requests,
    pub(crate) blockers: Blockers,
    /// Found when first needed.
    phases: OnceLock<RecordedPhases>,
}

impl<'t> Waits<'t> {
    /// Indexes `trace`, which should have [`TABLES`].
    #[must_use]
    pub fn new(trace: &'t Trace) -> Self {
        let timelines = Timelines::new(trace);
        let identities = Identities::new(trace);
        Self {
            trace,
            causes: Causes::new(&timelines),
            boundary_records: BoundaryRecords::new(trace),
            requests: Requests::new(trace, identities.lives()),
            identities,
            blockers: Blockers::new(trace),
            phases: OnceLock::new(),
            timelines,
        }
    }

    pub(crate) fn recorded_phases(&self) -> &RecordedPhases {
        self.phases.get_or_init(|| RecordedPhases::new(self.trace))
    }

    /// Returns the phases of all transitions whose start and end are both known.
    #[must_use]
    pub fn phases(&self) -> &[TransitionPhase] {
        &self.recorded_phases().complete
    }

    /// Returns the critical path of `range`, from what `end` did at its end back to its start. `range` is clipped to
    /// the recording.
    #[must_use]
    pub fn critical_path(&self, range: Interval, end: &EndThread, options: PathOptions) -> CriticalPath {
        let interval = self.clip(range);
        let walk = self.walk_back(interval, end);
        self.describe(&walk, &self.blockers, interval, end, options)
    }

    /// Returns the start and end of `range`, clipped to the recording.
    pub(crate) fn clip(&self, range: Interval) -> (i64, i64) {
        // A damaged recording may have a negative duration.
        let recording_ns = self.trace.duration_ns.max(0);
        let start_ns = range.start_ns.clamp(0, recording_ns);
        (start_ns, range.end_ns.clamp(start_ns, recording_ns))
    }

    /// Returns the steps of [`Self::critical_path`], without names.
    pub fn walk_back(&self, interval: (i64, i64), end: &EndThread) -> WalkResult {
        match end.tid {
            Some(tid) => self.walk(Some(&self.blockers), interval, tid),
            None => walk::unknown_walk(interval),
        }
    }

    pub(crate) const fn modules(&self) -> &Modules {
        self.causes.modules()
    }

    /// Returns the service that a step of [`Self::walk_back`] waited for.
    pub(crate) fn blocking_service(&self, step: &RawStep) -> Option<StringId> {
        self.blockers.get(step.blocker).map(|blocker| blocker.service)
    }

    /// Walks a phase in which the Linux service manager starts or stops units, through the units it waited for in turn.
    /// The manager itself waits for nobody in particular: it continues with whichever unit is done. Returns `None` if
    /// no such unit is known or no context switch was recorded in the phase.
    pub fn walk_units(&self, phase: &TransitionPhase) -> Option<(WalkResult, (i64, i64))> {
        let change = match phase.transition {
            TransitionKind::Boot => ServiceChange::Start,
            TransitionKind::Shutdown => ServiceChange::Stop,
            TransitionKind::Suspend => return None,
        };
        let interval = self.clip(phase.range);
        if self.trace.system.kind != SystemKind::Linux || !self.has_switches(interval) {
            return None;
        }
        let segments = self.blockers.critical_units(change, interval);
        let manager = EndThread::from_tid(FIRST_THREAD);
        (!segments.is_empty()).then(|| self.walk_through(&self.blockers, &segments, &manager))
    }

    /// True if context switches were recorded between the two times.
    pub fn has_switches(&self, (start_ns, end_ns): (i64, i64)) -> bool {
        let is_recorded = || {
            onoff_usage::cpu::recorded_interval(self.trace)
                .is_some_and(|(recorded_start, recorded_end)| start_ns < recorded_end && recorded_start < end_ns)
        };
        !self.trace.context_switches.is_empty() && is_recorded()
    }

    fn walk(&self, blockers: Option<&Blockers>, interval: (i64, i64), tid: u32) -> WalkResult {
        let (timelines, causes) = (&self.timelines, &self.causes);
        Walk::run(timelines, causes, &self.identities, blockers, interval, tid)
    }

    /// Returns the indexed recording.
    #[must_use]
    pub const fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// Walks through services that each waited for the previous one. `segments` come last first. Returns the walk with
    /// its start and end.
    pub(crate) fn walk_through(
        &self,
        blockers: &Blockers,
        segments: &[Segment],
        end: &EndThread,
    ) -> (WalkResult, (i64, i64)) {
        let mut walk = WalkResult::default();
        for segment in segments {
            let interval = (segment.start_ns, segment.end_ns);
            let manager = end.tid.unwrap_or(0);
            let blocker = segment.blocker.and_then(|index| blockers.get(index));
            let index = segment.blocker.unwrap_or(walk::NO_BLOCKER);
            let Some(blocker) = blocker else {
                let segment_walk = match end.tid {
                    Some(tid) => self.walk(None, interval, tid),
                    None => walk::unknown_walk(interval),
                };
                walk.append(segment_walk, index, None, walk::ROOT);
                continue;
            };
            let parts = blockers.parts(blocker, &self.timelines, &self.identities, interval);
            if parts.is_empty() {
                walk.append(walk::walk_without_thread(interval, manager), index, None, walk::ROOT);
            }
            for (part, tid) in parts {
                let segment_walk = match tid.or(end.tid) {
                    Some(tid) => self.walk(None, part, tid),
                    None => walk::unknown_walk(part),
                };
                let waiter = end.tid.filter(|_| tid.is_some());
                let waiter = waiter.map(|tid| Waiter { tid, from_ns: part.0, waiter: walk::ROOT });
                walk.append(segment_walk, index, waiter, walk::ROOT);
            }
        }
        let start_ns = segments.last().map_or(0, |segment| segment.start_ns);
        let end_ns = segments.first().map_or(start_ns, |segment| segment.end_ns);
        (walk, (start_ns, end_ns))
    }

    fn describer<'a>(&'a self, blockers: &'a Blockers, options: PathOptions) -> Describer<'a, 't> {
        Describer { trace: self.trace, identities: &self.identities, requests: &self.requests, blockers, options }
    }

    pub(crate) fn describe(
        &self,
        walk: &WalkResult,
        blockers: &Blockers,
        interval: (i64, i64),
        end: &EndThread,
        options: PathOptions,
    ) -> CriticalPath {
        let describer = self.describer(blockers, options);
        let mut path = describer.describe(walk, interval);
        if let Some(tid) = end.tid {
            path.end_thread = describer.thread(tid, interval.1);
        }
        path.end_rule.clone_from(&end.rule);
        path.end_certainty = end.certainty;
        path.missing_evidence = self.missing_evidence();
        path.affecting_losses = affecting_losses(self.trace, &CHAIN_TABLES);
        path
    }

    /// Returns the critical path of the phase `range`, from the thread that ended it (see [`Waits::end_at`]).
    #[must_use]
    pub fn phase(&self, range: Interval, options: PathOptions) -> CriticalPath {
        self.critical_path(range, &self.end_at(range.end_ns), options)
    }

    /// Returns the records that were not recorded but are needed for complete chains.
    #[must_use]
    pub fn missing_evidence(&self) -> Vec<MissingRecords> {
        let trace = self.trace;
        [
            (trace.context_switches.is_empty(), MissingRecords::ContextSwitches),
            (trace.ready_threads.is_empty(), MissingRecords::ReadyThreads),
            (trace.interrupts.is_empty(), MissingRecords::Interrupts),
            (trace.disk_ios.is_empty(), MissingRecords::DiskRequests),
        ]
        .into_iter()
        .filter_map(|(is_missing, records)| is_missing.then_some(records))
        .collect()
    }
}
