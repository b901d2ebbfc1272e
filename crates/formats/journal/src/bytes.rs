//! Numbers of a journal file, which are little-endian.

/// The number of 64 bits at `offset`.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let number = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

/// The number of 32 bits at `offset`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let number = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}

/// The 128-bit id at `offset`, whose bytes are written in the order of its digits.
pub(crate) fn id_at(bytes: &[u8], offset: usize) -> Option<u128> {
    let id = bytes.get(offset..)?.first_chunk()?;
    Some(u128::from_be_bytes(*id))
}
