//! A transition, common to all systems and sources.

use onoff_trace::{Losses, SystemKind};
use serde::Serialize;

use super::{Phase, PhaseName, TransitionKind};
use crate::boot::WindowsBoot;
use crate::linux::boot::LinuxBoot;
use crate::linux::shutdown::LinuxShutdown;
use crate::linux::suspend::LinuxSuspend;
use crate::shutdown::WindowsShutdown;
use crate::suspend::{UserAbsence, WindowsSuspend};
use onoff_evidence::account_model::{Culprit, FixFirst};
use onoff_evidence::missing_evidence::MissingEvidence;
use onoff_evidence::significance::min_cause_ns;
use onoff_evidence::{Certainty, DerivedInterval};
use onoff_usage::idle::Settling;
use onoff_usage::units::Unit;

/// The variant of a transition, in the terms of its system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// A boot from power-off with full initialization.
    Cold,
    /// A resume from hibernation, recorded as a boot.
    Resume,
    /// Windows fast startup: the user session ends or begins; the kernel session is written to or read from a file.
    FastStartup,
    PowerOff,
    /// The computer reboots.
    Restart,
    /// Linux: the system stops and the computer stays on.
    Halt,
    /// Linux: another kernel starts directly.
    Kexec,
    /// Windows: only a user session ends.
    Logoff,
    /// Memory stays powered: S1 to S3 on Windows, suspend-to-RAM (S3, `mem`) on Linux.
    Sleep,
    /// Memory is written to disk and the computer powers off (S4).
    Hibernate,
    /// Windows: memory is written to disk and also stays powered.
    HybridSleep,
    /// Windows: the computer stays on in its deepest idle state (S0).
    ModernStandby,
    /// Linux: processes are frozen, devices suspended and CPUs in their deepest idle state (S0ix, `freeze`).
    SuspendToIdle,
    /// Linux: standby (S1, `standby`).
    Standby,
    /// Not recorded.
    #[default]
    Unknown,
}

impl Variant {
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

/// A transition. `details` has the fields that are specific to its system and kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TransitionOf{D}"))]
pub struct Transition<D = Details> {
    pub system: SystemKind,
    pub kind: TransitionKind,
    pub variant: Variant,
    /// Number among the transitions of its kind in the recording, from 1 (the value for `--transition`).
    pub number: u32,
    /// Start, ns. Boot: kernel start (Linux: firmware start, if known). Shutdown: the request. Suspend: the decision to
    /// suspend. `None` if no rule matched.
    pub start_ns: Option<i64>,
    /// End, ns. Boot: the computer is idle. Shutdown: the last kernel step. Suspend: end of the resume. `None` if not
    /// recorded.
    pub end_ns: Option<i64>,
    /// Duration, ns, without required idle time (boot), time asleep, and time spent waiting for user input. `None` if
    /// an end is unknown.
    pub total_ns: Option<i64>,
    /// Lower bound of the duration, ns: the total if known, otherwise the recorded part.
    pub total_at_least_ns: i64,
    /// Certainty of the total, or of the lower bound if there is no total.
    pub total_certainty: Certainty,
    /// Time spent waiting for user input, ns: at logon and at the resume loader. No total includes it.
    pub user_input_ns: i64,
    /// The phases, in order. Boots and shutdowns include phases that no rule found, without times.
    pub phases: Vec<Phase>,
    /// Services or units that started or stopped, ordered by start; empty for suspends.
    pub units: Vec<Unit>,
    /// How long the computer took to become idle after a boot or resume; `None` for shutdowns.
    pub settling: Option<Settling>,
    /// Names of the losses that can affect its phases.
    pub affecting_losses: Vec<String>,
    /// Evidence that the recording does not contain, and how to record it.
    pub missing_evidence: MissingEvidence,
    /// All losses of the recording.
    pub losses: Losses,
    /// The subjects that made it slow, longest first, from the accounts of its phases; may be empty.
    pub culprits: Vec<Culprit>,
    /// What to fix first, as reported by `diagnose`; `None` without findings.
    pub fix_first: Option<FixFirst>,
    /// Fields specific to this kind and system.
    #[serde(flatten)]
    pub details: D,
}

impl<D> Transition<D> {
    /// The first phase with this name.
    #[must_use]
    pub fn phase(&self, name: PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// The idle detection after a boot or resume; `None` if the computer did not become idle.
    #[must_use]
    pub fn settled(&self) -> Option<&Settling> {
        self.settling.as_ref().filter(|settling| settling.end_ns.is_some())
    }

    /// The start, ns; 0 if unknown.
    #[must_use]
    pub fn start_or_zero_ns(&self) -> i64 {
        self.start_ns.unwrap_or(0)
    }

    /// The culprit that [`Self::fix_first`] is about, or `None` if it is about something else.
    #[must_use]
    pub fn first_culprit(&self) -> Option<&Culprit> {
        let fix = self.fix_first.as_ref()?;
        self.culprits.iter().find(|culprit| culprit.is_about(fix))
    }

    /// Minimum time of a cause in this transition, ns.
    #[must_use]
    pub const fn min_cause_ns(&self) -> i64 {
        min_cause_ns(self.total_at_least_ns)
    }

    /// Recorded work after the desktop or resume until the computer was idle, ns; `None` if idle detection did not
    /// start.
    #[must_use]
    pub fn work_after_ns(&self) -> Option<i64> {
        self.settling.as_ref().filter(|settling| settling.start_ns.is_some()).map(|settling| settling.busy_ns)
    }

    /// Replaces the details.
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
            user_input_ns: common.user_input_ns,
            phases: common.phases,
            units: common.units,
            settling: common.settling,
            affecting_losses: common.affecting_losses,
            missing_evidence: common.missing_evidence,
            losses: common.losses,
            culprits: common.culprits,
            fix_first: common.fix_first,
        }
    }

