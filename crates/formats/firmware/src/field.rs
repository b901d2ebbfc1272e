//! Checked reads at byte offsets.

use uuid::Uuid;

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A GUID as firmware stores it, with little-endian first three fields.
pub(crate) fn guid_at(bytes: &[u8], at: usize) -> Option<Uuid> {
    array(bytes, at).map(Uuid::from_bytes_le)
}

/// The text at `offset`, up to the first NUL or the end.
pub(crate) fn text_at(bytes: &[u8], at: usize) -> Option<String> {
    let text = bytes.get(at..)?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or(text);
    Some(String::from_utf8_lossy(text).into_owned())
}
