//! The result of the analysis of a Linux boot. Its serialized names are the documented contract of `boot --format json`.

use crate::Transition;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_trace::{ClockConversion, RecordedBoot};
use serde::Serialize;

use crate::boot::FirmwareBeforeKernel;
use crate::boot_axis::BootAxis;
use onoff_evidence::call_graph::CallGraph;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, Span};
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::devices::{Device, DeviceTotal};
use onoff_usage::processes::{ProcessLife, ProcessSummary};
use onoff_usage::units::{StillStarting, UnitWait};

/// The target that the system is started for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DefaultTarget {
    /// Unit, e.g. `graphical.target`.
    pub unit: String,
    /// Reached, ns.
    pub reached_ns: i64,
    /// From the start of user space, ns; `None` when that is not known.
    pub in_user_space_ns: Option<i64>,
    /// How it was told that it is the default one.
    pub rule: Rule,
}

/// The start of a unit that is not the system's: of a user's service manager, or a container. Nothing of the system's start waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherUnit {
    /// Unit.
    pub name: String,
    /// Whose: the user's service manager as the system calls it (`user@1000.service`), or `container`.
    pub of: String,
    /// Began to start, ns.
    pub start_ns: i64,
    /// Was started, ns; `None` when that is not in the recording.
    pub end_ns: Option<i64>,
    /// From the one to the other, ns.
    pub duration_ns: Option<i64>,
    /// Whether it failed.
    pub failed: bool,
}

/// What the service manager did before it started the first unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ManagerStart {
    /// From the start of user space to the end of reading units: all of it.
    pub whole: Span,
    /// Programs that make units ran.
    pub generators: Span,
    /// Units were read.
    pub units_load: Span,
}

/// A step of the critical path: a unit, the time it took, and the time before that.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitPathStep {
    /// Unit.
    pub unit: String,
    /// Started, ns.
    pub start_ns: i64,
    /// When it let the next step go on, ns.
    pub end_ns: i64,
    /// From its start until it let the next step go on, ns.
    pub duration_ns: i64,
    /// What released it.
    pub released_by: UnitWait,
    /// Busy share of all processors while it started, percent; `None` without a trace.
    pub busy_percent: Option<f64>,
    /// Who used the processors most while it started; empty without a trace.
    pub busiest: Vec<ProcessCpu>,
    /// The same for the gap before its start.
    pub gap_busy_percent: Option<f64>,
    /// The same for the gap before its start.
    pub gap_busiest: Vec<ProcessCpu>,
}

/// Who was waited for on the way to the default target.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitPath {
    /// The steps, in order of time; the last is the default target.
    pub steps: Vec<UnitPathStep>,
    /// Time of the steps themselves, ns.
    pub units_ns: i64,
    /// Time between the steps, ns.
    pub gaps_ns: i64,
    /// How certain the weakest step is.
    pub certainty: Certainty,
    /// Records that are lacking and would say more.
    pub missing: Vec<MissingRecords>,
}

/// Where the time of a boot of Linux went. Times are ns of the monotonic clock, from the kernel's start; firmware and loader lie before.
pub type LinuxBootReport = Transition<LinuxBoot>;

/// What only a boot of Linux has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxBoot {
    /// From the firmware's begin (the loader's, or the kernel's, where no more is recorded) until every job of the start is
    /// done, ns: the total of `systemd-analyze time`. `None` when an end is unknown.
    pub startup_ns: Option<i64>,
    /// The initial file system, where no service manager runs in it: the last part of the kernel's phase. `None` when there is
    /// none or the kernel's log does not tell.
    pub initial_file_system: Option<Span>,
    /// The target that the system is started for; `None` when none was reached.
    pub default_target: Option<DefaultTarget>,
    /// Units of users' service managers, and containers, by start. Containers are units of the system too.
    pub other_units: Vec<OtherUnit>,
    /// What the service manager did before the first unit.
    pub manager: ManagerStart,
    /// Who was waited for on the way to the default target.
    pub critical_path: UnitPath,
    /// The unit whose start ended last before the start was finished; empty when not known.
    pub last_unit: String,
    /// What was still starting when the recording ended, longest first, of a boot that did not finish: it hung or was cut off.
    pub still_starting: Vec<StillStarting>,
    /// Names of the losses that touch units.
    pub units_touched_by: Vec<String>,
    /// Initialization functions, modules and probes, longest first.
    pub devices: Vec<Device>,
    /// What slow initialization functions called, longest first, where the recording has the kernel's calls; at most 32.
    pub call_graphs: Vec<CallGraph>,
    /// By driver, longest first.
    pub drivers: Vec<DeviceTotal>,
    /// By device, longest first.
    pub device_totals: Vec<DeviceTotal>,
    /// Names of the losses that touch devices.
    pub devices_touched_by: Vec<String>,
    /// The firmware's own times, where the recording has its tables.
    pub firmware_table: Option<FirmwareBeforeKernel>,
    /// The firmware table's end of firmware and loader less the service manager's, ns: how far the two accounts differ.
    pub firmware_table_difference_ns: Option<i64>,
    /// The boot on one axis with what firmware and packets say of it; `None` when there is neither.
    pub axis: Option<BootAxis>,
    /// Processes, by start.
    pub processes: Vec<ProcessLife>,
    /// How many processes of each class.
    pub process_summary: ProcessSummary,
    /// Names of the losses that touch processes.
    pub processes_touched_by: Vec<String>,
    /// The boots that the recording's journals hold; `read` marks the one this is about.
    pub boots: Vec<RecordedBoot>,
    /// How other clocks' times came onto the axis.
    pub clock_conversions: Vec<ClockConversion>,
}

/// The boots that a recording's journals hold: the answer of `onoff boot --list-boots`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootList {
    /// The boots, in the order in which they began; `read` marks the one that is read by default.
    pub boots: Vec<RecordedBoot>,
}
