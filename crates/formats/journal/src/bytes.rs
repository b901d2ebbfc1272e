//! Checked reads of the little-endian numbers of a journal file.

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let number = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let number = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}

/// Reads the 128-bit id at `offset`, stored in big-endian order.
pub(crate) fn id_at(bytes: &[u8], offset: usize) -> Option<u128> {
    let id = bytes.get(offset..)?.first_chunk()?;
    Some(u128::from_be_bytes(*id))
}
