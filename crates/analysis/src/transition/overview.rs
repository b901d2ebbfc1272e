//! The transitions of a recording on one page, whatever system recorded them: what kind, how long, which phases.

use onoff_trace::{SystemKind, Trace};

use super::boot::{self, BootKind, BootOptions};
use super::linux;
use super::linux::suspend::SleepOutcome;
use super::shutdown::{self, ShutdownOptions};
use super::suspend::{self, PowerTransitionKind, SuspendOptions};
use super::{Half, Phase, PhaseName, TransitionKind};
use crate::idle::Settling;

/// A transition that a recording holds.
#[derive(Clone, Debug, PartialEq)]
pub struct TransitionOverview {
    /// Which.
    pub kind: TransitionKind,
    /// The kind of it, e.g. `cold`, `restart`, `hibernation`; empty when not known.
    pub variant: &'static str,
    /// How long it took, ns: of a boot without the required idle time, of a sleep without the sleep. `None` where an end is not in
    /// the recording.
    pub duration_ns: Option<i64>,
    /// A lower bound of it, ns; the duration itself where that is known.
    pub at_least_ns: i64,
    /// Its phases, as its own report has them.
    pub phases: Vec<Phase>,
    /// The search for the idle time that ends its last phase, where one does.
    pub settling: Option<Settling>,
}

impl TransitionOverview {
    /// How long a phase of it took, ns: without the idle time that ends it. `None` where an end is not known.
    #[must_use]
    pub fn took_ns(&self, phase: &Phase) -> Option<i64> {
        let ends = (phase.start_ns, phase.end_ns);
        let idle = self.settling.iter().filter(|one| ends.1.is_some() && (one.start_ns, one.end_ns) == ends);
        Some(phase.duration_ns?.saturating_sub(idle.map(|one| one.idle_ns).sum()))
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

/// The transitions in `trace`: a boot, sleeps in their order, a shutdown.
#[must_use]
pub fn overview(trace: &Trace) -> Vec<TransitionOverview> {
    if trace.system.kind == SystemKind::Linux { of_linux(trace) } else { of_windows(trace) }
}

fn of_windows(trace: &Trace) -> Vec<TransitionOverview> {
    let mut all = Vec::new();
    if let Ok(report) = boot::analyse(trace, &BootOptions::default())
        && report.before_kernel.boot_kind != BootKind::FastStartup
    {
        all.push(TransitionOverview {
            kind: TransitionKind::Boot,
            variant: report.before_kernel.boot_kind.as_str(),
            duration_ns: report.total_ns,
            at_least_ns: report.total_at_least_ns,
            phases: report.phases,
            settling: Some(report.post_boot),
        });
    }
    let sleeps = suspend::analyse(trace, &SuspendOptions::default()).map(|report| report.transitions);
    for sleep in sleeps.unwrap_or_default() {
        let halves = [&sleep.suspend, &sleep.resume].map(|half| half.measured.duration_ns.unwrap_or(0));
        all.push(TransitionOverview {
            kind: TransitionKind::Suspend,
            variant: match sleep.kind {
                PowerTransitionKind::Unknown => "",
                kind => kind.as_str(),
            },
            duration_ns: sleep.work_ns,
            at_least_ns: sleep.work_ns.unwrap_or_else(|| halves.iter().sum()),
            phases: sleep.phases,
            settling: Some(sleep.post_resume),
        });
    }
    if let Ok(report) = shutdown::analyse(trace, &ShutdownOptions::default()) {
        all.push(TransitionOverview {
            kind: TransitionKind::Shutdown,
            variant: report.kind.as_str(),
            duration_ns: report.total_ns,
            at_least_ns: report.total_at_least_ns,
            phases: report.phases,
            settling: None,
        });
    }
    all
}

fn of_linux(trace: &Trace) -> Vec<TransitionOverview> {
    let mut all = Vec::new();
    if let Ok(report) = linux::boot::analyse(trace, &BootOptions::default()) {
        all.push(TransitionOverview {
            kind: TransitionKind::Boot,
            variant: "",
            duration_ns: report.total_ns.or(report.startup_ns),
            at_least_ns: report.total_at_least_ns,
            phases: report.phases,
            settling: Some(report.post_boot),
        });
    }
    let sleeps = linux::suspend::analyse(trace, &SuspendOptions::default()).map(|report| report.sleeps);
    for sleep in sleeps.unwrap_or_default() {
        let halves = [&sleep.suspend, &sleep.resume].map(|half| half.duration_ns.unwrap_or(0));
        all.push(TransitionOverview {
            kind: TransitionKind::Suspend,
            // What was given up did not sleep, whatever was requested.
            variant: match sleep.outcome {
                SleepOutcome::GivenUp => "given_up",
                _ => sleep.state.as_str(),
            },
            duration_ns: sleep.work_ns,
            at_least_ns: sleep.work_ns.unwrap_or_else(|| halves.iter().sum()),
            phases: sleep.phases,
            settling: Some(sleep.post_resume),
        });
    }
    if let Ok(report) = linux::shutdown::analyse(trace) {
        all.push(TransitionOverview {
            kind: TransitionKind::Shutdown,
            variant: report.kind.as_str(),
            duration_ns: report.total_ns,
            at_least_ns: report.total_at_least_ns,
            phases: report.phases,
            settling: None,
        });
    }
    all
}
