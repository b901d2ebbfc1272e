//! Checked reads of numbers and cells at byte offsets.

use std::collections::HashMap;

use crate::BASE_SIZE;

/// Size of a bin header in bytes.
const BIN_HEADER_SIZE: usize = 32;

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// Converts a `FILETIME` to ns since 1970-01-01 UTC; `None` for 0 and for times out of range.
pub(crate) fn unix_ns(bytes: &[u8], offset: usize) -> Option<i64> {
    const EPOCH: i64 = 116_444_736_000_000_000;
    let ticks = i64::try_from(u64_at(bytes, offset)?).ok().filter(|&ticks| ticks != 0)?;
    ticks.checked_sub(EPOCH)?.checked_mul(100)
}

/// Returns the content, without the size, of the cell at `offset` from the end of the base block; `None` for free cells
/// and offsets out of range.
pub(crate) fn cell(bytes: &[u8], offset: u32) -> Option<&[u8]> {
    let start = BASE_SIZE.checked_add(usize::try_from(offset).ok()?)?;
    let size = i32::from_le_bytes(*bytes.get(start..)?.first_chunk()?);
    // Cells in use have negative sizes.
    let size = usize::try_from(size.checked_neg()?).ok()?;
    let remaining = bytes.get(start + 4..)?;
    // A cell that extends past the end is truncated; its fields are checked one by one.
    Some(remaining.get(..size.checked_sub(4)?).unwrap_or(remaining))
}

pub(crate) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Decodes a name in Latin-1 if `is_narrow`, otherwise in UTF-16.
pub(crate) fn decode_name(bytes: &[u8], is_narrow: bool) -> String {
    if is_narrow { bytes.iter().copied().map(char::from).collect() } else { utf16(bytes) }
}

/// Finds the offsets of the keys in all cells in use, by parent. Resumes at the next bin after an invalid cell size.
pub(crate) fn keys_by_parent(bytes: &[u8]) -> HashMap<u32, Vec<u32>> {
    let mut keys_by_parent: HashMap<u32, Vec<u32>> = HashMap::new();
    let cells = bytes.get(BASE_SIZE..).unwrap_or_default();
    let mut position = 0;
    while position + 4 <= cells.len() {
        if position % 4096 == 0 && cells.get(position..).is_some_and(|remaining| remaining.starts_with(b"hbin")) {
            position += BIN_HEADER_SIZE;
            continue;
        }
        let Some(size) = u32_at(cells, position).map(u32::cast_signed) else { break };
        let length = size.unsigned_abs() as usize;
        // Cell sizes are multiples of 8 and do not exceed the remaining bytes.
        if length < 8 || !length.is_multiple_of(8) || length > cells.len() - position {
            position = (position / 4096 + 1) * 4096;
            while position < cells.len()
                && !cells.get(position..).is_some_and(|remaining| remaining.starts_with(b"hbin"))
            {
                position += 4096;
            }
            continue;
        }
        let content = cells.get(position + 4..position + length).unwrap_or_default();
        if size < 0
            && content.starts_with(b"nk")
            && let (Some(parent), Ok(offset)) = (u32_at(content, 16), u32::try_from(position))
        {
            keys_by_parent.entry(parent).or_default().push(offset);
        }
        position += length;
    }
    keys_by_parent
}
