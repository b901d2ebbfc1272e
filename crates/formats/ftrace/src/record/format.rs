//! Parses event descriptions (`format` files), and reads records with them.

use super::{KernelSymbols, read_unsigned};

/// Location of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldLocation {
    /// At the field's offset.
    Inline,
    /// 16-bit offset from the start of the record, and 16-bit length (`__data_loc`).
    RecordRelative,
    /// 16-bit offset from the end of the field, and 16-bit length (`__rel_loc`).
    FieldRelative,
    /// From the field's offset to the end of the record.
    ToEnd,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    is_signed: bool,
    /// True for an array of `char` or another string type.
    is_text: bool,
    location: FieldLocation,
}

/// A value of a record's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordValue<'a> {
    Number(i64),
    Text(&'a str),
    /// Raw bytes of any other type.
    Bytes(&'a [u8]),
}

/// Return addresses of a recorded call stack, innermost first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StackAddresses<'a> {
    bytes: &'a [u8],
    size: usize,
    big_endian: bool,
}

impl<'a> StackAddresses<'a> {
    /// Iterates over the addresses up to a terminator: all bits clear, as after a short user stack, or all bits set, as
    /// in kernels before 5.2.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        // Marks a tracer trampoline.
        const TRAMPOLINE: u64 = 0x7fff_ffff;
        let all_set = if self.size == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let addresses =
            self.bytes.chunks_exact(self.size.max(1)).map(move |bytes| read_unsigned(bytes, self.big_endian));
        addresses
            .take_while(move |&address| address != 0 && address != all_set)
            .filter(|&address| address != TRAMPOLINE)
    }
}

impl std::fmt::Debug for StackAddresses<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter().map(|address| format!("{address:#x}"))).finish()
    }
}

/// The description of an event.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub(crate) name: String,
    pub(crate) id: u16,
    fields: Vec<Field>,
    /// Size of an address, bytes.
    pub(crate) long_size: usize,
}

/// Maximum number of fields.
const MAX_FIELDS: usize = 256;

impl Format {
    /// Parses a `format` file; `None` if it has no name or id.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut name = None;
        let mut id = None;
        let mut fields = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("ID:") {
                id = rest.trim().parse().ok();
            } else if let Some(field) = line.trim_start().strip_prefix("field:").and_then(Field::parse)
                && fields.len() < MAX_FIELDS
            {
                fields.push(field);
            }
        }
        Some(Self { name: name?, id: id?, fields, long_size: 8 })
    }

    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the offset and size of a field in a description (of an event or a page).
    pub(crate) fn field_location(text: &str, name: &str) -> Option<(usize, usize)> {
        text.lines()
            .filter_map(|line| line.trim_start().strip_prefix("field:").and_then(Field::parse))
            .find(|field| field.name == name)
            .map(|field| (field.offset, field.size))
    }
}

impl Field {
    /// Parses `char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs in between.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let declaration = parts.next()?;
        let (mut offset, mut size, mut is_signed) = (None, None, false);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", value)) => offset = value.parse().ok(),
                Some(("size", value)) => size = value.parse().ok(),
                Some(("signed", value)) => is_signed = value == "1",
                _ => {}
            }
        }
        let size = size?;
        let name = declaration.rsplit([' ', '*']).next()?;
        Some(Self {
            name: name.split('[').next()?.to_owned(),
            offset: offset?,
            size,
            is_signed,
            is_text: declaration.contains("char") && declaration.contains('['),
            location: if declaration.starts_with("__data_loc") {
                FieldLocation::RecordRelative
            } else if declaration.starts_with("__rel_loc") {
                FieldLocation::FieldRelative
            } else if size == 0 {
                FieldLocation::ToEnd
            } else {
                FieldLocation::Inline
            },
        })
    }
}

/// The bytes of a record with the description of its fields.
#[derive(Clone, Copy, Debug)]
pub struct RecordBody<'a> {
    format: &'a Format,
    bytes: &'a [u8],
    symbols: &'a KernelSymbols,
    big_endian: bool,
}

