//! Checked little-endian reads at byte offsets.

use crate::Guid;

/// Reads the `N` bytes at `offset`; `None` if the slice is too short.
#[inline]
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk::<N>().copied()
}

#[inline]
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

#[inline]
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}

/// Reads a GUID in its Windows form: three little-endian integers, then eight bytes.
#[inline]
pub(crate) fn guid_at(bytes: &[u8], offset: usize) -> Option<Guid> {
    array_at(bytes, offset).map(Guid::from_bytes_le)
}
