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
    /// E.g. `cold`, `restart`, `hibernation`; empty if unknown.
    pub variant: &'static str,
    /// Duration, ns, without required idle time (boot) and time asleep. `None` if an end is not in the recording.
    pub duration_ns: Option<i64>,
    /// Lower bound of the duration, ns; the duration itself if known.
    pub at_least_ns: i64,
    /// Its phases. For a suspend, only those that count toward its duration.
    pub phases: Vec<Phase>,
    /// The idle detection that ends its last phase, if any.
    pub settling: Option<Settling>,
}

impl TransitionOverview {
    /// Duration of a phase without required idle time and time spent waiting for user input, ns. `None` if an end is
    /// unknown.
    #[must_use]
    pub fn took_ns(&self, phase: &Phase) -> Option<i64> {
        let ends = (phase.start_ns, phase.end_ns);
        let idle = self.settling.iter().filter(|one| ends.1.is_some() && (one.start_ns, one.end_ns) == ends);
        Some(phase.took_ns()?.saturating_sub(idle.map(|one| one.idle_ns).sum()))
    }

    /// The phase with the longest duration, and that duration, ns. Time asleep and `TraceTail` do not count.
    #[must_use]
    pub fn longest(&self) -> Option<(&Phase, i64)> {
        let at_work = |phase: &&Phase| phase.half != Some(SuspendStage::Asleep) && phase.name != PhaseName::TraceTail;
        let known = self.phases.iter().filter(at_work).filter_map(|phase| Some((phase, self.took_ns(phase)?)));
        known.max_by_key(|&(_, took_ns)| took_ns)
    }
}

/// The transitions in `trace`: a boot, suspends in order, a shutdown. A fast startup counts as a suspend.
#[must_use]
pub fn overview(trace: &Trace) -> Vec<TransitionOverview> {
    let all = super::all(trace, &TransitionOptions::default()).into_iter();
    all.filter(|one| (one.kind, one.variant) != (TransitionKind::Boot, Variant::FastStartup)).map(of).collect()
}

fn of(transition: Transition) -> TransitionOverview {
    let variant = match (&transition.details, transition.variant) {
        // An aborted suspend did not sleep, whatever was requested.
        (Details::LinuxSuspend(sleep), _) if sleep.outcome == SleepOutcome::Aborted => "aborted",
        (Details::LinuxBoot(_), _) | (_, Variant::Unknown) => "",
        (_, variant) => variant.as_str(),
    };
    let duration_ns = transition.duration_ns();
    let mut phases = transition.phases;
    if let Details::WindowsSuspend(suspend) = &transition.details {
        let stays = |phase: &Phase| {
            !matches!(phase.half, Some(SuspendStage::Suspend | SuspendStage::Resume)) || suspend.counts(phase)
        };
        phases.retain(stays);
    }
    TransitionOverview {
        kind: transition.kind,
        number: transition.number,
        variant,
        duration_ns,
        at_least_ns: transition.total_at_least_ns,
        phases,
        settling: transition.settling,
    }
}
