//! Result of the boot analysis. The serialized names are the documented interface of `boot --format json`.

use std::sync::Arc;

use crate::Transition;
use crate::account_comparison::AccountComparison;
use crate::reported_delays::NamedDelay;
use onoff_network::report::NetbootReport;
use onoff_trace::{LogChannel, Losses, WindowsAccount};
use serde::Serialize;
use thiserror::Error;

use super::changes::ChangesBefore;
use super::service_failures::FailedService;

use crate::boot_axis::BootAxis;
use onoff_evidence::DerivedInterval;
use onoff_evidence::activity::NamedActivity;
use onoff_firmware_times::before_kernel::{BeforeKernel, GivenFirmware};
use onoff_usage::devices::{Device, DevicePhaseInterval, DeviceTotal};
use onoff_usage::idle::IdleMetric;
use onoff_usage::processes::{ProcessLifetime, ProcessSummary};
use onoff_usage::units::ServiceGroup;
use onoff_usage::user_input::{waited_for_user, without_user_input};

/// Options of the boot analysis.
#[derive(Clone, Debug)]
pub struct BootOptions {
    /// How to decide that the computer is idle.
    pub idle: IdleMetric,
    /// Image name of the user's shell, case-insensitive.
    pub shell: String,
    /// Image names that the process summary treats as expected, in addition to `Idle` and `System`.
    pub expected_processes: Vec<String>,
    /// Firmware data of the same boot, if available.
    pub firmware: Option<GivenFirmware>,
    /// Network capture of the same boot, if available.
    pub capture: Option<Arc<NetbootReport>>,
}

impl Default for BootOptions {
    fn default() -> Self {
        Self {
            idle: IdleMetric::XPERF,
            shell: "explorer.exe".to_owned(),
            expected_processes: Vec::new(),
            firmware: None,
            capture: None,
        }
    }
}

/// Initialization of the video driver, measured up to the start of the first program after the subsystem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VideoInitialization {
    /// System session: from the end of the first start of csrss.exe to the start of wininit.exe.
    pub system_session: DerivedInterval,
    /// User session: from the end of the second start of csrss.exe to the start of winlogon.exe.
    pub user_session: DerivedInterval,
}

/// Group Policy work during boot and logon, each list longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupPolicy {
    /// Policy processing for the computer or a user.
    pub applications: Vec<NamedActivity>,
    pub extensions: Vec<NamedActivity>,
    pub scripts: Vec<NamedActivity>,
    pub network_waits: Vec<NamedActivity>,
}

/// Logon, from the welcome screen to the shell. Lists are ordered by start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Logon {
    pub welcome_screens: Vec<NamedActivity>,
    /// Credential requests. Time spent waiting for user input does not count; automatic logon responds immediately.
    pub credential_requests: Vec<NamedActivity>,
    /// Credential checks.
    pub authentications: Vec<NamedActivity>,
    /// User profile loads.
    pub user_profiles: Vec<NamedActivity>,
    /// Notification subscribers, longest first.
    pub notification_subscribers: Vec<NamedActivity>,
    /// From the end of the last credential request to the ready desktop, ns: how long the user waited. `None` without a
    /// request or if an end is unknown.
    pub to_desktop_ns: Option<i64>,
}

/// A program that starts with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartupApplication {
    /// Command line.
    pub name: String,
    /// When the shell began to start it, ns.
    pub start_ns: i64,
    /// When the shell finished starting it, ns; `None` if not in the recording.
    pub end_ns: Option<i64>,
    /// Time the shell took to start it, ns; not the cost of the program itself.
    pub duration_ns: Option<i64>,
    /// The resulting process; `None` if not found.
    pub process_pid: Option<u32>,
    /// Image file name of that process; empty if not found.
    pub image: String,
    /// Exit of that process, ns; `None` if it was still running when the recording ended.
    pub process_end_ns: Option<i64>,
    /// CPU time of that process in all phases, ns; `None` if not recorded.
    pub cpu_ns: Option<i64>,
    /// Disk time of that process in all phases, ns; `None` if not recorded.
    pub disk_service_ns: Option<i64>,
    /// The record that set the start.
    pub event: String,
}

/// Programs that start with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartupApplications {
    /// The programs, by CPU plus disk time of their processes, most expensive first.
    pub programs: Vec<StartupApplication>,
    /// The startup lists that the shell processed.
    pub lists: Vec<NamedActivity>,
}

/// Training state of ReadyBoot, the boot read-ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrainingState {
    /// Not trained since the last servicing, so the boot is slow.
    Untrained,
    /// Fewer boots than [`ReadAhead::TRAINED_BOOTS`].
    Training,
    /// At least [`ReadAhead::TRAINED_BOOTS`] boots.
    Trained,
    /// Not recorded.
    #[default]
    Unknown,
}

