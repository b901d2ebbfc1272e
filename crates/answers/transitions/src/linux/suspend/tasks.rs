//! When tasks were frozen and when they ran again.

use crate::{Phase, PhaseName};
use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::Trace;

use super::report::FrozenTask;
use onoff_usage::processes::Images;

/// Maximum number of tasks.
const MAX_TASKS: usize = 100_000;

/// Process id and name of each thread, from the last row with its id.
pub(super) struct Names<'t>(HashMap<u32, (u32, &'t str)>);

impl<'t> Names<'t> {
    pub(super) fn of(trace: &'t Trace) -> Self {
        Self(trace.threads.iter().map(|thread| (thread.tid, (thread.pid, trace.text(thread.name)))).collect())
    }
}

/// Tasks that stopped running in uninterruptible sleep (`D`) while processes were being frozen, and did not run again
/// before the machine slept; in the order in which they were frozen.
pub(super) fn frozen(
    trace: &Trace,
    images: &Images<'_>,
    names: &Names<'_>,
    phases: &[Phase],
    until_ns: i64,
) -> Vec<FrozenTask> {
    let freezing = || phases.iter().filter(|phase| phase.name == PhaseName::FreezeProcesses);
    let (Some(from_ns), Some(to_ns)) =
        (freezing().filter_map(|phase| phase.start_ns).min(), freezing().filter_map(|phase| phase.end_ns).max())
    else {
        return Vec::new();
    };
    let thaw_ns = phases
        .iter()
        .find(|phase| phase.name == PhaseName::ThawProcesses)
        .and_then(|phase| phase.start_ns)
        .unwrap_or(i64::MAX);
    // When each task stopped, and when it ran again.
    let mut tasks: BTreeMap<u32, (Option<i64>, Option<i64>)> = BTreeMap::new();
    let range = trace.switches_between(from_ns, until_ns);
    for (chunk, rows) in range.rows(&trace.context_switches) {
        for row in rows.filter_map(|at| chunk.get(at)).filter(|row| from_ns <= row.time_ns && row.time_ns < until_ns) {
            if row.old_tid != 0 && row.time_ns <= to_ns && tasks.len() < MAX_TASKS {
                let waits = row.old_state == WAITING && row.old_wait_mode == UNINTERRUPTIBLE;
                tasks.entry(row.old_tid).or_default().0 = waits.then_some(row.time_ns);
            }
            if let Some(task) = tasks.get_mut(&row.new_tid) {
                if row.time_ns < thaw_ns {
                    // It ran before processes were thawed: it was waiting, not frozen.
                    task.0 = None;
                } else if task.1.is_none() {
                    task.1 = Some(row.time_ns);
                }
            }
        }
    }
    let mut frozen: Vec<FrozenTask> = tasks
        .into_iter()
        .filter_map(|(tid, (stopped, again))| Some((tid, stopped?, again)))
        .map(|(tid, frozen_ns, thawed_ns)| {
            let (pid, name) = names.0.get(&tid).copied().unwrap_or((tid, ""));
            let name = match name {
                "" => images.at(pid, frozen_ns).unwrap_or_default(),
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
