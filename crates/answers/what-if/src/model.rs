//! A recording as a model that can be replayed: the graph, the phases, and the places where changes apply.

use hashbrown::HashMap;
use onoff_blame::waits::{TransitionPhase, Waits};
use onoff_evidence::phase_name::SETTLING_PHASES;
use onoff_trace::{ActivityKind, DevicePhase, PowerRequestScope, ServiceChange, SystemKind, Trace, milestone};
use onoff_usage::idle::IdleMetric;

use crate::barriers::{EndedPhase, add_barriers, device_waits, power_waits, service_waits, stop_waits};
use crate::build::{Anchor, BuiltGraph, DriverWaits, build};
use crate::graph::{AwakeClock, Graph, SignalId, SignalSpan};
use crate::replay::{ExternalRule, Horizon, Machine, NEVER, Replay, replay};
use crate::settle::{Settled, settle};

/// Lowest priority that counts as load for the idle rule.
pub(crate) const NORMAL_PRIORITY: u8 = onoff_usage::owners::NORMAL_PRIORITY;

/// Milestones that end a phase of device initialization.
const DEVICE_PHASE_ENDS: [(DevicePhase, &str); 2] =
    [(DevicePhase::BootStart, milestone::BOOT_START_END), (DevicePhase::SystemStart, milestone::SYSTEM_START_END)];

/// A phase of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPhase {
    pub phase: TransitionPhase,
    pub start: SignalId,
    /// `None` for phases that end when the computer is idle.
    pub end: Option<SignalId>,
}

/// A recording as a model.
#[derive(Debug)]
pub struct Model<'w, 't> {
    pub trace: &'t Trace,
    pub waits: &'w Waits<'t>,
    pub graph: Graph,
    pub clock: AwakeClock,
    pub phases: Vec<ModelPhase>,
    /// By row of the service transitions.
    pub services: Vec<SignalSpan>,
    /// By row of the device operations. A pended operation ends when the driver returns.
    pub devices: Vec<SignalSpan>,
    /// Completions of pended device operations, by row.
    pub completions: Vec<(usize, SignalId)>,
    /// Ends of load-order groups, by row of the activities.
    pub groups: Vec<SignalSpan>,
    /// Ends of the phases of device initialization.
    pub device_phase_ends: Vec<(DevicePhase, SignalId)>,
    pub driver_waits: DriverWaits,
}

/// When a phase ran in a replay, ns on the awake clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedPhase {
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// Required idle time in the phase, ns; 0 except in settling phases.
    pub idle_ns: i64,
}

impl ReplayedPhase {
    /// Returns the duration without required idle time, ns.
    pub(crate) fn duration_ns(&self) -> Option<i64> {
        Some(self.end_ns?.saturating_sub(self.start_ns?).saturating_sub(self.idle_ns))
    }
}

/// Collects anchors. Anchors at one time on one thread share a signal.
#[derive(Default)]
struct Anchors {
    list: Vec<Anchor>,
    known: HashMap<Anchor, usize>,
}

impl Anchors {
    fn add(&mut self, tid: Option<u32>, time_ns: i64) -> usize {
        let anchor = Anchor { tid: tid.filter(|&tid| tid != 0), time_ns };
        *self.known.entry(anchor).or_insert_with(|| {
            self.list.push(anchor);
            self.list.len() - 1
        })
    }
}

