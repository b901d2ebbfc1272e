//! Checked reads of numbers and texts at byte offsets.

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// Reads a 32-bit offset or count.
pub(crate) fn size_at(bytes: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, offset)?).ok()
}

/// Decodes UTF-16 text up to the first NUL or the end.
pub(crate) fn text(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|&unit| unit != 0);
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Reads UTF-16 text of `units` code units at `offset`.
pub(crate) fn text_at(bytes: &[u8], offset: usize, units: usize) -> Option<String> {
    Some(text(bytes.get(offset..offset.checked_add(units.checked_mul(2)?)?)?))
}

/// Converts a `FILETIME` to ns since 1970-01-01 UTC; `None` for 0 and for times out of range.
pub(crate) fn unix_ns_at(bytes: &[u8], offset: usize) -> Option<i64> {
    const EPOCH: i64 = 116_444_736_000_000_000;
    let ticks = i64::try_from(u64_at(bytes, offset)?).ok().filter(|&ticks| ticks != 0)?;
    ticks.checked_sub(EPOCH)?.checked_mul(100)
}
