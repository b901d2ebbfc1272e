//! Waits that a recording does not show.
//!
//! A thread that waits for several others in turn is recorded as waiting only for those that were not ready when it
//! asked. Without the slowest of them it would wait for the next one. The records of three managers show what they wait
//! for:
//!
//! * the service manager: the services of a load-order group before the next group, all automatic services before the
//!   end of the automatic starts, the declared dependencies of a service before its start, and at a shutdown, all stops
//!   before the end of their phase;
//! * the Plug and Play manager: a pended request before the next request to the device, and all pended requests before
//!   the end of a phase of device initialization;
//! * the power manager: the requests to other devices that ended before a request to a device, and all requests before
//!   the end of their phase.

use hashbrown::{HashMap, HashSet};
use onoff_evidence::Interval;
use onoff_trace::{DependencyKind, DevicePhase, ServiceChange, ServiceTransition, StringId, Trace};

use crate::edit::{Place, insert, places_of};
use crate::graph::{Graph, Segment, SignalId, SignalSpan};

/// Maximum number of ends before a moment that are waited for, the latest first. Without some of them, the next ones
/// count; of hundreds of devices, more than a few are not removed.
const MAX_ENDS: usize = 8;

/// A moment at which the service manager has waited for services.
struct Barrier {
    signal: SignalId,
    start_ns: i64,
    end_ns: i64,
    /// The load-order group; `None` for all services.
    group: Option<StringId>,
}

/// A wait: the signal before which it is made, and the signal that is waited for.
pub(crate) type ManagerWait = (SignalId, SignalId);

/// Returns the waits of the service manager. `auto_start` is the signal and the time of the end of the automatic starts.
pub(crate) fn service_waits(
    trace: &Trace,
    services: &[SignalSpan],
    groups: &[SignalSpan],
    auto_start: Option<(SignalId, i64)>,
) -> Vec<ManagerWait> {
    let barriers = groups.iter().filter_map(|span| {
        let row = trace.activities.get(span.row)?;
        Some(Barrier { signal: span.end?, start_ns: row.start_ns, end_ns: row.end_ns?, group: Some(row.name) })
    });
    let auto_start = auto_start.map(|(signal, end_ns)| Barrier { signal, start_ns: i64::MIN, end_ns, group: None });
    let barriers: Vec<Barrier> = barriers.chain(auto_start).collect();
    let mut waits: Vec<ManagerWait> = Vec::new();
    let starts = || {
        services.iter().filter_map(|span| {
            let row = trace.service_transitions.get(span.row)?;
            (row.kind == ServiceChange::Start).then_some((span, row))
        })
    };
    for (span, row) in starts() {
        let (Some(signal), Some(end_ns)) = (span.end, row.end_ns) else { continue };
        for barrier in barriers.iter().filter(|barrier| barrier.includes(&row, end_ns)) {
            waits.push((barrier.signal, signal));
        }
    }
    waits.extend(dependencies(trace, starts()));
    waits
}

/// Returns the waits of the Plug and Play manager.
pub(crate) fn device_waits(
    trace: &Trace,
    graph: &Graph,
    devices: &[SignalSpan],
    completions: &[(usize, SignalId)],
    phase_ends: &[(DevicePhase, SignalId)],
) -> Vec<ManagerWait> {
    let mut waits = Vec::new();
    let signal_ns = |SignalId(signal): SignalId| graph.signal_times.get(signal as usize).copied().unwrap_or(i64::MIN);
    for &(row, completion) in completions {
        let Some(pended) = trace.device_operations.get(row) else { continue };
        let Some(completed_ns) = pended.end_ns else { continue };
        let is_next = |span: &&SignalSpan| {
            trace.device_operations.get(span.row).is_some_and(|next| {
                next.device == pended.device && next.device != StringId::EMPTY && next.start_ns >= completed_ns
            })
        };
        let next = devices.iter().filter(is_next).find_map(|span| span.start);
        waits.extend(next.map(|start| (start, completion)));
        let ends =
            phase_ends.iter().filter(|&&(phase, end)| phase == pended.phase && signal_ns(completion) <= signal_ns(end));
        waits.extend(ends.map(|&(_, end)| (end, completion)));
    }
    waits
}

/// A phase with the signal of its end.
pub(crate) type EndedPhase = (Interval, SignalId);

/// Something that a manager started and waited for.
#[derive(Clone, Copy)]
struct Work {
    start: Option<SignalId>,
    end: SignalId,
    start_ns: i64,
    end_ns: i64,
}

