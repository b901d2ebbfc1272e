//! Builds a whole file in memory.

use super::buffer::{Buffer, flag, header_buffer};
use super::defect::Defect;
use super::packer::Packer;
use super::record::Record;
use super::session::{Session, mode};

/// Builds the bytes of one `.etl` file.
///
/// ```
/// use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
///
/// let mut etl = EtlBuilder::new(Session::windows_10(2));
/// etl.push(1, &Record::perfinfo(0x0532, 2, 6_370_100, Payload::wide().u32(8).u32(0)));
/// let bytes = etl.finish();
/// assert_eq!(bytes.len(), 2 * 0x1_0000); // header buffer, one buffer of processor 1
/// ```
#[derive(Debug)]
pub struct EtlBuilder {
    session: Session,
    packer: Packer,
    buffers: Vec<Buffer>,
    defects: Vec<Defect>,
}

impl EtlBuilder {
    /// Creates a file with only its logfile header.
    #[must_use]
    pub fn new(session: Session) -> Self {
        Self { packer: Packer::new(&session), session, buffers: Vec::new(), defects: Vec::new() }
    }

    /// Returns the session, whose counters may be changed before the file is finished.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Returns the number of records in the file: the logfile header, the records of the header buffer, and everything
    /// pushed.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        1 + self.session.header_records.len() as u64 + self.packer.records()
    }

    pub fn push(&mut self, processor: u16, record: &Record<'_>) -> &mut Self {
        let closed = self.packer.push(processor, record);
        self.buffers.extend(closed);
        self
    }

    /// Closes a processor's buffer even if it is not full.
    pub fn flush(&mut self, processor: u16) -> &mut Self {
        let closed = self.packer.close(usize::from(processor));
        self.buffers.extend(closed);
        self
    }

    /// Skips a sequence number, as a lost buffer does.
    pub fn skip_sequence_number(&mut self) -> &mut Self {
        *self.packer.next_sequence_mut() += 1;
        self.session.buffers_lost += 1;
        self
    }

    /// Adds flags to the last closed buffer, see [`flag`].
    pub fn flag_last_buffer(&mut self, flags: u16) -> &mut Self {
        if let Some(last) = self.buffers.last_mut() {
            last.flags |= flags;
        }
        self
    }

    /// Adds a defect. Defects are applied to the finished file in this order.
    pub fn defect(&mut self, defect: Defect) -> &mut Self {
        self.defects.push(defect);
        self
    }

    /// Returns the file of a sequential session that was stopped normally.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        let written = self.buffers.len() as u32 + 1;
        self.assemble(written)
    }

    /// Returns the file after a power loss: end time and counters were never updated, although all buffers were
    /// written.
    #[must_use]
    pub fn finish_interrupted(mut self) -> Vec<u8> {
        self.close();
        self.session.end_time = 0;
        self.session.events_lost = 0;
        self.session.buffers_lost = 0;
        for buffer in &mut self.buffers {
            buffer.flags &= !flag::FLUSH_MARKER;
        }
        self.assemble(1)
    }

    /// Returns a circular file of at most `capacity` event buffers. The newest buffers survive, each in its slot of the
    /// ring, so the oldest can be anywhere. `BuffersWritten` counts all.
    #[must_use]
    pub fn finish_circular(mut self, capacity: usize) -> Vec<u8> {
        self.session.mode = (self.session.mode & !mode::SEQUENTIAL) | mode::CIRCULAR;
        self.close();
        let written = self.buffers.len() as u32 + 1;
        if capacity > 0 && self.buffers.len() > capacity {
            let mut ring: Vec<Option<Buffer>> = vec![None; capacity];
            for (index, buffer) in self.buffers.drain(..).enumerate() {
                ring[index % capacity] = Some(buffer);
            }
            self.buffers = ring.into_iter().flatten().collect();
        }
        self.assemble(written)
    }

    /// Returns a preallocated file: `spare` zero bytes after the last buffer.
    #[must_use]
    pub fn finish_preallocated(mut self, spare: usize) -> Vec<u8> {
        self.session.mode |= mode::PREALLOCATE;
        let mut file = self.finish();
        file.resize(file.len() + spare, 0);
        file
    }

    /// Creates a file with a second session appended: its buffers follow without a header buffer, and their sequence
    /// numbers restart at 1.
    #[must_use]
    pub fn finish_appended(mut self, mut second: Self) -> Vec<u8> {
        self.session.mode |= mode::APPEND;
        self.session.end_time = second.session.end_time;
        self.close();
        second.close();
        self.defects.append(&mut second.defects);
        self.buffers.append(&mut second.buffers);
        let written = self.buffers.len() as u32 + 1;
        self.assemble(written)
    }

    fn close(&mut self) {
        let closed = self.packer.close_all();
        self.buffers.extend(closed);
    }

    fn assemble(mut self, written: u32) -> Vec<u8> {
        let defects = std::mem::take(&mut self.defects);
        for defect in &defects {
            defect.apply_to_buffers(&mut self.buffers);
        }
        let mut file = Vec::new();
        header_buffer(&self.session, written).encode(&self.session, &mut file);
        for buffer in &self.buffers {
            buffer.encode(&self.session, &mut file);
        }
        for defect in &defects {
            defect.apply_to_file(&mut file);
        }
        file
    }
}
