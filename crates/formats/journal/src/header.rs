//! The header of a journal file.

use crate::bytes::{id_at, u32_at, u64_at};
use crate::error::Error;

const SIGNATURE: &[u8; 8] = b"LPKSHHRH";

/// Bytes of the header that every version of the format has.
const MIN_LEN: usize = 208;

const COMPRESSED_XZ: u32 = 1 << 0;
const COMPRESSED_LZ4: u32 = 1 << 1;
const KEYED_HASH: u32 = 1 << 2;
const COMPRESSED_ZSTD: u32 = 1 << 3;
const COMPACT: u32 = 1 << 4;
const KNOWN: u32 = COMPRESSED_XZ | COMPRESSED_LZ4 | KEYED_HASH | COMPRESSED_ZSTD | COMPACT;

/// Whether a file's writer closed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Closed.
    Offline,
    /// Open for writing: in use, or left by a crash.
    Online,
    /// Closed and never written again.
    Archived,
    /// A state that is not defined.
    Unknown(u8),
}

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether it was closed.
    pub state: State,
    /// The machine whose journal daemon wrote the file.
    pub machine: u128,
    /// Whose sequence numbers its entries have: files with the same id share one sequence.
    pub sequence: u128,
    /// Bytes of the header.
    pub header_bytes: u64,
    /// Bytes of everything behind the header.
    pub arena_bytes: u64,
    /// Entries that the file holds, by its own count.
    pub entries: u64,
    /// Whether objects are of the compact form (systemd 252 and later).
    pub compact: bool,
    /// Offset of the first list of entries; 0 for none.
    pub(crate) first_list: u64,
}

impl Header {
    /// Whether `bytes` begin like a journal file.
    pub(crate) fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(SIGNATURE)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        if !Self::recognizes(bytes) {
            let reason = "it does not begin with LPKSHHRH".to_owned();
            return Err(Error::NotAJournal { offset: 0, reason });
        }
        let head = bytes.get(..MIN_LEN).ok_or(Error::Truncated { length: bytes.len() as u64 })?;
        let cut = || Error::Truncated { length: bytes.len() as u64 };
        let number = |offset| u64_at(head, offset).ok_or_else(cut);
        let flags = u32_at(head, 12).ok_or_else(cut)?;
        if flags & !KNOWN != 0 {
            return Err(Error::Unsupported { flags: flags & !KNOWN });
        }
        let header_bytes = number(88)?;
        if header_bytes < MIN_LEN as u64 || !header_bytes.is_multiple_of(8) || header_bytes > 1 << 20 {
            let reason = format!("a header of {header_bytes} bytes");
            return Err(Error::NotAJournal { offset: 88, reason });
        }
        Ok(Self {
            state: match head.get(16).copied().unwrap_or_default() {
                0 => State::Offline,
                1 => State::Online,
                2 => State::Archived,
                other => State::Unknown(other),
            },
            machine: id_at(head, 40).ok_or_else(cut)?,
            sequence: id_at(head, 72).ok_or_else(cut)?,
            header_bytes,
            arena_bytes: number(96)?,
            entries: number(152)?,
            compact: flags & COMPACT != 0,
            first_list: number(176)?,
        })
    }
}
