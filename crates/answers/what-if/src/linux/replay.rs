//! Replays the units of a boot.
//!
//! Without context switches, the work in a unit's time is unknown. Two rules bound it: each unit takes the recorded
//! time, or the units that start at the same time share one resource equally.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::graph::{Release, UnitGraph, UnitNode};
use crate::replay::ExternalRule;

/// How units that start at the same time affect each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Competition {
    /// Not at all: each takes the recorded time.
    None,
    /// They share one processor or disk equally; the changed units do so only if `with_changed`.
    Shared { with_changed: bool },
}

/// The rules of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) competition: Competition,
    pub(super) gaps: ExternalRule,
}

/// How a change affects the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// By node: the unit does not start in the boot.
    pub(super) is_removed: Vec<bool>,
    /// By node: no other unit waits for it.
    pub(super) is_parallel: Vec<bool>,
    /// Later start of user space, ns.
    pub(super) user_space_delay_ns: i64,
}

impl Effect {
    pub(super) fn none(graph: &UnitGraph) -> Self {
        let none = vec![false; graph.nodes.len()];
        Self { is_removed: none.clone(), is_parallel: none, user_space_delay_ns: 0 }
    }

    pub(super) fn removes(&self, node: usize) -> bool {
        self.is_removed.get(node).copied().unwrap_or(false)
    }

    pub(super) fn is_parallel(&self, node: usize) -> bool {
        self.is_parallel.get(node).copied().unwrap_or(false)
    }

    fn changes(&self, node: usize) -> bool {
        self.removes(node) || self.is_parallel(node)
    }

    /// True if `node` waits for the end of `predecessor` after the change. The boot always waits for its units.
    fn waits_for(&self, graph: &UnitGraph, node: usize, predecessor: usize) -> bool {
        !self.removes(predecessor) && (node == graph.end() || !self.changes(predecessor))
    }
}

/// Start and end of each node in a replay, ns; `None` if the node was removed or not reached.
pub(super) type UnitTimes = Vec<Option<(i64, i64)>>;

/// Work of each node: the share of a resource that it had in its recorded time.
fn work(graph: &UnitGraph, effect: &Effect, competition: Competition) -> Vec<f64> {
    let shares = |index: usize, node: &UnitNode| shares(index, node, graph, effect, competition);
    let mut changes: Vec<(i64, i64)> = Vec::new();
    for (_, node) in graph.nodes.iter().enumerate().filter(|&(index, node)| shares(index, node)) {
        changes.extend([(node.start_ns, 1), (node.end_ns, -1)]);
    }
    changes.sort_unstable();
    let mut progress: HashMap<i64, f64> = HashMap::with_capacity(changes.len());
    let (mut done, mut active, mut last_ns) = (0.0, 0_i64, graph.user_space_ns);
    for (time_ns, change) in changes {
        done += time_ns.saturating_sub(last_ns) as f64 * rate(active);
        last_ns = time_ns;
        active += change;
        progress.insert(time_ns, done);
    }
    let progress_at = |time_ns: i64| progress.get(&time_ns).copied().unwrap_or(0.0);
    let nodes = graph.nodes.iter().enumerate();
    nodes
        .map(|(index, node)| match shares(index, node) {
            true => progress_at(node.end_ns) - progress_at(node.start_ns),
            false => node.end_ns.saturating_sub(node.start_ns) as f64,
        })
        .collect()
}

fn shares(index: usize, node: &UnitNode, graph: &UnitGraph, effect: &Effect, competition: Competition) -> bool {
    match competition {
        Competition::None => false,
        Competition::Shared { with_changed } => {
            node.works()
                && node.end_ns > node.start_ns
                && index != graph.end()
                && (with_changed || !effect.changes(index))
        }
    }
}

/// Progress of each of `active` units per ns.
fn rate(active: i64) -> f64 {
    1.0 / active.max(1) as f64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Start,
}

/// A queue of ends by the progress that they need; the bits of positive numbers sort like the numbers.
type ProgressQueue = BinaryHeap<Reverse<(u64, usize)>>;

