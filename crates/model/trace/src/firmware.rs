//! Firmware performance data, independent of the input format.
//!
//! Firmware has a separate clock: times are nanoseconds since processor reset.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::losses::Severity;
use crate::named;
pub use crate::tables::{FirmwareEdge, FirmwareWork};

/// Firmware measurements of one machine: a boot, and the last suspend and resume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirmwareRecording {
    pub inputs: Vec<FirmwareInput>,
    pub tables: Vec<FirmwareTable>,
    /// The five checkpoints of the last boot; `None` when no input contains them.
    pub checkpoints: Option<FirmwareCheckpoints>,
    /// Name of the input that the boot's times were read from; empty when there is none.
    pub boot_from: String,
    /// Measurements of firmware modules, in the order written by the firmware.
    pub events: Vec<FirmwareEvent>,
    /// Durations of work without start times, in input order.
    pub durations: Vec<FirmwareDuration>,
    /// Resumes from S3.
    pub resume: Option<FirmwareResume>,
    /// The last suspend to S3.
    pub suspend: Option<FirmwareSuspend>,
    /// The boots of serial logs that contain more than one, in log order.
    pub boots: Vec<FirmwareLoggedBoot>,
    /// Problems with the inputs, and the data that was skipped.
    pub problems: Vec<FirmwareProblem>,
}

/// The duration of a piece of work whose start time is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareDuration {
    /// Kind of work.
    pub work: FirmwareWork,
    /// Name of the module; its GUID where the input has no name.
    pub module: String,
    /// Name of the work, as in the input.
    pub text: String,
    /// Duration, ns.
    pub duration_ns: i64,
}

/// A boot in a serial log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareLoggedBoot {
    /// Number for `--boot`: 0 is the last boot in the log, -1 the boot before it.
    pub number: i64,
    /// Name of the log.
    pub input: String,
    /// Line number of its first time in the log, from 1.
    pub line: u64,
    /// Whether this boot was analyzed.
    pub read: bool,
    /// Checkpoints of the boot.
    pub checkpoints: FirmwareCheckpoints,
}

/// A file or folder from which firmware tables were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareInput {
    /// Name.
    pub name: String,
    /// Format.
    pub form: FirmwareFormat,
    /// Unpacked size, bytes; 0 for a folder.
    pub bytes: u64,
    /// SHA-256 of the unpacked content, in hexadecimal; empty for a folder.
    pub sha256: String,
}

named! {
    /// Formats of firmware performance data.
    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FirmwareFormat {
        /// The bytes of a table, as in memory.
        Table = "table",
        /// Output of `acpidump`.
        Acpidump = "acpidump text",
        /// The sysfs files that Linux creates from the tables, one number each.
        Sysfs = "sysfs folder",
        /// Lines written to a serial port by a debug build of the firmware.
        SerialLog = "serial log",
        /// XML document written by EDK II tools.
        Edk2Xml = "EDK II XML",
        /// Output of coreboot's `cbmem -t` or `cbmem -T`.
        Cbmem = "cbmem text",
        /// coreboot's timestamp table, as in memory.
        CbmemTable = "cbmem timestamp table",
        /// Performance table printed by Slim Bootloader.
        SlimBootloader = "Slim Bootloader performance table",
        /// Output of the EDK II shell command `dp`.
        DpCommand = "dp command text",
    }
}

/// A table in an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareTable {
    /// Signature: `FPDT`, `FBPT` or `S3PT`.
    pub signature: String,
    /// Name of the input.
    pub input: String,
    /// Byte offset in the input.
    pub offset: u64,
    /// Length from the table's header, bytes.
    pub length_bytes: u64,
    /// OEM ID from the header; only the FPDT has one.
    pub oem: String,
    /// OEM table ID from the header; only the FPDT has one.
    pub oem_table: String,
    /// Record counts by type.
    pub records: Vec<FirmwareRecordCount>,
    /// Pointers to other tables.
    pub pointers: Vec<FirmwarePointer>,
}

/// Count of the records of one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareRecordCount {
    /// Record type in hexadecimal, e.g. `0x1011`.
    pub number: String,
    /// Name of the type; `vendor` or `unknown` where it is not public.
    pub name: String,
    /// Number of records.
    pub count: u64,
    /// Total size of the records, bytes.
    pub bytes: u64,
}

/// A physical address that a table points to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwarePointer {
    /// Type of the record in hexadecimal.
    pub number: String,
    /// The table at that address; `vendor` for vendor-specific tables.
    pub to: String,
    /// Physical address in hexadecimal.
    pub address: String,
}