impl<'w, 't> Model<'w, 't> {
    /// Builds the model of a recording.
    #[must_use]
    pub fn new(trace: &'t Trace, waits: &'w Waits<'t>) -> Self {
        let mut anchors = Anchors::default();
        let mut end_threads: HashMap<i64, Option<u32>> = HashMap::new();
        let mut boundary = |anchors: &mut Anchors, time_ns: i64| {
            let tid = *end_threads.entry(time_ns).or_insert_with(|| waits.end_at(time_ns).tid);
            anchors.add(tid, time_ns)
        };
        let phase_anchors: Vec<(TransitionPhase, usize, Option<usize>)> = waits
            .phases()
            .iter()
            .map(|phase| {
                let start = boundary(&mut anchors, phase.range.start_ns);
                let is_settling = SETTLING_PHASES.contains(&phase.name.as_str());
                let end = (!is_settling).then(|| boundary(&mut anchors, phase.range.end_ns));
                (phase.clone(), start, end)
            })
            .collect();
        let service_anchors: Vec<SpanAnchors> = trace
            .service_transitions
            .iter()
            .enumerate()
            .map(|(row, service)| SpanAnchors {
                row,
                start: service.tid.map(|tid| anchors.add(Some(tid), service.start_ns)),
                end: service.end_tid.zip(service.end_ns).map(|(tid, end_ns)| anchors.add(Some(tid), end_ns)),
            })
            .collect();
        let device_anchors: Vec<SpanAnchors> = trace
            .device_operations
            .iter()
            .enumerate()
            .map(|(row, operation)| {
                let end_ns = operation.pend_ns.or(operation.end_ns);
                SpanAnchors {
                    row,
                    start: operation.tid.map(|tid| anchors.add(Some(tid), operation.start_ns)),
                    end: operation.tid.zip(end_ns).map(|(tid, end_ns)| anchors.add(Some(tid), end_ns)),
                }
            })
            .collect();
        let completion_anchors: Vec<(usize, usize)> = trace
            .device_operations
            .iter()
            .enumerate()
            .filter(|(_, operation)| operation.pend_ns.is_some())
            .filter_map(|(row, operation)| Some((row, anchors.add(Some(operation.end_tid?), operation.end_ns?))))
            .collect();
        let request_anchors: Vec<SpanAnchors> = trace
            .power_requests
            .iter()
            .enumerate()
            .filter(|(_, request)| {
                trace.system.kind == SystemKind::Windows && request.scope == PowerRequestScope::Device
            })
            .map(|(row, request)| SpanAnchors {
                row,
                start: request.tid.map(|tid| anchors.add(Some(tid), request.start_ns)),
                end: request.end_ns.map(|end_ns| boundary(&mut anchors, end_ns)),
            })
            .collect();
        let group_anchors: Vec<SpanAnchors> = trace
            .activities
            .iter()
            .enumerate()
            .filter(|(_, row)| row.kind == ActivityKind::ServiceGroup)
            .map(|(index, row)| SpanAnchors {
                row: index,
                start: row.tid.map(|tid| anchors.add(Some(tid), row.start_ns)),
                end: row.end_tid.zip(row.end_ns).map(|(tid, end_ns)| anchors.add(Some(tid), end_ns)),
            })
            .collect();
        let milestones = |name: &str| {
            let name = trace.strings.find(name);
            trace.milestones.iter().filter(move |row| Some(row.name) == name)
        };
        let phase_ends: Vec<(DevicePhase, usize)> = DEVICE_PHASE_ENDS
            .into_iter()
            .flat_map(|(phase, name)| milestones(name).map(move |row| (phase, row)))
            .map(|(phase, row)| (phase, anchors.add(row.tid, row.time_ns)))
            .collect();
        let auto_start =
            milestones(milestone::AUTO_START_END).next().map(|row| (anchors.add(row.tid, row.time_ns), row.time_ns));
        let BuiltGraph { mut graph, clock, anchors: signals, driver_waits } =
            build(trace, waits, &anchors.list, modeled_until_ns(&phase_anchors));
        let signal = |index: usize| signals.get(index).copied().unwrap_or(SignalId(u32::MAX));
        let spans = |rows: Vec<SpanAnchors>| -> Vec<SignalSpan> {
            let span =
                |row: SpanAnchors| SignalSpan { row: row.row, start: row.start.map(signal), end: row.end.map(signal) };
            rows.into_iter().map(span).collect()
        };
        let phases = phase_anchors.into_iter().map(|(phase, start, end)| ModelPhase {
            phase,
            start: signal(start),
            end: end.map(signal),
        });
        let phases: Vec<ModelPhase> = phases.collect();
        let (services, groups) = (spans(service_anchors), spans(group_anchors));
        let auto_start = auto_start.map(|(index, time_ns)| (signal(index), time_ns));
        let devices = spans(device_anchors);
        let completions: Vec<(usize, SignalId)> =
            completion_anchors.into_iter().map(|(row, index)| (row, signal(index))).collect();
        let device_phase_ends: Vec<(DevicePhase, SignalId)> =
            phase_ends.into_iter().map(|(phase, index)| (phase, signal(index))).collect();
        let mut waits_of_managers = service_waits(trace, &services, &groups, auto_start);
        waits_of_managers.extend(device_waits(trace, &graph, &devices, &completions, &device_phase_ends));
        let ended: Vec<EndedPhase> = phases.iter().filter_map(|phase| Some((phase.phase.range, phase.end?))).collect();
        waits_of_managers.extend(stop_waits(trace, &services, &ended));
        waits_of_managers.extend(power_waits(trace, &spans(request_anchors), &ended));
        add_barriers(&mut graph, waits_of_managers);
        Self {
            trace,
            waits,
            phases,
            services,
            devices,
            completions,
            groups,
            device_phase_ends,
            driver_waits,
            graph,
            clock,
        }
    }

    /// Returns what a replay has to reach so that these phases end.
    #[must_use]
    pub fn horizon(&self, phases: &[&ModelPhase]) -> Horizon {
        let mut phases = phases.to_vec();
        phases.sort_by_key(|phase| phase.phase.range.start_ns);
        let starts = phases.iter().map(|phase| phase.start);
        let settling = phases.iter().filter(|phase| phase.end.is_none());
        Horizon {
            signals: starts.chain(phases.iter().filter_map(|phase| phase.end)).collect(),
            settling: settling.map(|phase| phase.start).collect(),
        }
    }

