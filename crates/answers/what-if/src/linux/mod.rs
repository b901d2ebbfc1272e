//! Predicts changes of Linux boots from the recorded times of units, without context switches.
//!
//! A unit starts when the units before it in the declared order have started. Each unit keeps its recorded time, and
//! the gap after its release. The firmware, the loader, the kernel and the initramfs are fixed, except for drivers that
//! probe asynchronously. How units that start at the same time slow each other down is unknown, so replays of the
//! extremes give the range of a prediction.

mod changes;
mod graph;
mod processors;
mod replay;

use onoff_evidence::phase_name::{PhaseName, SETTLING_PHASES};
use onoff_trace::Trace;
use onoff_transitions::{Transition, TransitionKind};

use crate::answer::{
    Assumption, Basis, MAX_UNKNOWN_PERCENT, NoPrediction, PredictedDuration, PredictedPhase, Prediction, WhatIfError,
};
use crate::changes::Change;
use crate::identity::{Identity, PhaseIdentity, is_within_tolerance};
use crate::replay::ExternalRule;
use graph::UnitGraph;
use processors::ProcessorTime;
use replay::{Competition, Effect, Rules, UnitTimes, replay};

/// Maximum width of a predicted range, percent of the measured duration: 15 % up and down.
const MAX_RANGE_PERCENT: i64 = 30;

/// Units that started within this time of each other may change their order, ns: 1 ms.
const MAX_ORDER_GAP_NS: i64 = 1_000_000;

/// The most likely rules first; the others bound the range.
const RULES: [Rules; 6] = {
    const fn rules(competition: Competition, gaps: ExternalRule) -> Rules {
        Rules { competition, gaps }
    }
    let [with_changed, without_changed] =
        [Competition::Shared { with_changed: true }, Competition::Shared { with_changed: false }];
    [
        rules(Competition::None, ExternalRule::Delay),
        rules(Competition::None, ExternalRule::AbsoluteTime),
        rules(with_changed, ExternalRule::Delay),
        rules(with_changed, ExternalRule::AbsoluteTime),
        rules(without_changed, ExternalRule::Delay),
        rules(without_changed, ExternalRule::AbsoluteTime),
    ]
};

/// Predicts the effect of changes on a Linux boot.
///
/// # Errors
/// The recording does not show when user space started and ended, or not the order of units; or a change cannot be
/// made.
pub(crate) fn predict(trace: &Trace, transition: &Transition, changes: &[Change]) -> Result<Prediction, WhatIfError> {
    let interval = |name: PhaseName| {
        let phase = transition.phases.iter().find(|phase| phase.name == name)?;
        Some((phase.start_ns?, phase.end_ns?))
    };
    let (user_space_ns, finished_ns) = interval(PhaseName::UserSpace).ok_or(WhatIfError::NoSwitches)?;
    let kernel = interval(PhaseName::Kernel).unwrap_or((user_space_ns, user_space_ns));
    let graph = UnitGraph::new(trace, user_space_ns, finished_ns).ok_or(WhatIfError::NoUnitOrder)?;
    let effects = changes::apply(trace, &graph, kernel, changes)?;
    let unchanged = Effect::none(&graph);
    let bases: Vec<UnitTimes> = RULES.iter().map(|&rules| replay(&graph, &unchanged, rules)).collect();
    let identity = identity(transition, &graph, &bases);
    let unknown_percent = graph.unknown_percent();

    let measured_ns = transition.duration_ns().unwrap_or(transition.total_at_least_ns);
    let end_ns = |times: &UnitTimes| times.get(graph.end()).copied().flatten().map(|(_, end_ns)| end_ns);
    let mut end_reached = true;
    // Change of the kernel's and of the total duration, by rule.
    let mut outcomes: Vec<(i64, i64)> = Vec::new();
    for kernel_delay_ns in effects.kernel_delays_ns {
        let effect = Effect { user_space_delay_ns: kernel_delay_ns, ..effects.likely.clone() };
        for (&rules, base) in RULES.iter().zip(&bases) {
            let replayed_ns = end_ns(&replay(&graph, &effect, rules));
            match replayed_ns.zip(end_ns(base)) {
                Some((replayed_ns, base_ns)) => outcomes.push((kernel_delay_ns, replayed_ns.saturating_sub(base_ns))),
                None => end_reached = false,
            }
        }
    }
    let mut assumptions = vec![Assumption::UnitsCompeteWithinBounds, Assumption::DevicesFollowScan];
    // The most likely outcome first.
    if let Some(time) = ProcessorTime::new(trace, &graph, &effects.likely)
        && let Some(&(kernel_ns, change_ns)) = outcomes.first()
    {
        let user_space_ns = time.corrected(change_ns.saturating_sub(kernel_ns));
        let corrected_ns = kernel_ns.saturating_add(user_space_ns);
        if corrected_ns != change_ns {
            outcomes.insert(0, (kernel_ns, corrected_ns));
            assumptions.push(Assumption::OthersKeepProcessorTime);
        }
        outcomes.push((kernel_ns, kernel_ns.saturating_add(time.least(user_space_ns))));
    }
    let predict = |measured_ns: i64, change_of: &dyn Fn(&(i64, i64)) -> i64| {
        let mut durations = outcomes.iter().map(|outcome| measured_ns.saturating_add(change_of(outcome)).max(0));
        let first_ns = durations.next()?;
        let range = PredictedDuration { ns: first_ns, min_ns: first_ns, max_ns: first_ns };
        Some(durations.fold(range, |range, ns| PredictedDuration {
            min_ns: range.min_ns.min(ns),
            max_ns: range.max_ns.max(ns),
            ..range
        }))
    };
    let total = predict(measured_ns, &|&(_, change_ns)| change_ns);
    let is_too_wide = total
        .is_some_and(|total| total.max_ns.saturating_sub(total.min_ns) > measured_ns.max(0) / 100 * MAX_RANGE_PERCENT);
    let no_prediction = if !identity.holds {
        Some(NoPrediction::IdentityFailed)
    } else if unknown_percent > MAX_UNKNOWN_PERCENT {
        Some(NoPrediction::PathUnknown)
    } else if !end_reached {
        Some(NoPrediction::EndNotReached)
    } else if is_too_wide {
        Some(NoPrediction::RangeTooWide)
    } else {
        None
    };
    let is_known = no_prediction.is_none();
    let phases = transition.phases.iter().filter(|phase| !SETTLING_PHASES.contains(&phase.name.as_str()));
    let phases = phases.filter_map(|phase| {
        let measured_ns = phase.duration_ns?;
        let predicted = match phase.name {
            PhaseName::Kernel => predict(measured_ns, &|&(kernel_ns, _)| kernel_ns),
            PhaseName::UserSpace => {
                predict(measured_ns, &|&(kernel_ns, change_ns)| change_ns.saturating_sub(kernel_ns))
            }
            _ => Some(PredictedDuration { ns: measured_ns, min_ns: measured_ns, max_ns: measured_ns }),
        };
        Some(PredictedPhase {
            phase: phase.name.as_str().to_owned(),
            measured_ns,
            predicted: predicted.filter(|_| is_known),
        })
    });
    let predicted = total.filter(|_| is_known);
    if effects.has_async_probe {
        assumptions.push(Assumption::RootWaitsForProbe);
    }
    Ok(Prediction {
        transition: TransitionKind::Boot,
        number: transition.number,
        basis: Basis::UnitTimes,
        assumptions,
        changes: changes.to_vec(),
        measured_ns,
        predicted,
        saving: predicted.map(|predicted| predicted.saving_from(measured_ns)),
        removed_ns: None,
        bottleneck: None,
        uncertain_waits: 0,
        no_prediction,
        phases: phases.collect(),
        identity,
        unknown_percent,
        losses: trace.losses.clone(),
    })
}

