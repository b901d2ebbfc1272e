//! Decompresses plans of Windows 10 and later: `MAM`, the algorithm, the size and the compressed plan.

use std::borrow::Cow;

use onoff_compression::CompressionFormat;

use crate::error::Error;
use crate::field::{size_at, u32_at};

/// Maximum expansion of XPRESS Huffman: a chunk of 64 KiB has a table of 256 bytes.
const MAX_EXPANSION: usize = 256;

/// Returns the uncompressed plan, and whether it was compressed.
pub(crate) fn decompress_plan(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, bool), Error> {
    if !bytes.starts_with(b"MAM") {
        return Ok((bytes.into(), false));
    }
    let flags = *bytes.get(3).ok_or(Error::Truncated { offset: 3 })?;
    let size = size_at(bytes, 4).ok_or(Error::Truncated { offset: 4 })?;
    let format = CompressionFormat::from_number(u16::from(flags & 0xf))
        .ok_or(Error::UnsupportedCompression { number: flags })?;
    // The size is followed by a checksum of four bytes if the flag is set.
    let start = if flags & 0x80 != 0 { 12 } else { 8 };
    let payload = bytes.get(start..).ok_or(Error::Truncated { offset: bytes.len() as u64 })?;
    if size > payload.len().saturating_mul(MAX_EXPANSION) {
        return Err(Error::InvalidSize { size: u64::from(u32_at(bytes, 4).unwrap_or(0)) });
    }
    let mut plain = vec![0; size];
    let decompressed = format.decompress(payload, &mut plain);
    if decompressed < size {
        return Err(Error::Damaged { offset: decompressed as u64 });
    }
    Ok((plain.into(), true))
}
