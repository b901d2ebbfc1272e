//! The transitions of a recording on one page, whatever system recorded them: what kind, how long, which phases.

use onoff_trace::Trace;

use super::linux::suspend::SleepOutcome;
use super::{Details, Half, Phase, PhaseName, Transition, TransitionKind, TransitionOptions, Variant};
use onoff_usage::idle::Settling;

/// A transition that a recording holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionOverview {
    /// Which.
    pub kind: TransitionKind,
    /// Its number among those of its kind in the recording, from 1.
    pub number: u32,
    /// The kind of it, e.g. `cold`, `restart`, `hibernation`; empty when not known.
    pub variant: &'static str,
    /// How long it took, ns: of a boot without the required idle time, of a sleep without the sleep. `None` where an end is not in
    /// the recording.
    pub duration_ns: Option<i64>,
    /// A lower bound of it, ns; the duration itself where that is known.
    pub at_least_ns: i64,
    /// Its phases, as its own report has them; of a sleep without those that are no part of what it took.
    pub phases: Vec<Phase>,
    /// The search for the idle time that ends its last phase, where one does.
    pub settling: Option<Settling>,
}

impl TransitionOverview {
    /// How long a phase of it took, ns: without the idle time that ends it, and without a person's. `None` where an end is not known.
    #[must_use]
    pub fn took_ns(&self, phase: &Phase) -> Option<i64> {
        let ends = (phase.start_ns, phase.end_ns);
        let idle = self.settling.iter().filter(|one| ends.1.is_some() && (one.start_ns, one.end_ns) == ends);
        Some(phase.took_ns()?.saturating_sub(idle.map(|one| one.idle_ns).sum()))
    }

    /// The phase in which the computer was at work longest, and how long it took, ns. The time asleep is nobody's work, nor
    /// is what was recorded after a boot.
    #[must_use]
    pub fn longest(&self) -> Option<(&Phase, i64)> {
        let at_work = |phase: &&Phase| phase.half != Some(Half::Asleep) && phase.name != PhaseName::TraceTail;
        let known = self.phases.iter().filter(at_work).filter_map(|phase| Some((phase, self.took_ns(phase)?)));
        known.max_by_key(|&(_, took_ns)| took_ns)
    }
}

/// The transitions in `trace`: a boot, sleeps in their order, a shutdown. A fast startup is a sleep.
#[must_use]
pub fn overview(trace: &Trace) -> Vec<TransitionOverview> {
    let all = super::all(trace, &TransitionOptions::default()).into_iter();
    all.filter(|one| (one.kind, one.variant) != (TransitionKind::Boot, Variant::FastStartup)).map(of).collect()
}

fn of(transition: Transition) -> TransitionOverview {
    let variant = match (&transition.details, transition.variant) {
        // What was given up did not sleep, whatever was requested.
        (Details::LinuxSuspend(sleep), _) if sleep.outcome == SleepOutcome::GivenUp => "given_up",
        (Details::LinuxBoot(_), _) | (_, Variant::Unknown) => "",
        (_, variant) => variant.as_str(),
    };
    let duration_ns = transition.duration_ns();
    let mut phases = transition.phases;
    if let Details::WindowsSuspend(suspend) = &transition.details {
        let stays = |phase: &Phase| !matches!(phase.half, Some(Half::Suspend | Half::Resume)) || suspend.counts(phase);
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
