//! Values.

use std::borrow::Cow;

use crate::cell::{cell, decode_name, u16_at, u32_at, utf16};

/// Maximum bytes of a long value in one cell.
const SEGMENT_SIZE: usize = 16_344;

/// Type of a value (`REG_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `REG_NONE`
    None,
    /// `REG_SZ`
    String,
    /// `REG_EXPAND_SZ`: text with environment variables
    ExpandableString,
    /// `REG_BINARY`
    Binary,
    /// `REG_DWORD`
    U32,
    /// `REG_DWORD_BIG_ENDIAN`
    U32BigEndian,
    /// `REG_LINK`: path of another key
    Link,
    /// `REG_MULTI_SZ`
    MultiString,
    /// `REG_QWORD`
    U64,
    /// Another type, by number.
    Other(u32),
}

impl ValueKind {
    const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::String,
            2 => Self::ExpandableString,
            3 => Self::Binary,
            4 => Self::U32,
            5 => Self::U32BigEndian,
            6 => Self::Link,
            7 => Self::MultiString,
            11 => Self::U64,
            number => Self::Other(number),
        }
    }
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value<'h> {
    /// Empty for the default value of the key.
    pub name: String,
    pub kind: ValueKind,
    pub data: Cow<'h, [u8]>,
}

impl<'h> Value<'h> {
    pub(crate) fn read(bytes: &'h [u8], offset: u32) -> Option<Self> {
        let content = cell(bytes, offset).filter(|content| content.starts_with(b"vk"))?;
        let length = usize::from(u16_at(content, 2)?);
        let is_narrow = u16_at(content, 16)? & 1 != 0;
        let size = u32_at(content, 4)?;
        let data = if size & 0x8000_0000 != 0 {
            // Up to four bytes are stored in place of the offset.
            Cow::Borrowed(content.get(8..12)?.get(..(size & 0x7fff_ffff) as usize)?)
        } else {
            read_data(bytes, u32_at(content, 8)?, size as usize)?
        };
        Some(Self {
            name: decode_name(content.get(20..20 + length)?, is_narrow),
            kind: ValueKind::from_number(u32_at(content, 12)?),
            data,
        })
    }

    /// Returns the number of a 32- or 64-bit value; `None` for other types or missing bytes.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self.kind {
            ValueKind::U32 => Some(u64::from(u32::from_le_bytes(*self.data.first_chunk()?))),
            ValueKind::U32BigEndian => Some(u64::from(u32::from_be_bytes(*self.data.first_chunk()?))),
            ValueKind::U64 => Some(u64::from_le_bytes(*self.data.first_chunk()?)),
            _ => None,
        }
    }

    /// Returns the text up to the first NUL; `None` for other types.
    #[must_use]
    pub fn string(&self) -> Option<String> {
        matches!(self.kind, ValueKind::String | ValueKind::ExpandableString | ValueKind::Link).then(|| {
            let text = utf16(&self.data);
            text.split('\0').next().unwrap_or_default().to_owned()
        })
    }

    /// Returns the nonempty texts; a single text is a list of one. `None` for other types.
    #[must_use]
    pub fn strings(&self) -> Option<Vec<String>> {
        match self.kind {
            ValueKind::MultiString => {
                let text = utf16(&self.data);
                Some(text.split('\0').filter(|text| !text.is_empty()).map(str::to_owned).collect())
            }
            _ => self.string().map(|text| if text.is_empty() { Vec::new() } else { vec![text] }),
        }
    }
}

/// Reads the bytes of a value from one or several cells.
fn read_data(bytes: &[u8], offset: u32, size: usize) -> Option<Cow<'_, [u8]>> {
    if size == 0 {
        return Some(Cow::Borrowed(&[]));
    }
    let content = cell(bytes, offset)?;
    if size <= SEGMENT_SIZE || !content.starts_with(b"db") {
        return Some(Cow::Borrowed(content.get(..size)?));
    }
    let segments = usize::from(u16_at(content, 2)?);
    let list = cell(bytes, u32_at(content, 4)?)?;
    let mut data = Vec::new();
    for entry in list.as_chunks::<4>().0.iter().take(segments) {
        let segment = cell(bytes, u32::from_le_bytes(*entry))?;
        let remaining = size - data.len();
        data.extend_from_slice(segment.get(..remaining.min(SEGMENT_SIZE))?);
        if data.len() == size {
            return Some(Cow::Owned(data));
        }
    }
    None
}
