//! Decompresses sections and pages: zstd or zlib, as one block or in chunks.

use std::io::Read;

use super::cursor::Cursor;
use crate::error::Error;

/// Compression method named in the file header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Zstandard,
    Zlib,
}

/// Maximum size of a decompressed chunk or section. trace-cmd writes far less: a chunk is ten pages, and descriptions
/// are some megabytes.
const MAX_CHUNK_SIZE: usize = 256 << 20;
/// Maximum size of one processor's decompressed pages.
const MAX_PAGES_SIZE: usize = 1 << 30;

impl Compression {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "none" => Some(Self::None),
            "zstd" => Some(Self::Zstandard),
            "zlib" => Some(Self::Zlib),
            _ => None,
        }
    }

    /// Reads a block: compressed size, size, bytes. Returns `None` if it is damaged or too large.
    fn read_block(self, bytes: &mut Cursor<'_>) -> Result<Option<Vec<u8>>, Error> {
        const BLOCK: &str = "a compressed block";
        let compressed = bytes.u32(BLOCK)? as usize;
        let size = bytes.u32(BLOCK)? as usize;
        let packed = bytes.take(compressed, BLOCK)?;
        if size > MAX_CHUNK_SIZE {
            return Ok(None);
        }
        Ok(self.decompress(packed, size).filter(|plain| plain.len() == size))
    }

    fn decompress(self, packed: &[u8], size: usize) -> Option<Vec<u8>> {
        match self {
            Self::None => Some(packed.to_vec()),
            Self::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, size).ok(),
            Self::Zstandard => {
                let frame = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
                let mut plain = Vec::new();
                // Reading one byte more reveals a wrong size.
                frame.take(size as u64 + 1).read_to_end(&mut plain).ok()?;
                Some(plain)
            }
        }
    }

    /// Decompresses a section.
    pub(super) fn decompress_section(self, mut bytes: Cursor<'_>) -> Result<Vec<u8>, Error> {
        let offset = bytes.offset as u64;
        self.read_block(&mut bytes)?.ok_or_else(|| Error::NotATrace {
            offset,
            reason: "the compressed data of a section is damaged".to_owned(),
        })
    }

    /// Decompresses a processor's pages, which are stored in chunks. Also returns whether all chunks were readable.
    pub(super) fn decompress_chunks(self, mut bytes: Cursor<'_>) -> (Vec<u8>, bool) {
        let mut pages = Vec::new();
        let Ok(count) = bytes.u32("the number of chunks") else { return (pages, false) };
        for _ in 0..count {
            match self.read_block(&mut bytes) {
                Ok(Some(chunk)) if pages.len() + chunk.len() <= MAX_PAGES_SIZE => {
                    pages.extend(chunk);
                }
                _ => return (pages, false),
            }
        }
        (pages, true)
    }
}
