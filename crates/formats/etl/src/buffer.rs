//! Buffers, the unit of file I/O: a header (`WMI_BUFFER_HEADER`) and the records of one processor, possibly compressed.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::logfile_header::{BUFFER_HEADER_SIZE, log_file_mode};
use crate::{CompressionFormat, LogfileHeader};

/// Maximum plausible buffer size in bytes. Windows limits a logger's buffers to 16 MiB.
pub(crate) const MAX_BUFFER_SIZE: usize = 64 << 20;

const PROCESSOR_NUMBER_MASK: u16 = 0x00FF;
const PROCESSOR_INDEX_MASK: u16 = 0x07FF;

/// `WMI_BUFFER_HEADER`: 0x48 bytes since Vista, on 32- and 64-bit Windows. Fields that are only used in memory are
/// private.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RawBufferHeader {
    /// Size of the buffer in the file, in bytes.
    pub buffer_size: U32,
    runtime_offsets: [U32; 3],
    /// Flush time. In merged files it may use a different clock than the records.
    time_stamp: U64,
    pub sequence_number: U64,
    clock_or_link: U64,
    pub processor: U16,
    logger_id: U16,
    /// In the first buffer of a compressed file, the low 16 bits are the compression format.
    pub state: U32,
    /// Valid bytes once decompressed, including this header.
    pub offset: U32,
    pub flags: U16,
    pub buffer_type: U16,
    links: [U64; 2],
}

const _: () = assert!(size_of::<RawBufferHeader>() == BUFFER_HEADER_SIZE);

impl RawBufferHeader {
    pub(crate) fn read(bytes: &[u8], offset: usize) -> Option<&RawBufferHeader> {
        RawBufferHeader::ref_from_prefix(bytes.get(offset..)?).ok().map(|(header, _)| header)
    }

    /// True if every field has a value a recorder could have written.
    pub(crate) fn is_plausible(&self) -> bool {
        (BUFFER_HEADER_SIZE..=MAX_BUFFER_SIZE).contains(&(self.buffer_size.get() as usize))
            && self.offset.get() as usize <= MAX_BUFFER_SIZE
            && self.buffer_type.get() <= BufferKind::MAX_TYPE
            && self.flags.get() & !BufferFlags::KNOWN == 0
    }

    /// True if the space was reserved and never written.
    pub(crate) fn is_blank(&self) -> bool {
        self.buffer_size.get() == 0 && self.offset.get() == 0 && self.sequence_number.get() == 0
    }

    pub(crate) fn is_compressed(&self) -> bool {
        BufferFlags(self.flags.get()).is_compressed()
    }

    /// Like `is_plausible`, but stricter, except for the size. Used to resume after damage, where a false match would
    /// hide real records.
    pub(crate) fn is_convincing(&self, max_size: usize) -> bool {
        (BUFFER_HEADER_SIZE..=max_size).contains(&(self.offset.get() as usize))
            && self.buffer_type.get() <= BufferKind::MAX_TYPE
            && self.flags.get() & !BufferFlags::KNOWN == 0
            && self.state.get() <= 6
            && self.sequence_number.get() < 1 << 40
    }
}

/// Purpose of a buffer (`ETW_BUFFER_TYPE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BufferKind {
    /// Ordinary records.
    Generic,
    /// Rundown: records that describe what already existed (old layouts).
    Rundown,
    /// Context switches (old layouts).
    ContextSwitch,
    /// A reference time; usually has no records.
    ReferenceTime,
    /// The first buffer of a file: the logfile header record and a few others.
    Header,
    /// Batched records.
    Batched,
    /// Marks an empty slot.
    EmptyMarker,
    /// Debugger information.
    DebugInfo,
}

impl BufferKind {
    const MAX_TYPE: u16 = 7;

    fn from_type(buffer_type: u16) -> BufferKind {
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

/// Buffer flags (`ETW_BUFFER_FLAG_...`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferFlags(pub u16);

impl BufferFlags {
    pub(crate) const FLUSH_MARKER: u16 = 0x01;
    const EVENTS_LOST: u16 = 0x02;
    const BUFFER_LOST: u16 = 0x04;
    /// The flags that report a loss.
    pub(crate) const LOSSY: u16 = Self::EVENTS_LOST | Self::BUFFER_LOST;
    pub(crate) const PROCESSOR_INDEX: u16 = 0x20;
    const COMPRESSED: u16 = 0x40;
    const KNOWN: u16 = 0x7F;

    /// True for the last buffer written by a flush.
    #[must_use]
    pub const fn is_flush_marker(self) -> bool {
        self.0 & Self::FLUSH_MARKER != 0
    }

    /// True if events or buffers were lost in or before this buffer.
    #[must_use]
    pub const fn is_lossy(self) -> bool {
        self.0 & Self::LOSSY != 0
    }

    /// True if the payload is compressed.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.0 & Self::COMPRESSED != 0
    }
}

/// A buffer of a file, as described by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferInfo {
    /// Index of the input that contains the buffer.
    pub file: usize,
    /// Offset of the header from the start of the input, in bytes.
    pub offset: usize,
    /// Size in the file, header included, in bytes.
    pub size: usize,
    /// Bytes present in the file: fewer than `size` if the file is truncated.
    pub available: usize,
    /// Valid bytes once decompressed, header included.
    pub fill: usize,
    /// Processor that logged the records; 0 if all processors share buffers.
    pub cpu: u16,
    /// Sequence number within the recording session, across all processors.
    pub sequence: u64,
    /// Index of the session in an appended file.
    pub session: u32,
    pub flags: BufferFlags,
    pub kind: BufferKind,
    /// Compression of the payload; `None` if it is stored uncompressed or the format is unknown.
    pub compression: Option<CompressionFormat>,
}

impl BufferInfo {
    pub(crate) fn from_header(
        raw: &RawBufferHeader,
        file: usize,
        offset: usize,
        header: &LogfileHeader,
        format: Option<CompressionFormat>,
    ) -> BufferInfo {
        let flags = BufferFlags(raw.flags.get());
        // Before Windows 8, and for private loggers, the high byte is an alignment (8), not part of the processor
        // number.
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
            kind: BufferKind::from_type(raw.buffer_type.get()),
            compression: if flags.is_compressed() { format } else { None },
        }
    }

    /// Sets the size and, from the length of the file, the available bytes.
    pub(crate) fn resize(&mut self, size: usize, file_length: usize) {
        self.size = size;
        self.available = size.min(file_length.saturating_sub(self.offset));
    }

    /// Returns the bytes of the buffer that are in the file, header included.
    pub(crate) fn stored_bytes<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.offset..self.offset.saturating_add(self.available)).unwrap_or_default()
    }

    /// True if the file ends inside the buffer.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.available < self.size
    }

    /// True if the records are uncompressed or in a known compression format.
    pub(crate) fn is_readable(&self) -> bool {
        self.compression.is_some() || !self.flags.is_compressed()
    }

    /// Returns the size of the records once decompressed, in bytes.
    pub(crate) fn payload_size(&self) -> usize {
        self.fill.saturating_sub(BUFFER_HEADER_SIZE)
    }
}
