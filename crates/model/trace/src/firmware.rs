//! What firmware measured of itself, whatever form it was handed over in.
//!
//! Its clock is its own: times are nanoseconds since the processor's reset.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::losses::Severity;
use crate::named;
pub use crate::tables::{FirmwareEdge, FirmwareWork};

/// What the firmware of one machine measured: a boot, and the last suspend and resume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirmwareRecording {
    /// What it was read from.
    pub inputs: Vec<FirmwareInput>,
    /// The tables found in it.
    pub tables: Vec<FirmwareTable>,
    /// The five times of the last boot; `None` when no input holds them.
    pub checkpoints: Option<FirmwareCheckpoints>,
    /// Name of the input that the boot's times come from; empty when none.
    pub boot_from: String,
    /// The firmware's measurements of its modules, in the order in which it wrote them.
    pub events: Vec<FirmwareEvent>,
    /// Lengths of work of which no input says when it ran, in the order of the input.
    pub lengths: Vec<FirmwareLength>,
    /// Resumes from S3.
    pub resume: Option<FirmwareResume>,
    /// The last suspend to S3.
    pub suspend: Option<FirmwareSuspend>,
    /// The boots in serial logs that run over several, in their order.
    pub boots: Vec<FirmwareLoggedBoot>,
    /// What is wrong with the inputs, and what was left out because of it.
    pub faults: Vec<FirmwareFault>,
}

/// How long a piece of work took, without when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareLength {
    /// Kind of work.
    pub work: FirmwareWork,
    /// The module: its name, or its GUID where the input gives no name.
    pub module: String,
    /// Name of the work, as the input has it.
    pub text: String,
    /// Length, ns.
    pub duration_ns: i64,
}

/// A boot in a serial log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareLoggedBoot {
    /// Its number as `--boot` takes it: 0 is the log's last, -1 the one before.
    pub number: i64,
    /// The log's name.
    pub input: String,
    /// Line of its first time in the log, from 1.
    pub line: u64,
    /// Whether it is the one that was read.
    pub read: bool,
    /// Its times.
    pub checkpoints: FirmwareCheckpoints,
}

/// A file or folder that firmware tables were read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareInput {
    /// Its name.
    pub name: String,
    /// What it is.
    pub form: FirmwareForm,
    /// Bytes of what it holds, unpacked; 0 of a folder.
    pub bytes: u64,
    /// SHA-256 of what it holds, unpacked, in hexadecimal; empty of a folder.
    pub sha256: String,
}

named! {
    /// Forms in which firmware's times are handed over.
    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FirmwareForm {
        /// The bytes of a table, as in memory.
        Table = "table",
        /// The text of `acpidump`.
        Acpidump = "acpidump text",
        /// The files of one number each that Linux makes of the tables.
        Sysfs = "sysfs folder",
        /// The lines that a debug build of the firmware writes to a serial port.
        SerialLog = "serial log",
        /// The document that EDK II's tools write.
        Edk2Xml = "EDK II XML",
        /// The text of coreboot's `cbmem -t` or `cbmem -T`.
        Cbmem = "cbmem text",
        /// coreboot's table of timestamps, as in memory.
        CbmemTable = "cbmem timestamp table",
        /// The table that Slim Bootloader prints of its times.
        SlimBootloader = "Slim Bootloader performance table",
        /// What EDK II's shell command `dp` prints.
        DpCommand = "dp command text",
    }
}

/// One table of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareTable {
    /// Its signature: `FPDT`, `FBPT` or `S3PT`.
    pub signature: String,
    /// The input's name.
    pub input: String,
    /// Where it begins in the input, bytes.
    pub offset: u64,
    /// Its length as it says, bytes.
    pub length_bytes: u64,
    /// The machine's maker as the table names it; only the FPDT does.
    pub oem: String,
    /// The machine or firmware as the table names it; only the FPDT does.
    pub oem_table: String,
    /// Its records by number.
    pub records: Vec<FirmwareRecordCount>,
    /// The tables it points at.
    pub pointers: Vec<FirmwarePointer>,
}

/// Records of one number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareRecordCount {
    /// The number in hexadecimal, as in `0x1011`.
    pub number: String,
    /// What it stands for; `vendor` or `unknown` where nothing public says.
    pub name: String,
    /// Records of it.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A place in memory that a table points at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwarePointer {
    /// The record's number in hexadecimal.
    pub number: String,
    /// The table that lies there; `vendor` for those of makers.
    pub to: String,
    /// Physical address in hexadecimal.
    pub address: String,
}

/// The five times of a boot that every firmware with these tables gives, ns since the processor's reset. `None` where
/// it left a zero: it did not come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareCheckpoints {
    /// The firmware's image begins to run. Zero is a time here: many firmwares do not measure what lies before.
    pub reset_end_ns: Option<i64>,
    /// The loader of the operating system is about to be loaded.
    pub loader_load_ns: Option<i64>,
    /// The loader is about to be started.
    pub loader_start_ns: Option<i64>,
    /// The loader has called `ExitBootServices`.
    pub exit_begin_ns: Option<i64>,
    /// `ExitBootServices` is about to return: the operating system takes over.
    pub exit_end_ns: Option<i64>,
}

impl FirmwareCheckpoints {
    /// The times as stored, zero for those the firmware did not set; in their order.
    #[must_use]
    pub fn of_stored(stored: [i64; 5]) -> Self {
        let [reset_end, later @ ..] = stored;
        let [load, start, begin, end] = later.map(|ns| (ns != 0).then_some(ns));
        Self {
            reset_end_ns: Some(reset_end),
            loader_load_ns: load,
            loader_start_ns: start,
            exit_begin_ns: begin,
            exit_end_ns: end,
        }
    }

