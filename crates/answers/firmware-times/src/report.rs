//! Result of the firmware analysis. The serialized names are the documented interface of `firmware --format json`.

use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareDuration, FirmwareInput, FirmwareLoggedBoot, FirmwareProblem, FirmwareResume,
    FirmwareTable, FirmwareWork,
};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;

/// Times recorded by the firmware, since processor reset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareReport {
    pub inputs: Vec<FirmwareInput>,
    /// Name of the input with the boot times; empty if there are none.
    pub boot_from: String,
    /// The five checkpoints of the boot; `None` if no input has them.
    pub checkpoints: Option<FirmwareCheckpoints>,
    /// Durations between the checkpoints.
    pub intervals: FirmwareIntervals,
    /// The stages between the checkpoints, in order.
    pub stages: Vec<FirmwareStage>,
    /// The firmware's phases, outer phases before inner phases.
    pub phases: Vec<FirmwarePhase>,
    /// How much of the firmware's time was measured; `None` if no work was measured.
    pub coverage: Option<FirmwareCoverage>,
    /// Gaps in which only a phase was measured, longest first; at least 1 ms long, at most 20.
    pub gaps: Vec<FirmwareGap>,
    /// Drivers and other modules, by exclusive time, longest first.
    pub drivers: Vec<FirmwareDriver>,
    /// Devices on which drivers were started, longest first.
    pub devices: Vec<FirmwareDevice>,
    /// All measured work with a start and an end, ordered by start.
    pub work: Vec<FirmwareInterval>,
    /// Work that started but did not end, ordered by start; includes work that never returns, such as the loader.
    pub unfinished: Vec<FirmwareMark>,
    /// Points in time marked by the firmware, in order.
    pub marks: Vec<FirmwareMark>,
    /// Work with a duration but without a time, longest first.
    pub durations: Vec<FirmwareDuration>,
    /// Number of measurements read: starts, ends and points.
    pub measurements: u64,
    /// Number of ends without a start.
    pub unmatched_ends: u64,
    /// The last suspend to S3; `None` if not recorded.
    pub suspend: Option<FirmwareSuspendTime>,
    /// Resumes from S3; `None` if not recorded.
    pub resume: Option<FirmwareResume>,
    /// The boots in serial logs with several boots; `read` marks the analyzed boot.
    pub boots: Vec<FirmwareLoggedBoot>,
    /// Tables that would make the result more complete.
    pub missing_tables: Vec<MissingTable>,
    pub tables: Vec<FirmwareTable>,
    /// Problems with the firmware's data.
    pub faults: Vec<FirmwareProblem>,
}

/// A table that is not in the inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingTable {
    /// Signature of the table.
    pub part: String,
    /// Memory address of the table, hexadecimal; empty if unknown.
    pub address: String,
    /// Data that is unknown without the table, as a phrase.
    pub unknown: &'static str,
}

/// Durations between the checkpoints, ns. `None` if an end is unknown or implausible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareIntervals {
    /// Processor reset to the end of reset, ns: before the firmware image runs.
    pub firmware_init_ns: Option<i64>,
    /// End of reset until the loader is loaded, ns: the firmware's own work. For a legacy boot, until INT 19h.
    pub time1_ns: Option<i64>,
    /// Loading the loader, ns; for a network boot, the download of its first file.
    pub loader_load_ns: Option<i64>,
    /// Loader start until it calls `ExitBootServices`, ns.
    pub loader_run_ns: Option<i64>,
    /// Time in `ExitBootServices`, ns.
    pub exit_boot_services_ns: Option<i64>,
    /// Loading the loader until `ExitBootServices` returns, ns: the whole time of the loader.
    pub time2_ns: Option<i64>,
    /// Processor reset until `ExitBootServices` returns, ns.
    pub total_ns: Option<i64>,
    /// True for a legacy (BIOS) boot: the loader start is then the time of INT 19h, and there are no later times.
    pub legacy_boot: bool,
    /// The definition of `time1_ns` and `time2_ns`.
    pub definition: String,
    /// When the firmware signaled ReadyToBoot, ns since processor reset; `None` if not measured.
    pub ready_to_boot_ns: Option<i64>,
    /// Processor reset to ReadyToBoot, ns: the alternative definition of the firmware's time.
    pub ready_to_boot_time1_ns: Option<i64>,
    /// ReadyToBoot until the loader calls `ExitBootServices`, ns: the alternative definition of the loader's time.
    pub ready_to_boot_time2_ns: Option<i64>,
    /// The measurement that ReadyToBoot comes from.
    pub ready_to_boot_rule: Rule,
}

/// A stage between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareStage {
    pub name: FirmwareStageName,
    /// Start, ns since processor reset.
    pub start_ns: i64,
    /// End, ns since processor reset.
    pub end_ns: i64,
    pub duration_ns: i64,
}

/// The stages from processor reset to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FirmwareStageName {
    /// Processor reset to the end of reset: before the firmware image runs.
    Reset,
    /// End of reset until the loader is loaded, or until INT 19h for a legacy boot: the firmware's own work.
    Firmware,
    /// Loading the loader; for a network boot, the download of its first file.
    LoaderLoad,
    /// Loader start until it calls `ExitBootServices`.
    Loader,
    /// Time in `ExitBootServices`.
    ExitBootServices,
}

impl FirmwareStageName {
    /// All stages, in order.
    const ALL: [Self; 5] = [Self::Reset, Self::Firmware, Self::LoaderLoad, Self::Loader, Self::ExitBootServices];

