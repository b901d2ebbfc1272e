//! Decompresses the payload of data objects. Each contains one field.

use std::borrow::Cow;
use std::io::Read;

use crate::bytes::u64_at;
use crate::file::Object;

/// Offset of the payload in data objects of the regular and the compact format, in bytes.
const REGULAR_HEAD_SIZE: usize = 64;
const COMPACT_HEAD_SIZE: usize = 72;

const XZ: u8 = 1 << 0;
const LZ4: u8 = 1 << 1;
const ZSTANDARD: u8 = 1 << 2;

/// Maximum size of a field in bytes. Larger fields are core dumps, which are not used; journald rejects them from the
/// network.
const MAX_FIELD_LEN: u64 = 64 << 20;

/// Memory limit of the XZ decoder in KiB: more than its highest preset needs.
const XZ_MEMORY_KIB: u32 = 128 << 10;

/// Result of decompressing a payload.
pub(crate) enum UnpackResult<'f> {
    /// `NAME=value`.
    Bytes(Cow<'f, [u8]>),
    Unreadable,
    /// The size exceeds the limit.
    BeyondBudget,
}

/// Decompresses the payload of a data object to at most `budget` bytes.
pub(crate) fn unpack(object: Object<'_>, compact: bool, budget: u64) -> UnpackResult<'_> {
    let head_size = if compact { COMPACT_HEAD_SIZE } else { REGULAR_HEAD_SIZE };
    let Some(packed) = object.bytes.get(head_size..) else { return UnpackResult::Unreadable };
    let limit = budget.min(MAX_FIELD_LEN);
    if packed.len() as u64 > limit {
        return UnpackResult::BeyondBudget;
    }
    match object.flags {
        0 => UnpackResult::Bytes(Cow::Borrowed(packed)),
        XZ => unpack_stream(lzma_rust2::XzReader::new_mem_limit(packed, false, XZ_MEMORY_KIB), limit),
        LZ4 => unpack_lz4(packed, limit),
        ZSTANDARD => match ruzstd::decoding::StreamingDecoder::new(packed) {
            Ok(frame) => unpack_stream(frame, limit),
            Err(_) => UnpackResult::Unreadable,
        },
        _ => UnpackResult::Unreadable,
    }
}

fn unpack_stream<'f>(stream: impl Read, limit: u64) -> UnpackResult<'f> {
    let mut bytes = Vec::new();
    match stream.take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => UnpackResult::BeyondBudget,
        Ok(_) => UnpackResult::Bytes(bytes.into()),
        Err(_) => UnpackResult::Unreadable,
    }
}

/// Decompresses a 64-bit length followed by one LZ4 block.
fn unpack_lz4<'f>(packed: &[u8], limit: u64) -> UnpackResult<'f> {
    /// Maximum expansion of one byte of a block.
    const MAX_PER_BYTE: u64 = 255;
    let (Some(length), Some(block)) = (u64_at(packed, 0), packed.get(8..)) else { return UnpackResult::Unreadable };
    if length > limit {
        return UnpackResult::BeyondBudget;
    }
    if length > MAX_PER_BYTE * block.len() as u64 {
        return UnpackResult::Unreadable;
    }
    match usize::try_from(length).map(|length| lz4_flex::block::decompress(block, length)) {
        Ok(Ok(bytes)) if bytes.len() as u64 == length => UnpackResult::Bytes(bytes.into()),
        _ => UnpackResult::Unreadable,
    }
}
