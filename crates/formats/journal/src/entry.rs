//! One entry of a journal and its fields.

use std::borrow::Cow;
use std::cell::Cell;

use crate::bytes::{id_at, u32_at, u64_at};
use crate::file::{DATA, ENTRY, ENTRY_HEAD, JournalFile};
use crate::losses::Place;
use crate::payload::{self, Unpacking};

/// An entry. Times are those of the daemon that wrote it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'r, 'f> {
    pub(crate) file: JournalFile<'f>,
    /// The file's place among those read.
    pub file_index: usize,
    /// Byte offset in its file.
    pub offset: u64,
    /// Its number in the sequence that the file's header names.
    pub sequence_number: u64,
    /// Wall clock, µs since 1970.
    pub realtime_us: u64,
    /// Monotonic clock, µs since the kernel's start.
    pub monotonic_us: u64,
    /// Id of the boot.
    pub boot: u128,
    /// The exclusive or of its data's hashes: equal entries have the same.
    pub(crate) hash: u64,
    pub(crate) items: &'f [u8],
    pub(crate) faults: Option<&'r FieldFaults>,
}

/// What went wrong with fields while entries were looked at.
#[derive(Debug, Default)]
pub(crate) struct FieldFaults {
    pub(crate) unreadable: Cell<u64>,
    pub(crate) beyond_budget: Cell<u64>,
    pub(crate) first: Cell<Option<Place>>,
    /// Bytes that fields may still expand to.
    pub(crate) budget: Cell<u64>,
}

/// One field of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'f> {
    /// Its name, e.g. `MESSAGE`.
    pub name: Cow<'f, [u8]>,
    /// Its value: text as a rule, but any bytes.
    pub value: Cow<'f, [u8]>,
}

impl<'r, 'f> Entry<'r, 'f> {
    /// The entry at `offset` of `file`.
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
            items: bytes.get(ENTRY_HEAD..)?,
            faults: None,
        })
    }

    /// The fields, as far as they can be read, in the order in which the entry names them. Those that cannot are counted in the
    /// losses of the reading.
    #[must_use]
    pub fn fields(&self) -> Fields<'r, 'f> {
        Fields { file: self.file, file_index: self.file_index, rest: self.items, faults: self.faults }
    }
}

/// The fields of an entry.
#[derive(Clone, Debug)]
pub struct Fields<'r, 'f> {
    file: JournalFile<'f>,
    file_index: usize,
    rest: &'f [u8],
    faults: Option<&'r FieldFaults>,
}

impl<'f> Iterator for Fields<'_, 'f> {
    type Item = Field<'f>;

    fn next(&mut self) -> Option<Field<'f>> {
        loop {
            let compact = self.file.header().compact;
            let (item, rest) = self.rest.split_at_checked(if compact { 4 } else { 16 })?;
            self.rest = rest;
            let offset = if compact { u32_at(item, 0).map(u64::from) } else { u64_at(item, 0) }?;
            // A slot that was not filled.
            if offset == 0 {
                continue;
            }
            if let Some(field) = self.field(offset) {
                return Some(field);
            }
        }
    }
}

impl<'f> Fields<'_, 'f> {
    fn field(&self, offset: u64) -> Option<Field<'f>> {
        let budget = self.faults.map_or(u64::MAX, |faults| faults.budget.get());
        let object = self.file.object(DATA, offset);
        let unpacked = match object {
            Some(object) => payload::unpack(object, self.file.header().compact, budget),
            None => Unpacking::Unreadable,
        };
        let field = match unpacked {
            Unpacking::Bytes(bytes) => {
                if let Some(faults) = self.faults {
                    faults.budget.set(budget.saturating_sub(bytes.len() as u64));
                }
                split(bytes)
            }
            Unpacking::Unreadable => None,
            Unpacking::BeyondBudget => {
                if let Some(faults) = self.faults {
                    faults.beyond_budget.set(faults.beyond_budget.get() + 1);
                }
                return None;
            }
        };
        if let (None, Some(faults)) = (&field, self.faults) {
            faults.unreadable.set(faults.unreadable.get() + 1);
            if faults.first.get().is_none() {
                faults.first.set(Some(Place { file: self.file_index, offset }));
            }
        }
        field
    }
}

/// `NAME=value`
fn split(bytes: Cow<'_, [u8]>) -> Option<Field<'_>> {
    /// Names have 64 bytes at most (`field name length`, systemd.journal-fields(7)).
    const MAX_NAME_LEN: usize = 64;
    let head = bytes.get(..=MAX_NAME_LEN).unwrap_or(&bytes);
    let at = memchr::memchr(b'=', head).filter(|&at| at > 0)?;
    Some(match bytes {
        Cow::Borrowed(bytes) => {
            let (name, value) = bytes.split_at(at);
            Field { name: name.into(), value: value.get(1..)?.into() }
        }
        Cow::Owned(mut bytes) => {
            let value = bytes.split_off(at + 1);
            bytes.truncate(at);
            Field { name: bytes.into(), value: value.into() }
        }
    })
}
