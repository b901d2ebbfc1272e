//! Buffers: the unit of file I/O. A header (`WMI_BUFFER_HEADER`), then the records of one processor, possibly compressed.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::logfile_header::{BUFFER_HEADER_SIZE, log_file_mode};
use crate::{CompressionFormat, LogfileHeader};

/// Windows limits a logger's buffers to 16 MiB; what announces more than this is no buffer.
pub(crate) const MAX_BUFFER_SIZE: usize = 64 << 20;

const PROCESSOR_NUMBER_MASK: u16 = 0x00FF;
const PROCESSOR_INDEX_MASK: u16 = 0x07FF;

/// The same 0x48 bytes since Vista, on 32- and 64-bit Windows. Fields that only matter in memory are left out by name.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawBufferHeader {
    /// Bytes the buffer takes in the file.
    pub buffer_size: U32,
    runtime_offsets: [U32; 3],
    /// Flush time; in another clock than the records' where files were merged.
    time_stamp: U64,
    pub sequence_number: U64,
    clock_or_link: U64,
    pub processor: U16,
    logger_id: U16,
    /// In the first buffer of a compressed file its low half is the compression format.
    pub state: U32,
    /// Bytes that are valid once decompressed, this header included.
    pub offset: U32,
    pub flags: U16,
    pub buffer_type: U16,
    links: [U64; 2],
}

const _: () = assert!(size_of::<RawBufferHeader>() == BUFFER_HEADER_SIZE);

impl RawBufferHeader {
    pub(crate) fn at(bytes: &[u8], offset: usize) -> Option<&RawBufferHeader> {
        RawBufferHeader::ref_from_prefix(bytes.get(offset..)?).ok().map(|(header, _)| header)
    }

    /// Whether every field has a value a recorder could have written.
    pub(crate) fn is_plausible(&self) -> bool {
        (BUFFER_HEADER_SIZE..=MAX_BUFFER_SIZE).contains(&(self.buffer_size.get() as usize))
            && self.offset.get() as usize <= MAX_BUFFER_SIZE
            && self.buffer_type.get() <= BufferKind::MAX_SIZE
            && self.flags.get() & !BufferFlags::KNOWN == 0
    }

    /// Whether the space was never written.
    pub(crate) fn is_blank(&self) -> bool {
        self.buffer_size.get() == 0 && self.offset.get() == 0 && self.sequence_number.get() == 0
    }

    pub(crate) fn is_compressed(&self) -> bool {
        BufferFlags(self.flags.get()).is_compressed()
    }

    /// Stricter, but for the size: for finding the next buffer after a damaged part, where a coincidence would cost real records.
    pub(crate) fn is_convincing(&self, largest: usize) -> bool {
        (BUFFER_HEADER_SIZE..=largest).contains(&(self.offset.get() as usize))
            && self.buffer_type.get() <= BufferKind::MAX_SIZE
            && self.flags.get() & !BufferFlags::KNOWN == 0
            && self.state.get() <= 6
            && self.sequence_number.get() < 1 << 40
    }
}

/// What a buffer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BufferKind {
    /// Records.
    Generic,
    /// Records describing what existed before (old layouts).
    Rundown,
    /// Context switches (old layouts).
    ContextSwitch,
    /// A reference time; normally no records.
    ReferenceTime,
    /// The first buffer of a file: logfile header record, then a few others.
    Header,
    /// Batched records.
    Batched,
    /// Marks an empty place.
    EmptyMarker,
    /// Information for a debugger.
    DebugInfo,
}

impl BufferKind {
    const MAX_SIZE: u16 = 7;

    fn of(buffer_type: u16) -> BufferKind {
        match buffer_type {
            1 => BufferKind::Rundown,
            2 => BufferKind::ContextSwitch,
            3 => BufferKind::ReferenceTime,
            4 => BufferKind::Header,
            5 => BufferKind::Batched,
            6 => BufferKind::EmptyMarker,
            7 => BufferKind::DebugInfo,
            _ => BufferKind::Generic,
        }
    }
}

