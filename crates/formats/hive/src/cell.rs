//! Numbers and cells at places.

use std::collections::HashMap;

use crate::BASE;

/// Bytes of a bin's header.
const BIN: usize = 32;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A `FILETIME` as ns since 1970-01-01 UTC; `None` for zero and for what is beyond.
pub(crate) fn unix_ns(bytes: &[u8], at: usize) -> Option<i64> {
    const EPOCH: i64 = 116_444_736_000_000_000;
    let ticks = i64::try_from(u64_at(bytes, at)?).ok().filter(|&ticks| ticks != 0)?;
    ticks.checked_sub(EPOCH)?.checked_mul(100)
}

/// The content of the cell at `offset` from the end of the base block, without its size; `None` for free cells and places outside.
pub(crate) fn cell(bytes: &[u8], offset: u32) -> Option<&[u8]> {
    let at = BASE.checked_add(usize::try_from(offset).ok()?)?;
    let size = i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    // Negative sizes are those of cells in use.
    let size = usize::try_from(size.checked_neg()?).ok()?;
    let rest = bytes.get(at + 4..)?;
    // A cell that goes beyond the end is cut there: what it holds is checked field by field.
    Some(rest.get(..size.checked_sub(4)?).unwrap_or(rest))
}

/// UTF-16 text.
pub(crate) fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A name: one byte a character (Latin-1) where `is_narrow`, else UTF-16.
pub(crate) fn name(bytes: &[u8], is_narrow: bool) -> String {
    if is_narrow { bytes.iter().copied().map(char::from).collect() } else { utf16(bytes) }
}

/// The offsets of the keys in all cells in use, by the parent that they name. Where a cell's size is broken, the next bin is looked for.
pub(crate) fn children(bytes: &[u8]) -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let cells = bytes.get(BASE..).unwrap_or_default();
    let mut at = 0;
    while at + 4 <= cells.len() {
        if at % 4096 == 0 && cells.get(at..).is_some_and(|rest| rest.starts_with(b"hbin")) {
            at += BIN;
            continue;
        }
        let Some(size) = u32_at(cells, at).map(u32::cast_signed) else { break };
        let length = size.unsigned_abs() as usize;
        // Cells are multiples of eight bytes, and lie within what is there.
        if length < 8 || !length.is_multiple_of(8) || length > cells.len() - at {
            at = (at / 4096 + 1) * 4096;
            while at < cells.len() && !cells.get(at..).is_some_and(|rest| rest.starts_with(b"hbin")) {
                at += 4096;
            }
            continue;
        }
        let content = cells.get(at + 4..at + length).unwrap_or_default();
        if size < 0
            && content.starts_with(b"nk")
            && let (Some(parent), Ok(offset)) = (u32_at(content, 16), u32::try_from(at))
        {
            children.entry(parent).or_default().push(offset);
        }
        at += length;
    }
    children
}
