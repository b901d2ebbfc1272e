//! The description of an event's fields, and an event read by it.

use super::{KernelNames, unsigned};

/// How a field's value stands in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// There.
    Here,
    /// Elsewhere in the record: 16 bits of offset and 16 of length (`__data_loc`).
    FromRecord,
    /// The same, the offset counted from the end of the field (`__rel_loc`).
    FromField,
    /// There, up to the record's end.
    ToEnd,
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    signed: bool,
    /// An array of `char`, or another text of the record's own.
    text: bool,
    place: Place,
}

/// A value of a record's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordValue<'a> {
    /// A number.
    Number(i64),
    /// A text.
    Text(&'a str),
    /// A value of another kind: its bytes.
    Bytes(&'a [u8]),
}

/// Return addresses of a call stack as recorded, innermost first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StackAddresses<'a> {
    bytes: &'a [u8],
    size: usize,
    big_endian: bool,
}

impl<'a> StackAddresses<'a> {
    /// The addresses up to the first that stands for none: all bits clear, as behind a short stack of a process, or all
    /// bits set, with which kernels before 5.2 end their own.
    pub fn iter(self) -> impl Iterator<Item = u64> + 'a {
        // The tracer's mark for code that it made itself.
        const TRAMPOLINE: u64 = 0x7fff_ffff;
        let all_set = if self.size == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let addresses = self.bytes.chunks_exact(self.size.max(1)).map(move |bytes| unsigned(bytes, self.big_endian));
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

/// An event's description.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub(crate) name: String,
    pub(crate) id: u16,
    fields: Vec<Field>,
    /// Bytes of an address.
    pub(crate) long_size: usize,
}

/// More fields than any event has.
const MAX_FIELDS: usize = 256;

impl Format {
    /// Reads a `format` file; `None` when it has no name, id or fields.
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

    /// Offset and size of a field, for the description of a page, which is written the same way.
    pub(crate) fn place(text: &str, name: &str) -> Option<(usize, usize)> {
        text.lines()
            .filter_map(|line| line.trim_start().strip_prefix("field:").and_then(Field::parse))
            .find(|field| field.name == name)
            .map(|field| (field.offset, field.size))
    }
}

impl Field {
    /// `char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs between.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let declaration = parts.next()?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", value)) => offset = value.parse().ok(),
                Some(("size", value)) => size = value.parse().ok(),
                Some(("signed", value)) => signed = value == "1",
                _ => {}
            }
        }
        let size = size?;
        let name = declaration.rsplit([' ', '*']).next()?;
        Some(Self {
            name: name.split('[').next()?.to_owned(),
            offset: offset?,
            size,
            signed,
            text: declaration.contains("char") && declaration.contains('['),
            place: if declaration.starts_with("__data_loc") {
                Place::FromRecord
            } else if declaration.starts_with("__rel_loc") {
                Place::FromField
            } else if size == 0 {
                Place::ToEnd
            } else {
                Place::Here
            },
        })
    }
}

/// A record's bytes and what describes them.
#[derive(Clone, Copy, Debug)]
pub struct RecordBody<'a> {
    format: &'a Format,
    bytes: &'a [u8],
    names: &'a KernelNames,
    big_endian: bool,
}

impl<'a> RecordBody<'a> {
    pub(crate) const fn new(format: &'a Format, bytes: &'a [u8], names: &'a KernelNames, big_endian: bool) -> Self {
        Self { format, bytes, names, big_endian }
    }

    /// Its fields in their order, those that every event has (`common_…`) left out. A function's address is its name
    /// where the file lists it.
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
        if field.text {
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

    /// A number; `None` when there is no such field, or the record is cut before it.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        let field = self.format.field(name)?;
        if field.place != Place::Here || !(1..=8).contains(&field.size) {
            return None;
        }
        let bytes = self.bytes.get(field.offset..field.offset.checked_add(field.size)?)?;
        let value = unsigned(bytes, self.big_endian);
        let spare = 64 - 8 * u32::try_from(field.size).ok()?;
        Some(if field.signed { ((value << spare) as i64) >> spare } else { value as i64 })
    }

    /// A text; `None` when there is no such field, the record is cut before it or it is no UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        let field = self.format.field(name)?;
        let (offset, length) = match field.place {
            Place::Here => (field.offset, field.size),
            Place::ToEnd => (field.offset, self.bytes.len().checked_sub(field.offset)?),
            Place::FromRecord | Place::FromField => {
                let end = field.offset.checked_add(4)?;
                let place = self.bytes.get(field.offset..end)?;
                let place = unsigned(place, self.big_endian);
                let from = if field.place == Place::FromField { end } else { 0 };
                (from + (place & 0xffff) as usize, (place >> 16 & 0xffff) as usize)
            }
        };
        let bytes = self.bytes.get(offset..offset.checked_add(length)?)?;
        let length = memchr::memchr(0, bytes).unwrap_or(bytes.len());
        std::str::from_utf8(bytes.get(..length)?).ok()
    }

    /// The addresses from a field to the record's end, `most` at most: a call stack, whose length the description does
    /// not say.
    #[must_use]
    pub fn addresses(&self, name: &str, most: usize) -> Option<StackAddresses<'a>> {
        let size = self.format.long_size;
        let bytes = self.bytes.get(self.format.field(name)?.offset..)?;
        let bytes = bytes.get(..most.saturating_mul(size)).unwrap_or(bytes);
        Some(StackAddresses { bytes, size, big_endian: self.big_endian })
    }

    /// The function that begins at the address in a field; empty when the file lists none there, such as a module's
    /// that was taken out again.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&'a str> {
        let address = self.number(name)? as u64;
        Some(self.names.function(address).unwrap_or_default())
    }

    /// The function that holds the address in a field; empty when the file lists none before it.
    #[must_use]
    pub fn function_around(&self, name: &str) -> Option<&'a str> {
        let address = self.number(name)? as u64;
        Some(self.names.function_around(address).unwrap_or_default())
    }

    /// The text at the address in a field: one of the kernel's own, which the file lists.
    #[must_use]
    pub fn string_at(&self, name: &str) -> Option<&'a str> {
        self.names.string(self.number(name)? as u64)
    }
}
