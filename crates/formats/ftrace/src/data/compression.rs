//! How sections and pages are compressed: zstd or zlib, in one piece or in chunks.

use std::io::Read;

use super::bytes::Bytes;
use crate::error::Error;

/// The method that the file's head names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Zstandard,
    Zlib,
}

/// Most bytes that one chunk or section may become: far above what trace-cmd writes (a chunk is ten pages, descriptions
/// are some megabytes).
const MAX_PER_CHUNK: usize = 256 << 20;
/// Most bytes that one processor's pages may become.
const MAX_PER_PROCESSOR: usize = 1 << 30;

impl Compression {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "" | "none" => Some(Self::None),
            "zstd" => Some(Self::Zstandard),
            "zlib" => Some(Self::Zlib),
            _ => None,
        }
    }

    /// One piece: compressed size, size, bytes. `None` when it is damaged or too large.
    fn piece(self, bytes: &mut Bytes<'_>) -> Result<Option<Vec<u8>>, Error> {
        const PIECE: &str = "a compressed piece";
        let compressed = bytes.u32(PIECE)? as usize;
        let size = bytes.u32(PIECE)? as usize;
        let packed = bytes.take(compressed, PIECE)?;
        if size > MAX_PER_CHUNK {
            return Ok(None);
        }
        Ok(self.undo(packed, size).filter(|plain| plain.len() == size))
    }

    fn undo(self, packed: &[u8], size: usize) -> Option<Vec<u8>> {
        match self {
            Self::None => Some(packed.to_vec()),
            Self::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, size).ok(),
            Self::Zstandard => {
                let frame = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
                let mut plain = Vec::new();
                // One byte more shows that it is larger than it says.
                frame.take(size as u64 + 1).read_to_end(&mut plain).ok()?;
                Some(plain)
            }
        }
    }

    /// A section's bytes.
    pub(super) fn section(self, mut bytes: Bytes<'_>) -> Result<Vec<u8>, Error> {
        let offset = bytes.offset as u64;
        self.piece(&mut bytes)?
            .ok_or_else(|| Error::NotATrace { offset, reason: "a section's compressed bytes are damaged".to_owned() })
    }

    /// A processor's pages, which stand in chunks; `false` when some are missing.
    pub(super) fn chunks(self, mut bytes: Bytes<'_>) -> (Vec<u8>, bool) {
        let mut pages = Vec::new();
        let Ok(count) = bytes.u32("the number of chunks") else { return (pages, false) };
        for _ in 0..count {
            match self.piece(&mut bytes) {
                Ok(Some(chunk)) if pages.len() + chunk.len() <= MAX_PER_PROCESSOR => {
                    pages.extend(chunk);
                }
                _ => return (pages, false),
            }
        }
        (pages, true)
    }
}
