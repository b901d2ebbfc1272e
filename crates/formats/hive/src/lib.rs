//! Reads registry hives of Windows (`SYSTEM`, `SOFTWARE`, `NTUSER.DAT`, `BCD`): keys and values, after applying the
//! transaction logs.
//!
//! A hive copied from a running or crashed computer is incomplete without its logs, and a damaged hive has intact
//! parts. Both can be read: [`Hive::read`] applies the matching logs, and damaged parts are skipped. [`Hive::survey`]
//! counts readable and unreadable keys and values. If a subkey list is damaged, the subkeys are found by their parent
//! offsets.
//!
//! # Design constraints
//!
//! * No I/O: the caller passes the bytes. The crate reads no file, no clock, and prints nothing.
//! * Input is untrusted: every offset is checked, traversal is bounded by the number of possible cells and by depth,
//!   and memory is bounded by the size of the input.
//!
//! Source of the layout: the specification by M. Suhanov, verified with hives of Windows 7 to 10.

#![forbid(unsafe_code)]

mod cell;
mod key;
mod log;
mod survey;
mod value;

use std::collections::HashMap;
use std::fmt;

pub use key::Key;
pub use log::LogStats;
pub use survey::Survey;
pub use value::{Value, ValueKind};

use cell::{u32_at, unix_ns};

/// Size of the base block before the cells, in bytes.
pub(crate) const BASE_SIZE: usize = 4096;
/// Maximum depth of keys. Windows also stops at 512.
pub const MAX_DEPTH: usize = 512;
/// Cell offset that means "none".
pub(crate) const NO_OFFSET: u32 = u32::MAX;

/// Why a hive cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes do not start with `regf`.
    NotAHive,
    /// The file ends inside the base block.
    Truncated {
        /// Length of the file in bytes.
        offset: u64,
    },
    /// The root key is unreadable, and no other key has the root flag.
    NoRoot {
        /// Expected offset of the root key, in bytes from the start.
        offset: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAHive => formatter.write_str("not a registry hive"),
            Self::Truncated { offset } => {
                write!(formatter, "the hive is truncated at byte {offset}, inside its base block")
            }
            Self::NoRoot { offset } => write!(formatter, "the root key at byte {offset} is unreadable"),
        }
    }
}

impl std::error::Error for Error {}

/// A registry hive.
#[derive(Debug)]
pub struct Hive {
    bytes: Vec<u8>,
    root: u32,
    log_stats: LogStats,
    is_dirty: bool,
    last_written_unix_ns: Option<i64>,
    /// Key offsets by parent, for damaged subkey lists.
    children: HashMap<u32, Vec<u32>>,
}

impl Hive {
    /// True if the bytes start with `regf`.
    #[must_use]
    pub fn is_hive(bytes: &[u8]) -> bool {
        bytes.starts_with(b"regf")
    }

    /// Reads a hive and applies its transaction logs (`.LOG`, `.LOG1`, `.LOG2`), in any order. Logs that do not match
    /// are ignored.
    ///
    /// # Errors
    /// The bytes are not a hive, or have no root key. Other damage is skipped.
    pub fn read(mut bytes: Vec<u8>, logs: &[&[u8]]) -> Result<Self, Error> {
        if !Self::is_hive(&bytes) {
            return Err(Error::NotAHive);
        }
        if bytes.len() < BASE_SIZE {
            return Err(Error::Truncated { offset: bytes.len() as u64 });
        }
        let (is_dirty, log_stats) = log::apply(&mut bytes, logs);
        let last_written_unix_ns = unix_ns(&bytes, 12);
        let root = u32_at(&bytes, 36).unwrap_or(NO_OFFSET);
        let mut hive = Self { bytes, root, log_stats, is_dirty, last_written_unix_ns, children: HashMap::new() };
        hive.children = cell::keys_by_parent(&hive.bytes);
        if Key::read(&hive, root).is_none() {
            hive.root = hive.orphan_root().ok_or(Error::NoRoot { offset: u64::from(root) + BASE_SIZE as u64 })?;
        }
        Ok(hive)
    }

    /// Returns the first key with the root flag.
    fn orphan_root(&self) -> Option<u32> {
        let mut roots = self
            .children
            .values()
            .flatten()
            .copied()
            .filter(|&offset| Key::read(self, offset).is_some_and(|key| key.is_root()));
        let offset = roots.next()?;
        Some(roots.fold(offset, u32::min))
    }

    #[must_use]
    pub fn root(&self) -> Key<'_> {
        Key::read(self, self.root).unwrap_or_else(|| Key::placeholder(self))
    }

    /// Returns the key at `path` below the root (with backslashes, ignoring case); `None` if it or one of its parents
    /// is missing or unreadable.
    #[must_use]
    pub fn key(&self, path: &str) -> Option<Key<'_>> {
        let mut key = self.root();
        for name in path.split('\\').filter(|name| !name.is_empty()) {
            key = key.subkey(name)?;
        }
        Some(key)
    }

    /// Returns the statistics of the applied transaction logs.
    #[must_use]
    pub fn log_stats(&self) -> LogStats {
        self.log_stats
    }

    /// True if the hive file was incomplete: the last changes are in logs, or lost.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns the time of the last write, ns since 1970-01-01 UTC; `None` if not recorded.
    #[must_use]
    pub fn last_written_unix_ns(&self) -> Option<i64> {
        self.last_written_unix_ns
    }

    /// Counts all keys and values, and the unreadable ones.
    #[must_use]
    pub fn survey(&self) -> Survey {
        survey::survey(self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the offsets of the keys whose parent is at `offset`.
    pub(crate) fn children(&self, offset: u32) -> &[u32] {
        self.children.get(&offset).map_or(&[], Vec::as_slice)
    }
}
