//! What the end of a phase of devices waited for.
//!
//! A phase ends when its last callback has returned. Callbacks run one after the other on the thread that suspends, and, of devices
//! that allow it, on threads of their own. A device waits for its children on the way down and for its parent on the way up
//! (`dpm_wait_for_subordinate`, `dpm_wait_for_superior` of `drivers/base/power/main.c`). So the path is found backwards: from the
//! callback that ended last to that which ended last of those it had to wait for. It stops where nothing recorded ties a callback to one
//! before it: on a thread of its own a callback begins when a thread is free, and no record says for which one it waited.

use crate::{CallbackReason, CallbackStep, Half, Phase};
use hashbrown::HashMap;

use super::report::DeviceCallback;

/// Steps of a path, at most.
const MAX_STEPS: usize = 4_096;

/// Fills in the path of `phase`, whose callbacks are at `of_phase`, by start.
pub(super) fn find(phase: &mut Phase, of_phase: &[usize], callbacks: &mut [DeviceCallback]) {
    // Those that ended, by end: what ended last before a time is found by halving.
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
            because,
        });
    }
}

/// Where the callbacks of the path are, and why, from the one at `last` back.
fn walk(
    half: Option<Half>,
    last: usize,
    ended: &[(i64, usize)],
    callbacks: &[DeviceCallback],
) -> Vec<(usize, CallbackReason)> {
    let related = Related::of(half, ended, callbacks);
    let mut steps = Vec::new();
    let mut next = Some((last, CallbackReason::EndedLast));
    while let Some((at, because)) = next.filter(|_| steps.len() < MAX_STEPS) {
        steps.push((at, because));
        next = callbacks.get(at).and_then(|row| related.before(row, at));
    }
    steps
}

/// Callbacks by what ties them to others: each list by end.
struct Related<'a> {
    half: Option<Half>,
    by_thread: HashMap<u32, Vec<(i64, usize)>>,
    /// On the way down by the parent's name, on the way up by the own.
    by_device: HashMap<&'a str, Vec<(i64, usize)>>,
}

impl<'a> Related<'a> {
    fn of(half: Option<Half>, ended: &[(i64, usize)], callbacks: &'a [DeviceCallback]) -> Related<'a> {
        let mut by_thread: HashMap<u32, Vec<(i64, usize)>> = HashMap::new();
        let mut by_device: HashMap<&str, Vec<(i64, usize)>> = HashMap::new();
        for &(end_ns, at) in ended {
            let Some(row) = callbacks.get(at) else { continue };
            if let Some(tid) = row.details.tid {
                by_thread.entry(tid).or_default().push((end_ns, at));
            }
            let key = match half {
                Some(Half::Suspend) => &row.details.parent,
                _ => &row.device,
            };
            if !key.is_empty() {
                by_device.entry(key).or_default().push((end_ns, at));
            }
        }
        Self { half, by_thread, by_device }
    }

    /// What `row` waited for.
    fn before(&self, row: &DeviceCallback, own: usize) -> Option<(usize, CallbackReason)> {
        let (key, tie) = match self.half {
            Some(Half::Suspend) => (&row.device, CallbackReason::Child),
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
        // Of both, the later one let it go; of equal ones the tie of devices says more.
        match (family, thread) {
            (Some(family), Some(thread)) if thread.0 > family.0 => Some(thread),
            (Some(family), _) => Some(family),
            (None, thread) => thread,
        }
        .map(|(_, at, because)| (at, because))
    }
}

/// The last of `rows`, by end, that ended by `time_ns` and began before `own` did. Of those that took no measurable time begin and
/// end are the same: their order keeps the path from going round.
fn last_before(rows: &[(i64, usize)], time_ns: i64, own: usize) -> Option<(i64, usize)> {
    const LOOKED_AT: usize = 64;
    let after = rows.partition_point(|&(end, _)| end <= time_ns);
    rows.get(..after)?.iter().rev().take(LOOKED_AT).find(|&&(_, at)| at < own).copied()
}
