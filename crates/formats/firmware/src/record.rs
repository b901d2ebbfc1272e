//! Records: number, length, revision, and content that depends on the number.

use uuid::Uuid;

use crate::field::{guid_at, text_at, u16_at, u32_at, u64_at};
use crate::signature::Signature;

/// A record of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Offset from the start of the input, in bytes.
    pub offset: u64,
    /// Record number, called type in the specification. 0x1000 to 0x1FFF are reserved for the platform vendor, 0x2000
    /// to 0x2FFF for the hardware vendor, 0x3000 to 0x3FFF for the firmware vendor.
    pub record_type: u16,
    /// Length in bytes, including the header of 4 bytes.
    pub length: u8,
    pub revision: u8,
    pub content: RecordContent,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordContent {
    /// Address of another table (FPDT, 16 bytes). Type 0 points to the FBPT, type 1 to the S3PT; vendors use
    /// other types.
    Pointer {
        /// Physical address.
        address: u64,
    },
    /// Checkpoints of the last boot (FBPT, number 2).
    BasicBoot(BasicBoot),
    /// Resumes from S3 (S3PT, number 0).
    S3Resume(S3Resume),
    /// The last suspend to S3 (S3PT, number 1).
    S3Suspend(S3Suspend),
    /// A measurement by EDK II (FBPT, 0x1010 to 0x1014; older firmware 0x2001 to 0x2004).
    Event(Event),
    /// Other content: the bytes after the header.
    Other(Vec<u8>),
}

/// Checkpoints of the last boot, in ns since the processor reset. 0 if a checkpoint was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicBoot {
    /// The firmware starts to run.
    pub reset_end_ns: u64,
    /// The OS loader is about to be loaded.
    pub loader_load_ns: u64,
    /// The OS loader is about to be started.
    pub loader_start_ns: u64,
    /// The OS loader called `ExitBootServices`.
    pub exit_start_ns: u64,
    /// `ExitBootServices` is about to return.
    pub exit_end_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct S3Resume {
    /// Number of resumes since the last full boot.
    pub count: u32,
    /// Duration of the last resume in ns: from the reset to the waking vector of the operating system.
    pub full_resume_ns: u64,
    /// Mean duration of all resumes in ns.
    pub average_ns: u64,
}

/// The last suspend to S3, in ns since the processor reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct S3Suspend {
    /// The operating system requested the suspend.
    pub start_ns: u64,
    /// The machine is about to enter S3.
    pub end_ns: u64,
}

/// Additional fields of an EDK II measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventFormat {
    /// No additional fields.
    Guid,
    /// Text.
    DynamicString,
    /// Second GUID and text.
    DualGuidString,
    /// Number.
    GuidQword,
    /// Number and text.
    GuidQwordString,
}

impl EventFormat {
    /// Returns the name in the header of EDK II.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Guid => "GuidEvent",
            Self::DynamicString => "DynamicStringEvent",
            Self::DualGuidString => "DualGuidStringEvent",
            Self::GuidQword => "GuidQwordEvent",
            Self::GuidQwordString => "GuidQwordStringEvent",
        }
    }

    /// Returns the format of a record type. 0x2001 to 0x2004 were used before the standardization.
    #[must_use]
    pub const fn from_record_type(number: u16) -> Option<Self> {
        match number {
            0x1010 => Some(Self::Guid),
            0x1011 | 0x2001 => Some(Self::DynamicString),
            0x1012 | 0x2002 => Some(Self::DualGuidString),
            0x1013 | 0x2003 => Some(Self::GuidQword),
            0x1014 | 0x2004 => Some(Self::GuidQwordString),
            _ => None,
        }
    }
}

