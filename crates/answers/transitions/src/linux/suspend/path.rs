//! Finds the critical path of a device phase.
//!
//! A phase ends when its last callback has returned. Callbacks run one after another on the suspending thread or, for
//! devices that allow it, on threads of their own. During suspend a device waits for its children, during resume for
//! its parent (`dpm_wait_for_subordinate`, `dpm_wait_for_superior` in `drivers/base/power/main.c`). The path is
//! therefore found backwards: from the callback that ended last to the last-ending one of those it had to wait for. It
//! stops where no record ties a callback to an earlier one: a callback on a thread of its own starts when a thread is
//! free, and which one it waited for is not recorded.

use crate::{CallbackReason, CallbackStep, Phase, SuspendStage};
use hashbrown::HashMap;

use super::report::DeviceCallback;

/// Maximum number of steps in a path.
const MAX_STEPS: usize = 4_096;

/// Sets the path of `phase`, whose callbacks are at the indices `of_phase`, ordered by start.
pub(super) fn find(phase: &mut Phase, of_phase: &[usize], callbacks: &mut [DeviceCallback]) {
    // Completed callbacks sorted by end, so that the last one before a time is found by binary search.
    let mut ended: Vec<(i64, usize)> =
        of_phase.iter().filter_map(|&at| Some((callbacks.get(at)?.end_ns?, at))).collect();
    ended.sort();
    let Some(&(_, last)) = ended.last() else { return };
    let steps = walk(phase.half, last, &ended, callbacks);
    for (position, &(at, because)) in steps.iter().enumerate() {
        let before_ns =
            steps.get(position + 1).and_then(|&(before, _)| callbacks.get(before)?.end_ns).unwrap_or(i64::MIN);
        let Some(row) = callbacks.get_mut(at) else { continue };
        let Some(end_ns) = row.end_ns else { continue };
        let duration_ns =
            end_ns.saturating_sub(row.start_ns.max(before_ns).max(phase.start_ns.unwrap_or(i64::MIN))).max(0);
        row.details.on_path_ns = duration_ns;
        phase.work.path_ns = phase.work.path_ns.saturating_add(duration_ns);
        phase.work.path.push(CallbackStep {
            device: row.device.clone(),
            driver: row.driver.clone(),
            start_ns: row.start_ns,
            end_ns,
            duration_ns,
            reason: because,
        });
    }
}

/// The indices of the callbacks on the path, and why they are on it, backwards from `last`.
fn walk(
    half: Option<SuspendStage>,
    last: usize,
    ended: &[(i64, usize)],
    callbacks: &[DeviceCallback],
) -> Vec<(usize, CallbackReason)> {
    let related = Related::of(half, ended, callbacks);
    let mut steps = Vec::new();
    let mut next = Some((last, CallbackReason::FinishedLast));
    while let Some((at, because)) = next.filter(|_| steps.len() < MAX_STEPS) {
        steps.push((at, because));
        next = callbacks.get(at).and_then(|row| related.before(row, at));
    }
    steps
}

/// Callbacks by thread and by device; each list is sorted by end.
struct Related<'a> {
    half: Option<SuspendStage>,
    by_thread: HashMap<u32, Vec<(i64, usize)>>,
    /// During suspend by the parent's name, during resume by the device's own name.
    by_device: HashMap<&'a str, Vec<(i64, usize)>>,
}

impl<'a> Related<'a> {
    fn of(half: Option<SuspendStage>, ended: &[(i64, usize)], callbacks: &'a [DeviceCallback]) -> Related<'a> {
        let mut by_thread: HashMap<u32, Vec<(i64, usize)>> = HashMap::new();
        let mut by_device: HashMap<&str, Vec<(i64, usize)>> = HashMap::new();
        for &(end_ns, at) in ended {
            let Some(row) = callbacks.get(at) else { continue };
            if let Some(tid) = row.details.tid {
                by_thread.entry(tid).or_default().push((end_ns, at));
            }
            let key = match half {
                Some(SuspendStage::Suspend) => &row.details.parent,
                _ => &row.device,
            };
            if !key.is_empty() {
                by_device.entry(key).or_default().push((end_ns, at));
            }
        }
        Self { half, by_thread, by_device }
    }

    /// The callback that `row` waited for.
    fn before(&self, row: &DeviceCallback, own: usize) -> Option<(usize, CallbackReason)> {
        let (key, tie) = match self.half {
            Some(SuspendStage::Suspend) => (&row.device, CallbackReason::Child),
            _ => (&row.details.parent, CallbackReason::Parent),
        };
        let family = self
            .by_device
            .get(key.as_str())
            .and_then(|rows| last_before(rows, row.start_ns, own))
            .map(|(end, at)| (end, at, tie));
        let thread = row
            .details
            .tid
            .and_then(|tid| self.by_thread.get(&tid))
            .and_then(|rows| last_before(rows, row.start_ns, own))
            .map(|(end, at)| (end, at, CallbackReason::SameThread));
        // Of the two, the later one released it; if equal, the device dependency is more meaningful.
        match (family, thread) {
            (Some(family), Some(thread)) if thread.0 > family.0 => Some(thread),
            (Some(family), _) => Some(family),
            (None, thread) => thread,
        }
        .map(|(_, at, because)| (at, because))
    }
}

/// The last of `rows` (sorted by end) that ended at or before `time_ns` and has an index below `own`. Callbacks without
/// measurable duration have equal start and end; comparing indices avoids cycles in the path.
fn last_before(rows: &[(i64, usize)], time_ns: i64, own: usize) -> Option<(i64, usize)> {
    const MAX_CANDIDATES: usize = 64;
    let after = rows.partition_point(|&(end, _)| end <= time_ns);
    rows.get(..after)?.iter().rev().take(MAX_CANDIDATES).find(|&&(_, at)| at < own).copied()
}
