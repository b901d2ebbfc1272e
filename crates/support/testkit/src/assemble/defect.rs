//! Deliberate damage that readers must survive and count.

use super::buffer::{BUFFER_HEADER_SIZE, Buffer};

/// A kind of damage. Buffers are numbered from 0 without the header buffer, records from 0 within their buffer. A
/// defect whose target does not exist does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The record has this size field (0, less than a header, beyond the buffer, …).
    RecordSize { buffer: usize, record: usize, size: u16 },
    /// The record has this marker byte (offset 3); without bit 7 it is no header.
    RecordMarker { buffer: usize, record: usize, marker: u8 },
    /// The buffer is missing, but its sequence number was used.
    MissingBuffer { buffer: usize },
    /// The buffer is in the file twice.
    RepeatedBuffer { buffer: usize },
    /// The buffer has this fill level; in a compressed buffer, this output length.
    FillLevel {
        buffer: usize,
        /// Fill level, bytes from the start of the buffer.
        offset: u32,
    },
    /// The buffer has this size, so readers look for the next header elsewhere.
    BufferSize { buffer: usize, size: u32 },
    /// The file is truncated.
    Truncated {
        /// Remaining bytes.
        length: usize,
    },
    /// One byte of the file is inverted.
    FlippedByte { offset: usize },
}

impl Defect {
    pub(super) fn apply_to_buffers(self, buffers: &mut Vec<Buffer>) {
        match self {
            Self::RecordSize { buffer, record, size } => {
                if let Some(bytes) = record_bytes(buffers, buffer, record) {
                    // Headers with a typed version word have their size at +4, others at +0.
                    let size_offset = match bytes.get(2..4) {
                        Some([0x01..=0x04 | 0x10 | 0x11, 0xC0]) => 4,
                        _ => 0,
                    };
                    if let Some(field) = bytes.get_mut(size_offset..size_offset + 2) {
                        field.copy_from_slice(&size.to_le_bytes());
                    }
                }
            }
            Self::RecordMarker { buffer, record, marker } => {
                if let Some(byte) = record_bytes(buffers, buffer, record).and_then(|bytes| bytes.get_mut(3)) {
                    *byte = marker;
                }
            }
            Self::MissingBuffer { buffer } => {
                if buffer < buffers.len() {
                    buffers.remove(buffer);
                }
            }
            Self::RepeatedBuffer { buffer } => {
                if let Some(copy) = buffers.get(buffer).cloned() {
                    buffers.insert(buffer + 1, copy);
                }
            }
            Self::FillLevel { buffer, offset } => {
                if let Some(buffer) = buffers.get_mut(buffer) {
                    buffer.offset_override = Some(offset);
                }
            }
            Self::BufferSize { buffer, size } => {
                if let Some(buffer) = buffers.get_mut(buffer) {
                    buffer.size_override = Some(size);
                }
            }
            Self::Truncated { .. } | Self::FlippedByte { .. } => {}
        }
    }

    pub(super) fn apply_to_file(self, file: &mut Vec<u8>) {
        match self {
            Self::Truncated { length } => file.truncate(length),
            Self::FlippedByte { offset } => {
                if let Some(byte) = file.get_mut(offset) {
                    *byte = !*byte;
                }
            }
            _ => {}
        }
    }
}

fn record_bytes(buffers: &mut [Buffer], buffer: usize, record: usize) -> Option<&mut [u8]> {
    let buffer = buffers.get_mut(buffer)?;
    let start = *buffer.starts.get(record)? as usize;
    buffer.records.get_mut(start..)
}

/// Returns the file offset of a record in an uncompressed, undamaged file. Buffers are numbered as in [`Defect`];
/// `start` is the record's offset in its buffer's records.
#[must_use]
pub fn file_offset(header_buffer_size: u32, buffer_size: u32, buffer: usize, start: usize) -> usize {
    header_buffer_size as usize + buffer * buffer_size as usize + BUFFER_HEADER_SIZE + start
}