    /// Replays `graph`, a change of [`Self::graph`], up to `horizon`. On Linux, ready threads run in recorded order:
    /// their order depends on past processor time, which a recording does not show.
    #[must_use]
    pub fn replay(&self, graph: &Graph, external_waits: ExternalRule, horizon: &Horizon) -> Replay {
        replay(graph, Machine { external_waits, ..self.machine(graph, horizon) })
    }

    /// Like [`Self::replay`], and logs what every task did.
    #[must_use]
    pub fn logged_replay(&self, graph: &Graph, horizon: &Horizon) -> Replay {
        replay(graph, Machine { is_logged: true, ..self.machine(graph, horizon) })
    }

    /// Replays `graph` with ready threads in the order in which they became ready.
    #[must_use]
    pub fn replay_freely(&self, graph: &Graph, horizon: &Horizon) -> Replay {
        replay(graph, Machine { in_recorded_order: false, ..self.machine(graph, horizon) })
    }

    /// True if [`Self::replay`] uses the recorded order of ready threads.
    #[must_use]
    pub fn has_recorded_order(&self) -> bool {
        self.trace.system.kind == SystemKind::Linux
    }

    fn machine<'h>(&self, graph: &Graph, horizon: &'h Horizon) -> Machine<'h> {
        Machine {
            processors: graph.processors,
            external_waits: ExternalRule::Delay,
            in_recorded_order: self.has_recorded_order(),
            horizon,
            min_load_priority: NORMAL_PRIORITY,
            is_logged: false,
        }
    }

    /// Returns when the phase ran in a replay.
    #[must_use]
    pub fn replayed_phase(&self, phase: &ModelPhase, graph: &Graph, replay: &Replay) -> ReplayedPhase {
        // Firmware and loader run before the recording.
        let time_of = |signal: SignalId, recorded_ns: i64| {
            if recorded_ns <= 0 { Some(recorded_ns) } else { signal_time(replay, signal) }
        };
        let range = phase.phase.range;
        let start_ns = time_of(phase.start, range.start_ns);
        match phase.end {
            Some(end) => ReplayedPhase { start_ns, end_ns: time_of(end, range.end_ns), idle_ns: 0 },
            None => {
                let settled = start_ns
                    .and_then(|start_ns| settle(replay.loads(), start_ns, graph.processors, IdleMetric::default()));
                let Settled { end_ns, idle_ns } = settled.unwrap_or(Settled { end_ns: NEVER, idle_ns: 0 });
                ReplayedPhase { start_ns, end_ns: Some(end_ns).filter(|&end_ns| end_ns != NEVER), idle_ns }
            }
        }
    }

    /// Returns the signals of completed service stops, with their recorded times.
    #[must_use]
    pub fn service_stops(&self) -> Vec<(SignalId, i64)> {
        let stops = self.services.iter().filter_map(|span| {
            let row = self.trace.service_transitions.get(span.row)?;
            Some((span.end.filter(|_| row.kind == ServiceChange::Stop)?, row.end_ns?))
        });
        stops.collect()
    }

    /// Returns the signals of the service starts that were recorded up to `end_ns`, in recorded order.
    pub fn service_starts(&self, end_ns: i64) -> impl Iterator<Item = SignalId> + '_ {
        self.services.iter().filter_map(move |span| {
            let row = self.trace.service_transitions.get(span.row)?;
            span.start.filter(|_| row.kind == ServiceChange::Start && row.start_ns <= end_ns)
        })
    }
}

/// Returns the time up to which the model follows the recording, ns. Changes move later work forward by less than all
/// phases took, so work after that cannot move into them.
fn modeled_until_ns(phases: &[(TransitionPhase, usize, Option<usize>)]) -> i64 {
    let ranges = || phases.iter().map(|(phase, ..)| phase.range);
    let start_ns = ranges().map(|range| range.start_ns).min();
    let end_ns = ranges().map(|range| range.end_ns).max();
    start_ns.zip(end_ns).map_or(i64::MAX, |(start_ns, end_ns)| end_ns.saturating_add(end_ns.saturating_sub(start_ns)))
}

struct SpanAnchors {
    row: usize,
    start: Option<usize>,
    end: Option<usize>,
}

/// Returns when a signal was set in a replay; `None` if it was not.
#[must_use]
pub fn signal_time(replay: &Replay, SignalId(signal): SignalId) -> Option<i64> {
    replay.signal_times.get(signal as usize).copied().filter(|&time_ns| time_ns != NEVER)
}
