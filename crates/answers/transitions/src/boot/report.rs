//! The result of the boot analysis. Its serialized names are the documented contract of `boot --format json`.

use std::sync::Arc;

use crate::Transition;
use onoff_network::report::NetbootReport;
use onoff_trace::Losses;
use serde::Serialize;
use thiserror::Error;

use crate::boot_axis::BootAxis;
use onoff_evidence::Span;
use onoff_evidence::activity::Work;
use onoff_firmware_times::before_kernel::{BeforeKernel, GivenFirmware};
use onoff_usage::devices::{Device, DevicePhaseSpan, DeviceTotal};
use onoff_usage::idle::IdleMetric;
use onoff_usage::person::{is_answered_by_a_person, without_person};
use onoff_usage::processes::{ProcessLife, ProcessSummary};
use onoff_usage::units::ServiceGroup;

/// What a caller can choose.
#[derive(Clone, Debug)]
pub struct BootOptions {
    /// How PostBoot is found.
    pub idle: IdleMetric,
    /// Image name of the user's shell, compared without case.
    pub shell: String,
    /// Image names that the process summary takes as expected, besides `Idle` and `System`.
    pub expected_processes: Vec<String>,
    /// What the firmware itself says about the same boot, when that is at hand.
    pub firmware: Option<GivenFirmware>,
    /// What packets show of the same boot, when they were captured.
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

/// Initialization of the video driver, which the start of the first program after the subsystem shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VideoInitialization {
    /// In the system's session: end of the first start of csrss.exe to the start of wininit.exe.
    pub system_session: Span,
    /// In the user's session: end of the second start of csrss.exe to the start of winlogon.exe.
    pub user_session: Span,
}

/// Policy applied while booting and logging on, each list longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupPolicy {
    /// Policy applied for the computer or a user.
    pub applications: Vec<Work>,
    /// Policy extensions.
    pub extensions: Vec<Work>,
    /// Scripts.
    pub scripts: Vec<Work>,
    /// Waits for the network.
    pub network_waits: Vec<Work>,
}

/// Logon: what a person and the system did between the welcome screen and the shell, by start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Logon {
    /// The welcome screen.
    pub welcome_screens: Vec<Work>,
    /// Requests for credentials. Those that waited for a person are in no length; automatic logon answers at once.
    pub credential_requests: Vec<Work>,
    /// Checks of credentials.
    pub authentications: Vec<Work>,
    /// User profiles loaded.
    pub user_profiles: Vec<Work>,
    /// Subscribers of session notifications, longest first.
    pub notification_subscribers: Vec<Work>,
    /// What the person waited for then, ns: from the end of the last request for credentials to the ready desktop. `None` when nobody was
    /// asked, or an end is not known.
    pub to_desktop_ns: Option<i64>,
}

/// A program that starts with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartupApplication {
    /// Command.
    pub name: String,
    /// The shell begins to start it, ns.
    pub start_ns: i64,
    /// The shell has started it, ns; `None` when that is not in the recording.
    pub end_ns: Option<i64>,
    /// Length of starting it, ns: what the shell waited, not what the program costs.
    pub duration_ns: Option<i64>,
    /// The process it became; `None` when none is found.
    pub process_pid: Option<u32>,
    /// That process's image file name; empty when none is found.
    pub image: String,
    /// That process's end, ns; `None` when it outlived the recording.
    pub process_end_ns: Option<i64>,
    /// Processor time of that process in all phases, ns; `None` when it was not recorded.
    pub cpu_ns: Option<i64>,
    /// Time the disks worked for that process in all phases, ns; `None` when it was not recorded.
    pub disk_service_ns: Option<i64>,
    /// The record that set the start.
    pub event: String,
}

/// Programs that start with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartupApplications {
    /// The programs, those first whose processes cost most processor and disk time.
    pub programs: Vec<StartupApplication>,
    /// The lists that the shell walked.
    pub lists: Vec<Work>,
}

/// How well the boot read-ahead (ReadyBoot) knows this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrainingState {
    /// No boot since the last servicing was learned from: expect a slow boot.
    Untrained,
    /// Fewer boots than [`ReadAhead::TRAINED_BOOTS`].
    Training,
    /// Enough boots.
    Trained,
    /// Not recorded.
    #[default]
    Unknown,
}

