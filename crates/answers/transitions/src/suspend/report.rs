//! Result of the suspend analysis. The serialized names are the documented interface of `suspend --format json`.

use super::kind_evidence::KindEvidence;
use crate::{Phase, PhaseName, SuspendStage};
use crate::{Transition, Transitions};
use onoff_trace::{LowPowerBlockerKind, NotificationKind, PowerRequestKind, PowerSource, PowerStateKind};
use serde::Serialize;
use thiserror::Error;

use onoff_evidence::notified::Notification;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};
use onoff_usage::device_work::DeviceWork;
use onoff_usage::idle::IdleMetric;
use onoff_usage::units::TimeOut;

/// Options of the suspend analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspendOptions {
    /// Number of the transition to analyze; `None` for all.
    pub transition: Option<u32>,
    /// How to decide that the computer is idle.
    pub idle: IdleMetric,
    /// Image name of the user's shell, case-insensitive; it ends a fast startup.
    pub shell: String,
}

impl Default for SuspendOptions {
    fn default() -> Self {
        Self { transition: None, idle: IdleMetric::XPERF, shell: "explorer.exe".to_owned() }
    }
}

/// The suspends in a Windows recording.
pub type SuspendReport = Transitions<WindowsSuspend>;

/// A Windows suspend and resume, with the time asleep.
pub type PowerTransition = Transition<WindowsSuspend>;

/// Fields specific to a Windows suspend.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsSuspend {
    /// The rule that set the variant.
    pub variant_rule: Rule,
    pub variant_certainty: Certainty,
    /// All recorded evidence about the variant.
    pub evidence: Vec<KindEvidence>,
    /// Requested state: 2 to 4 sleep (S1 to S3), 5 hibernation (S4), 6 off (S5).
    pub target_state: Option<i64>,
    /// State that devices were prepared for, with the same values.
    pub effective_state: Option<i64>,
    /// State that the computer woke from, with the same values.
    pub woke_from_state: Option<i64>,
    /// Reason, as recorded.
    pub reason: Option<u32>,
    /// Result status, as recorded at the end; 0 is success.
    pub status: Option<u32>,
    /// What woke the computer, as recorded; empty if not recorded.
    pub wake_source: String,
    pub suspend: PowerTotal,
    pub asleep: SleepGap,
    pub resume: PowerTotal,
    /// Notified applications and services, ordered by start.
    pub notifications: Vec<PowerNotification>,
    /// Power requests to devices, ordered by start; requests that a device's drivers send to themselves are nested.
    pub devices: Vec<PowerDevice>,
    /// Driver totals by phase, longest first.
    pub drivers: Vec<PowerDriverTotal>,
    /// The parts of a resume from a memory image; `None` if not recorded.
    pub resume_parts: Option<ResumeParts>,
    /// Modern standby; `None` for other kinds.
    pub standby: Option<StandbyFigures>,
    /// Why the computer went to sleep, in the words of Windows; empty if not recorded. Only power reports have it.
    pub enter_reason: String,
    /// Why the computer woke, in the words of Windows; empty if not recorded. Only power reports have it.
    pub exit_reason: String,
    /// Energy used or charged during the sleep; `None` if not recorded. Only power reports have it.
    pub energy: Option<SleepEnergy>,
    /// What kept the computer out of its low-power state, longest first. Only power reports have it.
    pub blockers: Vec<LowPowerBlocker>,
    /// Sleep times reported by the firmware.
    pub firmware: FirmwareSleep,
    /// The kernel's own times, as recorded.
    pub kernel_account: Vec<KernelFigure>,
    /// Size of the hibernation file, bytes.
    pub hibernate_file_bytes: Option<i64>,
    /// Pages in the memory image.
    pub hibernate_pages: Option<i64>,
    /// Preferred rules that did not match, without duplicates.
    pub unmatched_rules: Vec<Rule>,
}

impl WindowsSuspend {
    /// Whether a phase counts toward the duration of the transition. `ResumeCritical` overlaps other phases, work after
    /// the resume does not delay it, and a half that was not recorded belongs to another recording.
    #[must_use]
    pub fn counts_toward_duration(&self, phase: &Phase) -> bool {
        match phase.half {
            Some(SuspendStage::Suspend) => self.suspend.is_recorded(),
            Some(SuspendStage::Resume) => phase.name != PhaseName::ResumeCritical && self.resume.is_recorded(),
            Some(SuspendStage::After) => matches!(phase.name, PhaseName::WinLogonInit | PhaseName::ExplorerInit),
            _ => false,
        }
    }
}

