//! Packs records into buffers: one open buffer per processor, closed when the next record does not fit.

use super::buffer::{BUFFER_HEADER_SIZE, Buffer, flag};
use super::record::Record;
use super::session::{Session, mode};

/// Packs records as the recorder does and returns buffers as they fill.
#[derive(Debug)]
pub struct Packer {
    capacity: usize,
    single_stream: bool,
    open: Vec<Buffer>,
    next_sequence: u64,
    records: u64,
}

impl Packer {
    #[must_use]
    pub fn new(session: &Session) -> Self {
        Self {
            capacity: (session.buffer_size as usize).saturating_sub(BUFFER_HEADER_SIZE),
            single_stream: session.mode & mode::NO_PER_PROCESSOR_BUFFERING != 0,
            open: (0..session.processors.min(u32::from(u16::MAX)))
                .map(|processor| Buffer::new(processor as u16))
                .collect(),
            next_sequence: 1,
            records: 0,
        }
    }

    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the sequence number of the next closed buffer.
    pub fn next_sequence_mut(&mut self) -> &mut u64 {
        &mut self.next_sequence
    }

    /// Adds a record; returns the buffer that was closed to make room. Processors beyond the session's are added on
    /// first use.
    pub fn push(&mut self, processor: u16, record: &Record<'_>) -> Option<Buffer> {
        let slot = if self.single_stream { 0 } else { usize::from(processor) };
        while self.open.len() <= slot {
            let next = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
            self.open.push(Buffer::new(next));
        }
        let buffer = &self.open[slot];
        let is_full = !buffer.records.is_empty() && buffer.aligned_len() + record.encoded_len() > self.capacity;
        let closed = if is_full { self.close(slot) } else { None };
        let buffer = &mut self.open[slot];
        buffer.push(record);
        if record.ticks != 0 {
            buffer.timestamp = record.ticks;
        }
        self.records += 1;
        closed
    }

    /// Closes a processor's buffer if it contains records.
    pub fn close(&mut self, slot: usize) -> Option<Buffer> {
        let buffer = self.open.get_mut(slot).filter(|buffer| !buffer.records.is_empty())?;
        let mut closed = std::mem::replace(buffer, Buffer::new(buffer.processor));
        closed.sequence = self.next_sequence;
        self.next_sequence += 1;
        Some(closed)
    }

    /// Closes every buffer, as stopping a session does; the last one gets the flush marker.
    pub fn close_all(&mut self) -> Vec<Buffer> {
        let mut closed: Vec<Buffer> = (0..self.open.len()).filter_map(|slot| self.close(slot)).collect();
        if let Some(last) = closed.last_mut() {
            last.flags |= flag::FLUSH_MARKER;
        }
        closed
    }
}
