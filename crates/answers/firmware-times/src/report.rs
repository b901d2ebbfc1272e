//! The result of the firmware analysis. Its serialized names are the documented contract of `firmware --format json`.

use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareFault, FirmwareInput, FirmwareLength, FirmwareLoggedBoot, FirmwareResume,
    FirmwareTable, FirmwareWork,
};
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;

/// Where the time of a firmware went. Its times count from the processor's reset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareReport {
    /// What it was read from.
    pub inputs: Vec<FirmwareInput>,
    /// Name of the input that the boot's times come from; empty when none does.
    pub boot_from: String,
    /// The five times of the boot; `None` when no input holds them.
    pub checkpoints: Option<FirmwareCheckpoints>,
    /// The lengths between them.
    pub intervals: FirmwareIntervals,
    /// The stages between the five times, in their order.
    pub stages: Vec<FirmwareStage>,
    /// The firmware's phases, an outer one before those inside it.
    pub phases: Vec<FirmwarePhase>,
    /// How much of the firmware's time its measurements account for; `None` when it measured no work.
    pub coverage: Option<FirmwareCoverage>,
    /// Stretches of the firmware's time in which nothing was measured but a phase, longest first; those of at least 1 ms, at most
    /// 20.
    pub gaps: Vec<FirmwareGap>,
    /// Drivers and other modules, by time of their own, longest first.
    pub drivers: Vec<FirmwareDriver>,
    /// Devices that drivers were started on, longest first.
    pub devices: Vec<FirmwareDevice>,
    /// Every measured piece of work that has a begin and an end, by start.
    pub work: Vec<FirmwareInterval>,
    /// Work that begins and does not end, by start. What never returns, such as the loader, is among it.
    pub unended: Vec<FirmwareMark>,
    /// Points in time that the firmware marked, by time.
    pub marks: Vec<FirmwareMark>,
    /// Work of which the input says how long it took and not when it ran, longest first.
    pub lengths: Vec<FirmwareLength>,
    /// Measurements that were read: begins, ends and points.
    pub measurements: u64,
    /// Ends without a begin.
    pub ends_without_begin: u64,
    /// The last suspend to S3; `None` when not recorded.
    pub suspend: Option<FirmwareSuspendTime>,
    /// Resumes from S3; `None` when not recorded.
    pub resume: Option<FirmwareResume>,
    /// The boots in serial logs that run over several; `read` marks the one this is about.
    pub boots: Vec<FirmwareLoggedBoot>,
    /// What the inputs lack for a whole answer.
    pub missing: Vec<FirmwareMissing>,
    /// The tables that were found.
    pub tables: Vec<FirmwareTable>,
    /// What is wrong with what the firmware handed over.
    pub faults: Vec<FirmwareFault>,
}

/// Something that the inputs lack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareMissing {
    /// What: the signature of a table.
    pub part: String,
    /// Where the firmware says it lies in memory, in hexadecimal; empty when nothing says.
    pub address: String,
    /// What is not known without it, as a phrase.
    pub unknown: &'static str,
}

/// Lengths between the checkpoints, ns. `None` where an end is unknown or cannot be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareIntervals {
    /// Processor reset to the end of reset, ns: before the firmware's image runs.
    pub firmware_init_ns: Option<i64>,
    /// End of reset to the loader's load, ns: the firmware's own work. Of a legacy boot, to INT 19h.
    pub time1_ns: Option<i64>,
    /// The loader's load to its start, ns; of a network boot, the download of its first file.
    pub loader_load_ns: Option<i64>,
    /// The loader's start to its call of `ExitBootServices`, ns.
    pub loader_run_ns: Option<i64>,
    /// Inside `ExitBootServices`, ns.
    pub exit_boot_services_ns: Option<i64>,
    /// The loader's load to the return of `ExitBootServices`, ns: the loader's whole time.
    pub time2_ns: Option<i64>,
    /// Processor reset to the return of `ExitBootServices`, ns.
    pub total_ns: Option<i64>,
    /// Whether it is a legacy (BIOS) boot: the loader's start is then the time of INT 19h, and nothing later has a time.
    pub legacy_boot: bool,
    /// What `time1_ns` and `time2_ns` are bounded by.
    pub definition: String,
    /// When the firmware signaled that it is ready to boot; `None` when it did not measure that.
    pub ready_to_boot_ns: Option<i64>,
    /// Processor reset to ready-to-boot, ns: the other definition of the firmware's time.
    pub ready_to_boot_time1_ns: Option<i64>,
    /// Ready-to-boot to the call of `ExitBootServices`, ns: the other definition of the loader's time.
    pub ready_to_boot_time2_ns: Option<i64>,
    /// The measurement that tells ready-to-boot; empty when none does.
    pub ready_to_boot_rule: Rule,
}

/// A stage between two of the five times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareStage {
    /// Which.
    pub name: FirmwareStageName,
    /// Begin, ns since the processor's reset.
    pub start_ns: i64,
    /// End, ns since the processor's reset.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
}

/// Stages from the processor's reset to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FirmwareStageName {
    /// Processor reset to the end of reset: before the firmware's image runs.
    Reset,
    /// End of reset to the loader's load, or to INT 19h of a legacy boot: the firmware's own work.
    Firmware,
    /// The loader's load to its start; of a network boot, the download of its first file.
    LoaderLoad,
    /// The loader's start to its call of `ExitBootServices`.
    Loader,
    /// Inside `ExitBootServices`.
    ExitBootServices,
}

