//! Result of the Linux boot analysis. The serialized names are the documented interface of `boot --format json`.

use crate::Transition;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_trace::{ClockConversion, Duration, RecordedBoot};
use serde::Serialize;

use crate::boot::FirmwareBeforeKernel;
use crate::boot_axis::BootAxis;
use onoff_evidence::call_graph::CallGraph;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};
pub use onoff_firmware_times::bring_up::{BringUpClock, BringUpStage};
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::devices::{Device, DeviceTotal};
use onoff_usage::processes::{ProcessLifetime, ProcessSummary};
pub use onoff_usage::units::waits::{PasswordPrompt, UntimedUnit};
use onoff_usage::units::{StillStarting, UnitWait};

/// The default target of the boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DefaultTarget {
    /// Unit, e.g. `graphical.target`.
    pub unit: String,
    /// When it was reached, ns.
    pub reached_ns: i64,
    /// Time since the start of user space, ns; `None` if unknown.
    pub in_user_space_ns: Option<i64>,
    /// How it was determined to be the default target.
    pub rule: Rule,
}

/// The start of a container or of a unit of a user's service manager. The boot does not wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherUnit {
    pub name: String,
    /// Owner: the user's service manager (`user@1000.service`), or `container`.
    pub owner: String,
    /// When it began to start, ns.
    pub start_ns: i64,
    /// When it finished starting, ns; `None` if not in the recording.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    pub failed: bool,
}

/// The service manager's work before the first unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManagerStart {
    /// From the start of user space until all units are loaded.
    pub whole: DerivedInterval,
    /// The time in which generators ran.
    pub generators: DerivedInterval,
    /// The time in which units were loaded.
    pub units_load: DerivedInterval,
}

/// A step of the critical path: a unit, its time, and the gap before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitPathStep {
    pub unit: String,
    /// Start, ns.
    pub start_ns: i64,
    /// When it released the next step, ns.
    pub end_ns: i64,
    /// From its start until it released the next step, ns.
    pub duration_ns: i64,
    /// What the unit waited for.
    pub released_by: UnitWait,
    /// CPU usage of the whole machine while it started, percent; `None` without a trace.
    pub busy_percent: Option<f64>,
    /// The processes that used the most CPU while it started; empty without a trace.
    pub busiest: Vec<ProcessCpu>,
    /// CPU usage of the whole machine in the gap before its start, percent; `None` without a trace.
    pub gap_busy_percent: Option<f64>,
    /// The processes that used the most CPU in the gap; empty without a trace.
    pub gap_busiest: Vec<ProcessCpu>,
}

/// The critical path to the default target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitPath {
    /// The steps, ordered by time; the last step is the default target if it was reached. Without recorded dependencies,
    /// inferred from the times of the units.
    pub steps: Vec<UnitPathStep>,
    pub units_ns: i64,
    /// Time between the steps, ns.
    pub gaps_ns: i64,
    /// Certainty of the least certain step.
    pub certainty: Certainty,
    /// Missing records that would make the path more complete.
    pub missing: Vec<MissingRecords>,
}

impl UnitPath {
    /// True if the path follows the declared order of units. Otherwise it was inferred from their times.
    #[must_use]
    pub fn has_declared_order(&self) -> bool {
        !self.missing.contains(&MissingRecords::UnitDependencies)
    }
}

/// A Linux boot. Times are ns of the monotonic clock since kernel start; firmware and loader have negative times.
pub type LinuxBootReport = Transition<LinuxBoot>;

/// How a boot ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinuxBootOutcomeKind {
    /// It finished, or nothing shows that it failed.
    #[default]
    Succeeded,
    /// Units were still starting when the recording ended.
    Unfinished,
    /// The kernel panicked.
    KernelPanic,
    /// The root file system could not be mounted.
    RootNotMounted,
    /// Other file systems that the boot needs could not be mounted.
    LocalFileSystemsFailed,
    /// The initramfs gave up and opened a shell.
    InitramfsShell,
    /// It ended in emergency mode.
    EmergencyMode,
    /// It ended in rescue mode.
    RescueMode,
    /// Nobody could log in: the program that asks for a login failed.
    NoLogin,
    /// The boot stopped while drivers waited for other devices.
    DriversWaiting,
    /// The firmware or the loader gave up before the kernel started.
    LoaderFailed,
}

/// A record that shows how a boot ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeEvidence {
    /// Time, ns; `None` if the log has no times.
    pub time_ns: Option<i64>,
    /// The log line, or what the service manager reported.
    pub text: String,
}

/// A device whose driver still waited for another device when the kernel listed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeferredProbe {
    /// The device, such as `fe340000.mmc`.
    pub device: String,
    /// The device it waits for, or the driver's words; empty if the kernel does not know.
    pub waits_for: String,
}

/// How a boot ended, and what caused it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxBootOutcome {
    pub kind: LinuxBootOutcomeKind,
    /// The unit or device that caused the failure; empty if the boot succeeded or the cause was not recorded.
    pub subject: String,
    /// When it failed, ns; `None` if it succeeded or had not finished.
    pub time_ns: Option<i64>,
    /// Records that show it, ordered by time; empty if the boot succeeded.
    pub evidence: Vec<OutcomeEvidence>,
    /// Devices whose drivers still waited for other devices, the likely cause first; empty if the boot succeeded.
    pub deferred_probes: Vec<DeferredProbe>,
}