/// The five checkpoints of a boot that every firmware with these tables records, ns since processor reset. `None` where
/// the firmware wrote zero because it did not reach the checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareCheckpoints {
    /// The firmware image starts to run. Zero is valid here: many firmwares do not measure the time before.
    pub reset_end_ns: Option<i64>,
    /// The firmware is about to load the OS loader.
    pub loader_load_ns: Option<i64>,
    /// The firmware is about to start the OS loader.
    pub loader_start_ns: Option<i64>,
    /// The OS loader has called `ExitBootServices`.
    pub exit_begin_ns: Option<i64>,
    /// `ExitBootServices` is about to return and the operating system takes over.
    pub exit_end_ns: Option<i64>,
}

/// Longest plausible reset, ns: up to 230 ms were measured on real computers.
const MAX_RESET_NS: i64 = 10_000_000_000;
/// Maximum plausible time until the loader is loaded, ns.
const MAX_FIRMWARE_NS: i64 = 600_000_000_000;
/// Maximum plausible time until the operating system takes over, ns.
const MAX_TOTAL_NS: i64 = 3_600_000_000_000;

impl FirmwareCheckpoints {
    /// Returns true if the end of the reset is later than the load of the loader: it counts clock ticks instead of ns.
    #[must_use]
    pub fn is_reset_end_in_ticks(&self) -> bool {
        let load_ns = self.loader_load_ns.or(self.loader_start_ns);
        self.reset_end_ns.zip(load_ns).is_some_and(|(reset_ns, load_ns)| reset_ns > load_ns)
    }

    /// Returns true if a warm reset did not reset the firmware's clock, so the times include earlier boots.
    #[must_use]
    pub fn is_clock_kept_over_resets(&self) -> bool {
        let exceeds = |ns: Option<i64>, max_ns: i64| ns.is_some_and(|ns| ns > max_ns);
        exceeds(self.reset_end_ns.filter(|_| !self.is_reset_end_in_ticks()), MAX_RESET_NS)
            || exceeds(self.loader_load_ns.or(self.loader_start_ns), MAX_FIRMWARE_NS)
            || exceeds(self.exit_end_ns, MAX_TOTAL_NS)
    }

    /// Returns the time of the firmware until it starts the loader, ns, and whether it is measured from the end of the
    /// reset because the clock kept running over resets. `None` if unknown.
    #[must_use]
    pub fn firmware_time(&self) -> Option<(i64, bool)> {
        let loader_ns = self.loader_start_ns?;
        if !self.is_clock_kept_over_resets() {
            return Some((loader_ns, false));
        }
        let reset_end_ns = self.reset_end_ns.filter(|&ns| ns > 0 && !self.is_reset_end_in_ticks())?;
        Some((loader_ns.checked_sub(reset_end_ns)?, true))
    }

    /// Converts stored times, where zero means not set, in checkpoint order.
    #[must_use]
    pub fn from_stored(stored: [i64; 5]) -> Self {
        let [reset_end_ns, unset_if_zero @ ..] = stored;
        let [loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns] =
            unset_if_zero.map(|ns| (ns != 0).then_some(ns));
        Self { reset_end_ns: Some(reset_end_ns), loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns }
    }

    /// Returns the checkpoints in order, with names.
    #[must_use]
    pub fn with_names(&self) -> [(&'static str, Option<i64>); 5] {
        [
            ("reset end", self.reset_end_ns),
            ("loader loaded", self.loader_load_ns),
            ("loader started", self.loader_start_ns),
            ("ExitBootServices called", self.exit_begin_ns),
            ("ExitBootServices returned", self.exit_end_ns),
        ]
    }
}

/// Resumes from S3, as counted by the firmware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareResume {
    /// Resumes since the last full boot.
    pub count: u64,
    /// Duration of the last resume, from reset to the operating system's waking vector, ns.
    pub last_ns: Option<i64>,
    /// Mean duration, ns.
    pub average_ns: Option<i64>,
}

/// The last suspend to S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSuspend {
    /// Time of the operating system's request, ns since processor reset.
    pub start_ns: i64,
    /// Time at which the machine is about to sleep, ns since processor reset.
    pub end_ns: i64,
}

/// A 128-bit firmware GUID, printed as in `9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FirmwareGuid(
    /// The bytes in the order of the printed form.
    pub [u8; 16],
);

