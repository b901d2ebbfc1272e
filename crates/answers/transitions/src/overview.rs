//! A one-page overview of the transitions in a recording: kind, duration and phases.

use onoff_trace::Trace;

use super::linux::suspend::SleepOutcome;
use super::{Details, Phase, PhaseName, SuspendStage, Transition, TransitionKind, TransitionOptions, Variant};
use onoff_usage::idle::Settling;

/// A transition in a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionOverview {
    pub kind: TransitionKind,
    /// Number among the transitions of its kind in the recording, from 1.
    pub number: u32,
    /// The variant, e.g. `cold`, `restart`, `hibernate`; empty if unknown.
    pub variant: &'static str,
    /// Duration, ns, without required idle time (boot) and time asleep. `None` if an end is not in the recording.
    pub duration_ns: Option<i64>,
    /// Lower bound of the duration, ns; the duration itself if known.
    pub at_least_ns: i64,
    /// Time asleep, ns; of a modern standby, from entry to exit. `None` for other transitions, or if unknown.
    pub asleep_ns: Option<i64>,
    /// The phases. For a suspend, only those that count toward its duration.
    pub phases: Vec<Phase>,
    /// The idle detection that ends the last phase, if any.
    pub settling: Option<Settling>,
}

impl TransitionOverview {
    /// Duration of a phase without required idle time and time spent waiting for user input, ns. `None` if an end is
    /// unknown.
    #[must_use]
    pub fn net_duration_ns(&self, phase: &Phase) -> Option<i64> {
        let idle_ns = match &self.settling {
            Some(settling)
                if phase.end_ns.is_some() && (settling.start_ns, settling.end_ns) == (phase.start_ns, phase.end_ns) =>
            {
                settling.idle_ns
            }
            _ => 0,
        };
        Some(phase.duration_without_input_ns()?.saturating_sub(idle_ns))
    }

    /// The phases with a known duration, and that duration, ns, in order. Time asleep and `TraceTail` do not count.
    pub fn measured_phases(&self) -> impl Iterator<Item = (&Phase, i64)> {
        let is_counted =
            |phase: &&Phase| phase.half != Some(SuspendStage::Asleep) && phase.name != PhaseName::TraceTail;
        self.phases.iter().filter(is_counted).filter_map(|phase| Some((phase, self.net_duration_ns(phase)?)))
    }

    /// The longest of the measured phases, and its duration, ns.
    #[must_use]
    pub fn longest_phase(&self) -> Option<(&Phase, i64)> {
        self.measured_phases().max_by_key(|&(_, duration_ns)| duration_ns)
    }
}

/// Summarizes the transitions in `trace`: a boot, suspends in order, a shutdown. A fast startup counts as a suspend.
#[must_use]
pub fn overview(trace: &Trace) -> Vec<TransitionOverview> {
    super::find_all(trace, &TransitionOptions::default())
        .into_iter()
        .filter(|transition| (transition.kind, transition.variant) != (TransitionKind::Boot, Variant::FastStartup))
        .map(summarize)
        .collect()
}

fn summarize(transition: Transition) -> TransitionOverview {
    let variant = match (&transition.details, transition.variant) {
        // An aborted suspend did not sleep, whatever was requested.
        (Details::LinuxSuspend(sleep), _) if sleep.outcome == SleepOutcome::Aborted => "aborted",
        (Details::LinuxBoot(_), _) | (_, Variant::Unknown) => "",
        (_, variant) => variant.as_str(),
    };
    let duration_ns = transition.duration_ns();
    let asleep_ns = match &transition.details {
        Details::WindowsSuspend(sleep) => sleep.asleep.wall_ns.or(sleep.asleep.measured.duration_ns),
        Details::LinuxSuspend(sleep) => sleep.asleep.slept_ns.or(sleep.asleep.measured.duration_ns),
        _ => None,
    };
    let mut phases = transition.phases;
    if let Details::WindowsSuspend(suspend) = &transition.details {
        let is_counted = |phase: &Phase| {
            !matches!(phase.half, Some(SuspendStage::Suspend | SuspendStage::Resume))
                || suspend.counts_toward_duration(phase)
        };
        phases.retain(is_counted);
    }
    TransitionOverview {
        kind: transition.kind,
        number: transition.number,
        variant,
        duration_ns,
        at_least_ns: transition.total_at_least_ns,
        asleep_ns,
        phases,
        settling: transition.settling,
    }
}
