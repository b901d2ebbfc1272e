//! The bytes after an event's header, written field by field.

use uuid::Uuid;

/// Pointer size of a payload. Each event has its own, declared by its header type (`EVENT_HEADER32` or
/// `EVENT_HEADER64`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PointerSize {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    #[default]
    Eight,
}

impl PointerSize {
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// Builds a payload: fields are packed in call order without alignment, as event payloads are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    bytes: Vec<u8>,
    pointer_size: PointerSize,
}

impl Payload {
    #[must_use]
    pub fn new(pointer_size: PointerSize) -> Self {
        Self { bytes: Vec::new(), pointer_size }
    }

    /// Creates an empty payload with 64-bit pointers.
    #[must_use]
    pub fn wide() -> Self {
        Self::new(PointerSize::Eight)
    }

    #[must_use]
    pub fn pointer_size(&self) -> PointerSize {
        self.pointer_size
    }

    /// Replaces bytes that were already appended.
    #[must_use]
    pub(crate) fn overwrite(mut self, offset: usize, bytes: &[u8]) -> Self {
        if let Some(target) = self.bytes.get_mut(offset..offset + bytes.len()) {
            target.copy_from_slice(bytes);
        }
        self
    }

    /// Appends raw bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends an 8-bit integer.
    #[must_use]
    pub fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    /// Appends a signed 8-bit integer.
    #[must_use]
    pub fn i8(self, value: i8) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a 16-bit integer, little-endian.
    #[must_use]
    pub fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a 32-bit integer, little-endian.
    #[must_use]
    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a signed 32-bit integer, little-endian.
    #[must_use]
    pub fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a 64-bit integer, little-endian; also for `FILETIME` and raw clock values.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a signed 64-bit integer, little-endian.
    #[must_use]
    pub fn i64(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a 64-bit floating point number.
    #[must_use]
    pub fn f64(self, value: f64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Appends a manifest boolean: 4 bytes, 0 or 1.
    #[must_use]
    pub fn boolean(self, value: bool) -> Self {
        self.u32(u32::from(value))
    }

    /// Appends a pointer or `size` field, truncated to the payload's pointer size.
    #[must_use]
    pub fn pointer(self, value: u64) -> Self {
        match self.pointer_size {
            PointerSize::Four => self.u32((value & 0xFFFF_FFFF) as u32),
            PointerSize::Eight => self.u64(value),
        }
    }

    /// Appends 8-bit text with its terminating NUL.
    #[must_use]
    pub fn ansi(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).u8(0)
    }

    /// Appends UTF-16 text with its terminating NUL.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.units(text).u16(0)
    }

    /// Appends UTF-16 text preceded by its length in UTF-16 units, without a NUL: the form of `…Length:u16, …:wstr[len
    /// …Length]` fields.
    #[must_use]
    pub fn counted_text(self, text: &str) -> Self {
        let count = u16::try_from(text.encode_utf16().count()).unwrap_or(u16::MAX);
        self.u16(count).units(text)
    }

    /// Appends UTF-16 text without NUL or length.
    #[must_use]
    pub fn units(mut self, text: &str) -> Self {
        for unit in text.encode_utf16() {
            self.bytes.extend_from_slice(&unit.to_le_bytes());
        }
        self
    }

    /// Appends a `wchar[units]` field: UTF-16 text truncated to leave a NUL, zero-filled.
    #[must_use]
    pub fn fixed_text(mut self, text: &str, units: usize) -> Self {
        let end = self.bytes.len() + units * 2;
        for unit in text.encode_utf16().take(units.saturating_sub(1)) {
            self.bytes.extend_from_slice(&unit.to_le_bytes());
        }
        self.bytes.resize(end, 0);
        self
    }

    /// Appends a GUID in its binary form (first three fields little-endian).
    #[must_use]
    pub fn guid(self, guid: &Uuid) -> Self {
        self.bytes(&guid.to_bytes_le())
    }

    /// Appends a security identifier: revision 1, authority 5 (NT), the sub-authorities.
    #[must_use]
    pub fn sid(mut self, sub_authorities: &[u32]) -> Self {
        let count = u8::try_from(sub_authorities.len()).unwrap_or(u8::MAX);
        self = self.u8(1).u8(count).bytes(&[0, 0, 0, 0, 0, 5]);
        for sub_authority in sub_authorities.iter().take(usize::from(count)) {
            self = self.u32(*sub_authority);
        }
        self
    }

    /// Appends a `TOKEN_USER` as kernel process events contain it: two pointers, then the SID.
    #[must_use]
    pub fn token_user(self, sub_authorities: &[u32]) -> Self {
        self.pointer(0xFFFF_C000_1234_5678).pointer(0).sid(sub_authorities)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