/// A half of a transition, measured by events and by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerTotal {
    /// As measured by events.
    pub measured: DerivedInterval,
    /// As measured by the kernel, ns; to the millisecond.
    pub kernel_ns: Option<i64>,
    /// The record with the kernel's time; empty if there is none.
    pub kernel_event: String,
    /// Time measured by events minus time measured by the kernel, ns.
    pub difference_ns: Option<i64>,
    /// Time of this half that is not covered by events but was measured by the kernel, ns. Suspend: writing the memory
    /// image. Resume: firmware, boot manager, loader and reading the image. `None` if an image was written or read but
    /// its time is unknown.
    pub unrecorded_ns: Option<i64>,
    /// Duration of this half, ns: time measured by events plus `unrecorded_ns`, without the time spent waiting for user
    /// input. The resume of a fast startup extends to the desktop of the new session. `None` if a part is unknown.
    pub whole_ns: Option<i64>,
    /// Lower bound of `whole_ns`, ns: the known parts.
    pub at_least_ns: i64,
}

impl PowerTotal {
    /// Whether any part of this half was recorded.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.measured.start_ns.is_some() || self.measured.end_ns.is_some()
    }

    /// Duration of this half by the kernel's own times, ns; for a half without recorded events.
    #[must_use]
    pub fn kernel_duration_ns(&self) -> Option<i64> {
        self.kernel_ns.map(|ns| ns.saturating_add(self.unrecorded_ns.unwrap_or(0)))
    }
}

/// The time asleep, and how far the recording's clock covers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepGap {
    /// The time asleep on the recording's axis: from the last record before to the first record after. If the
    /// recording's clock kept running, without the unrecorded parts of suspend and resume.
    pub measured: DerivedInterval,
    /// The time asleep by the wall clock, ns: the whole transition minus both halves and their unrecorded parts. `None`
    /// if no clock was recorded or clocks contradict each other.
    pub wall_ns: Option<i64>,
    pub wall_certainty: Certainty,
    /// The rule that set `wall_ns`.
    pub wall_rule: Rule,
    /// Part of the time asleep that the recording's clock missed, ns; about zero if it kept running.
    pub clock_missed_ns: Option<i64>,
    /// Wall-clock start of the transition, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Wall-clock end of the transition, ns since 1970-01-01 UTC.
    pub end_unix_ns: Option<i64>,
    /// By how much the system clock was changed during the transition, ns; `None` if it was not.
    pub clock_adjustment_ns: Option<i64>,
}

/// A suspend or resume notification to an application or service.
pub type PowerNotification = Notification<SleepNotice>;

/// Fields specific to a suspend or resume notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepNotice {
    pub kind: NotificationKind,
    pub phase: PhaseName,
    /// Whether records of this kind have an end; resume notifications do not.
    pub has_end: bool,
    /// The exceeded timeout; `None` if the response came in time.
    pub time_out: Option<TimeOut>,
}

/// A request to a device to change its power state.
pub type PowerDevice = DeviceWork<StateRequest>;

/// Fields specific to a power state request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateRequest {
    /// The phase in which it was sent; `None` between phases.
    pub phase: Option<PhaseName>,
    /// The kind of request.
    pub kind: PowerRequestKind,
    /// Whether `state` is a system or a device power state.
    pub state_kind: PowerStateKind,
    /// Requested state.
    pub state: Option<u8>,
    /// When the power manager had nothing left to do but wait for this request, ns.
    pub waiting_ns: Option<i64>,
    /// Time in its phase without any other device request in flight, ns: what it alone cost the phase.
    pub exclusive_ns: Option<i64>,
    /// Whether it was the last device request of its phase to complete.
    pub ends_phase: bool,
    /// Result status.
    pub status: Option<u32>,
    /// The driver that failed the request; empty if none did.
    pub failed_driver: String,
    /// Address of the IRP, hexadecimal.
    pub irp: String,
    /// The thread that sent it.
    pub tid: Option<u32>,
    /// The part of each driver in the device stack, ordered by start.
    pub drivers: Vec<PowerDriverPart>,
    /// Requests that the device's own drivers sent to it during this request, ordered by start.
    pub nested: Vec<PowerDevice>,
}

