//! The ring buffer's pages of one processor.
//!
//! A page has a time, the length of its data and flags, then records. A record begins with 32 bits: five of type or
//! length, 27 of nanoseconds since the record before. Source: `ring_buffer.h` of the kernel, and the file's own
//! description of the page.

use crate::losses::Losses;
use crate::record::unsigned;

/// Where things are in a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageLayout {
    pub(super) page_size: usize,
    pub(super) commit_offset: usize,
    pub(super) commit_size: usize,
    pub(super) data_offset: usize,
    pub(super) big_endian: bool,
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'p> {
    pub(super) time_ns: u64,
    /// Where it begins.
    pub(super) offset: usize,
    pub(super) payload: &'p [u8],
}

/// Records of one processor, in order.
#[derive(Debug)]
pub(super) struct Pages<'p> {
    pages: &'p [u8],
    file_offset: usize,
    layout: PageLayout,
    next_page: usize,
    /// The records of the current page that are left, and where they begin.
    data: &'p [u8],
    at: usize,
    time_ns: u64,
}

const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_COUNT: u64 = 1 << 30;
/// Bits of the length field that are a length.
const LENGTH_BITS: u64 = (1 << 27) - 1;

const MAX_SHORT: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const DELTA_BITS: u32 = 27;

impl<'p> Pages<'p> {
    pub(super) fn new(pages: &'p [u8], file_offset: usize, layout: PageLayout) -> Self {
        Self { pages, file_offset, layout, next_page: 0, data: &[], at: 0, time_ns: 0 }
    }

    /// The next record.
    pub(super) fn next(&mut self, losses: &mut Losses) -> Option<Record<'p>> {
        loop {
            if self.data.len() < 4 {
                self.turn_page(losses)?;
                continue;
            }
            match self.record() {
                Some(Some(record)) => return Some(record),
                Some(None) => {}
                None => {
                    losses.damaged += 1;
                    losses.at(self.file_offset + self.at);
                    self.data = &[];
                }
            }
        }
    }

    fn turn_page(&mut self, losses: &mut Losses) -> Option<()> {
        let PageLayout { page_size, commit_offset, commit_size, data_offset, big_endian } = self.layout;
        let begin = self.next_page;
        let page = self.pages.get(begin..).filter(|page| !page.is_empty())?;
        let page = page.get(..page_size).unwrap_or(page);
        self.next_page = begin.checked_add(page_size)?;
        self.data = &[];
        let (Some(time), Some(commit)) = (page.get(..8), page.get(commit_offset..commit_offset + commit_size)) else {
            losses.damaged += 1;
            losses.at(self.file_offset + begin);
            return Some(());
        };
        self.time_ns = unsigned(time, big_endian);
        let commit = unsigned(commit, big_endian);
        let length = (commit & LENGTH_BITS) as usize;
        let end = data_offset.checked_add(length)?;
        if commit & MISSED_EVENTS != 0 {
            let count = page.get(end..end + commit_size).filter(|_| commit & MISSED_COUNT != 0);
            match count {
                Some(count) => {
                    let count = unsigned(count, big_endian);
                    losses.overwritten = losses.overwritten.saturating_add(count);
                }
                None => losses.gaps += 1,
            }
        }
        match page.get(data_offset..end) {
            Some(data) => self.data = data,
            None => {
                losses.damaged += 1;
                losses.at(self.file_offset + begin);
                self.data = page.get(data_offset..).unwrap_or_default();
            }
        }
        self.at = begin + data_offset;
        Some(())
    }

    /// Takes one record. Outer `None`: damaged; inner `None`: it is no event.
    fn record(&mut self) -> Option<Option<Record<'p>>> {
        let offset = self.file_offset + self.at;
        let head = self.number32()?;
        let (kind, delta) = if self.layout.big_endian {
            (head >> DELTA_BITS, head & ((1 << DELTA_BITS) - 1))
        } else {
            (head & 0x1f, head >> 5)
        };
        match kind {
            PADDING => {
                // Without a delta the rest of the page is empty; with one, a record was taken back.
                if delta == 0 {
                    self.data = &[];
                } else {
                    self.time_ns = self.time_ns.wrapping_add(delta.into());
                    let length = self.number32()? as usize;
                    self.skip(length.checked_sub(4)?)?;
                }
                Some(None)
            }
            TIME_EXTEND => {
                let high = u64::from(self.number32()?) << DELTA_BITS;
                self.time_ns = self.time_ns.wrapping_add(high | u64::from(delta));
                Some(None)
            }
            31 => {
                // The five highest bits do not fit and stay what they were.
                const FITS: u64 = (1 << (DELTA_BITS + 32)) - 1;
                let low = u64::from(self.number32()?) << DELTA_BITS | u64::from(delta);
                self.time_ns = self.time_ns & !FITS | low;
                Some(None)
            }
            length => {
                self.time_ns = self.time_ns.wrapping_add(delta.into());
                let length = match length {
                    0 => (self.number32()? as usize).checked_sub(4)?,
                    1..=MAX_SHORT => length as usize * 4,
                    _ => return None,
                };
                let payload = self.skip(length)?;
                Some(Some(Record { time_ns: self.time_ns, offset, payload }))
            }
        }
    }

    fn number32(&mut self) -> Option<u32> {
        let big_endian = self.layout.big_endian;
        self.skip(4).map(|bytes| unsigned(bytes, big_endian) as u32)
    }

    /// Takes bytes; records are kept at multiples of four.
    fn skip(&mut self, length: usize) -> Option<&'p [u8]> {
        let padded = length.checked_next_multiple_of(4)?;
        let (taken, rest) = self.data.split_at_checked(padded)?;
        self.data = rest;
        self.at += padded;
        taken.get(..length)
    }
}
