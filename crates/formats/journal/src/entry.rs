//! Entries and their fields.

use std::borrow::Cow;
use std::cell::Cell;

use crate::bytes::{id_at, u32_at, u64_at};
use crate::file::{DATA, ENTRY, ENTRY_HEAD_SIZE, JournalFile};
use crate::losses::Location;
use crate::payload::{self, UnpackResult};

/// A journal entry. Its times were taken by the daemon that wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'r, 'f> {
    pub(crate) file: JournalFile<'f>,
    /// Index of the file in the slice passed to [`read`](crate::read).
    pub file_index: usize,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Number in the sequence identified by [`Header::sequence`](crate::Header::sequence).
    pub sequence_number: u64,
    /// Wall-clock time, µs since 1970-01-01 UTC.
    pub realtime_us: u64,
    /// Monotonic time, µs since the start of the kernel.
    pub monotonic_us: u64,
    /// Boot id.
    pub boot: u128,
    /// XOR of the hashes of all fields; equal for equal entries.
    pub(crate) hash: u64,
    pub(crate) items: &'f [u8],
    pub(crate) errors: Option<&'r FieldErrors>,
}

/// Errors found while fields are read, and the remaining size budget.
#[derive(Debug, Default)]
pub(crate) struct FieldErrors {
    pub(crate) unreadable: Cell<u64>,
    pub(crate) beyond_budget: Cell<u64>,
    pub(crate) first_location: Cell<Option<Location>>,
    /// Bytes to which fields may still expand.
    pub(crate) budget: Cell<u64>,
}

/// A field of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'f> {
    /// Name, such as `MESSAGE`.
    pub name: Cow<'f, [u8]>,
    /// Value: usually text, but any bytes are possible.
    pub value: Cow<'f, [u8]>,
}

impl<'r, 'f> Entry<'r, 'f> {
    /// Reads the entry at `offset` of `file`.
    pub(crate) fn read(file: JournalFile<'f>, file_index: usize, offset: u64) -> Option<Self> {
        let bytes = file.object(ENTRY, offset)?.bytes;
        Some(Self {
            file,
            file_index,
            offset,
            sequence_number: u64_at(bytes, 16)?,
            realtime_us: u64_at(bytes, 24)?,
            monotonic_us: u64_at(bytes, 32)?,
            boot: id_at(bytes, 40)?,
            hash: u64_at(bytes, 56)?,
            items: bytes.get(ENTRY_HEAD_SIZE..)?,
            errors: None,
        })
    }

    /// Iterates over the readable fields in stored order. Unreadable fields are counted in the
    /// [`Losses`](crate::Losses) of the read.
    #[must_use]
    pub fn fields(&self) -> Fields<'r, 'f> {
        Fields { file: self.file, file_index: self.file_index, remaining_items: self.items, errors: self.errors }
    }
}

/// Iterates over the readable fields of an entry.
#[derive(Clone, Debug)]
pub struct Fields<'r, 'f> {
    file: JournalFile<'f>,
    file_index: usize,
    remaining_items: &'f [u8],
    errors: Option<&'r FieldErrors>,
}

impl<'f> Iterator for Fields<'_, 'f> {
    type Item = Field<'f>;

    fn next(&mut self) -> Option<Field<'f>> {
        loop {
            let compact = self.file.header().is_compact;
            let (item, remaining_items) = self.remaining_items.split_at_checked(if compact { 4 } else { 16 })?;
            self.remaining_items = remaining_items;
            let offset = if compact { u32_at(item, 0).map(u64::from) } else { u64_at(item, 0) }?;
            // An unused slot.
            if offset == 0 {
                continue;
            }
            if let Some(field) = self.read_field(offset) {
                return Some(field);
            }
        }
    }
}

impl<'f> Fields<'_, 'f> {
    fn read_field(&self, offset: u64) -> Option<Field<'f>> {
        let budget = self.errors.map_or(u64::MAX, |errors| errors.budget.get());
        let object = self.file.object(DATA, offset);
        let unpack_result = match object {
            Some(object) => payload::unpack(object, self.file.header().is_compact, budget),
            None => UnpackResult::Unreadable,
        };
        let field = match unpack_result {
            UnpackResult::Bytes(bytes) => {
                if let Some(errors) = self.errors {
                    errors.budget.set(budget.saturating_sub(bytes.len() as u64));
                }
                split_field(bytes)
            }
            UnpackResult::Unreadable => None,
            UnpackResult::BeyondBudget => {
                if let Some(errors) = self.errors {
                    errors.beyond_budget.set(errors.beyond_budget.get() + 1);
                }
                return None;
            }
        };
        if let (None, Some(errors)) = (&field, self.errors) {
            errors.unreadable.set(errors.unreadable.get() + 1);
            if errors.first_location.get().is_none() {
                errors.first_location.set(Some(Location { file: self.file_index, offset }));
            }
        }
        field
    }
}

/// Splits `NAME=value`.
fn split_field(bytes: Cow<'_, [u8]>) -> Option<Field<'_>> {
    /// Maximum length of a name in bytes (systemd.journal-fields(7)).
    const MAX_NAME_LEN: usize = 64;
    let prefix = bytes.get(..=MAX_NAME_LEN).unwrap_or(&bytes);
    let separator = memchr::memchr(b'=', prefix).filter(|&separator| separator > 0)?;
    Some(match bytes {
        Cow::Borrowed(bytes) => {
            let (name, value) = bytes.split_at(separator);
            Field { name: name.into(), value: value.get(1..)?.into() }
        }
        Cow::Owned(mut bytes) => {
            let value = bytes.split_off(separator + 1);
            bytes.truncate(separator);
            Field { name: bytes.into(), value: value.into() }
        }
    })
}
