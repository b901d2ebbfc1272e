//! Finds when tasks were frozen and when they ran again.

use crate::{Phase, PhaseName};
use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::Trace;

use super::report::FrozenTask;
use onoff_usage::processes::Images;

/// Maximum number of tasks.
const MAX_TASKS: usize = 100_000;

/// Process id and name of each thread id. If a thread id was reused, the last thread counts.
pub(super) struct TaskNames<'t>(HashMap<u32, (u32, &'t str)>);

impl<'t> TaskNames<'t> {
    pub(super) fn from_trace(trace: &'t Trace) -> Self {
        Self(trace.threads.iter().map(|thread| (thread.tid, (thread.pid, trace.text(thread.name)))).collect())
    }
}

/// When a task stopped running, and when it ran again, ns.
#[derive(Default)]
struct TaskTimes {
    stopped_ns: Option<i64>,
    resumed_ns: Option<i64>,
}

/// Returns the tasks that entered uninterruptible sleep (`D`) while processes were being frozen, and did not run again
/// before the machine slept, in the order in which they were frozen.
pub(super) fn frozen(
    trace: &Trace,
    images: &Images<'_>,
    names: &TaskNames<'_>,
    phases: &[Phase],
    until_ns: i64,
) -> Vec<FrozenTask> {
    let freeze_phases = || phases.iter().filter(|phase| phase.name == PhaseName::FreezeProcesses);
    let (Some(from_ns), Some(freeze_end_ns)) = (
        freeze_phases().filter_map(|phase| phase.start_ns).min(),
        freeze_phases().filter_map(|phase| phase.end_ns).max(),
    ) else {
        return Vec::new();
    };
    let thaw_ns = phases
        .iter()
        .find(|phase| phase.name == PhaseName::ThawProcesses)
        .and_then(|phase| phase.start_ns)
        .unwrap_or(i64::MAX);
    let mut tasks: BTreeMap<u32, TaskTimes> = BTreeMap::new();
    let range = trace.switches_between(from_ns, until_ns);
    for (chunk, rows) in range.rows(&trace.context_switches) {
        for row in
            rows.filter_map(|index| chunk.get(index)).filter(|row| from_ns <= row.time_ns && row.time_ns < until_ns)
        {
            if row.old_tid != 0 && row.time_ns <= freeze_end_ns && tasks.len() < MAX_TASKS {
                let is_frozen = row.old_state == WAITING && row.old_wait_mode == UNINTERRUPTIBLE;
                tasks.entry(row.old_tid).or_default().stopped_ns = is_frozen.then_some(row.time_ns);
            }
            if let Some(task) = tasks.get_mut(&row.new_tid) {
                if row.time_ns < thaw_ns {
                    // A task that ran before processes were thawed was waiting, not frozen.
                    task.stopped_ns = None;
                } else if task.resumed_ns.is_none() {
                    task.resumed_ns = Some(row.time_ns);
                }
            }
        }
    }
    let mut frozen: Vec<FrozenTask> = tasks
        .into_iter()
        .filter_map(|(tid, times)| Some((tid, times.stopped_ns?, times.resumed_ns)))
        .map(|(tid, frozen_ns, thawed_ns)| {
            let (pid, name) = names.0.get(&tid).copied().unwrap_or((tid, ""));
            let name = match name {
                "" => images.image_at(pid, frozen_ns).unwrap_or_default(),
                name => name,
            };
            FrozenTask {
                tid,
                pid,
                name: name.to_owned(),
                frozen_ns,
                after_ns: frozen_ns.saturating_sub(from_ns),
                thawed_ns,
            }
        })
        .collect();
    frozen.sort_by_key(|task| (task.frozen_ns, task.tid));
    frozen
}

/// `KTHREAD_STATE` of a waiting thread.
const WAITING: u8 = 5;
/// Wait mode of an uninterruptible thread.
const UNINTERRUPTIBLE: u8 = 0;