    /// Parses a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == name)
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Firmware => "firmware",
            Self::LoaderLoad => "loader_load",
            Self::Loader => "loader",
            Self::ExitBootServices => "exit_boot_services",
        }
    }

    /// Returns the event that ends the stage, as a clause.
    #[must_use]
    pub const fn end_event(self) -> &'static str {
        match self {
            Self::Reset => "the start of the firmware image",
            Self::Firmware => "the load of the loader image",
            Self::LoaderLoad => "the start of the loader",
            Self::Loader => "the call to ExitBootServices",
            Self::ExitBootServices => "the return from ExitBootServices",
        }
    }

    /// Returns the display name.
    #[must_use]
    pub const fn display_name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Firmware => "firmware",
            Self::LoaderLoad => "loader load",
            Self::Loader => "loader",
            Self::ExitBootServices => "ExitBootServices",
        }
    }
}

/// A phase of the firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwarePhase {
    /// `SEC`, `PEI`, `PreMem`, `PostMem`, `DXE` or `BDS`.
    pub name: String,
    /// The enclosing phase; empty for outer phases.
    pub parent: String,
    /// Start, ns since processor reset.
    pub start_ns: i64,
    /// End, ns since processor reset.
    pub end_ns: i64,
    /// Duration, ns; the sum if it ran several times.
    pub duration_ns: i64,
    /// Exclusive time, without nested measurements, ns.
    pub self_ns: i64,
    /// The rule that determined its start and end.
    pub rule: Rule,
    /// The lower certainty of its start and end.
    pub certainty: Certainty,
}

/// How much of the firmware's time was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareCoverage {
    /// Time between the end of reset and loading the loader that is covered by measured work, counting only work that
    /// contains no other work, and no phases, ns.
    pub measured_ns: i64,
    /// `measured_ns` as a percentage of `time1_ns`.
    pub measured_percent: f64,
}

/// A gap in which only a phase was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareGap {
    /// Start, ns since processor reset.
    pub start_ns: i64,
    /// End, ns since processor reset.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// The phase that contains the gap; empty if none was measured.
    pub phase: String,
    /// The measurement before the gap; empty if there is none.
    pub after: String,
    /// The measurement that ends the gap; empty if there is none.
    pub before: String,
    /// The last module measured before the gap; empty if there is none.
    pub module_before: String,
    /// The first module measured after the gap; empty if there is none.
    pub module_after: String,
}

/// A driver or another firmware module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDriver {
    /// GUID; empty if the time cannot be attributed to a single module.
    pub guid: String,
    /// Name; the GUID if unknown.
    pub name: String,
    /// The phase in which the module first ran; empty if unknown.
    pub phase: String,
    /// Start of the module's first measurement, ns since processor reset.
    pub start_ns: i64,
    /// Exclusive time, ns: measured time without measurements inside it. Phases do not count.
    pub self_ns: i64,
    /// Time to load its image, ns.
    pub load_ns: i64,
    /// Time in its entry point, ns.
    pub entry_point_ns: i64,
    /// Time in `Supported` calls, which check whether it supports a device, ns.
    pub support_ns: i64,
    /// Number of `Supported` calls.
    pub support_calls: u64,
    /// Time in `Start` calls on devices, ns.
    pub driver_start_ns: i64,
    /// Number of `Start` calls.
    pub driver_start_calls: u64,
    /// Time in `Stop` calls on devices, ns.
    pub driver_stop_ns: i64,
    /// Exclusive time of other measured work, ns.
    pub other_self_ns: i64,
}

/// A device on which drivers were started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDevice {
    /// Device path.
    pub path: String,
    /// Name given by a driver, possibly truncated by the firmware; empty if there is none.
    pub name: String,
    /// Exclusive time of starting drivers on the device, ns.
    pub self_ns: i64,
    /// Inclusive time of starting drivers on the device, ns.
    pub driver_start_ns: i64,
    /// The drivers that were started, longest first.
    pub drivers: Vec<FirmwareDeviceDriver>,
}

/// The starts of a driver on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDeviceDriver {
    pub guid: String,
    /// Name of the driver; the GUID if unknown.
    pub name: String,
    pub calls: u64,
    pub driver_start_ns: i64,
}

/// A measured interval of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareInterval {
    pub work: FirmwareWork,
    /// GUID of the module; for an image load, of the image.
    pub guid: String,
    /// Name of the module; the GUID if unknown.
    pub module: String,
    /// Name of the work, or name and path of the device; empty if there is none.
    pub text: String,
    /// Name or GUID of the event or caller of the work; empty if there is none.
    pub caller: String,
    /// Handle of the image or device, hexadecimal; empty if there is none.
    pub handle: String,
    /// Start, ns since processor reset.
    pub start_ns: i64,
    /// End, ns since processor reset.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// Exclusive time, without nested measurements, ns.
    pub self_ns: i64,
    /// Number of intervals that were running at its start.
    pub depth: u32,
    /// The innermost phase in which the work started; empty if none was measured.
    pub phase: String,
    /// APIC id of the CPU.
    pub apic: u32,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareMark {
    pub work: FirmwareWork,
    /// Time, ns since processor reset.
    pub time_ns: i64,
    /// GUID of the module.
    pub guid: String,
    /// Name of the module; the GUID if unknown.
    pub module: String,
    /// Text of the measurement; may be empty.
    pub text: String,
}

/// The last suspend to S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSuspendTime {
    /// When the operating system requested the suspend, ns since processor reset.
    pub start_ns: i64,
    /// When the machine was about to sleep, ns since processor reset.
    pub end_ns: i64,
    /// The firmware's part of the suspend, ns; `None` if the end precedes the start.
    pub duration_ns: Option<i64>,
}
