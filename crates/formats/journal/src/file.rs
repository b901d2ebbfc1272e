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

    /// Returns the size of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the object of type `kind` at `offset`.
    pub(crate) fn object(&self, kind: u8, offset: u64) -> Option<Object<'f>> {
        if offset < self.header.header_bytes || !offset.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let start = usize::try_from(offset).ok()?;
        let remaining = self.bytes.get(start..)?;
        let size = usize::try_from(u64_at(remaining, 8)?).ok()?;
        let object = remaining.get(..size).filter(|_| size >= OBJECT_HEAD_SIZE)?;
        let [object_kind, flags, ..] = *object else { return None };
        (object_kind == kind).then_some(Object { flags, bytes: object })
    }

    /// Returns the size of the entry at `offset`; `None` if there is no readable entry.
    fn entry_size(&self, offset: u64) -> Option<u64> {
        let length = self.object(ENTRY, offset)?.bytes.len();
        (length >= ENTRY_HEAD_SIZE).then_some(length as u64)
    }

    /// Finds the offsets of the entries in written order. `file` is the index of this file.
    pub(crate) fn entry_offsets(&self, file: usize, losses: &mut Losses) -> Vec<u64> {
        let end = self.header.header_bytes.saturating_add(self.header.arena_bytes);
        if end > self.length() {
            losses.truncated += 1;
            losses.record_location(file, self.length());
        }
        losses.unclosed += u64::from(self.header.state == State::Online);
        let mut offsets = Vec::new();
        let damage_offset = self.read_entry_arrays(&mut offsets);
        if let Some(offset) = damage_offset {
            losses.damaged_arrays += 1;
            losses.record_location(file, offset);
            let listed_count = offsets.len();
            offsets.extend(self.search_entries(&offsets));
            offsets.sort_unstable();
            let recovered_count = offsets.len() - listed_count;
            losses.recovered_entries += recovered_count as u64;
            // Entries counted by the header but not found.
            let missing = self.header.entries.saturating_sub(offsets.len() as u64);
            // The header may have any count, but the file cannot contain more entries than fit.
            losses.unreadable_entries += missing.min(self.length() / ENTRY_HEAD_SIZE as u64);
        }
        offsets
    }

    /// Collects the entries in the entry arrays. Returns the offset of the first damage, if any.
    ///
    /// Entries and arrays are only appended to the file, so their offsets increase. Anything else is treated as damage,
    /// which also ensures that no array is visited twice.
    fn read_entry_arrays(&self, offsets: &mut Vec<u64>) -> Option<u64> {
        let item_bytes = if self.header.is_compact { 4 } else { 8 };
        let mut damage_offset = None;
        let mut array_offset = self.header.first_array;
        let mut remaining = self.header.entries;
        let mut last_end = 0;
        while array_offset != 0 && remaining > 0 {
            let Some(array) =
                self.object(ENTRY_ARRAY, array_offset).filter(|array| array.bytes.len() >= ARRAY_HEAD_SIZE)
            else {
                return Some(array_offset);
            };
            for item in array.bytes.get(ARRAY_HEAD_SIZE..).unwrap_or_default().chunks_exact(item_bytes) {
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
                match self.entry_size(offset).filter(|_| offset >= last_end) {
                    Some(bytes) => {
                        last_end = offset + bytes;
                        offsets.push(offset);
                    }
                    None => damage_offset = damage_offset.or(Some(offset)),
                }
            }
            let next = u64_at(array.bytes, OBJECT_HEAD_SIZE).unwrap_or_default();
            if next != 0 && next < array_offset.saturating_add(array.bytes.len() as u64) {
                return Some(array_offset);
            }
            array_offset = next;
        }
        // The header counts entries that are in no array: the writer was interrupted, or an array was overwritten.
        damage_offset
            .or_else(|| (remaining > 0 && self.header.state != State::Online).then_some(self.header.first_array))
    }

    /// Searches the whole file, object by object, for entries that are not in the sorted list `listed`. Resumes after
    /// damage at the next plausible object.
    fn search_entries(&self, listed: &[u64]) -> Vec<u64> {
        let mut unlisted = Vec::new();
        let mut offset = self.header.header_bytes;
        let mut is_synchronized = true;
        while offset < self.length() {
            let Some(size) = self.plausible_object(offset, is_synchronized) else {
                is_synchronized = false;
                offset += ALIGNMENT;
                continue;
            };
            is_synchronized = true;
            if self.entry_size(offset).is_some() && listed.binary_search(&offset).is_err() {
                unlisted.push(offset);
            }
            offset += size.next_multiple_of(ALIGNMENT);
        }
        unlisted
    }

    /// Returns the size of the object at `offset` if it is plausible. After damage (`is_synchronized` is false) only
    /// entries are accepted, because data may look like any other object.
    fn plausible_object(&self, offset: u64, is_synchronized: bool) -> Option<u64> {
        let start = usize::try_from(offset).ok()?;
        let [kind, flags, reserved @ ..] = *self.bytes.get(start..)?.first_chunk::<8>()?;
        let size = u64_at(self.bytes, start + 8)?;
        let has_valid_head = (1..=MAX_KIND).contains(&kind) && flags <= 7 && reserved == [0; 6];
        if !has_valid_head || size < OBJECT_HEAD_SIZE as u64 || size > self.length() - offset {
            return None;
        }
        if is_synchronized && kind != ENTRY {
            return Some(size);
        }
        let item_bytes = if self.header.is_compact { 4 } else { 16 };
        let items = size.checked_sub(ENTRY_HEAD_SIZE as u64)?;
        let realtime = u64_at(self.bytes, start + 24)?;
        // Wall-clock times from 1970 to 2500, in µs.
        let has_plausible_time = realtime < 530 * 366 * 86_400 * 1_000_000;
        (kind == ENTRY && flags == 0 && items.is_multiple_of(item_bytes) && items > 0 && has_plausible_time)
            .then_some(size)
    }
}