/// Compares the replays without a change with the recording.
fn identity(transition: &Transition, graph: &UnitGraph, bases: &[UnitTimes]) -> Identity {
    let start_ns = graph.user_space_ns;
    let phase = |phase: &str, measured_end_ns: i64, replayed_end_ns: Option<i64>| {
        let error_ns = replayed_end_ns.map(|replayed_ns| replayed_ns.saturating_sub(measured_end_ns));
        PhaseIdentity {
            transition: TransitionKind::Boot.as_str().to_owned(),
            phase: phase.to_owned(),
            measured_end_ns,
            replayed_end_ns,
            error_ns,
            holds: error_ns
                .is_some_and(|error_ns| is_within_tolerance(error_ns, measured_end_ns.saturating_sub(start_ns))),
        }
    };
    let fixed = transition.phases.iter().filter(|phase| phase.end_ns.is_some_and(|end_ns| end_ns <= start_ns));
    let mut phases: Vec<PhaseIdentity> =
        fixed.filter_map(|row| Some(phase(row.name.as_str(), row.end_ns?, row.end_ns))).collect();
    let finished_ns = graph.nodes.last().map_or(start_ns, |end| end.end_ns);
    // The end with the largest error of all rules.
    let ends = bases.iter().map(|times| times.get(graph.end()).copied().flatten().map(|(_, end_ns)| end_ns));
    let worst_end = ends.max_by_key(|end_ns| end_ns.map_or(u64::MAX, |end_ns| end_ns.abs_diff(finished_ns)));
    phases.push(phase(PhaseName::UserSpace.as_str(), finished_ns, worst_end.flatten()));
    let mut services_out_of_order = 0_u64;
    for times in bases {
        let mut latest_ns = i64::MIN;
        let mut out_of_order = 0_u64;
        for ((_, node), times) in graph.units().zip(times) {
            let Some((replayed_ns, end_ns)) = *times else {
                out_of_order += 1;
                continue;
            };
            let is_late =
                !is_within_tolerance(end_ns.saturating_sub(node.end_ns), node.end_ns.saturating_sub(start_ns));
            out_of_order += u64::from(is_late || replayed_ns < latest_ns.saturating_sub(MAX_ORDER_GAP_NS));
            latest_ns = latest_ns.max(replayed_ns);
        }
        services_out_of_order = services_out_of_order.max(out_of_order);
    }
    Identity::new(phases, services_out_of_order)
}
