//! Binary files of the systemd journal (`.journal`, `.journal~`): bytes in, entries out.
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
//! Source of every structure: "Journal File Format", systemd's documentation, and the fields of systemd 187 to 257.
//!
//! # Design constraints
//!
//! * Opens no file; knows no boot from a shutdown.
//! * Entries of several files come in the order in which `journalctl` shows them, each once.
//! * A file that was not closed, was cut or is damaged is read as far as it goes: where the list of entries breaks, entries are
//!   looked for object by object. What is missing is counted in [`Losses`].
//! * Work is bounded by the size of the files: each object of a list is visited once, and what fields unpack to has a budget.
//! * Seals are not verified; hash tables are not used.

#![forbid(unsafe_code)]

mod bytes;
mod entry;
mod error;
mod file;
mod header;
mod losses;
mod payload;
mod reading;

pub use entry::{Entry, Field, Fields};
pub use error::Error;
pub use file::JournalFile;
pub use header::{Header, State};
pub use losses::{Losses, Place};
pub use reading::read;