impl LinuxBootOutcomeKind {
    /// Returns what happened, as the end of the sentence "the boot …"; empty for a boot that succeeded or had not
    /// finished.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Succeeded | Self::Unfinished => "",
            Self::KernelPanic => "ended in a kernel panic",
            Self::RootNotMounted => "ended without a root file system",
            Self::LocalFileSystemsFailed => "failed to mount its file systems",
            Self::InitramfsShell => "ended in a shell of the initramfs",
            Self::EmergencyMode => "ended in emergency mode",
            Self::RescueMode => "ended in rescue mode",
            Self::NoLogin => "ended without a login",
            Self::DriversWaiting => "ended while drivers waited for other devices",
            Self::LoaderFailed => "ended before the kernel started",
        }
    }

    /// True if the boot failed.
    #[must_use]
    pub const fn has_failed(self) -> bool {
        !matches!(self, Self::Succeeded | Self::Unfinished)
    }
}

impl LinuxBootOutcome {
    /// Returns how the boot failed, with the cause if it is known, as the end of the sentence "the boot …"; empty for a
    /// boot that succeeded or had not finished.
    #[must_use]
    pub fn clause(&self) -> String {
        if !self.kind.has_failed() {
            return String::new();
        }
        let after = self.time_ns.map_or_else(String::new, |ns| format!(" after {}", Duration::from_ns(ns)));
        let is_unit = self.subject.contains('.') && !self.subject.starts_with('/');
        let mut cause = match (self.kind, self.subject.as_str()) {
            (LinuxBootOutcomeKind::DriversWaiting, _) | (_, "") => String::new(),
            (LinuxBootOutcomeKind::RootNotMounted, device) => format!(": {device} could not be mounted"),
            (LinuxBootOutcomeKind::LoaderFailed, part) => format!(": {part} stopped"),
            (LinuxBootOutcomeKind::NoLogin, terminal) if !is_unit => format!(": no login runs on {terminal}"),
            (_, unit) => format!(": {unit} failed"),
        };
        if let Some(probe) = self.deferred_probes.first() {
            cause += if cause.is_empty() { ": " } else { "; " };
            cause += &match probe.waits_for.as_str() {
                "" => format!("{} waits for another device, which the kernel does not name", probe.device),
                other => format!("{} waits for {other}", probe.device),
            };
        }
        format!("{}{after}{cause}", self.kind.phrase())
    }
}

/// The end of a boot, from lines of a console without times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConsoleEnd {
    /// The target that was reached; empty for a login prompt.
    pub target: String,
    /// Last time in the log before it, ns, a lower bound of the end; `None` if no line has a time.
    pub earliest_ns: Option<i64>,
}

/// Fields specific to a Linux boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxBoot {
    /// From the start of the firmware (or of the loader or kernel, if nothing earlier was recorded) until all start
    /// jobs are done, ns: the total of `systemd-analyze time`. `None` if either end is unknown.
    pub startup_ns: Option<i64>,
    /// The initramfs, if no service manager runs in it: the last part of the kernel phase. `None` if there is none or
    /// the kernel log does not show it.
    pub initial_file_system: Option<DerivedInterval>,
    /// How the boot ended.
    pub outcome: LinuxBootOutcome,
    /// The end of the boot, if only lines of a console without times show it; otherwise `None`.
    pub console_end: Option<ConsoleEnd>,
    /// The default target; `None` if none was reached.
    pub default_target: Option<DefaultTarget>,
    /// Units of user service managers, and containers, ordered by start. Containers are system units as well.
    pub other_units: Vec<OtherUnit>,
    /// The service manager's work before the first unit.
    pub manager: ManagerStart,
    /// The critical path to the default target.
    pub critical_path: UnitPath,
    /// The unit that was the last to finish starting before the end of the boot; empty if unknown.
    pub last_unit: String,
    /// Units that were still starting when the recording ended, longest first, if the boot hung or was cut off.
    pub still_starting: Vec<StillStarting>,
    /// Units with durations but without start times, longest first, if nothing else shows when units started.
    pub untimed_units: Vec<UntimedUnit>,
    /// Waits for a person to type the password of an encrypted volume, ordered by start. Durations include them, as in
    /// `systemd-analyze time`.
    pub password_prompts: Vec<PasswordPrompt>,
    /// Names of the losses that can affect units.
    pub losses_affecting_units: Vec<String>,
    /// Initcalls, modules and probes, longest first.
    pub devices: Vec<Device>,
    /// Call graphs of slow initcalls, longest first, if kernel function calls were recorded; at most 32.
    pub call_graphs: Vec<CallGraph>,
    /// Totals by driver, longest first.
    pub drivers: Vec<DeviceTotal>,
    /// Totals by device, longest first.
    pub device_totals: Vec<DeviceTotal>,
    /// Names of the losses that can affect devices.
    pub losses_affecting_devices: Vec<String>,
    /// Parts of firmware and loader that a serial console shows, in order; empty without such a log.
    pub bring_up: Vec<BringUpStage>,
    /// The firmware's own times, if the recording has its tables.
    pub firmware_table: Option<FirmwareBeforeKernel>,
    /// End of firmware and loader in the firmware table, minus the same end as reported by the service manager, ns.
    pub firmware_table_difference_ns: Option<i64>,
    /// The boot, firmware data and network packets on one time axis; `None` without firmware data and packets.
    pub axis: Option<BootAxis>,
    /// Processes, ordered by start.
    pub processes: Vec<ProcessLifetime>,
    /// Number of processes in each class.
    pub process_summary: ProcessSummary,
    /// Names of the losses that can affect processes.
    pub losses_affecting_processes: Vec<String>,
    /// The boots in the recording's journals; `read` marks the analyzed boot.
    pub boots: Vec<RecordedBoot>,
    /// How timestamps of other clocks were converted.
    pub clock_conversions: Vec<ClockConversion>,
}

/// The boots in a recording's journals: the result of `onoff boot --list-boots`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootList {
    /// The boots, ordered by start; `read` marks the boot that is analyzed by default.
    pub boots: Vec<RecordedBoot>,
}
