//! Reads Windows event logs: `.evtx` files, the XML that `wevtutil` and Event Viewer export, and the CSV that EvtxECmd
//! writes. Writes records as such XML.
//!
//! ```
//! let xml = br#"<Event><System><Provider Name="EventLog"/><EventID>6005</EventID>
//!     <TimeCreated SystemTime="2024-11-15T14:28:46.1000000Z"/><Channel>System</Channel></System></Event>"#;
//! let mut ids = Vec::new();
//! let summary = onoff_event_log::read(xml, &mut |_| true, &mut |record| ids.push(record.id))?;
//! assert_eq!((ids, summary.records), (vec![6005], 1));
//! # Ok::<(), onoff_event_log::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * No I/O: the caller passes the bytes.
//! * All forms give the same records. A binary record is rendered as the XML that Windows shows for it, and parsed as
//!   such.
//! * The header of a file is not trusted. In a copy of a running system it declares fewer chunks than the file has, so
//!   chunks are found by their signature.
//! * Records are passed on in file order. In a log that has wrapped around, that is not the order in which they were
//!   written; sort by [`Record::number`].
//! * Damaged chunks and records are skipped and counted.
//!
//! Sources: the format as documented by MS-EVEN6 and the crate `evtx`; the behavior of copied logs as measured on logs
//! of real machines (`docs/reference/real-windows.md`).

#![forbid(unsafe_code)]

#[cfg(not(target_family = "wasm"))]
mod binary;
mod evtxecmd;
mod record;
mod text;
mod without_fields;
mod write;
mod xml;

use thiserror::Error;

pub use record::{Field, Record};
pub use without_fields::export_without_fields;
pub use write::{XML_END, XML_START, write_losses, write_xml};

/// First bytes of an `.evtx` file.
pub const SIGNATURE: &[u8; 8] = b"ElfFile\0";

/// Why a log cannot be read at all. The caller adds the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    #[error("byte offset 0: not an event log: no signature 'ElfFile', no <Event> element, no columns of EvtxECmd")]
    NotAnEventLog,
    /// The file ends inside its header.
    #[error("byte offset {length:#x}: the event log ends inside its header of 4096 bytes")]
    Truncated {
        /// Length of the file in bytes.
        length: u64,
    },
    /// This build has no reader for `.evtx` files: the library for web pages.
    #[error("a web page cannot read .evtx files; pass the XML export: 'wevtutil qe FILE /lf /f:xml /e:Events'")]
    BinaryUnsupported,
}

/// What a log contains, and what of it could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records read, including those that the caller did not want.
    pub records: u64,
    /// Chunks with a damaged header. Their records are lost.
    pub damaged_chunks: u64,
    /// Records that could not be decoded.
    pub unreadable_records: u64,
    /// Wanted records of a CSV file whose unnamed texts are joined in a way that hides where each ends. They are not
    /// passed on.
    pub joined_records: u64,
    /// Position of the first damage, in bytes.
    pub first_damage: Option<u64>,
    /// True if Windows had not closed the file when it was copied. Its last records may be missing.
    pub is_dirty: bool,
}

impl Summary {
    /// Stores the position of a damage if it is the first one.
    fn note_damage(&mut self, offset: usize) {
        self.first_damage.get_or_insert(offset as u64);
    }
}

/// Decides from a record without its fields whether they are decoded and the record is passed on.
pub type Wanted<'w> = &'w mut dyn FnMut(&Record) -> bool;

/// True if `bytes` start like an event log, its XML export or its CSV from EvtxECmd.
#[must_use]
pub fn is_event_log(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE) || xml::is_export(bytes) || evtxecmd::is_export(bytes)
}

/// Reads a log and passes each wanted record to `each`, in file order.
///
/// # Errors
/// Bytes that are not an event log. Damage inside a log is counted in the summary instead.
pub fn read(bytes: &[u8], wanted: Wanted<'_>, each: &mut dyn FnMut(Record)) -> Result<Summary, Error> {
    if bytes.starts_with(SIGNATURE) {
        read_binary(bytes, wanted, each)
    } else if xml::is_export(bytes) {
        Ok(xml::read(bytes, wanted, each))
    } else if evtxecmd::is_export(bytes) {
        Ok(evtxecmd::read(bytes, wanted, each))
    } else {
        Err(Error::NotAnEventLog)
    }
}

#[cfg(not(target_family = "wasm"))]
use binary::read as read_binary;

#[cfg(target_family = "wasm")]
fn read_binary(_: &[u8], _: Wanted<'_>, _: &mut dyn FnMut(Record)) -> Result<Summary, Error> {
    Err(Error::BinaryUnsupported)
}