/// The boot read-ahead (ReadyBoot).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadAhead {
    /// Boots since the last servicing that ReadyBoot was trained on.
    pub training_count: Option<i64>,
    pub state: TrainingState,
    /// File prefetches, ordered by start.
    pub work: Vec<NamedActivity>,
    /// The record with the count; empty if there is none.
    pub event: String,
}

impl ReadAhead {
    /// Boots after which ReadyBoot counts as trained: in table 4 of the Microsoft paper, boots after the third do not
    /// get faster.
    pub const TRAINED_BOOTS: i64 = 3;
}

/// A Windows boot.
pub type BootReport = Transition<WindowsBoot>;

/// Fields specific to a Windows boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsBoot {
    /// `total_ns` plus the required idle time, ns.
    pub total_with_idle_ns: Option<i64>,
    /// `total_ns` plus the loader's time, ns; `None` if either is unknown.
    pub total_with_loader_ns: Option<i64>,
    /// From processor reset until idle, without the required idle time, ns; `None` if either end is unknown. The reset
    /// time comes from `before_kernel.firmware_table`.
    pub total_from_reset_ns: Option<i64>,
    /// Loader time, ns: before time zero and not part of `total_ns`.
    pub os_loader_ns: Option<i64>,
    pub before_kernel: BeforeKernel,
    /// The boot, firmware data and network packets on one time axis; `None` without firmware data and packets.
    pub axis: Option<BootAxis>,
    /// PreSMSS to ExplorerInit: from kernel start to the desktop.
    pub main_path_boot: DerivedInterval,
    /// The interval in which auto-start services start.
    pub auto_start: DerivedInterval,
    /// Load-order groups, ordered by start.
    pub service_groups: Vec<ServiceGroup>,
    /// Names of the losses that can affect services.
    pub losses_affecting_units: Vec<String>,
    /// The three phases of device initialization, in order.
    pub device_phases: Vec<DevicePhaseInterval>,
    /// Device and driver operations, longest first.
    pub devices: Vec<Device>,
    /// Totals by driver, longest first.
    pub drivers: Vec<DeviceTotal>,
    /// Windows' own account of the boot, from its event log; `None` if there is none.
    pub windows_account: Option<WindowsAccount>,
    /// Windows' own account beside the phases of a trace; `None` if no event logs accompany the trace.
    pub account_comparison: Option<AccountComparison>,
    /// Delays that Windows itself reported, longest excess first.
    pub reported_delays: Vec<NamedDelay>,
    /// Channels of the event logs, by name; empty for other recordings.
    pub channels: Vec<LogChannel>,
    /// What was changed before the boot, from event logs; `None` for other recordings.
    pub changes: Option<ChangesBefore>,
    /// Services that failed or timed out during the boot, from event logs, by time.
    pub failed_services: Vec<FailedService>,
    /// Number of failures of services after the boot, until the next one.
    pub later_service_failures: u64,
    /// Totals by device, longest first.
    pub device_totals: Vec<DeviceTotal>,
    /// Names of the losses that can affect devices.
    pub losses_affecting_devices: Vec<String>,
    pub group_policy: GroupPolicy,
    pub logon: Logon,
    pub video: VideoInitialization,
    pub startup_applications: StartupApplications,
    pub read_ahead: ReadAhead,
    /// Processes, ordered by start.
    pub processes: Vec<ProcessLifetime>,
    /// Number of processes in each class.
    pub process_summary: ProcessSummary,
    /// Names of the losses that can affect processes.
    pub losses_affecting_processes: Vec<String>,
}

/// The recording contains no boot. Describes what it contains instead.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("no boot in this recording ({reason}): {found}")]
pub struct NoBoot {
    /// The evidence of a boot that was not found.
    pub reason: String,
    /// What the recording contains instead, as a clause.
    pub found: String,
    pub recorder: String,
    /// Length of the recording, ns.
    pub duration_ns: i64,
    /// Processes that were running when the recording started.
    pub processes_before: u64,
    pub processes_started: u64,
    /// Processes that exited during the recording.
    pub processes_ended: u64,
    /// All losses.
    pub losses: Losses,
}

impl Logon {
    /// The credential requests that waited for user input.
    pub fn user_input_requests(&self) -> impl Iterator<Item = &NamedActivity> {
        self.credential_requests.iter().filter(|request| waited_for_user(request.start_ns, request.end_ns))
    }
}

impl BootReport {
    /// Time until the desktop was usable, ns, without the time spent waiting for user input. `None` if the desktop is
    /// not in the recording.
    #[must_use]
    pub fn main_path_ns(&self) -> Option<i64> {
        let path = &self.details.main_path_boot;
        let path_phases = self.phases.iter().filter(|phase| phase.start_ns >= path.start_ns);
        let user_input_ns = path_phases.fold(0_i64, |sum, phase| sum.saturating_add(phase.user_input_ns));
        Some(without_user_input(path.duration_ns?, user_input_ns))
    }
}
