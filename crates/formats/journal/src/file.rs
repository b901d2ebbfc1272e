//! One journal file: its objects, and where its entries are.

use crate::bytes::{u32_at, u64_at};
use crate::error::Error;
use crate::header::{Header, State};
use crate::losses::Losses;

/// Kinds of objects that are looked at.
pub(crate) const DATA: u8 = 1;
pub(crate) const ENTRY: u8 = 3;
const ENTRY_LIST: u8 = 6;
/// Kinds of objects that there are.
const KINDS: u8 = 7;

/// Bytes of an object before what is special to its kind: kind, flags, six reserved bytes, size.
const OBJECT_HEAD: usize = 16;
/// Bytes of an entry before its items.
pub(crate) const ENTRY_HEAD: usize = 64;
/// Bytes of a list of entries before its items.
const LIST_HEAD: usize = 24;
/// Objects begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// A journal file whose header was read.
#[derive(Clone, Copy, Debug)]
pub struct JournalFile<'f> {
    bytes: &'f [u8],
    header: Header,
}

/// An object: its flags and bytes, head included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'f> {
    pub(crate) flags: u8,
    pub(crate) bytes: &'f [u8],
}

impl<'f> JournalFile<'f> {
    /// Whether `bytes` begin like a journal file.
    #[must_use]
    pub fn recognizes(bytes: &[u8]) -> bool {
        Header::recognizes(bytes)
    }

    /// Reads the header.
    ///
    /// # Errors
    /// No journal file, cut inside the header, or with features this reader does not know.
    pub fn open(bytes: &'f [u8]) -> Result<Self, Error> {
        Ok(Self { bytes, header: Header::read(bytes)? })
    }

    /// What the header says.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The object of kind `kind` at `offset`.
    pub(crate) fn object(&self, kind: u8, offset: u64) -> Option<Object<'f>> {
        if offset < self.header.header_bytes || !offset.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let from = usize::try_from(offset).ok()?;
        let rest = self.bytes.get(from..)?;
        let size = usize::try_from(u64_at(rest, 8)?).ok()?;
        let object = rest.get(..size).filter(|_| size >= OBJECT_HEAD)?;
        let [found, flags, ..] = *object else { return None };
        (found == kind).then_some(Object { flags, bytes: object })
    }

    /// Bytes of the entry at `offset`, if one that can be read is there.
    fn entry_bytes(&self, offset: u64) -> Option<u64> {
        let length = self.object(ENTRY, offset)?.bytes.len();
        (length >= ENTRY_HEAD).then_some(length as u64)
    }

    /// Offsets of the entries, in the order in which they were written. `file` is this file's place among those read.
    pub(crate) fn entry_offsets(&self, file: usize, losses: &mut Losses) -> Vec<u64> {
        let end = self.header.header_bytes.saturating_add(self.header.arena_bytes);
        if end > self.length() {
            losses.truncated += 1;
            losses.at(file, self.length());
        }
        losses.not_closed += u64::from(self.header.state == State::Online);
        let mut offsets = Vec::new();
        let damaged = self.follow_lists(&mut offsets);
        if let Some(at) = damaged {
            losses.lists_damaged += 1;
            losses.at(file, at);
            let listed = offsets.len();
            offsets.extend(self.search(&offsets));
            offsets.sort_unstable();
            let found = offsets.len() - listed;
            losses.entries_recovered += found as u64;
            // What the header counts and neither way found.
            let missing = self.header.entries.saturating_sub(offsets.len() as u64);
            // A header may name any number; more entries than fit into the file never were.
            losses.entries_unreadable += missing.min(self.length() / ENTRY_HEAD as u64);
        }
        offsets
    }

    /// Adds the entries that the lists name; where a list is damaged, its offset.
    ///
    /// Entries and lists are only ever added at the file's end, so offsets grow. Whatever does not is damage, and none is
    /// visited twice.
    fn follow_lists(&self, offsets: &mut Vec<u64>) -> Option<u64> {
        let item_bytes = if self.header.compact { 4 } else { 8 };
        let mut damaged = None;
        let mut list_at = self.header.first_list;
        let mut left = self.header.entries;
        let mut last_end = 0;
        while list_at != 0 && left > 0 {
            let Some(list) = self.object(ENTRY_LIST, list_at).filter(|list| list.bytes.len() >= LIST_HEAD) else {
                return Some(list_at);
            };
            for item in list.bytes.get(LIST_HEAD..).unwrap_or_default().chunks_exact(item_bytes) {
                if left == 0 {
                    break;
                }
                let offset = match item_bytes {
                    4 => u32_at(item, 0).map(u64::from),
                    _ => u64_at(item, 0),
                };
                // The rest of the last list is reserved and empty.
                let Some(offset) = offset.filter(|&offset| offset != 0) else { break };
                left -= 1;
                match self.entry_bytes(offset).filter(|_| offset >= last_end) {
                    Some(bytes) => {
                        last_end = offset + bytes;
                        offsets.push(offset);
                    }
                    None => damaged = damaged.or(Some(offset)),
                }
            }
            let next = u64_at(list.bytes, OBJECT_HEAD).unwrap_or_default();
            if next != 0 && next < list_at.saturating_add(list.bytes.len() as u64) {
                return Some(list_at);
            }
            list_at = next;
        }
        // The header counts entries that no list has: the writer was stopped in between, or a list was overwritten.
        damaged.or_else(|| (left > 0 && self.header.state != State::Online).then_some(self.header.first_list))
    }

    /// Offsets of entries, object by object, but for those `known`, which are in order. Where the objects break off, the next
    /// place that looks like one is taken.
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

    /// The size of what looks like an object at `offset`. Out of step only entries are taken, for data may look like anything.
    fn plausible_object(&self, offset: u64, in_step: bool) -> Option<u64> {
        let from = usize::try_from(offset).ok()?;
        let [kind, flags, reserved @ ..] = *self.bytes.get(from..)?.first_chunk::<8>()?;
        let size = u64_at(self.bytes, from + 8)?;
        let known = (1..=KINDS).contains(&kind) && flags <= 7 && reserved == [0; 6];
        if !known || size < OBJECT_HEAD as u64 || size > self.length() - offset {
            return None;
        }
        if in_step && kind != ENTRY {
            return Some(size);
        }
        let item_bytes = if self.header.compact { 4 } else { 16 };
        let items = size.checked_sub(ENTRY_HEAD as u64)?;
        let realtime = u64_at(self.bytes, from + 24)?;
        // Wall clocks from 1970 to 2500, µs.
        let in_time = realtime < 530 * 366 * 86_400 * 1_000_000;
        (kind == ENTRY && flags == 0 && items.is_multiple_of(item_bytes) && items > 0 && in_time).then_some(size)
    }
}
