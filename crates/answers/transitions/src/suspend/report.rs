//! The result of the suspend analysis. Its serialized names are the documented contract of `suspend --format json`.

use super::kind_evidence::KindEvidence;
use crate::{Half, Phase, PhaseName};
use crate::{Transition, Transitions};
use onoff_trace::{NotificationKind, PowerRequestKind, PowerStateKind};
use serde::Serialize;
use thiserror::Error;

use onoff_evidence::notified::Notified;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, Span};
use onoff_usage::device_work::DeviceWork;
use onoff_usage::idle::IdleMetric;
use onoff_usage::units::TimeOut;

/// What a caller can choose.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspendOptions {
    /// Number of the only transition to analyze; all of them when `None`.
    pub transition: Option<u32>,
    /// How the end of PostResume is found.
    pub idle: IdleMetric,
    /// Image name of the user's shell, compared without case: it ends a fast startup.
    pub shell: String,
}

impl Default for SuspendOptions {
    fn default() -> Self {
        Self { transition: None, idle: IdleMetric::XPERF, shell: "explorer.exe".to_owned() }
    }
}

/// The sleeps of a recording of Windows.
pub type SuspendReport = Transitions<WindowsSuspend>;

/// A sleep of Windows: both halves, and the time asleep between.
pub type PowerTransition = Transition<WindowsSuspend>;

/// What only a sleep of Windows has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsSuspend {
    /// The rule that decided the kind.
    pub variant_rule: Rule,
    /// How certain the kind is.
    pub variant_certainty: Certainty,
    /// Everything recorded that speaks about the kind.
    pub evidence: Vec<KindEvidence>,
    /// Requested state: 2 to 4 sleeping (S1 to S3), 5 hibernate (S4), 6 off (S5).
    pub target_state: Option<i64>,
    /// State that devices were prepared for, counted likewise.
    pub effective_state: Option<i64>,
    /// State it woke from, counted likewise.
    pub woke_from_state: Option<i64>,
    /// Reason as recorded.
    pub reason: Option<u32>,
    /// Result status as recorded with the end; 0 is success.
    pub status: Option<u32>,
    /// What woke it, as recorded; empty when not recorded.
    pub wake_source: String,
    /// The way down.
    pub suspend: PowerTotal,
    /// Between the halves.
    pub asleep: SleepGap,
    /// The way up.
    pub resume: PowerTotal,
    /// Applications and services that were notified, by start.
    pub notifications: Vec<PowerNotification>,
    /// Devices that were asked, by start; what a device then asked of itself is under it.
    pub devices: Vec<PowerDevice>,
    /// Drivers by phase, the longest time first.
    pub drivers: Vec<PowerDriverTotal>,
    /// The parts of a resume from a memory image; `None` when they were not recorded.
    pub resume_parts: Option<ResumeParts>,
    /// Modern standby; `None` for other kinds.
    pub standby: Option<StandbyFigures>,
    /// Firmware's own account of sleeping.
    pub firmware: FirmwareSleep,
    /// The kernel's own account, as recorded.
    pub kernel_account: Vec<KernelFigure>,
    /// Size of the file of the memory image, bytes.
    pub hibernate_file_bytes: Option<i64>,
    /// Pages in the memory image.
    pub hibernate_pages: Option<i64>,
    /// What a better answer would have needed, each once.
    pub missing: Vec<Rule>,
}

impl WindowsSuspend {
    /// Whether a phase is part of what the transition took: what the kernel counts as critical overlaps the others, the work after is
    /// nobody's wait, and a half that the recording lacks is another recording's.
    #[must_use]
    pub fn counts(&self, phase: &Phase) -> bool {
        match phase.half {
            Some(Half::Suspend) => self.suspend.is_recorded(),
            Some(Half::Resume) => phase.name != PhaseName::ResumeCritical && self.resume.is_recorded(),
            Some(Half::After) => matches!(phase.name, PhaseName::WinLogonInit | PhaseName::ExplorerInit),
            _ => false,
        }
    }
}