impl FirmwareStageName {
    /// Every stage, in order.
    const ALL: [Self; 5] = [Self::Reset, Self::Firmware, Self::LoaderLoad, Self::Loader, Self::ExitBootServices];

    /// The stage of that name, as in JSON.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == name)
    }

    /// The name, as in JSON.
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

    /// What ends it, as a phrase.
    #[must_use]
    pub const fn ended_by(self) -> &'static str {
        match self {
            Self::Reset => "the firmware's image runs",
            Self::Firmware => "the firmware loads the loader",
            Self::LoaderLoad => "the loader starts",
            Self::Loader => "the loader calls ExitBootServices",
            Self::ExitBootServices => "the operating system takes over",
        }
    }

    /// The stage in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Firmware => "firmware",
            Self::LoaderLoad => "loader's load",
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
    /// The phase it is a part of; empty for the outer ones.
    pub inside: String,
    /// Begin, ns since the processor's reset.
    pub start_ns: i64,
    /// End, ns since the processor's reset.
    pub end_ns: i64,
    /// Length, ns; when it ran several times, of all of them.
    pub duration_ns: i64,
    /// Time in which nothing inside it was measured, ns.
    pub self_ns: i64,
    /// The rule that set its ends.
    pub rule: Rule,
    /// How certain the weaker end is.
    pub certainty: Certainty,
}

/// How much of the firmware's time its measurements account for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareCoverage {
    /// Time between the end of reset and the loader's load in which the innermost work that ran holds no other work, phases left
    /// out, ns.
    pub measured_ns: i64,
    /// The same in percent of `time1_ns`.
    pub measured_percent: f64,
}

/// A stretch in which nothing was measured but a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareGap {
    /// Begin, ns since the processor's reset.
    pub start_ns: i64,
    /// End, ns since the processor's reset.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// The phase it lies in; empty when none was measured.
    pub phase: String,
    /// The measurement before it; empty when none.
    pub after: String,
    /// The measurement that ends it; empty when none.
    pub before: String,
    /// The last module that was measured before it; empty when none was.
    pub module_before: String,
    /// The first module that is measured after it; empty when none is.
    pub module_after: String,
}

/// A driver, or another module of the firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDriver {
    /// Its GUID; empty when no time can be given to one module.
    pub guid: String,
    /// Its name; its GUID when it is not known.
    pub name: String,
    /// The phase in which it first ran; empty when that is not known.
    pub phase: String,
    /// Its first measured begin, ns since the processor's reset.
    pub start_ns: i64,
    /// Time of its own, ns: what it was measured for, without what was measured inside. Phases are left out.
    pub self_ns: i64,
    /// Loading its image, ns.
    pub load_ns: i64,
    /// Running its entry point, ns.
    pub entry_point_ns: i64,
    /// Answering whether it supports a device, ns.
    pub support_ns: i64,
    /// How often it was asked.
    pub support_calls: u64,
    /// Starting on devices, ns.
    pub driver_start_ns: i64,
    /// How often it was started.
    pub driver_start_calls: u64,
    /// Stopping on devices, ns.
    pub driver_stop_ns: i64,
    /// Other work that it measured, of its own only, ns.
    pub other_self_ns: i64,
}

/// A device that drivers were started on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDevice {
    /// Its device path.
    pub path: String,
    /// What a driver calls it, as far as the firmware kept it; empty when none does.
    pub name: String,
    /// Starting drivers on it, of their own only, ns.
    pub self_ns: i64,
    /// Starting drivers on it, with what ran inside, ns.
    pub driver_start_ns: i64,
    /// The drivers that were started, longest first.
    pub drivers: Vec<FirmwareDeviceDriver>,
}

/// A driver's starts on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDeviceDriver {
    /// The driver's GUID.
    pub guid: String,
    /// The driver's name; its GUID when it is not known.
    pub name: String,
    /// Starts.
    pub calls: u64,
    /// Their length, ns.
    pub driver_start_ns: i64,
}

/// A measured piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareInterval {
    /// Kind of work.
    pub work: FirmwareWork,
    /// GUID of the module; of an image's load, of the image.
    pub guid: String,
    /// The module's name; its GUID when it is not known.
    pub module: String,
    /// Name of the work, or of the device with its path; empty when it has none.
    pub text: String,
    /// Name of the event or caller it belongs to, else its GUID; empty when none.
    pub caller: String,
    /// Handle of the image or device, in hexadecimal; empty when none.
    pub handle: String,
    /// Begin, ns since the processor's reset.
    pub start_ns: i64,
    /// End, ns since the processor's reset.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// Time in which nothing inside it was measured, ns.
    pub self_ns: i64,
    /// Work that was running when it began.
    pub depth: u32,
    /// The innermost phase in which it began; empty when none was measured.
    pub phase: String,
    /// APIC number of the processor.
    pub apic: u32,
}

/// A point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareMark {
    /// Kind of work.
    pub work: FirmwareWork,
    /// Time, ns since the processor's reset.
    pub time_ns: i64,
    /// GUID of the module.
    pub guid: String,
    /// The module's name; its GUID when it is not known.
    pub module: String,
    /// Text of the measurement; empty when it has none.
    pub text: String,
}

/// The last suspend to S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSuspendTime {
    /// The operating system asked for it, ns since the processor's reset.
    pub start_ns: i64,
    /// The machine is about to sleep, ns since the processor's reset.
    pub end_ns: i64,
    /// The firmware's part of the suspend, ns; `None` when its end lies before its begin.
    pub duration_ns: Option<i64>,
}
