//! One transition, whatever system it is of and whatever recorded it.

use onoff_trace::{Losses, SystemKind};
use serde::Serialize;

use super::{Phase, PhaseName, TransitionKind};
use crate::boot::WindowsBoot;
use crate::linux::boot::LinuxBoot;
use crate::linux::shutdown::LinuxShutdown;
use crate::linux::suspend::LinuxSuspend;
use crate::shutdown::WindowsShutdown;
use crate::suspend::WindowsSuspend;
use onoff_evidence::account_model::{Culprit, FixFirst};
use onoff_evidence::missing_evidence::Lacking;
use onoff_evidence::{Certainty, Span};
use onoff_usage::idle::Settling;
use onoff_usage::units::Unit;

/// Which transition of its kind, in the words of its system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// A boot from power-off, everything initialized.
    Cold,
    /// A resume from hibernation, recorded as a boot.
    Resume,
    /// Fast startup of Windows: the user's session ends or begins, the kernel's goes to a file or comes from it.
    FastStartup,
    /// The computer is turned off.
    PowerOff,
    /// The computer starts again.
    Restart,
    /// Linux: the computer stops and stays on.
    Halt,
    /// Linux: another kernel is started at once.
    Kexec,
    /// Windows: only a user's session ends.
    Logoff,
    /// Memory stays powered: S1 to S3 of Windows, suspend to memory (S3, `mem`) of Linux.
    Sleep,
    /// Memory goes to a file, the computer off (S4).
    Hibernate,
    /// Windows: memory goes to a file and stays powered as well.
    HybridSleep,
    /// Windows: the computer stays on in its deepest idle state (S0).
    ModernStandby,
    /// Linux: processes frozen, devices asleep, processors in their deepest idle state (S0ix, `freeze`).
    SuspendToIdle,
    /// Linux: standby (S1, `standby`).
    Standby,
    /// The recording cannot tell.
    #[default]
    Unknown,
}

impl Variant {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Resume => "resume",
            Self::FastStartup => "fast_startup",
            Self::PowerOff => "power_off",
            Self::Restart => "restart",
            Self::Halt => "halt",
            Self::Kexec => "kexec",
            Self::Logoff => "logoff",
            Self::Sleep => "sleep",
            Self::Hibernate => "hibernate",
            Self::HybridSleep => "hybrid_sleep",
            Self::ModernStandby => "modern_standby",
            Self::SuspendToIdle => "suspend_to_idle",
            Self::Standby => "standby",
            Self::Unknown => "unknown",
        }
    }
}

/// A transition of a computer: what every one has, and in `details` what only its system and kind have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TransitionOf{D}"))]
pub struct Transition<D = Details> {
    /// Which system the computer has.
    pub system: SystemKind,
    /// Which kind of transition.
    pub kind: TransitionKind,
    /// Which of its kind.
    pub variant: Variant,
    /// Its number among those of its kind in the recording, from 1: what `--transition` takes.
    pub number: u32,
    /// Start, ns: of a boot the kernel's start (of Linux the firmware's, where it is known), of a shutdown the request, of a sleep the
    /// decision. `None` when no rule found it.
    pub start_ns: Option<i64>,
    /// End, ns: of a boot when the computer had settled, of a shutdown the kernel's last step, of a sleep the end of the resume. `None`
    /// when it is not in the recording.
    pub end_ns: Option<i64>,
    /// What it took, ns: without the idle time that ends a boot, without the time asleep, and without the time in which a person was
    /// waited for. `None` when an end is not known.
    pub total_ns: Option<i64>,
    /// A lower bound of it, ns: the total itself when known, else what is recorded of it.
    pub total_at_least_ns: i64,
    /// How certain the total is; what the lower bound rests on when there is no total.
    pub total_certainty: Certainty,
    /// Time in which the computer waited for a person, ns: to log on, and at the loader that a resume counts from. It is in no total.
    pub person_ns: i64,
    /// The phases, in order; of boots and shutdowns also those that no rule found, without times.
    pub phases: Vec<Phase>,
    /// Services or units that started or stopped in it, by start; none for sleeps.
    pub units: Vec<Unit>,
    /// How long the computer took to settle after a boot or a resume; `None` for shutdowns.
    pub settling: Option<Settling>,
    /// Names of the losses that touch its phases.
    pub touched_by: Vec<String>,
    /// What the recording lacked for a full answer, and what to record next time.
    pub lacking: Lacking,
    /// Everything that was lost of the recording.
    pub losses: Losses,
    /// Who made it slow, by the account of its phases, who took longest first; empty where nobody did, or no account was made.
    pub culprits: Vec<Culprit>,
    /// What to change first, as `diagnose` reports it; `None` where no finding has a cost.
    pub fix_first: Option<FixFirst>,
    /// What only transitions of this kind and system have.
    #[serde(flatten)]
    pub details: D,
}