/// Flags of a buffer (`ETW_BUFFER_FLAG_...`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferFlags(pub u16);

impl BufferFlags {
    pub(crate) const FLUSH_MARKER: u16 = 0x01;
    const EVENTS_LOST: u16 = 0x02;
    const BUFFER_LOST: u16 = 0x04;
    /// Both of what says that something was lost.
    pub(crate) const LOSSY: u16 = Self::EVENTS_LOST | Self::BUFFER_LOST;
    pub(crate) const PROCESSOR_INDEX: u16 = 0x20;
    const COMPRESSED: u16 = 0x40;
    const KNOWN: u16 = 0x7F;

    /// Last buffer that a flush wrote.
    #[must_use]
    pub const fn is_flush_marker(self) -> bool {
        self.0 & Self::FLUSH_MARKER != 0
    }

    /// Events or buffers were lost before or in this buffer.
    #[must_use]
    pub const fn is_lossy(self) -> bool {
        self.0 & Self::LOSSY != 0
    }

    /// The payload is compressed.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.0 & Self::COMPRESSED != 0
    }
}

/// One buffer of a file, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferInfo {
    /// Which input it is in, by position.
    pub file: usize,
    /// Where its header begins, in bytes from the start of the input.
    pub offset: usize,
    /// Bytes it takes in the file, header included.
    pub size: usize,
    /// Bytes of it that the file holds: fewer than `size` when the file is cut.
    pub available: usize,
    /// Bytes that are valid once decompressed, header included.
    pub fill: usize,
    /// Processor whose records it holds; 0 when all processors log into the same buffers.
    pub cpu: u16,
    /// Number within the recording session, over all processors.
    pub sequence: u64,
    /// Which session of an appended file, from 0.
    pub session: u32,
    /// Flags.
    pub flags: BufferFlags,
    /// What it is for.
    pub kind: BufferKind,
    /// Format of its payload; `None` when it is stored plain.
    pub compression: Option<CompressionFormat>,
}

impl BufferInfo {
    pub(crate) fn of(
        raw: &RawBufferHeader,
        file: usize,
        offset: usize,
        header: &LogfileHeader,
        format: Option<CompressionFormat>,
    ) -> BufferInfo {
        let flags = BufferFlags(raw.flags.get());
        // Before Windows 8, and for private loggers, the high byte is an alignment (8), not part of the number.
        let cpu = if header.has_mode(log_file_mode::NO_PER_PROCESSOR_BUFFERING) {
            0
        } else if flags.0 & BufferFlags::PROCESSOR_INDEX != 0 {
            raw.processor.get() & PROCESSOR_INDEX_MASK
        } else {
            raw.processor.get() & PROCESSOR_NUMBER_MASK
        };
        let size = raw.buffer_size.get() as usize;
        BufferInfo {
            file,
            offset,
            size,
            available: size,
            fill: raw.offset.get() as usize,
            cpu,
            sequence: raw.sequence_number.get(),
            session: 0,
            flags,
            kind: BufferKind::of(raw.buffer_type.get()),
            compression: if flags.is_compressed() { format } else { None },
        }
    }

    /// Sets the size, of which a file of `file_length` bytes may hold less.
    pub(crate) fn resize(&mut self, size: usize, file_length: usize) {
        self.size = size;
        self.available = size.min(file_length.saturating_sub(self.offset));
    }

    /// The bytes of the buffer that the file holds, header included.
    pub(crate) fn stored<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.offset..self.offset.saturating_add(self.available)).unwrap_or_default()
    }

    /// Whether the file ends before the buffer does.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.available < self.size
    }

    /// Whether its records can be got at.
    pub(crate) fn is_readable(&self) -> bool {
        self.compression.is_some() || !self.flags.is_compressed()
    }

    /// Bytes of records once decompressed.
    pub(crate) fn payload_size(&self) -> usize {
        self.fill.saturating_sub(BUFFER_HEADER_SIZE)
    }
}