/// A measurement by EDK II: the start or the end of an activity, or a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub format: EventFormat,
    /// Activity that starts or ends, as numbered in `PerformanceLib.h`.
    pub progress_id: u16,
    /// APIC id of the processor.
    pub apic_id: u32,
    /// Time in ns since the processor reset.
    pub time_ns: u64,
    /// The measuring module. For image loads, the end record has the loaded image instead.
    pub guid: Uuid,
    /// The event or caller of the activity.
    pub second_guid: Option<Uuid>,
    /// Handle of the loaded image, or of the device to which a driver is bound.
    pub handle: Option<u64>,
    /// Name of the activity, or name and path of the device. EDK II truncates names to 23 characters.
    pub text: String,
}

impl RecordContent {
    /// Parses a record of the table `signature`. `bytes` is the whole record. Returns `None` if records of this type
    /// cannot have this length.
    pub(crate) fn parse(signature: Signature, number: u16, bytes: &[u8]) -> Option<Self> {
        match (signature, number) {
            (Signature::Fpdt, 0 | 1) => require_length(bytes, 16).and_then(Self::pointer),
            (Signature::Fpdt, 0x1000..=0x3fff) if bytes.len() == 16 => Self::pointer(bytes),
            (Signature::S3pt, 0) => require_length(bytes, 24).and_then(|bytes| {
                Some(Self::S3Resume(S3Resume {
                    count: u32_at(bytes, 4)?,
                    full_resume_ns: u64_at(bytes, 8)?,
                    average_ns: u64_at(bytes, 16)?,
                }))
            }),
            (Signature::S3pt, 1) => require_length(bytes, 20).and_then(|bytes| {
                Some(Self::S3Suspend(S3Suspend { start_ns: u64_at(bytes, 4)?, end_ns: u64_at(bytes, 12)? }))
            }),
            (Signature::Fbpt, 2) => require_length(bytes, 48).and_then(|bytes| {
                Some(Self::BasicBoot(BasicBoot {
                    reset_end_ns: u64_at(bytes, 8)?,
                    loader_load_ns: u64_at(bytes, 16)?,
                    loader_start_ns: u64_at(bytes, 24)?,
                    exit_start_ns: u64_at(bytes, 32)?,
                    exit_end_ns: u64_at(bytes, 40)?,
                }))
            }),
            (Signature::Fbpt | Signature::S3pt, _) => match EventFormat::from_record_type(number) {
                Some(format) => parse_event(format, bytes).map(Self::Event),
                None => Some(Self::raw(bytes)),
            },
            (Signature::Fpdt, _) => Some(Self::raw(bytes)),
        }
    }

    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self::Other(bytes.get(4..).unwrap_or_default().to_vec())
    }

    fn pointer(bytes: &[u8]) -> Option<Self> {
        Some(Self::Pointer { address: u64_at(bytes, 8)? })
    }
}

fn require_length(bytes: &[u8], length: usize) -> Option<&[u8]> {
    (bytes.len() == length).then_some(bytes)
}

fn parse_event(format: EventFormat, bytes: &[u8]) -> Option<Event> {
    let mut event = Event {
        format,
        progress_id: u16_at(bytes, 4)?,
        apic_id: u32_at(bytes, 6)?,
        time_ns: u64_at(bytes, 10)?,
        guid: guid_at(bytes, 18)?,
        second_guid: None,
        handle: None,
        text: String::new(),
    };
    const FIELDS_OFFSET: usize = 34;
    match format {
        EventFormat::Guid => {}
        EventFormat::DynamicString => event.text = text_at(bytes, FIELDS_OFFSET)?,
        EventFormat::DualGuidString => {
            event.second_guid = Some(guid_at(bytes, FIELDS_OFFSET)?);
            event.text = text_at(bytes, FIELDS_OFFSET + 16)?;
        }
        EventFormat::GuidQword => event.handle = Some(u64_at(bytes, FIELDS_OFFSET)?),
        EventFormat::GuidQwordString => {
            event.handle = Some(u64_at(bytes, FIELDS_OFFSET)?);
            event.text = text_at(bytes, FIELDS_OFFSET + 8)?;
        }
    }
    Some(event)
}