/// Replays the graph with a change.
pub(super) fn replay(graph: &UnitGraph, effect: &Effect, rules: Rules) -> UnitTimes {
    let count = graph.nodes.len();
    let work = work(graph, effect, rules.competition);
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut found_by: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut pending: Vec<usize> = vec![0; count];
    let mut released_ns: Vec<i64> = vec![graph.loaded_ns.saturating_add(effect.user_space_delay_ns); count];
    let mut events: BinaryHeap<Reverse<(i64, Event, usize)>> = BinaryHeap::new();
    let start_of = |node: &UnitNode, released_ns: i64| match rules.gaps {
        ExternalRule::AbsoluteTime if node.is_gap_unknown => released_ns.max(node.start_ns),
        _ => released_ns.saturating_add(node.gap_ns),
    };
    for (index, node) in graph.nodes.iter().enumerate().filter(|&(index, _)| !effect.removes(index)) {
        match node.release {
            // Without the scan, the device appears when it did.
            Release::DeviceScan(scan) if !effect.removes(scan) => {
                if let Some(found) = found_by.get_mut(scan) {
                    found.push(index);
                }
                continue;
            }
            Release::DeviceScan(_) => {
                events.push(Reverse((node.start_ns, Event::Start, index)));
                continue;
            }
            Release::Predecessors => {}
        }
        let awaited = node.predecessors.iter().filter(|&&predecessor| effect.waits_for(graph, index, predecessor));
        let mut awaited_count = 0;
        for &predecessor in awaited {
            awaited_count += 1;
            if let Some(successors) = successors.get_mut(predecessor) {
                successors.push(index);
            }
        }
        if let Some(pending) = pending.get_mut(index) {
            *pending = awaited_count;
        }
        if awaited_count == 0 {
            let released_ns = released_ns.get(index).copied().unwrap_or(0);
            events.push(Reverse((start_of(node, released_ns), Event::Start, index)));
        }
    }
    let mut times: UnitTimes = vec![None; count];
    let mut sharing: ProgressQueue = BinaryHeap::new();
    let (mut now_ns, mut done, mut active) = (0.0_f64, 0.0_f64, 0_i64);
    loop {
        let next_event_ns = events.peek().map(|Reverse((time_ns, ..))| *time_ns as f64);
        let next_end_ns =
            sharing.peek().map(|Reverse((bits, _))| now_ns + (f64::from_bits(*bits) - done).max(0.0) / rate(active));
        let is_end_of_sharing = match (next_event_ns, next_end_ns) {
            (Some(event_ns), Some(end_ns)) => end_ns <= event_ns,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (None, None) => break,
        };
        let ended = if is_end_of_sharing {
            let Some(Reverse((bits, index))) = sharing.pop() else { break };
            now_ns = next_end_ns.unwrap_or(now_ns).max(now_ns);
            done = f64::from_bits(bits).max(done);
            active -= 1;
            Some((index, rounded(now_ns)))
        } else {
            let Some(Reverse((time_ns, event, index))) = events.pop() else { break };
            let time = (time_ns as f64).max(now_ns);
            done += (time - now_ns) * rate(active);
            now_ns = time;
            match event {
                Event::End => Some((index, time_ns)),
                Event::Start => {
                    let Some(node) = graph.nodes.get(index) else { continue };
                    if let Some(times) = times.get_mut(index) {
                        *times = Some((time_ns, time_ns));
                    }
                    for &device in found_by.get(index).into_iter().flatten() {
                        let Some(found) = graph.nodes.get(device) else { continue };
                        // As long after the scan starts as recorded.
                        let offset_ns = found.start_ns.saturating_sub(node.start_ns).max(0);
                        events.push(Reverse((time_ns.saturating_add(offset_ns), Event::Start, device)));
                    }
                    let work = work.get(index).copied().unwrap_or(0.0).max(0.0);
                    if shares(index, node, graph, effect, rules.competition) {
                        sharing.push(Reverse(((done + work).to_bits(), index)));
                        active += 1;
                        None
                    } else {
                        let length_ns = node.end_ns.saturating_sub(node.start_ns);
                        events.push(Reverse((time_ns.saturating_add(length_ns), Event::End, index)));
                        None
                    }
                }
            }
        };
        let Some((index, end_ns)) = ended else { continue };
        if let Some(Some((_, end))) = times.get_mut(index) {
            *end = end_ns;
        }
        for &successor in successors.get(index).into_iter().flatten() {
            let (Some(pending), Some(released)) = (pending.get_mut(successor), released_ns.get_mut(successor)) else {
                continue;
            };
            *pending = pending.saturating_sub(1);
            *released = end_ns.max(*released);
            if *pending == 0
                && let Some(node) = graph.nodes.get(successor)
            {
                events.push(Reverse((start_of(node, *released), Event::Start, successor)));
            }
        }
    }
    times
}

#[allow(clippy::cast_possible_truncation, reason = "times of a recording are far below 2^53 ns")]
pub(super) fn rounded(ns: f64) -> i64 {
    ns.round() as i64
}