    /// The times in their order, each with what it is.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<i64>); 5] {
        [
            ("reset end", self.reset_end_ns),
            ("loader's load", self.loader_load_ns),
            ("loader's start", self.loader_start_ns),
            ("ExitBootServices called", self.exit_begin_ns),
            ("ExitBootServices returned", self.exit_end_ns),
        ]
    }
}

/// Resumes from S3 as the firmware counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareResume {
    /// Resumes since the last full boot.
    pub count: u64,
    /// The last one: reset to the operating system's waking vector, ns.
    pub last_ns: Option<i64>,
    /// Their mean, ns.
    pub average_ns: Option<i64>,
}

/// The last suspend to S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSuspend {
    /// The operating system asked for it, ns since the processor's reset.
    pub start_ns: i64,
    /// The machine is about to sleep, ns since the processor's reset.
    pub end_ns: i64,
}

/// Names of things in firmware: 128 bits, printed as in `9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FirmwareGuid(
    /// The digits in the order of the printed form.
    pub [u8; 16],
);

impl FirmwareGuid {
    /// Reads the printed form, with or without braces.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        let mut groups = text.split('-');
        let mut digits = String::with_capacity(32);
        for length in GROUPS {
            let group = groups.next()?;
            let whole = group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit());
            digits.push_str(whole.then_some(group)?);
        }
        let number = u128::from_str_radix(&digits, 16).ok()?;
        groups.next().is_none().then_some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for FirmwareGuid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
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

/// A measurement: a begin, an end, or a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirmwareEvent {
    /// What begins or ends.
    pub work: FirmwareWork,
    /// Which end.
    pub edge: FirmwareEdge,
    /// The firmware's own number of the work's kind, the same for its begin and its end.
    pub class: u16,
    /// Time, ns since the processor's reset.
    pub time_ns: i64,
    /// The module; of an image's load, the image (in the end).
    pub module: FirmwareGuid,
    /// The module's name, where the input has that instead of a GUID; else empty.
    pub module_name: String,
    /// The event or caller that the work belongs to.
    pub caller: Option<FirmwareGuid>,
    /// A handle: of the loaded image, or of the device that a driver is bound to.
    pub handle: Option<u64>,
    /// Name of the work, or of the device with its path.
    pub text: String,
    /// APIC number of the processor.
    pub apic: u32,
}

/// Something wrong with what firmware handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareFault {
    /// Which.
    pub kind: FirmwareFaultKind,
    /// How much it matters.
    pub severity: Severity,
    /// Where: an input and a byte offset, or a line; empty for what concerns the times as a whole.
    pub place: String,
    /// What was found, and what was made of it.
    pub text: String,
    /// Bytes that were not read because of it.
    pub skipped_bytes: u64,
}

named! {
    /// Kinds of fault.
    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FirmwareFaultKind {
        /// The bytes of a table do not add up to zero.
        BadChecksum = "wrong checksum",
        /// A table says that it is shorter than its own header.
        ImpossibleTableLength = "impossible table length",
        /// The input ends before the table does.
        TableCut = "cut table",
        /// A record of length zero.
        ZeroLengthRecord = "record of length zero",
        /// A record shorter than its own header.
        ImpossibleRecordLength = "impossible record length",
        /// A record that reaches past its table's end.
        RecordPastEnd = "record past the end",
        /// The table's signature stands again where a record should begin.
        RepeatedSignature = "repeated signature",
        /// A record of a known number with a length that it cannot have.
        WrongRecordLength = "wrong record length",
        /// Bytes that belong to no table.
        BytesOutsideTables = "bytes outside tables",
        /// More records than are read.
        TooManyRecords = "too many records",
        /// A text of a known form with something in it that cannot be read.
        UnreadableText = "unreadable text",
        /// A file that cannot be read.
        UnreadableFile = "unreadable file",
        /// A time longer than a computer can run.
        ImpossibleTime = "impossible time",
        /// Several boots were given; one is shown.
        SeveralBoots = "several boots",
        /// The end of reset is after the loader's load: a count of clock ticks instead of ns.
        ResetEndInTicks = "ticks for ns",
        /// The five times do not follow each other.
        NotMonotonic = "times out of order",
        /// Times so long that they add up over restarts: the clock is not set back by a warm reset.
        KeptOverResets = "time kept over resets",
        /// `ExitBootServices` has no time: it was not called yet or not recorded, or it is a legacy boot that has a
        /// time of its loader's load.
        NotUefi = "no ExitBootServices",
        /// The measurements do not follow each other in time.
        EventsNotMonotonic = "measurements out of order",
        /// A start without its end.
        BeginWithoutEnd = "start without end",
        /// An end without its start.
        EndWithoutBegin = "end without start",
        /// Lengths without the moments at which they began.
        LengthsOnly = "lengths without moments",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_printed_as_they_are_written() {
        let text = "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50";
        let guid = FirmwareGuid::parse(text).unwrap();
        assert_eq!(guid.0[..4], [0x9b, 0x3a, 0xda, 0x4f]);
        assert_eq!(guid.to_string(), text);
        assert_eq!(FirmwareGuid::parse("{9b3ada4f-ae56-4c24-8dea-f03b7558ae50} "), Some(guid));
        for other in [
            "",
            "9B3ADA4F",
            "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE5",
            "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50-1",
            "+B3ADA4F-AE56-4C24-8DEA-F03B7558AE50",
        ] {
            assert_eq!(FirmwareGuid::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_stored_zero_is_no_time_except_for_the_first() {
        let times = FirmwareCheckpoints::of_stored([0, 5, 6, 0, 0]);
        assert_eq!(times.reset_end_ns, Some(0));
        assert_eq!((times.loader_start_ns, times.exit_begin_ns), (Some(6), None));
    }
}
