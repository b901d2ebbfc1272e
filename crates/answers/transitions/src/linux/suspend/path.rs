//! Finds the critical path of a device phase.
//!
//! A phase ends when its last callback has returned. Callbacks run one after another on the suspending thread or, for
//! devices that allow it, asynchronously on other threads. During suspend a device waits for its children, during
//! resume for its parent (`dpm_wait_for_subordinate`, `dpm_wait_for_superior` in `drivers/base/power/main.c`). The path
//! is therefore found backwards: from the callback that ended last, always to the callback it waited for that ended
//! last. The path stops where no record links a callback to an earlier one: an asynchronous callback starts when a
//! thread is free, and what it waited for is not recorded.

use crate::{CallbackReason, CallbackStep, Phase, SuspendStage};
use hashbrown::HashMap;

use super::report::DeviceCallback;

/// Maximum number of steps in a path.
const MAX_STEPS: usize = 4_096;

/// Sets the critical path of `phase`. `indices` are the indices of its callbacks, ordered by start.
pub(super) fn find(phase: &mut Phase, indices: &[usize], callbacks: &mut [DeviceCallback]) {
    // Sorted by end, for binary search.
    let mut completed: Vec<(i64, usize)> =
        indices.iter().filter_map(|&index| Some((callbacks.get(index)?.end_ns?, index))).collect();
    completed.sort();
    let Some(&(_, last_index)) = completed.last() else { return };
    let steps = walk_backwards(phase.half, last_index, &completed, callbacks);
    for (position, &(index, reason)) in steps.iter().enumerate() {
        let previous_end_ns =
            steps.get(position + 1).and_then(|&(previous, _)| callbacks.get(previous)?.end_ns).unwrap_or(i64::MIN);
        let Some(row) = callbacks.get_mut(index) else { continue };
        let Some(end_ns) = row.end_ns else { continue };
        let duration_ns =
            end_ns.saturating_sub(row.start_ns.max(previous_end_ns).max(phase.start_ns.unwrap_or(i64::MIN))).max(0);
        row.details.on_path_ns = duration_ns;
        phase.work.path_ns = phase.work.path_ns.saturating_add(duration_ns);
        phase.work.path.push(CallbackStep {
            device: row.device.clone(),
            driver: row.driver.clone(),
            start_ns: row.start_ns,
            end_ns,
            duration_ns,
            reason,
        });
    }
}

/// Returns the indices of the callbacks on the path, backwards from `last_index`, each with the reason why it is on the
/// path.
fn walk_backwards(
    half: Option<SuspendStage>,
    last_index: usize,
    completed: &[(i64, usize)],
    callbacks: &[DeviceCallback],
) -> Vec<(usize, CallbackReason)> {
    let dependencies = Dependencies::new(half, completed, callbacks);
    let mut steps = Vec::new();
    let mut next = Some((last_index, CallbackReason::FinishedLast));
    while let Some((index, reason)) = next.filter(|_| steps.len() < MAX_STEPS) {
        steps.push((index, reason));
        next = callbacks.get(index).and_then(|row| dependencies.predecessor(row, index));
    }
    steps
}

/// Callbacks (end time and index) by thread and by device; each list is sorted by end.
struct Dependencies<'a> {
    half: Option<SuspendStage>,
    by_thread: HashMap<u32, Vec<(i64, usize)>>,
    /// During suspend, the key is the name of the parent device; during resume, the name of the device.
    by_device: HashMap<&'a str, Vec<(i64, usize)>>,
}

impl<'a> Dependencies<'a> {
    fn new(half: Option<SuspendStage>, completed: &[(i64, usize)], callbacks: &'a [DeviceCallback]) -> Self {
        let mut by_thread: HashMap<u32, Vec<(i64, usize)>> = HashMap::new();
        let mut by_device: HashMap<&str, Vec<(i64, usize)>> = HashMap::new();
        for &(end_ns, index) in completed {
            let Some(row) = callbacks.get(index) else { continue };
            if let Some(tid) = row.details.tid {
                by_thread.entry(tid).or_default().push((end_ns, index));
            }
            let key = match half {
                Some(SuspendStage::Suspend) => &row.details.parent,
                _ => &row.device,
            };
            if !key.is_empty() {
                by_device.entry(key).or_default().push((end_ns, index));
            }
        }
        Self { half, by_thread, by_device }
    }

    /// Returns the callback that `row`, at `index`, waited for.
    fn predecessor(&self, row: &DeviceCallback, index: usize) -> Option<(usize, CallbackReason)> {
        let (key, reason) = match self.half {
            Some(SuspendStage::Suspend) => (&row.device, CallbackReason::Child),
            _ => (&row.details.parent, CallbackReason::Parent),
        };
        let relative = self
            .by_device
            .get(key.as_str())
            .and_then(|rows| last_before(rows, row.start_ns, index))
            .map(|(end_ns, index)| (end_ns, index, reason));
        let thread_predecessor = row
            .details
            .tid
            .and_then(|tid| self.by_thread.get(&tid))
            .and_then(|rows| last_before(rows, row.start_ns, index))
            .map(|(end_ns, index)| (end_ns, index, CallbackReason::SameThread));
        // The callback that ended later released this one. If both ended at once, prefer the device dependency.
        match (relative, thread_predecessor) {
            (Some((relative_end_ns, ..)), Some((thread_end_ns, ..))) if thread_end_ns > relative_end_ns => {
                thread_predecessor
            }
            (Some(_), _) => relative,
            (None, _) => thread_predecessor,
        }
        .map(|(_, index, reason)| (index, reason))
    }
}

/// Returns the last of `rows` (sorted by end) that ended at or before `time_ns` and has an index below `max_index`.
/// Callbacks without measurable duration have equal start and end; comparing indices avoids cycles in the path.
fn last_before(rows: &[(i64, usize)], time_ns: i64, max_index: usize) -> Option<(i64, usize)> {
    const MAX_CANDIDATES: usize = 64;
    let count = rows.partition_point(|&(end, _)| end <= time_ns);
    rows.get(..count)?.iter().rev().take(MAX_CANDIDATES).find(|&&(_, index)| index < max_index).copied()
}
