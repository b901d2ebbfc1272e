//! Streams a file to disk, for recordings too large for memory.

use std::io::{self, Seek, SeekFrom, Write};

use super::buffer::{Buffer, header_buffer};
use super::packer::Packer;
use super::record::Record;
use super::session::Session;

/// Receives the records of a recording in order.
pub trait RecordSink {
    /// Stores a record of a processor.
    ///
    /// # Errors
    /// The record cannot be stored.
    fn record(&mut self, processor: u16, record: &Record<'_>) -> io::Result<()>;
}

/// Writes an `.etl` file as its buffers fill; memory use is one buffer per processor.
#[derive(Debug)]
pub struct EtlWriter<W> {
    out: W,
    session: Session,
    packer: Packer,
    scratch: Vec<u8>,
    buffers_written: u32,
    bytes_written: u64,
}

impl<W: Write + Seek> EtlWriter<W> {
    /// Starts a file: reserves the header buffer.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn new(session: Session, mut out: W) -> io::Result<Self> {
        let mut scratch = Vec::new();
        header_buffer(&session, 1).encode(&session, &mut scratch);
        out.write_all(&scratch)?;
        Ok(Self {
            packer: Packer::new(&session),
            bytes_written: scratch.len() as u64,
            out,
            session,
            scratch,
            buffers_written: 1,
        })
    }

    /// Returns the session, whose values may be changed before [`finish`](Self::finish).
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Returns the size of the file so far, without open buffers.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Records so far, including the logfile header and the records of the header buffer.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        1 + self.session.header_records.len() as u64 + self.packer.records()
    }

    /// Closes all buffers and patches the header with the final session values.
    ///
    /// # Errors
    /// `out` cannot be written or sought.
    pub fn finish(mut self) -> io::Result<W> {
        for buffer in self.packer.close_all() {
            self.write(&buffer)?;
        }
        self.scratch.clear();
        header_buffer(&self.session, self.buffers_written).encode(&self.session, &mut self.scratch);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&self.scratch)?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, buffer: &Buffer) -> io::Result<()> {
        self.scratch.clear();
        buffer.encode(&self.session, &mut self.scratch);
        self.out.write_all(&self.scratch)?;
        self.buffers_written += 1;
        self.bytes_written += self.scratch.len() as u64;
        Ok(())
    }
}

impl<W: Write + Seek> RecordSink for EtlWriter<W> {
    fn record(&mut self, processor: u16, record: &Record<'_>) -> io::Result<()> {
        match self.packer.push(processor, record) {
            Some(closed) => self.write(&closed),
            None => Ok(()),
        }
    }
}
