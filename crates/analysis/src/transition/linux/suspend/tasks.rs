//! When tasks were frozen and when they ran again.

use crate::transition::{Phase, PhaseName};
use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_order::InOrder;
use onoff_trace::{Table, Trace};

use super::report::FrozenTask;
use crate::processes::Images;

/// Tasks followed, at most.
const MOST_TASKS: usize = 100_000;

/// Tasks that stopped running in the freezing of processes, not to be disturbed (`D`), and did not run again before the machine
/// slept; in the order in which they were frozen.
pub(super) fn frozen(trace: &Trace, images: &Images<'_>, phases: &[Phase], until_ns: i64) -> Vec<FrozenTask> {
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
    // When each stopped, and when it went on.
    let mut tasks: BTreeMap<u32, (Option<i64>, Option<i64>)> = BTreeMap::new();
    for piece in trace.context_switches.pieces() {
        let first = piece.time_ns.partition_point(|&time| time < from_ns);
        for row in (first..Table::len(piece)).filter_map(|at| piece.get(at)) {
            if row.time_ns >= until_ns {
                break;
            }
            if row.old_tid != 0 && row.time_ns <= to_ns && tasks.len() < MOST_TASKS {
                let waits = row.old_state == WAITING && row.old_wait_mode == UNINTERRUPTIBLE;
                tasks.entry(row.old_tid).or_default().0 = waits.then_some(row.time_ns);
            }
            if let Some(task) = tasks.get_mut(&row.new_tid) {
                if row.time_ns < thaw_ns {
                    // It runs before processes go on: it was waiting, not frozen.
                    task.0 = None;
                } else if task.1.is_none() {
                    task.1 = Some(row.time_ns);
                }
            }
        }
    }
    let names: HashMap<u32, (u32, &str)> = trace
        .threads
        .iter()
        .filter(|thread| tasks.contains_key(&thread.tid))
        .map(|thread| (thread.tid, (thread.pid, trace.text(thread.name))))
        .collect();
    let mut frozen: Vec<FrozenTask> = tasks
        .into_iter()
        .filter_map(|(tid, (stopped, again))| Some((tid, stopped?, again)))
        .map(|(tid, frozen_ns, thawed_ns)| {
            let (pid, name) = names.get(&tid).copied().unwrap_or((tid, ""));
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
    frozen.order_by_key(|task| (task.frozen_ns, task.tid));
    frozen
}

/// `KTHREAD_STATE` of a thread that waits.
const WAITING: u8 = 5;
/// Wait mode of a thread that is not to be disturbed.
const UNINTERRUPTIBLE: u8 = 0;