/// The boot read-ahead (ReadyBoot).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadAhead {
    /// Boots learned from since the last servicing.
    pub training_count: Option<i64>,
    /// The state that follows.
    pub state: TrainingState,
    /// Files read ahead, by start.
    pub work: Vec<Work>,
    /// The record that carried the count; empty when none.
    pub event: String,
}

impl ReadAhead {
    /// Boots after which the read-ahead counts as trained: in the paper's table 4 the third boot is the first that
    /// later ones no longer improve on.
    pub const TRAINED_BOOTS: i64 = 3;
}

/// Where the time of a boot of Windows went.
pub type BootReport = Transition<WindowsBoot>;

/// What only a boot of Windows has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowsBoot {
    /// The same with the required idle time, ns.
    pub total_with_idle_ns: Option<i64>,
    /// `total_ns` and the loader's time, ns; `None` when either is unknown.
    pub total_with_loader_ns: Option<i64>,
    /// Processor reset to settled, the required idle time left out, ns; `None` when either end is unknown. The reset is where
    /// `before_kernel.firmware_table` puts it.
    pub total_from_reset_ns: Option<i64>,
    /// Loader's time, ns; before time zero and not part of `total_ns`.
    pub os_loader_ns: Option<i64>,
    /// What happened before the kernel.
    pub before_kernel: BeforeKernel,
    /// The boot on one axis with what firmware and packets say of it; `None` when there is neither.
    pub axis: Option<BootAxis>,
    /// PreSMSS to ExplorerInit: kernel start to desktop.
    pub main_path_boot: Span,
    /// The window in which services start by themselves.
    pub auto_start: Span,
    /// Load-order groups, by start.
    pub service_groups: Vec<ServiceGroup>,
    /// Names of the losses that touch services.
    pub units_touched_by: Vec<String>,
    /// Phases of device initialization, all three, in order.
    pub device_phases: Vec<DevicePhaseSpan>,
    /// Device and driver operations, longest first.
    pub devices: Vec<Device>,
    /// By driver, longest first.
    pub drivers: Vec<DeviceTotal>,
    /// By device, longest first.
    pub device_totals: Vec<DeviceTotal>,
    /// Names of the losses that touch devices.
    pub devices_touched_by: Vec<String>,
    /// Policy.
    pub group_policy: GroupPolicy,
    /// Logon.
    pub logon: Logon,
    /// Video driver.
    pub video: VideoInitialization,
    /// Programs that start with the session.
    pub startup_applications: StartupApplications,
    /// Boot read-ahead.
    pub read_ahead: ReadAhead,
    /// Processes, by start.
    pub processes: Vec<ProcessLife>,
    /// How many processes of each class.
    pub process_summary: ProcessSummary,
    /// Names of the losses that touch processes.
    pub processes_touched_by: Vec<String>,
}

/// The recording holds no boot. Says what it holds instead.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("the recording holds no boot ({reason}); {found}")]
pub struct NotABoot {
    /// Why it is no boot: what was looked for.
    pub reason: String,
    /// What it holds instead, as a clause.
    pub found: String,
    /// Name of the recorder or session.
    pub recorder: String,
    /// Length of the recording, ns.
    pub duration_ns: i64,
    /// Processes that were there when the recording began.
    pub processes_before: u64,
    /// Processes that started in it.
    pub processes_started: u64,
    /// Processes that ended in it.
    pub processes_ended: u64,
    /// Everything that was lost.
    pub losses: Losses,
}

impl Logon {
    /// The requests for credentials that waited for a person.
    pub fn waits_for_a_person(&self) -> impl Iterator<Item = &Work> {
        self.credential_requests.iter().filter(|request| is_answered_by_a_person(request.start_ns, request.end_ns))
    }
}

impl BootReport {
    /// What the computer took to a usable desktop, ns: without the time in which a person was waited for. `None` when the desktop is
    /// not in the recording.
    #[must_use]
    pub fn main_path_ns(&self) -> Option<i64> {
        let path = &self.details.main_path_boot;
        let person_ns = self.phases.iter().filter(|phase| phase.start_ns >= path.start_ns);
        let person_ns = person_ns.fold(0_i64, |sum, phase| sum.saturating_add(phase.person_ns));
        Some(without_person(path.duration_ns?, person_ns))
    }
}
