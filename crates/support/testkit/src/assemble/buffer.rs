//! A buffer: `WMI_BUFFER_HEADER` (0x48 bytes), records, padding. Layout: reference "ETL format", sections 1.1 to 1.6.

use crate::compress::Compression;

use super::record::Record;
use super::session::{ProcessorField, Session};

/// Bytes of a buffer header.
pub const BUFFER_HEADER_SIZE: usize = 0x48;

/// Buffer flags.
pub mod flag {
    /// Written by a flush.
    pub const FLUSH_MARKER: u16 = 0x0001;
    /// Events were lost before or in this buffer.
    pub const EVENTS_LOST: u16 = 0x0002;
    /// One or more buffers were lost.
    pub const BUFFERS_LOST: u16 = 0x0004;
    /// The processor index is a 16-bit number.
    pub const PROCESSOR_INDEX: u16 = 0x0020;
    /// The payload is compressed.
    pub const COMPRESSED: u16 = 0x0040;
}

/// Buffer types.
pub mod kind {
    pub const GENERIC: u16 = 0;
    /// The first buffer, which starts with the logfile header record.
    pub const HEADER: u16 = 4;
}

/// A filled buffer before it is encoded. Its fields are public so that tests can corrupt any of them.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub processor: u16,
    /// Sequence number within the session.
    pub sequence: u64,
    /// Flush time in the session's clock.
    pub timestamp: u64,
    /// Flags, see [`flag`]; encoding adds the compression and processor-index flags.
    pub flags: u16,
    /// Type, see [`kind`].
    pub kind: u16,
    /// Records, each padded to 8 bytes except perhaps the last.
    pub records: Vec<u8>,
    /// Start of every record in `records`.
    pub starts: Vec<u32>,
    /// Fill level to write instead of the true one.
    pub offset_override: Option<u32>,
    /// Size to write instead of the true one.
    pub size_override: Option<u32>,
    /// Keeps this buffer uncompressed in a compressed file.
    pub store_uncompressed: bool,
}

impl Buffer {
    #[must_use]
    pub fn new(processor: u16) -> Self {
        Self {
            processor,
            sequence: 0,
            timestamp: 0,
            flags: 0,
            kind: kind::GENERIC,
            records: Vec::new(),
            starts: Vec::new(),
            offset_override: None,
            size_override: None,
            store_uncompressed: false,
        }
    }

    /// Returns the offset of the next record, aligned to 8 bytes.
    #[must_use]
    pub fn aligned_len(&self) -> usize {
        self.records.len().next_multiple_of(8)
    }

    /// Appends a record after alignment padding.
    pub fn push(&mut self, record: &Record<'_>) {
        let start = self.aligned_len();
        self.records.resize(start, 0);
        self.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        record.encode(&mut self.records);
    }

    /// Encodes the buffer into `out`.
    pub fn encode(&self, session: &Session, out: &mut Vec<u8>) {
        let header_buffer = self.kind == kind::HEADER;
        let logger_size = if header_buffer { session.header_buffer_size } else { session.buffer_size } as usize;
        let fill = BUFFER_HEADER_SIZE + self.records.len();
        let packed = match session.compression {
            Some(compression) if !header_buffer && !self.store_uncompressed => {
                let packed = compression.compress(&self.records);
                (BUFFER_HEADER_SIZE + packed.len() < logger_size).then_some(packed)
            }
            _ => None,
        };
        let mut flags = self.flags;
        let mut state: u32 = 3;
        if session.processor_field == ProcessorField::Index {
            flags |= flag::PROCESSOR_INDEX;
        }
        if packed.is_some() {
            flags |= flag::COMPRESSED;
            state = 5;
        }
        if header_buffer && let Some(compression) = session.compression {
            state = compression.format();
        }
        let size = packed
            .as_ref()
            .map_or_else(|| logger_size.max(fill.next_multiple_of(8)), |packed| BUFFER_HEADER_SIZE + packed.len());
        let size = self.size_override.unwrap_or(size as u32);
        let context = match session.processor_field {
            ProcessorField::Byte => [self.processor as u8, 8, 2, 0],
            ProcessorField::Index => {
                let processor = self.processor.to_le_bytes();
                [processor[0], processor[1], 2, 0]
            }
        };
        let offset = self.offset_override.unwrap_or(fill as u32);
        let saved_offset = if header_buffer { 0 } else { offset };
        let start = out.len();
        for word in [size, saved_offset, size, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for long in [self.timestamp, self.sequence, 0xFFFF_A00D_1234_5678] {
            out.extend_from_slice(&long.to_le_bytes());
        }
        out.extend_from_slice(&context);
        out.extend_from_slice(&state.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&[0; 16]);
        match packed {
            Some(packed) => out.extend_from_slice(&packed),
            None => {
                out.extend_from_slice(&self.records);
                let end = start + logger_size.max(out.len() - start);
                out.resize(end, 0xFF);
            }
        }
    }
}

/// Builds the first buffer of a file.
#[must_use]
pub(super) fn header_buffer(session: &Session, buffers_written: u32) -> Buffer {
    let mut buffer = Buffer::new(0);
    buffer.kind = kind::HEADER;
    buffer.flags = flag::FLUSH_MARKER;
    buffer.push(&session.header_record(buffers_written));
    for record in &session.header_records {
        buffer.push(&Record::raw(record));
    }
    buffer
}

impl Compression {
    /// Returns the `COMPRESSION_FORMAT_*` number, as in the header buffer's state word.
    #[must_use]
    pub const fn format(self) -> u32 {
        match self {
            Self::Lznt1 => 2,
            Self::Xpress => 3,
            Self::XpressHuffman => 4,
        }
    }
}
