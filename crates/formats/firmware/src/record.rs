//! Records: a number, a length, a revision, and what the number says the rest is.

use uuid::Uuid;

use crate::field::{guid_at, text_at, u16_at, u32_at, u64_at};
use crate::signature::Signature;

/// A record of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it begins, in bytes from the start of the input.
    pub offset: u64,
    /// Its number, which the specification calls type. 0x1000 to 0x1FFF belong to the platform's maker, 0x2000 to 0x2FFF
    /// to the hardware's, 0x3000 to 0x3FFF to the firmware's.
    pub number: u16,
    /// Its length, bytes, with the header of 4.
    pub length: u8,
    /// Its revision.
    pub revision: u8,
    /// What it says.
    pub content: Content,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Where another table lies in memory (FPDT, 16 bytes). Number 0 points at the FBPT, 1 at the S3PT; makers use others.
    Pointer {
        /// Physical address.
        address: u64,
    },
    /// The five checkpoints of the last boot (FBPT, number 2).
    BasicBoot(BasicBoot),
    /// The resumes from S3 (S3PT, number 0).
    S3Resume(S3Resume),
    /// The last suspend to S3 (S3PT, number 1).
    S3Suspend(S3Suspend),
    /// A measurement of EDK II (FBPT, 0x1010 to 0x1014; older firmware 0x2001 to 0x2004).
    Event(Event),
    /// Anything else: what follows the header.
    Other(Vec<u8>),
}

/// Times of the last boot, ns since the processor's reset. Zero where the firmware did not come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicBoot {
    /// The firmware's image begins to run.
    pub reset_end_ns: u64,
    /// The loader of the operating system is about to be loaded.
    pub loader_load_ns: u64,
    /// The loader is about to be started.
    pub loader_start_ns: u64,
    /// The loader has called `ExitBootServices`.
    pub exit_begin_ns: u64,
    /// `ExitBootServices` is about to return.
    pub exit_end_ns: u64,
}

/// Resumes from S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct S3Resume {
    /// Resumes since the last full boot.
    pub count: u32,
    /// Length of the last resume, ns: from the reset to the waking vector of the operating system.
    pub last_ns: u64,
    /// Mean length of all of them, ns.
    pub average_ns: u64,
}

/// The last suspend to S3, ns since the processor's reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct S3Suspend {
    /// The operating system asked for it.
    pub start_ns: u64,
    /// The machine is about to sleep.
    pub end_ns: u64,
}

/// Which fields a measurement of EDK II has besides the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventForm {
    /// None.
    Guid,
    /// A text.
    DynamicString,
    /// A second GUID and a text.
    DualGuidString,
    /// A number.
    GuidQword,
    /// A number and a text.
    GuidQwordString,
}

impl EventForm {
    /// The name, as in the header of EDK II.
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

    /// The form that a record number says. 0x2001 to 0x2004 are the numbers of firmware from before they were agreed on.
    #[must_use]
    pub const fn of(number: u16) -> Option<Self> {
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

/// A measurement of EDK II: one begin, one end, or one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which fields it has.
    pub form: EventForm,
    /// What begins or ends, as numbered in `PerformanceLib.h`.
    pub progress: u16,
    /// APIC number of the processor.
    pub apic: u32,
    /// Time, ns since the processor's reset.
    pub time_ns: u64,
    /// The module that measures; of an image's load, the image (in the end record).
    pub guid: Uuid,
    /// The event or caller that the work belongs to.
    pub second_guid: Option<Uuid>,
    /// A handle: of the loaded image, or of the device that a driver is bound to.
    pub handle: Option<u64>,
    /// A text: name of the work, or of the device with its path. EDK II cuts names to 23 characters.
    pub text: String,
}

impl Content {
    /// What a record of table `signature` says. `bytes` is the whole record. `None` when its length does not fit its number.
    pub(crate) fn of(signature: Signature, number: u16, bytes: &[u8]) -> Option<Self> {
        match (signature, number) {
            (Signature::Fpdt, 0 | 1) => exact(bytes, 16).and_then(Self::pointer),
            (Signature::Fpdt, 0x1000..=0x3fff) if bytes.len() == 16 => Self::pointer(bytes),
            (Signature::S3pt, 0) => exact(bytes, 24).and_then(|bytes| {
                Some(Self::S3Resume(S3Resume {
                    count: u32_at(bytes, 4)?,
                    last_ns: u64_at(bytes, 8)?,
                    average_ns: u64_at(bytes, 16)?,
                }))
            }),
            (Signature::S3pt, 1) => exact(bytes, 20).and_then(|bytes| {
                Some(Self::S3Suspend(S3Suspend { start_ns: u64_at(bytes, 4)?, end_ns: u64_at(bytes, 12)? }))
            }),
            (Signature::Fbpt, 2) => exact(bytes, 48).and_then(|bytes| {
                Some(Self::BasicBoot(BasicBoot {
                    reset_end_ns: u64_at(bytes, 8)?,
                    loader_load_ns: u64_at(bytes, 16)?,
                    loader_start_ns: u64_at(bytes, 24)?,
                    exit_begin_ns: u64_at(bytes, 32)?,
                    exit_end_ns: u64_at(bytes, 40)?,
                }))
            }),
            (Signature::Fbpt | Signature::S3pt, _) => match EventForm::of(number) {
                Some(form) => event(form, bytes).map(Self::Event),
                None => Some(Self::other(bytes)),
            },
            (Signature::Fpdt, _) => Some(Self::other(bytes)),
        }
    }

    pub(crate) fn other(bytes: &[u8]) -> Self {
        Self::Other(bytes.get(4..).unwrap_or_default().to_vec())
    }

    fn pointer(bytes: &[u8]) -> Option<Self> {
        Some(Self::Pointer { address: u64_at(bytes, 8)? })
    }
}

fn exact(bytes: &[u8], length: usize) -> Option<&[u8]> {
    (bytes.len() == length).then_some(bytes)
}

fn event(form: EventForm, bytes: &[u8]) -> Option<Event> {
    let mut event = Event {
        form,
        progress: u16_at(bytes, 4)?,
        apic: u32_at(bytes, 6)?,
        time_ns: u64_at(bytes, 10)?,
        guid: guid_at(bytes, 18)?,
        second_guid: None,
        handle: None,
        text: String::new(),
    };
    const TAIL: usize = 34;
    match form {
        EventForm::Guid => {}
        EventForm::DynamicString => event.text = text_at(bytes, TAIL)?,
        EventForm::DualGuidString => {
            event.second_guid = Some(guid_at(bytes, TAIL)?);
            event.text = text_at(bytes, TAIL + 16)?;
        }
        EventForm::GuidQword => event.handle = Some(u64_at(bytes, TAIL)?),
        EventForm::GuidQwordString => {
            event.handle = Some(u64_at(bytes, TAIL)?);
            event.text = text_at(bytes, TAIL + 8)?;
        }
    }
    Some(event)
}
