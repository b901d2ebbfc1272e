//! Reads the objects of a journal file and finds its entries.

use crate::bytes::{u32_at, u64_at};
use crate::error::Error;
use crate::header::{Header, State};
use crate::losses::Losses;

/// Object types that are read.
pub(crate) const DATA: u8 = 1;
pub(crate) const ENTRY: u8 = 3;
const ENTRY_ARRAY: u8 = 6;
/// Highest object type.
const MAX_KIND: u8 = 7;

/// Size of the common head of an object: type, flags, six reserved bytes, size.
const OBJECT_HEAD_SIZE: usize = 16;
/// Offset of the items in an entry, in bytes.
pub(crate) const ENTRY_HEAD_SIZE: usize = 64;
/// Offset of the items in an entry array, in bytes.
const ARRAY_HEAD_SIZE: usize = 24;
/// Objects start at multiples of 8 bytes.
const ALIGNMENT: u64 = 8;

/// A journal file with its parsed header.
#[derive(Clone, Copy, Debug)]
pub struct JournalFile<'f> {
    bytes: &'f [u8],
    header: Header,
}

/// An object: flags and bytes, including the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'f> {
    pub(crate) flags: u8,
    pub(crate) bytes: &'f [u8],
}

impl<'f> JournalFile<'f> {
    /// True if `bytes` start with the signature of a journal file.
    #[must_use]
    pub fn recognizes(bytes: &[u8]) -> bool {
        Header::recognizes(bytes)
    }

    /// Reads the header.
    ///
    /// # Errors
    /// The bytes are not a journal file, end inside the header, or have unknown features.
    pub fn open(bytes: &'f [u8]) -> Result<Self, Error> {
        Ok(Self { bytes, header: Header::read(bytes)? })
    }

    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Size of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The object of type `kind` at `offset`.
    pub(crate) fn object(&self, kind: u8, offset: u64) -> Option<Object<'f>> {
        if offset < self.header.header_bytes || !offset.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let from = usize::try_from(offset).ok()?;
        let rest = self.bytes.get(from..)?;
        let size = usize::try_from(u64_at(rest, 8)?).ok()?;
        let object = rest.get(..size).filter(|_| size >= OBJECT_HEAD_SIZE)?;
        let [found, flags, ..] = *object else { return None };
        (found == kind).then_some(Object { flags, bytes: object })
    }

    /// Size of the entry at `offset`; `None` if there is no readable entry.
    fn entry_bytes(&self, offset: u64) -> Option<u64> {
        let length = self.object(ENTRY, offset)?.bytes.len();
        (length >= ENTRY_HEAD_SIZE).then_some(length as u64)
    }

    /// Offsets of the entries in written order. `file` is the index of this file.
    pub(crate) fn entry_offsets(&self, file: usize, losses: &mut Losses) -> Vec<u64> {
        let end = self.header.header_bytes.saturating_add(self.header.arena_bytes);
        if end > self.length() {
            losses.truncated += 1;
            losses.at(file, self.length());
        }
        losses.unclosed += u64::from(self.header.state == State::Online);
        let mut offsets = Vec::new();
        let damaged = self.read_entry_arrays(&mut offsets);
        if let Some(at) = damaged {
            losses.damaged_arrays += 1;
            losses.at(file, at);
            let listed = offsets.len();
            offsets.extend(self.search(&offsets));
            offsets.sort_unstable();
            let found = offsets.len() - listed;
            losses.recovered_entries += found as u64;
            // Entries counted by the header but not found.
            let missing = self.header.entries.saturating_sub(offsets.len() as u64);
            // The header may have any count, but the file cannot contain more entries than fit.
            losses.unreadable_entries += missing.min(self.length() / ENTRY_HEAD_SIZE as u64);
        }
        offsets
    }

    /// Collects the entries in the entry arrays. Returns the offset of the first damage, if any.
    ///
    /// Entries and arrays are only appended to the file, so their offsets increase. Anything else is damage, which also
    /// guarantees that none is visited twice.
    fn read_entry_arrays(&self, offsets: &mut Vec<u64>) -> Option<u64> {
        let item_bytes = if self.header.is_compact { 4 } else { 8 };
        let mut damaged = None;
        let mut array_offset = self.header.first_array;
        let mut remaining = self.header.entries;
        let mut last_end = 0;
        while array_offset != 0 && remaining > 0 {
            let Some(list) = self.object(ENTRY_ARRAY, array_offset).filter(|list| list.bytes.len() >= ARRAY_HEAD_SIZE)
            else {
                return Some(array_offset);
            };
            for item in list.bytes.get(ARRAY_HEAD_SIZE..).unwrap_or_default().chunks_exact(item_bytes) {
                if remaining == 0 {
                    break;
                }
                let offset = match item_bytes {
                    4 => u32_at(item, 0).map(u64::from),
                    _ => u64_at(item, 0),
                };
                // The rest of the last array is reserved and empty.
                let Some(offset) = offset.filter(|&offset| offset != 0) else { break };
                remaining -= 1;
                match self.entry_bytes(offset).filter(|_| offset >= last_end) {
                    Some(bytes) => {
                        last_end = offset + bytes;
                        offsets.push(offset);
                    }
                    None => damaged = damaged.or(Some(offset)),
                }
            }
            let next = u64_at(list.bytes, OBJECT_HEAD_SIZE).unwrap_or_default();
            if next != 0 && next < array_offset.saturating_add(list.bytes.len() as u64) {
                return Some(array_offset);
            }
            array_offset = next;
        }
        // The header counts entries that are in no array: the writer was interrupted, or an array was overwritten.
        damaged.or_else(|| (remaining > 0 && self.header.state != State::Online).then_some(self.header.first_array))
    }

    /// Searches the whole file, object by object, for entries that are not in the sorted list `known`. Resumes after
    /// damage at the next plausible object.
    fn search(&self, known: &[u64]) -> Vec<u64> {
        let mut found = Vec::new();
        let mut at = self.header.header_bytes;
        let mut in_step = true;
        while at < self.length() {
            let Some(size) = self.plausible_object(at, in_step) else {
                in_step = false;
                at += ALIGNMENT;
                continue;
            };
            in_step = true;
            if self.entry_bytes(at).is_some() && known.binary_search(&at).is_err() {
                found.push(at);
            }
            at += size.next_multiple_of(ALIGNMENT);
        }
        found
    }

    /// Size of the object at `offset` if it is plausible. After damage (`in_step` is false) only entries are accepted,
    /// because data may look like any other object.
    fn plausible_object(&self, offset: u64, in_step: bool) -> Option<u64> {
        let from = usize::try_from(offset).ok()?;
        let [kind, flags, reserved @ ..] = *self.bytes.get(from..)?.first_chunk::<8>()?;
        let size = u64_at(self.bytes, from + 8)?;
        let known = (1..=MAX_KIND).contains(&kind) && flags <= 7 && reserved == [0; 6];
        if !known || size < OBJECT_HEAD_SIZE as u64 || size > self.length() - offset {
            return None;
        }
        if in_step && kind != ENTRY {
            return Some(size);
        }
        let item_bytes = if self.header.is_compact { 4 } else { 16 };
        let items = size.checked_sub(ENTRY_HEAD_SIZE as u64)?;
        let realtime = u64_at(self.bytes, from + 24)?;
        // Wall-clock times from 1970 to 2500, in µs.
        let in_time = realtime < 530 * 366 * 86_400 * 1_000_000;
        (kind == ENTRY && flags == 0 && items.is_multiple_of(item_bytes) && items > 0 && in_time).then_some(size)
    }
}