impl<D> Transition<D> {
    /// The first phase of that name.
    #[must_use]
    pub fn phase(&self, name: PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// The search for the end of a boot or of the work after a resume, where it found one.
    #[must_use]
    pub fn settled(&self) -> Option<&Settling> {
        self.settling.as_ref().filter(|settling| settling.end_ns.is_some())
    }

    /// The start, ns; that of the recording when no rule found it.
    #[must_use]
    pub fn start_or_zero_ns(&self) -> i64 {
        self.start_ns.unwrap_or(0)
    }

    /// The culprit that [`Self::fix_first`] is about; the first one where there is no such finding, `None` where it is about something
    /// else.
    #[must_use]
    pub fn first_culprit(&self) -> Option<&Culprit> {
        let Some(fix) = &self.fix_first else { return self.culprits.first() };
        let is_about = |culprit: &&Culprit| {
            culprit.entry.name == fix.name
                && fix.phase.as_deref() == Some(culprit.phase.as_str())
                && culprit.entry.ns == fix.cost_ns
        };
        self.culprits.iter().find(is_about)
    }

    /// The work after a boot's desktop or a resume, as far as it was recorded, ns; `None` where the search for its end did not begin.
    #[must_use]
    pub fn work_after_ns(&self) -> Option<i64> {
        self.settling.as_ref().filter(|settling| settling.start_ns.is_some()).map(|settling| settling.busy_ns)
    }

    /// The same with other details.
    #[must_use]
    pub fn map<E>(self, change: impl FnOnce(D) -> E) -> Transition<E> {
        let (common, details) = self.split();
        Transition {
            details: change(details),
            system: common.system,
            kind: common.kind,
            variant: common.variant,
            number: common.number,
            start_ns: common.start_ns,
            end_ns: common.end_ns,
            total_ns: common.total_ns,
            total_at_least_ns: common.total_at_least_ns,
            total_certainty: common.total_certainty,
            person_ns: common.person_ns,
            phases: common.phases,
            units: common.units,
            settling: common.settling,
            touched_by: common.touched_by,
            lacking: common.lacking,
            losses: common.losses,
            culprits: common.culprits,
            fix_first: common.fix_first,
        }
    }

    /// What every transition has, and the details.
    fn split(self) -> (Transition<()>, D) {
        let common = Transition {
            system: self.system,
            kind: self.kind,
            variant: self.variant,
            number: self.number,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            total_ns: self.total_ns,
            total_at_least_ns: self.total_at_least_ns,
            total_certainty: self.total_certainty,
            person_ns: self.person_ns,
            phases: self.phases,
            units: self.units,
            settling: self.settling,
            touched_by: self.touched_by,
            lacking: self.lacking,
            losses: self.losses,
            culprits: self.culprits,
            fix_first: self.fix_first,
            details: (),
        };
        (common, self.details)
    }
}

/// What both halves of a sleep took: the total, its lower bound, and how certain the total is.
pub(crate) fn total_of_halves(suspend: &Span, resume: &Span) -> (Option<i64>, i64, Certainty) {
    let total_ns = suspend.duration_ns.zip(resume.duration_ns).map(|(down, up)| down.saturating_add(up));
    let known = |half: &Span| half.duration_ns.unwrap_or(0);
    let at_least_ns = total_ns.unwrap_or_else(|| known(suspend).saturating_add(known(resume)));
    let certainty = match total_ns {
        Some(_) => suspend.certainty.and(resume.certainty),
        None => Certainty::Missing,
    };
    (total_ns, at_least_ns, certainty)
}

/// Names of the losses that touch any of `phases` but the rest of the recording, each once.
pub(crate) fn losses_touching(phases: &[Phase]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let phases = phases.iter().filter(|phase| phase.name != PhaseName::TraceTail);
    for name in phases.flat_map(|phase| &phase.touched_by) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

impl Transition {
    /// How long it took, ns; of a boot of Linux that did not settle in the recording, until every job of the start was done.
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        match &self.details {
            Details::LinuxBoot(boot) => self.total_ns.or(boot.startup_ns),
            _ => self.total_ns,
        }
    }
}

/// Transitions of one kind that a recording holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TransitionsOf{D}"))]
pub struct Transitions<D = Details> {
    /// How many the recording holds.
    pub found: u32,
    /// Those that were chosen, by start; at least one.
    pub transitions: Vec<Transition<D>>,
}

impl<D> Transitions<D> {
    /// What the recording lacked; the same for all of them.
    #[must_use]
    pub fn lacking(&self) -> Option<&Lacking> {
        self.transitions.first().map(|transition| &transition.lacking)
    }

    /// Everything that was lost; the same for all of them.
    #[must_use]
    pub fn losses(&self) -> Option<&Losses> {
        self.transitions.first().map(|transition| &transition.losses)
    }
}

macro_rules! details {
    ($($(#[$comment:meta])* $name:ident,)*) => {
        /// What only transitions of one kind and system have.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum Details {
            $($(#[$comment])* $name(Box<$name>),)*
        }

        /// A transition with the details of its kind and system, for what only one of them has.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TypedTransition {
            $($(#[$comment])* $name(Box<Transition<$name>>),)*
        }

        impl From<Transition> for TypedTransition {
            fn from(transition: Transition) -> Self {
                let (common, details) = transition.split();
                match details {
                    $(Details::$name(own) => Self::$name(Box::new(common.map(|()| *own))),)*
                }
            }
        }

        $(impl From<$name> for Details {
            fn from(details: $name) -> Self {
                Self::$name(Box::new(details))
            }
        })*
    };
}

details! {
    /// A boot of Windows.
    WindowsBoot,
    /// A boot of Linux.
    LinuxBoot,
    /// A shutdown of Windows.
    WindowsShutdown,
    /// A shutdown of Linux.
    LinuxShutdown,
    /// A sleep of Windows.
    WindowsSuspend,
    /// A sleep of Linux.
    LinuxSuspend,
}