/// A half of a transition: by the events, and by the kernel's own account.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerTotal {
    /// As the events measure it.
    pub measured: Span,
    /// As the kernel counted it, ns; to the millisecond.
    pub kernel_ns: Option<i64>,
    /// The record of that; empty when none.
    pub kernel_event: String,
    /// What the events measure beyond the kernel's count, ns; negative when the kernel counted more.
    pub difference_ns: Option<i64>,
    /// What no event of this half spans and the kernel counted, ns: on the way down writing the memory image, on the way up firmware, boot
    /// manager, loader and reading the image. `None` when a memory image was written or read and nothing says how long that took.
    pub unrecorded_ns: Option<i64>,
    /// All of this half, ns: `unrecorded_ns`, and what the events measure; the way up of a fast startup reaches to the new session's
    /// desktop. Without the time in which a person was waited for. `None` when a part is not known.
    pub whole_ns: Option<i64>,
    /// A lower bound of `whole_ns`, ns: the parts that are known.
    pub at_least_ns: i64,
}

impl PowerTotal {
    /// Whether any of this half was recorded.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.measured.start_ns.is_some() || self.measured.end_ns.is_some()
    }

    /// All of this half by the kernel's own account alone, ns; for a half of which no event was recorded.
    #[must_use]
    pub fn by_kernel_ns(&self) -> Option<i64> {
        self.kernel_ns.map(|ns| ns.saturating_add(self.unrecorded_ns.unwrap_or(0)))
    }
}

/// The sleep, and how the clock of the recording got over it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepGap {
    /// The sleep on the recording's axis: from the last record before it to the first after it, less what of the halves no event spans where
    /// the recording's clock went on in it.
    pub measured: Span,
    /// How long it was by the clock of the wall, ns: all of the transition less both halves, with what of them no event spans. `None` when
    /// no clock tells, or the clocks contradict each other.
    pub wall_ns: Option<i64>,
    /// How certain that is.
    pub wall_certainty: Certainty,
    /// The rule that set it.
    pub wall_rule: Rule,
    /// How much of it the recording's clock missed, ns; around zero when it went on.
    pub clock_missed_ns: Option<i64>,
    /// Real begin of the transition, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Real end of the transition, ns since 1970-01-01 UTC.
    pub end_unix_ns: Option<i64>,
    /// By how much the system's clock was set during the transition, ns; `None` when it was not.
    pub clock_set_ns: Option<i64>,
}

/// An application or a service is notified of a sleep or a resume.
pub type PowerNotification = Notified<SleepNotice>;

/// What only a notification of a sleep or a resume has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepNotice {
    /// What it is notified of.
    pub kind: NotificationKind,
    /// The phase.
    pub phase: PhaseName,
    /// Whether records of this kind have an end at all: those of a resume have none.
    pub has_end: bool,
    /// The time-out it ran into; `None` when it answered.
    pub time_out: Option<TimeOut>,
}

/// A device is requested to enter another power state.
pub type PowerDevice = DeviceWork<StateRequest>;

/// What only a request for another power state has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateRequest {
    /// The phase in which it was asked; `None` between phases.
    pub phase: Option<PhaseName>,
    /// What was asked.
    pub kind: PowerRequestKind,
    /// Whose states `state` counts.
    pub state_kind: PowerStateKind,
    /// Requested state.
    pub state: Option<u8>,
    /// When the power manager had nothing left to do but wait for it, ns.
    pub waiting_ns: Option<i64>,
    /// Time of its phase in which no other device was under way, ns: what it cost the phase alone.
    pub alone_ns: Option<i64>,
    /// Whether it ended last of its phase's devices, and so ended the phase.
    pub ends_phase: bool,
    /// Result status.
    pub status: Option<u32>,
    /// Driver that failed the request; empty for none.
    pub failed_driver: String,
    /// Request packet, in hexadecimal.
    pub irp: String,
    /// Thread that sent it.
    pub tid: Option<u32>,
    /// What each driver of the device's stack held, by start.
    pub drivers: Vec<PowerDriverPart>,
    /// Requests that the device's own drivers sent to it meanwhile, by start.
    pub nested: Vec<PowerDevice>,
}