/// Returns the waits for the stops of services before the end of the phase in which they stopped.
pub(crate) fn stop_waits(trace: &Trace, services: &[SignalSpan], phases: &[EndedPhase]) -> Vec<ManagerWait> {
    let stops = services.iter().filter_map(|span| {
        let row = trace.service_transitions.get(span.row).filter(|row| row.kind == ServiceChange::Stop)?;
        Some(Work { start: span.start, end: span.end?, start_ns: row.start_ns, end_ns: row.end_ns? })
    });
    let stops = by_end(stops);
    let waits_of = |&(range, end): &EndedPhase| waits_before(end, i64::MAX, &work_in(range, &stops));
    phases.iter().flat_map(waits_of).collect()
}

/// Returns the waits of the power manager of Windows.
pub(crate) fn power_waits(trace: &Trace, requests: &[SignalSpan], phases: &[EndedPhase]) -> Vec<ManagerWait> {
    let work = requests.iter().filter_map(|span| {
        let row = trace.power_requests.get(span.row)?;
        Some(Work { start: span.start, end: span.end?, start_ns: row.start_ns, end_ns: row.end_ns? })
    });
    let work = by_end(work);
    let mut waits = Vec::new();
    for &(range, end) in phases {
        let in_phase = work_in(range, &work);
        for request in &in_phase {
            if let Some(start) = request.start {
                waits.extend(waits_before(start, request.start_ns, &in_phase));
            }
        }
        waits.extend(waits_before(end, i64::MAX, &in_phase));
    }
    waits
}

/// Sorts work by end.
fn by_end(work: impl Iterator<Item = Work>) -> Vec<Work> {
    let mut work: Vec<Work> = work.collect();
    work.sort_by_key(|work| work.end_ns);
    work
}

/// Returns the work within a phase. `work` is sorted by end.
fn work_in(range: Interval, work: &[Work]) -> Vec<Work> {
    let first = work.partition_point(|work| work.end_ns < range.start_ns);
    let ended = work.iter().skip(first).take_while(|work| work.end_ns <= range.end_ns);
    ended.filter(|work| range.start_ns <= work.start_ns).copied().collect()
}

/// Returns the waits before a signal, set at `time_ns`, for the last work that ended before. `work` is sorted by end.
fn waits_before(signal: SignalId, time_ns: i64, work: &[Work]) -> Vec<ManagerWait> {
    let ended = work.partition_point(|work| work.end_ns <= time_ns);
    let last = work.iter().take(ended).rev().filter(move |work| work.end != signal).take(MAX_ENDS);
    last.map(|work| (signal, work.end)).collect()
}

/// Adds the waits to `graph`.
pub(crate) fn add_barriers(graph: &mut Graph, waits: Vec<ManagerWait>) {
    let wanted: HashSet<SignalId> = waits.iter().map(|&(at, _)| at).collect();
    let places = places_of(graph, &wanted);
    let insertions: Vec<(Place, Segment)> =
        waits.into_iter().filter_map(|(at, signal)| Some((*places.get(&at)?, Segment::Await(signal)))).collect();
    insert(graph, insertions);
}

impl Barrier {
    fn includes(&self, row: &ServiceTransition, end_ns: i64) -> bool {
        row.automatic
            && row.start_ns >= self.start_ns
            && end_ns <= self.end_ns
            && self.group.is_none_or(|group| group == row.group)
    }
}

/// Returns the start of each service with the ends of the services that it depends on.
fn dependencies<'a>(
    trace: &'a Trace,
    starts: impl Iterator<Item = (&'a SignalSpan, ServiceTransition)>,
) -> Vec<ManagerWait> {
    let starts: Vec<(&SignalSpan, ServiceTransition)> = starts.collect();
    let mut by_name: HashMap<StringId, Vec<usize>> = HashMap::new();
    for (index, (_, row)) in starts.iter().enumerate() {
        by_name.entry(row.service).or_default().push(index);
    }
    let mut waits = Vec::new();
    for dependency in trace.service_dependencies.iter().filter(|row| row.kind != DependencyKind::Wants) {
        let (Some(dependents), Some(required)) = (by_name.get(&dependency.service), by_name.get(&dependency.on)) else {
            continue;
        };
        for (dependent, dependent_row) in dependents.iter().filter_map(|&index| starts.get(index)) {
            // The last start that ended before.
            let earlier = required.iter().filter_map(|&index| starts.get(index));
            let earlier = earlier
                .filter(|(_, row)| row.end_ns.is_some_and(|end_ns| end_ns <= dependent_row.start_ns))
                .max_by_key(|(_, row)| row.end_ns);
            if let (Some(start), Some(end)) = (dependent.start, earlier.and_then(|(span, _)| span.end)) {
                waits.push((start, end));
            }
        }
    }
    waits
}
