//! Reads the ring buffer pages of one processor.
//!
//! A page has a time, the length of its data and flags, followed by records. A record starts with 32 bits: five for a
//! type or length, 27 for the nanoseconds since the previous record. Sources: the kernel's `ring_buffer.h`, and the
//! page description in the file.

use crate::losses::Losses;
use crate::record::read_unsigned;

/// Field offsets and sizes in a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageLayout {
    pub(super) page_size: usize,
    pub(super) commit_offset: usize,
    pub(super) commit_size: usize,
    pub(super) data_offset: usize,
    pub(super) big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'p> {
    pub(super) time_ns: u64,
    /// Offset in the file.
    pub(super) offset: usize,
    pub(super) payload: &'p [u8],
}

/// Iterates over the records of one processor.
#[derive(Debug)]
pub(super) struct PageReader<'p> {
    pages: &'p [u8],
    file_offset: usize,
    layout: PageLayout,
    next_page: usize,
    /// The remaining records of the current page, and their offset.
    data: &'p [u8],
    position: usize,
    time_ns: u64,
}

const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_COUNT: u64 = 1 << 30;
/// Bits of the commit field that hold the length.
const LENGTH_MASK: u64 = (1 << 27) - 1;

const MAX_SHORT_TYPE: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const ABSOLUTE_TIME: u32 = 31;
const DELTA_BITS: u32 = 27;

impl<'p> PageReader<'p> {
    pub(super) fn new(pages: &'p [u8], file_offset: usize, layout: PageLayout) -> Self {
        Self { pages, file_offset, layout, next_page: 0, data: &[], position: 0, time_ns: 0 }
    }

    /// Returns the next record.
    pub(super) fn next(&mut self, losses: &mut Losses) -> Option<Record<'p>> {
        loop {
            if self.data.len() < 4 {
                self.load_page(losses)?;
                continue;
            }
            match self.read_record() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                None => {
                    losses.damaged += 1;
                    losses.record_offset(self.file_offset + self.position);
                    self.data = &[];
                }
            }
        }
    }

    fn load_page(&mut self, losses: &mut Losses) -> Option<()> {
        let PageLayout { page_size, commit_offset, commit_size, data_offset, big_endian } = self.layout;
        let begin = self.next_page;
        let page = self.pages.get(begin..).filter(|page| !page.is_empty())?;
        let page = page.get(..page_size).unwrap_or(page);
        self.next_page = begin.checked_add(page_size)?;
        self.data = &[];
        let (Some(time), Some(commit)) = (page.get(..8), page.get(commit_offset..commit_offset + commit_size)) else {
            losses.damaged += 1;
            losses.record_offset(self.file_offset + begin);
            return Some(());
        };
        self.time_ns = read_unsigned(time, big_endian);
        let commit = read_unsigned(commit, big_endian);
        let length = (commit & LENGTH_MASK) as usize;
        let end = data_offset.checked_add(length)?;
        if commit & MISSED_EVENTS != 0 {
            let count = page.get(end..end + commit_size).filter(|_| commit & MISSED_COUNT != 0);
            match count {
                Some(count) => {
                    let count = read_unsigned(count, big_endian);
                    losses.overwritten = losses.overwritten.saturating_add(count);
                }
                None => losses.gaps += 1,
            }
        }
        match page.get(data_offset..end) {
            Some(data) => self.data = data,
            None => {
                losses.damaged += 1;
                losses.record_offset(self.file_offset + begin);
                self.data = page.get(data_offset..).unwrap_or_default();
            }
        }
        self.position = begin + data_offset;
        Some(())
    }

    /// Reads one record. Outer `None`: damaged; inner `None`: not an event.
    fn read_record(&mut self) -> Option<Option<Record<'p>>> {
        let offset = self.file_offset + self.position;
        let header = self.read_u32()?;
        let (kind, delta) = if self.layout.big_endian {
            (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1))
        } else {
            (header & 0x1f, header >> 5)
        };
        match kind {
            PADDING => {
                // A zero delta marks the unused end of the page. Otherwise this is a discarded record.
                if delta == 0 {
                    self.data = &[];
                } else {
                    self.time_ns = self.time_ns.wrapping_add(delta.into());
                    let length = self.read_u32()? as usize;
                    self.take(length.checked_sub(4)?)?;
                }
                Some(None)
            }
            TIME_EXTEND => {
                let high = u64::from(self.read_u32()?) << DELTA_BITS;
                self.time_ns = self.time_ns.wrapping_add(high | u64::from(delta));
                Some(None)
            }
            ABSOLUTE_TIME => {
                // The record has the low 59 bits; the five high bits are unchanged.
                const LOW_MASK: u64 = (1 << (DELTA_BITS + 32)) - 1;
                let low = u64::from(self.read_u32()?) << DELTA_BITS | u64::from(delta);
                self.time_ns = self.time_ns & !LOW_MASK | low;
                Some(None)
            }
            length => {
                self.time_ns = self.time_ns.wrapping_add(delta.into());
                let length = match length {
                    0 => (self.read_u32()? as usize).checked_sub(4)?,
                    1..=MAX_SHORT_TYPE => length as usize * 4,
                    _ => return None,
                };
                let payload = self.take(length)?;
                Some(Some(Record { time_ns: self.time_ns, offset, payload }))
            }
        }
    }

    fn read_u32(&mut self) -> Option<u32> {
        let big_endian = self.layout.big_endian;
        self.take(4).map(|bytes| read_unsigned(bytes, big_endian) as u32)
    }

    /// Takes `length` bytes and the padding to a multiple of four.
    fn take(&mut self, length: usize) -> Option<&'p [u8]> {
        let padded_length = length.checked_next_multiple_of(4)?;
        let (padded_bytes, remaining) = self.data.split_at_checked(padded_length)?;
        self.data = remaining;
        self.position += padded_length;
        padded_bytes.get(..length)
    }
}
