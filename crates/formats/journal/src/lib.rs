//! Reads binary files of the systemd journal (`.journal`, `.journal~`): takes bytes, returns entries.
//!
//! ```
//! use onoff_journal::{JournalFile, read};
//!
//! # fn print(bytes: &[u8]) -> Result<(), onoff_journal::Error> {
//! let file = JournalFile::open(bytes)?;
//! let losses = read(&[file], |entry| {
//!     for field in entry.fields() {
//!         let (_name, _value) = (field.name, field.value);
//!     }
//! });
//! # let _ = losses;
//! # Ok(())
//! # }
//! ```
//!
//! Source of all structures: "Journal File Format" in systemd's documentation, and the fields of systemd 187 to 257.
//!
//! # Design constraints
//!
//! * No I/O, and no interpretation of entries.
//! * The entries of several files are merged in the order of `journalctl`, without duplicates.
//! * Files that were not closed, are truncated or are damaged are read as far as possible: after damage in the entry
//!   arrays, the file is searched for entries object by object. Missing data is counted in [`Losses`].
//! * Work is bounded by the size of the files: each object in an entry array is visited once, and the decompressed size
//!   of fields has a budget.
//! * Seals are not verified; hash tables are not used.

#![forbid(unsafe_code)]

mod bytes;
mod entry;
mod error;
mod file;
mod header;
mod losses;
mod merge;
mod payload;

pub use entry::{Entry, Field, Fields};
pub use error::Error;
pub use file::JournalFile;
pub use header::{Header, State};
pub use losses::{Location, Losses};
pub use merge::read;