impl<'a> RecordBody<'a> {
    pub(crate) const fn new(format: &'a Format, bytes: &'a [u8], symbols: &'a KernelSymbols, big_endian: bool) -> Self {
        Self { format, bytes, symbols, big_endian }
    }

    /// Iterates over the fields in order, without the common fields (`common_…`). A function's address is replaced by
    /// its name if the file has it.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, RecordValue<'a>)> {
        let body = *self;
        self.format
            .fields
            .iter()
            .filter(|field| !field.name.starts_with("common_"))
            .filter_map(move |field| Some((field.name.as_str(), body.value(field)?)))
    }

    fn value(&self, field: &'a Field) -> Option<RecordValue<'a>> {
        let name = field.name.as_str();
        if field.is_text {
            return self.text(name).map(RecordValue::Text);
        }
        if matches!(name, "func" | "function" | "ip")
            && let Some(function) = self.function_around(name).filter(|name| !name.is_empty())
        {
            return Some(RecordValue::Text(function));
        }
        self.number(name).map(RecordValue::Number).or_else(|| {
            let end = field.offset.checked_add(field.size)?;
            self.bytes.get(field.offset..end).map(RecordValue::Bytes)
        })
    }

    /// Reads a number; `None` if the field does not exist or the record is too short.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        let field = self.format.field(name)?;
        if field.location != FieldLocation::Inline || !(1..=8).contains(&field.size) {
            return None;
        }
        let bytes = self.bytes.get(field.offset..field.offset.checked_add(field.size)?)?;
        let value = read_unsigned(bytes, self.big_endian);
        let unused_bits = 64 - 8 * u32::try_from(field.size).ok()?;
        Some(if field.is_signed { ((value << unused_bits) as i64) >> unused_bits } else { value as i64 })
    }

    /// Reads a string; `None` if the field does not exist, the record is too short, or the string is not UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let field = self.format.field(name)?;
        let (offset, length) = match field.location {
            FieldLocation::Inline => (field.offset, field.size),
            FieldLocation::ToEnd => (field.offset, self.bytes.len().checked_sub(field.offset)?),
            FieldLocation::RecordRelative | FieldLocation::FieldRelative => {
                let end = field.offset.checked_add(4)?;
                let location = self.bytes.get(field.offset..end)?;
                let location = read_unsigned(location, self.big_endian);
                let base = if field.location == FieldLocation::FieldRelative { end } else { 0 };
                (base + (location & 0xffff) as usize, (location >> 16 & 0xffff) as usize)
            }
        };
        let bytes = self.bytes.get(offset..offset.checked_add(length)?)?;
        let length = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        std::str::from_utf8(bytes.get(..length)?).ok()
    }

    /// Returns up to `max` addresses from a field to the end of the record: a call stack, whose length is not in the
    /// description.
    #[must_use]
    pub fn addresses(&self, name: &str, max: usize) -> Option<StackAddresses<'a>> {
        let size = self.format.long_size;
        let bytes = self.bytes.get(self.format.field(name)?.offset..)?;
        let bytes = bytes.get(..max.saturating_mul(size)).unwrap_or(bytes);
        Some(StackAddresses { bytes, size, big_endian: self.big_endian })
    }

    /// Returns the function that starts at the address in a field; empty if the file has none, such as for an unloaded
    /// module.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&'a str> {
        let address = self.number(name)? as u64;
        Some(self.symbols.function(address).unwrap_or_default())
    }

    /// Returns the function that contains the address in a field; empty if the file has none.
    #[must_use]
    pub fn function_around(&self, name: &str) -> Option<&'a str> {
        let address = self.number(name)? as u64;
        Some(self.symbols.function_around(address).unwrap_or_default())
    }

    /// Returns the kernel string at the address in a field.
    #[must_use]
    pub fn string_at(&self, name: &str) -> Option<&'a str> {
        self.symbols.string(self.number(name)? as u64)
    }
}