    /// Separates the common fields from the details.
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
            user_input_ns: self.user_input_ns,
            phases: self.phases,
            units: self.units,
            settling: self.settling,
            affecting_losses: self.affecting_losses,
            missing_evidence: self.missing_evidence,
            losses: self.losses,
            culprits: self.culprits,
            fix_first: self.fix_first,
            details: (),
        };
        (common, self.details)
    }
}

/// Returns the duration of suspend plus resume, its lower bound, and its certainty; times in ns.
pub(crate) fn total_of_halves(suspend: &DerivedInterval, resume: &DerivedInterval) -> (Option<i64>, i64, Certainty) {
    let total_ns =
        suspend.duration_ns.zip(resume.duration_ns).map(|(suspend_ns, resume_ns)| suspend_ns.saturating_add(resume_ns));
    let known_ns = |half: &DerivedInterval| half.duration_ns.unwrap_or(0);
    let at_least_ns = total_ns.unwrap_or_else(|| known_ns(suspend).saturating_add(known_ns(resume)));
    let certainty = match total_ns {
        Some(_) => suspend.certainty.and(resume.certainty),
        None => Certainty::Missing,
    };
    (total_ns, at_least_ns, certainty)
}

/// Returns the names of the losses that can affect any of `phases` except `TraceTail`, without duplicates.
pub(crate) fn losses_affecting(phases: &[Phase]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let phases = phases.iter().filter(|phase| phase.name != PhaseName::TraceTail);
    for name in phases.flat_map(|phase| &phase.affecting_losses) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

impl Transition {
    /// Duration, ns. For a Linux boot that did not become idle in the recording: until all start jobs were done.
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        match &self.details {
            Details::LinuxBoot(boot) => self.total_ns.or(boot.startup_ns),
            _ => self.total_ns,
        }
    }
}

/// The transitions of one kind in a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TransitionsOf{D}"))]
pub struct Transitions<D = Details> {
    /// Number of transitions in the recording.
    pub found: u32,
    /// The selected transitions, ordered by start; at least one, except in a report with intervals without a user.
    pub transitions: Vec<Transition<D>>,
    /// Intervals in which no user was present, ordered by start. Only system sleep diagnostics of Windows have them.
    pub absences: Vec<UserAbsence>,
}

impl<D> Transitions<D> {
    /// Missing evidence, the same for all transitions.
    #[must_use]
    pub fn missing_evidence(&self) -> Option<&MissingEvidence> {
        self.transitions.first().map(|transition| &transition.missing_evidence)
    }

    /// All losses, the same for all transitions.
    #[must_use]
    pub fn losses(&self) -> Option<&Losses> {
        self.transitions.first().map(|transition| &transition.losses)
    }
}

macro_rules! details {
    ($($(#[$comment:meta])* $name:ident,)*) => {
        /// Fields specific to one kind and system.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum Details {
            $($(#[$comment])* $name(Box<$name>),)*
        }

        /// A transition with typed details.
        #[derive(Clone, Debug, PartialEq)]
        pub enum TypedTransition {
            $($(#[$comment])* $name(Box<Transition<$name>>),)*
        }

        impl From<Transition> for TypedTransition {
            fn from(transition: Transition) -> Self {
                let (common, details) = transition.split();
                match details {
                    $(Details::$name(details) => Self::$name(Box::new(common.map(|()| *details))),)*
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
    /// A Windows boot.
    WindowsBoot,
    /// A Linux boot.
    LinuxBoot,
    /// A Windows shutdown.
    WindowsShutdown,
    /// A Linux shutdown.
    LinuxShutdown,
    /// A Windows suspend and resume.
    WindowsSuspend,
    /// A Linux suspend and resume.
    LinuxSuspend,
}