impl FirmwareGuid {
    /// Parses the printed form, with or without braces.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        let mut groups = text.split('-');
        let mut digits = String::with_capacity(32);
        for length in GROUPS {
            let group = groups.next()?;
            let is_valid = group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit());
            digits.push_str(is_valid.then_some(group)?);
        }
        let number = u128::from_str_radix(&digits, 16).ok()?;
        groups.next().is_none().then_some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for FirmwareGuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                out.write_str("-")?;
            }
            write!(out, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl Serialize for FirmwareGuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for FirmwareGuid {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FirmwareGuid".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "guid" })
    }
}

/// A measurement: a start, an end, or a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirmwareEvent {
    /// The work that starts or ends.
    pub work: FirmwareWork,
    pub edge: FirmwareEdge,
    /// The firmware's number for the kind of work; the same for the start and the end.
    pub class: u16,
    /// Time, ns since processor reset.
    pub time_ns: i64,
    /// GUID of the module; for the load of an image, the image (known at its end).
    pub module: FirmwareGuid,
    /// Name of the module, where the input has a name instead of a GUID; otherwise empty.
    pub module_name: String,
    /// GUID of the event or caller that the work belongs to.
    pub caller: Option<FirmwareGuid>,
    /// Handle of the loaded image, or of the device that a driver is bound to.
    pub handle: Option<u64>,
    /// Name of the work, or name and path of the device.
    pub text: String,
    /// APIC id of the processor.
    pub apic: u32,
}

/// A problem with firmware performance data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareProblem {
    /// Kind of problem.
    pub kind: FirmwareProblemKind,
    /// Severity.
    pub severity: Severity,
    /// Input and byte offset, or line; empty for a problem that concerns the times as a whole.
    pub place: String,
    /// What was found, and how it was handled.
    pub text: String,
    /// Bytes skipped because of the problem.
    pub skipped_bytes: u64,
}

named! {
    /// Kinds of problem in firmware performance data.
    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FirmwareProblemKind {
        /// The bytes of a table do not add up to zero.
        BadChecksum = "wrong checksum",
        /// The length of a table is smaller than its header.
        ImpossibleTableLength = "impossible table length",
        /// The input ends before the table does.
        TruncatedTable = "cut table",
        ZeroLengthRecord = "record of length zero",
        /// A record shorter than its own header.
        ImpossibleRecordLength = "impossible record length",
        /// A record that reaches past its table's end.
        RecordPastEnd = "record past the end",
        /// The table's signature is repeated where a record should start.
        RepeatedSignature = "repeated signature",
        /// The length of a known record type is invalid.
        WrongRecordLength = "wrong record length",
        /// Bytes that belong to no table.
        BytesOutsideTables = "bytes outside tables",
        /// The table has more records than the reader accepts.
        TooManyRecords = "too many records",
        /// Text in a known format that cannot be parsed.
        UnreadableText = "unreadable text",
        /// A file that cannot be read.
        UnreadableFile = "unreadable file",
        /// A time longer than a computer can run.
        ImpossibleTime = "impossible time",
        /// The input contains several boots; one is shown.
        SeveralBoots = "several boots",
        /// The reset end is later than the loader's load: it counts clock ticks instead of ns.
        ResetEndInTicks = "ticks instead of ns",
        /// The five checkpoints are not in order.
        NotMonotonic = "times out of order",
        /// Times accumulate over restarts because a warm reset does not reset the clock.
        ClockNotReset = "time kept over resets",
        /// `ExitBootServices` has no time: it was not called yet or not recorded, or a legacy boot recorded the
        /// loader's load.
        NotUefi = "no ExitBootServices",
        /// The measurements are not in time order.
        EventsNotMonotonic = "measurements out of order",
        /// A start without its end.
        BeginWithoutEnd = "start without end",
        /// An end without its start.
        EndWithoutBegin = "end without start",
        /// Durations without start times.
        DurationsOnly = "lengths without moments",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_round_trip_through_text() {
        let text = "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50";
        let guid = FirmwareGuid::parse(text).unwrap();
        assert_eq!(guid.0[..4], [0x9b, 0x3a, 0xda, 0x4f]);
        assert_eq!(guid.to_string(), text);
        assert_eq!(FirmwareGuid::parse("{9b3ada4f-ae56-4c24-8dea-f03b7558ae50} "), Some(guid));
        for invalid in [
            "",
            "9B3ADA4F",
            "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE5",
            "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50-1",
            "+B3ADA4F-AE56-4C24-8DEA-F03B7558AE50",
        ] {
            assert_eq!(FirmwareGuid::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn zero_checkpoints_are_unset_except_reset_end() {
        let times = FirmwareCheckpoints::from_stored([0, 5, 6, 0, 0]);
        assert_eq!(times.reset_end_ns, Some(0));
        assert_eq!((times.loader_start_ns, times.exit_begin_ns), (Some(6), None));
    }
}
