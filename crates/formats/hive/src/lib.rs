//! Registry hives of Windows (`SYSTEM`, `SOFTWARE`, `NTUSER.DAT`, `BCD`): keys and values, with what their transaction logs hold applied.
//!
//! A hive that was copied from a running or crashed computer is behind its logs; one that is damaged still has sound parts. Both are
//! read: [`Hive::read`] applies the logs that belong to it, and what is broken is skipped. [`Hive::survey`] counts what is there and what
//! could not be read, and a key whose list of subkeys is broken gets them from the keys that name it as their parent.
//!
//! # Design constraints
//!
//! * Pure: the caller gives the bytes; nothing here reads a file, prints or looks at the clock.
//! * Input is hostile: every offset is checked, a walk is bounded by the cells that the bytes can have and by depth, and nothing is
//!   allocated that the bytes do not pay for.
//!
//! The layout follows the public description of the format by M. Suhanov; it was checked on hives of Windows 7 to 10.

#![forbid(unsafe_code)]

mod cell;
mod key;
mod log;
mod survey;
mod value;

use std::collections::HashMap;
use std::fmt;

pub use key::Key;
pub use log::LogUse;
pub use survey::Survey;
pub use value::{Value, ValueKind};

use cell::{u32_at, unix_ns};

/// Bytes of the base block, before the cells.
pub(crate) const BASE: usize = 4096;
/// Keys below each other beyond which nothing is read; Windows stops at 512.
pub const MAX_DEPTH: usize = 512;
/// Nothing, where an offset of a cell is expected.
pub(crate) const NOTHING: u32 = u32::MAX;

/// Why bytes are no hive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// They do not begin as one.
    NotAHive,
    /// They end within the base block.
    Cut {
        /// Where, bytes from the start.
        offset: u64,
    },
    /// The root key cannot be read and no key takes its place.
    NoRoot {
        /// Where it should be, bytes from the start.
        offset: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAHive => formatter.write_str("no registry hive"),
            Self::Cut { offset } => write!(formatter, "the hive ends at byte {offset}, within its first block"),
            Self::NoRoot { offset } => write!(formatter, "the root key at byte {offset} cannot be read"),
        }
    }
}

impl std::error::Error for Error {}

/// A hive.
#[derive(Debug)]
pub struct Hive {
    bytes: Vec<u8>,
    root: u32,
    log_use: LogUse,
    is_dirty: bool,
    last_written_unix_ns: Option<i64>,
    /// Keys by the one that they name as their parent, for lists that are broken.
    children: HashMap<u32, Vec<u32>>,
}

impl Hive {
    /// Whether the bytes begin as a hive.
    #[must_use]
    pub fn is_hive(bytes: &[u8]) -> bool {
        bytes.starts_with(b"regf")
    }

    /// Reads a hive and applies what belongs to it of `logs`: its transaction logs (`.LOG`, `.LOG1`, `.LOG2`), in any order.
    ///
    /// # Errors
    /// Bytes that are no hive, or one without a root. What else is broken is skipped.
    pub fn read(mut bytes: Vec<u8>, logs: &[&[u8]]) -> Result<Self, Error> {
        if !Self::is_hive(&bytes) {
            return Err(Error::NotAHive);
        }
        if bytes.len() < BASE {
            return Err(Error::Cut { offset: bytes.len() as u64 });
        }
        let (is_dirty, log_use) = log::apply(&mut bytes, logs);
        let last_written_unix_ns = unix_ns(&bytes, 12);
        let root = u32_at(&bytes, 36).unwrap_or(NOTHING);
        let mut hive = Self { bytes, root, log_use, is_dirty, last_written_unix_ns, children: HashMap::new() };
        hive.children = cell::children(&hive.bytes);
        if Key::at(&hive, root).is_none() {
            hive.root = hive.orphan_root().ok_or(Error::NoRoot { offset: u64::from(root) + BASE as u64 })?;
        }
        Ok(hive)
    }

    /// The key that says of itself that it is the root.
    fn orphan_root(&self) -> Option<u32> {
        let mut roots = self
            .children
            .values()
            .flatten()
            .copied()
            .filter(|&offset| Key::at(self, offset).is_some_and(|key| key.is_root()));
        let first = roots.next()?;
        Some(roots.fold(first, u32::min))
    }

    /// The root key.
    #[must_use]
    pub fn root(&self) -> Key<'_> {
        Key::at(self, self.root).unwrap_or_else(|| Key::nothing(self))
    }

    /// The key at `path` below the root, with backslashes, in any case; `None` when it or a key above is not there or cannot be read.
    #[must_use]
    pub fn key(&self, path: &str) -> Option<Key<'_>> {
        let mut key = self.root();
        for name in path.split('\\').filter(|name| !name.is_empty()) {
            key = key.subkey(name)?;
        }
        Some(key)
    }

    /// What was done with the transaction logs.
    #[must_use]
    pub fn log_use(&self) -> LogUse {
        self.log_use
    }

    /// Whether the hive's own file was not complete: its last changes are in logs, or lost.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// When the hive was last written, ns since 1970-01-01 UTC; `None` where it does not say.
    #[must_use]
    pub fn last_written_unix_ns(&self) -> Option<i64> {
        self.last_written_unix_ns
    }

    /// Counts every key and value once, and what of them cannot be read.
    #[must_use]
    pub fn survey(&self) -> Survey {
        survey::survey(self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The keys that name the one at `offset` as their parent.
    pub(crate) fn children(&self, offset: u32) -> &[u32] {
        self.children.get(&offset).map_or(&[], Vec::as_slice)
    }
}
