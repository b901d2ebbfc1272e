//! Checked reads at byte offsets.

use uuid::Uuid;

pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}

/// Reads a GUID as firmware stores it: the first three fields are little-endian.
pub(crate) fn guid_at(bytes: &[u8], offset: usize) -> Option<Uuid> {
    array_at(bytes, offset).map(Uuid::from_bytes_le)
}

/// Reads the text at `offset`, up to the first NUL or the end.
pub(crate) fn text_at(bytes: &[u8], offset: usize) -> Option<String> {
    let text = bytes.get(offset..)?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or(text);
    Some(String::from_utf8_lossy(text).into_owned())
}