/// A driver's part of a power request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDriverPart {
    pub driver: String,
    /// When the request entered the driver, ns.
    pub start_ns: i64,
    /// When the request left the driver, ns.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
}

/// A driver's total in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerDriverTotal {
    pub phase: PhaseName,
    pub driver: String,
    /// Number of requests, or of parts of requests.
    pub requests: u64,
    /// Sum of their durations, ns.
    pub total_ns: i64,
    /// Longest duration, ns.
    pub longest_ns: i64,
    /// True: the driver's own part of requests. False: whole requests to devices whose function driver it is.
    pub is_own_part: bool,
}

/// The parts of a resume from a memory image, as recorded by the kernel, to the millisecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeParts {
    pub firmware_ns: Option<i64>,
    pub boot_manager_ns: Option<i64>,
    /// Resume loader, including its part of reading the image, ns.
    pub loader_ns: Option<i64>,
    /// Reading the image in the loader, ns.
    pub loader_read_ns: Option<i64>,
    /// User input at the resume loader, ns.
    pub user_input_ns: Option<i64>,
    /// Reading the image in the kernel, ns.
    pub kernel_read_ns: Option<i64>,
    pub devices_ns: Option<i64>,
    /// Firmware, boot manager, loader, reading by the kernel, and devices, ns: what fleet tools report as the fast
    /// startup time. `None` if a part is missing.
    pub total_ns: Option<i64>,
    /// Main path of a fast startup, as reported by Windows, ns.
    pub main_path_ns: Option<i64>,
    /// The record.
    pub event: String,
}

/// Modern standby, by the kernel's own times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StandbyFigures {
    /// Why it was entered, as recorded.
    pub enter_reason: Option<i64>,
    /// Why it was left, as recorded.
    pub exit_reason: Option<i64>,
    /// Duration, ns.
    pub total_ns: Option<i64>,
    /// Time in the deepest idle state, ns.
    pub deepest_ns: Option<i64>,
    /// Time in the deepest idle state as counted by hardware, ns.
    pub hardware_ns: Option<i64>,
    /// Time to leave modern standby, ns.
    pub exit_ns: Option<i64>,
}

/// Energy used or charged during a sleep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepEnergy {
    /// What powered the computer at the start.
    pub power_source: PowerSource,
    /// Remaining battery capacity at the start, mWh.
    pub start_capacity_mwh: i64,
    /// Remaining battery capacity at the end, mWh.
    pub end_capacity_mwh: i64,
    /// Capacity of the full battery, mWh.
    pub full_capacity_mwh: i64,
    /// Change of the remaining capacity, mWh; negative if energy was used.
    pub change_mwh: i64,
    /// Change in percent of the full capacity; negative if energy was used.
    pub change_percent: f64,
    /// Average power, mW; negative if energy was used. `None` below 10 minutes or if the capacity did not change,
    /// because many batteries report it in steps of 1 %.
    pub rate_mw: Option<f64>,
}

/// What kept the computer out of its low-power state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LowPowerBlocker {
    /// Name of the device, program or component.
    pub name: String,
    pub kind: LowPowerBlockerKind,
    /// Time active during the sleep, ns. Blockers can be active at the same time, so these times do not add up.
    pub active_ns: i64,
    /// `active_ns` in percent of the sleep.
    pub active_percent: f64,
}

/// Sleep times reported by the firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSleep {
    pub suspend_ns: Option<i64>,
    /// Last resume, ns.
    pub resume_ns: Option<i64>,
    /// Average resume, ns.
    pub average_resume_ns: Option<i64>,
}

/// One of the kernel's own times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelFigure {
    /// What was measured.
    pub name: &'static str,
    /// Duration, ns; to the millisecond.
    pub duration_ns: i64,
    /// When it was recorded, ns.
    pub time_ns: i64,
    pub event: String,
}

/// Why there is no suspend report.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoSuspend {
    /// The recording contains no power transition.
    #[error("no sleep, hibernation, modern standby or fast startup in this recording ({0})")]
    None(String),
    /// The Linux recording contains no suspend.
    #[error("no suspend or hibernation in this recording (no matching trace event or kernel log line): {0}")]
    NoneOnLinux(String),
    /// The recording contains transitions, but not the requested one.
    #[error("no transition {number}: this recording has {found}")]
    NoSuch {
        /// The requested number.
        number: u32,
        /// What the recording contains, as a phrase.
        found: String,
    },
}