/// A driver's part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDriverPart {
    /// Driver.
    pub driver: String,
    /// Entered, ns.
    pub start_ns: i64,
    /// Left, ns.
    pub end_ns: Option<i64>,
    /// Length, ns.
    pub duration_ns: Option<i64>,
}

/// A driver's work in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDriverTotal {
    /// The phase.
    pub phase: PhaseName,
    /// Driver.
    pub driver: String,
    /// Requests or parts of them.
    pub requests: u64,
    /// Their lengths added up, ns.
    pub total_ns: i64,
    /// The longest, ns.
    pub longest_ns: i64,
    /// Whether it is the driver's own part of requests; else it is whole requests to devices of which it is the
    /// function driver.
    pub own_part: bool,
}

/// The parts of a resume from a memory image, as the kernel recorded them, to the millisecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeParts {
    /// Firmware, ns.
    pub firmware_ns: Option<i64>,
    /// Boot manager, ns.
    pub boot_manager_ns: Option<i64>,
    /// Resume loader, with its share of reading, ns.
    pub loader_ns: Option<i64>,
    /// Of that, reading, ns.
    pub loader_read_ns: Option<i64>,
    /// Time a person took at the resume loader, ns.
    pub user_input_ns: Option<i64>,
    /// Reading by the kernel, ns.
    pub kernel_read_ns: Option<i64>,
    /// Devices, ns.
    pub devices_ns: Option<i64>,
    /// The sum of firmware, boot manager, loader, kernel's reading and devices, ns, which fleet tools call the time of a
    /// fast boot; `None` when one of them is missing.
    pub total_ns: Option<i64>,
    /// The system's own account of a fast startup: main path, ns.
    pub main_path_ns: Option<i64>,
    /// The record.
    pub event: String,
}

/// Modern standby, by the kernel's account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StandbyFigures {
    /// Why it was entered, as recorded.
    pub enter_reason: Option<i64>,
    /// Why it was left, as recorded.
    pub exit_reason: Option<i64>,
    /// How long it was, ns.
    pub total_ns: Option<i64>,
    /// Of that, in the deepest idle state, ns.
    pub deepest_ns: Option<i64>,
    /// Of that, in the deepest idle state as the hardware counted it, ns.
    pub hardware_ns: Option<i64>,
    /// Leaving it, ns.
    pub exit_ns: Option<i64>,
}

/// Firmware's own account of sleeping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSleep {
    /// Suspend, ns.
    pub suspend_ns: Option<i64>,
    /// The last resume, ns.
    pub resume_ns: Option<i64>,
    /// Resumes on average, ns.
    pub average_resume_ns: Option<i64>,
}

/// A figure of the kernel's own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelFigure {
    /// What it counts.
    pub name: &'static str,
    /// Length, ns; to the millisecond.
    pub duration_ns: i64,
    /// When it was recorded, ns.
    pub time_ns: i64,
    /// The record.
    pub event: String,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoSuspend {
    /// The recording holds no power transition.
    #[error(
        "the recording holds no sleep, hibernation, modern standby or fast startup (no such record of the kernel's \
         power manager); {0}"
    )]
    None(String),
    /// The recording, of Linux, holds no sleep.
    #[error(
        "the recording holds no suspend and no hibernation (no such event of the tracer or line of the kernel's log); {0}"
    )]
    NoneOnLinux(String),
    /// It holds others than the requested one.
    #[error("the recording holds {found}, so there is no transition {number}")]
    NoSuch {
        /// The requested number.
        number: u32,
        /// What there is, as a phrase.
        found: String,
    },
}
