//! What a data object holds: one field, perhaps compressed.

use std::borrow::Cow;
use std::io::Read;

use crate::bytes::u64_at;
use crate::file::Object;

/// Bytes of a data object before its payload, in the regular and the compact form.
const REGULAR_HEAD: usize = 64;
const COMPACT_HEAD: usize = 72;

const XZ: u8 = 1 << 0;
const LZ4: u8 = 1 << 1;
const ZSTANDARD: u8 = 1 << 2;

/// Longest field that is unpacked: journald itself refuses longer ones from the network; core dumps in the journal were
/// never of use here.
const MAX_FIELD_LEN: u64 = 64 << 20;

/// Memory that the XZ decoder may take, KiB: more than its highest preset needs.
const XZ_MEMORY_KIB: u32 = 128 << 10;

/// What became of a payload.
pub(crate) enum Unpacking<'f> {
    /// `NAME=value`.
    Bytes(Cow<'f, [u8]>),
    /// Damaged.
    Unreadable,
    /// Larger than allowed.
    BeyondBudget,
}

/// The payload of a data object, unpacked to at most `budget` bytes.
pub(crate) fn unpack(object: Object<'_>, compact: bool, budget: u64) -> Unpacking<'_> {
    let head = if compact { COMPACT_HEAD } else { REGULAR_HEAD };
    let Some(packed) = object.bytes.get(head..) else { return Unpacking::Unreadable };
    let limit = budget.min(MAX_FIELD_LEN);
    if packed.len() as u64 > limit {
        return Unpacking::BeyondBudget;
    }
    match object.flags {
        0 => Unpacking::Bytes(Cow::Borrowed(packed)),
        XZ => of_stream(lzma_rust2::XzReader::new_mem_limit(packed, false, XZ_MEMORY_KIB), limit),
        LZ4 => of_lz4(packed, limit),
        ZSTANDARD => match ruzstd::decoding::StreamingDecoder::new(packed) {
            Ok(frame) => of_stream(frame, limit),
            Err(_) => Unpacking::Unreadable,
        },
        _ => Unpacking::Unreadable,
    }
}

fn of_stream<'f>(stream: impl Read, limit: u64) -> Unpacking<'f> {
    let mut bytes = Vec::new();
    match stream.take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => Unpacking::BeyondBudget,
        Ok(_) => Unpacking::Bytes(bytes.into()),
        Err(_) => Unpacking::Unreadable,
    }
}

/// A length of 64 bits and one LZ4 block.
fn of_lz4<'f>(packed: &[u8], limit: u64) -> Unpacking<'f> {
    /// No byte of a block becomes more bytes than this.
    const MAX_PER_BYTE: u64 = 255;
    let (Some(length), Some(block)) = (u64_at(packed, 0), packed.get(8..)) else { return Unpacking::Unreadable };
    if length > limit {
        return Unpacking::BeyondBudget;
    }
    if length > MAX_PER_BYTE * block.len() as u64 {
        return Unpacking::Unreadable;
    }
    match usize::try_from(length).map(|length| lz4_flex::block::decompress(block, length)) {
        Ok(Ok(bytes)) if bytes.len() as u64 == length => Unpacking::Bytes(bytes.into()),
        _ => Unpacking::Unreadable,
    }
}
