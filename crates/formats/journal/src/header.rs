//! Reads the header of a journal file.

use crate::bytes::{id_at, u32_at, u64_at};
use crate::error::Error;

const SIGNATURE: &[u8; 8] = b"LPKSHHRH";

/// Minimum header size in all versions of the format, in bytes.
const MIN_LEN: usize = 208;

const COMPRESSED_XZ: u32 = 1 << 0;
const COMPRESSED_LZ4: u32 = 1 << 1;
const KEYED_HASH: u32 = 1 << 2;
const COMPRESSED_ZSTD: u32 = 1 << 3;
const COMPACT: u32 = 1 << 4;
const KNOWN_FLAGS: u32 = COMPRESSED_XZ | COMPRESSED_LZ4 | KEYED_HASH | COMPRESSED_ZSTD | COMPACT;

/// State of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Offline,
    /// Open for writing: in use, or not closed because of a crash.
    Online,
    /// Closed and rotated; it is never written again.
    Archived,
    /// An undefined value.
    Unknown(u8),
}

/// Header of a journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub state: State,
    /// Machine id of the computer that wrote the file.
    pub machine: u128,
    /// Id of the sequence: files with the same id share one sequence of numbers.
    pub sequence: u128,
    /// Size of the header in bytes.
    pub header_bytes: u64,
    /// Size of the data after the header in bytes.
    pub arena_bytes: u64,
    /// Declared number of entries.
    pub entries: u64,
    /// Times of the first and the last entry, µs since 1970; 0 if there is none.
    pub realtime_us: [u64; 2],
    /// True if objects have the compact format (systemd 252 and later).
    pub is_compact: bool,
    /// Offset of the first entry array; 0 if there is none.
    pub(crate) first_array: u64,
}

impl Header {
    /// True if `bytes` start with the signature of a journal file.
    pub(crate) fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(SIGNATURE)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        if !Self::recognizes(bytes) {
            let reason = "it does not start with LPKSHHRH".to_owned();
            return Err(Error::NotAJournal { offset: 0, reason });
        }
        let head = bytes.get(..MIN_LEN).ok_or(Error::Truncated { length: bytes.len() as u64 })?;
        let truncated = || Error::Truncated { length: bytes.len() as u64 };
        let number = |offset| u64_at(head, offset).ok_or_else(truncated);
        let flags = u32_at(head, 12).ok_or_else(truncated)?;
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Error::Unsupported { flags: flags & !KNOWN_FLAGS });
        }
        let header_bytes = number(88)?;
        if header_bytes < MIN_LEN as u64 || !header_bytes.is_multiple_of(8) || header_bytes > 1 << 20 {
            let reason = format!("invalid header size of {header_bytes} bytes");
            return Err(Error::NotAJournal { offset: 88, reason });
        }
        Ok(Self {
            state: match head.get(16).copied().unwrap_or_default() {
                0 => State::Offline,
                1 => State::Online,
                2 => State::Archived,
                value => State::Unknown(value),
            },
            machine: id_at(head, 40).ok_or_else(truncated)?,
            sequence: id_at(head, 72).ok_or_else(truncated)?,
            header_bytes,
            arena_bytes: number(96)?,
            entries: number(152)?,
            realtime_us: [number(184)?, number(192)?],
            is_compact: flags & COMPACT != 0,
            first_array: number(176)?,
        })
    }
}
