//! The log of a replay: what every task and processor did, and who caused what. The critical path is found in it.

use super::{NEVER, NONE};

/// What a task did in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Run,
    /// It was ready, and waited for a processor.
    Ready,
    Wait,
}

/// A step of a task or processor. It starts when the step before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub end_ns: i64,
    pub segment: u32,
    pub kind: StepKind,
}

/// A run of a processor; it starts when the run before it ends. An idle processor runs task [`u32::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorRun {
    pub end_ns: i64,
    pub task: u32,
    pub segment: u32,
}

/// The segment that set a signal or issued a request, and when it acted. A late action takes effect later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub task: u32,
    pub segment: u32,
    pub time_ns: i64,
}

impl Origin {
    pub(super) const UNKNOWN: Self = Self { task: NONE, segment: 0, time_ns: NEVER };
}

/// A request that a disk served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub start_ns: i64,
    pub end_ns: i64,
    pub request: u32,
}

/// What every task, processor and disk did in a replay. Empty unless [`super::Machine::is_logged`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayLog {
    /// By task.
    pub steps: Vec<Vec<Step>>,
    /// By processor.
    pub runs: Vec<Vec<ProcessorRun>>,
    /// By signal.
    pub setters: Vec<Origin>,
    /// By request.
    pub issuers: Vec<Origin>,
    /// By request: when the disk began to serve it.
    pub service_starts: Vec<i64>,
    /// By disk, in order of their starts.
    pub services: Vec<Vec<Service>>,
    /// By late action.
    pub(super) late: Vec<Origin>,
}

impl ReplayLog {
    pub(super) fn new(graph: &crate::graph::Graph, processors: usize) -> Self {
        Self {
            steps: vec![Vec::new(); graph.tasks.len()],
            runs: vec![Vec::new(); processors],
            setters: vec![Origin::UNKNOWN; graph.signals as usize],
            issuers: vec![Origin::UNKNOWN; graph.requests.len()],
            service_starts: vec![NEVER; graph.requests.len()],
            services: vec![Vec::new(); graph.disks.len()],
            late: vec![Origin::UNKNOWN; graph.late_actions.len()],
        }
    }

    pub(super) fn add_step(&mut self, task: u32, segment: u32, kind: StepKind, end_ns: i64) {
        let Some(steps) = self.steps.get_mut(task as usize) else { return };
        match steps.last_mut() {
            Some(last) if last.end_ns >= end_ns => {}
            Some(last) if last.kind == kind && last.segment == segment => last.end_ns = end_ns,
            _ => steps.push(Step { end_ns, segment, kind }),
        }
    }

    pub(super) fn add_run(&mut self, processor: usize, task: u32, segment: u32, start_ns: i64, end_ns: i64) {
        let Some(runs) = self.runs.get_mut(processor) else { return };
        let last_ns = runs.last().map_or(0, |run| run.end_ns);
        if start_ns > last_ns {
            runs.push(ProcessorRun { end_ns: start_ns, task: NONE, segment: 0 });
        }
        runs.push(ProcessorRun { end_ns, task, segment });
    }
}
