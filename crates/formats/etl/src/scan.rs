//! Reads the records of one buffer: decompresses it if necessary, scans it once and sorts the records by time.

use std::ops::ControlFlow;

use crate::header::{Defect, Shape};
use crate::logfile_header::BUFFER_HEADER_SIZE;
use crate::losses::Location;
use crate::{BufferInfo, Loss, Losses};

/// The times that a buffer's records may have, in ticks of the recording's clock, limited by the neighboring buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    pub low: u64,
    pub high: u64,
}

impl Interval {
    pub(crate) const ANY: Interval = Interval { low: 0, high: u64::MAX };
}

/// Location and time of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Timestamp in ticks of the recording's clock, clamped to the buffer's interval.
    pub ticks: u64,
    /// Offset from the start of the payload, in bytes.
    pub offset: u32,
    pub shape: Shape,
}

/// Visits the records of a payload. Returns the defect that ended the scan early, with its offset.
#[inline]
pub(crate) fn each_record<B>(
    payload: &[u8],
    mut visit: impl FnMut(usize, Shape, &[u8]) -> ControlFlow<B>,
) -> ControlFlow<B, Option<(usize, Defect)>> {
    let mut offset = 0;
    loop {
        let remaining = payload.get(offset..).unwrap_or_default();
        match Shape::parse(remaining) {
            Ok(shape) => {
                visit(offset, shape, remaining)?;
                offset += shape.stride();
            }
            // Unused bytes at the end of the buffer, too few for a record.
            Err(Defect::Short) => return ControlFlow::Continue(None),
            Err(defect) => return ControlFlow::Continue(Some((offset, defect))),
        }
    }
}

/// A buffer's payload: borrowed from the file, or decompressed into memory that is reused for the next buffer.
#[derive(Debug, Default)]
pub(crate) struct Payload<'a> {
    stored: Option<&'a [u8]>,
    decompressed: Vec<u8>,
    valid: usize,
}

impl<'a> Payload<'a> {
    /// Loads the first `max_size` bytes of a buffer's payload and counts missing bytes as a loss.
    pub(crate) fn load(&mut self, buffer: &BufferInfo, file: &'a [u8], max_size: usize, losses: &mut Losses) {
        let stored = buffer.stored_bytes(file).get(BUFFER_HEADER_SIZE..).unwrap_or_default();
        let loaded_size = buffer.payload_size().min(max_size);
        match buffer.compression {
            Some(format) => {
                if self.decompressed.len() < loaded_size {
                    self.decompressed.resize(loaded_size, 0);
                }
                let output = self.decompressed.get_mut(..loaded_size).unwrap_or_default();
                self.valid = format.decompress(stored, output);
                self.stored = None;
                // Truncated buffers are already counted.
                if self.valid < loaded_size && !buffer.is_truncated() {
                    losses.add_at(Loss::DecompressionShort, 1, buffer_location(buffer));
                }
            }
            None if buffer.is_readable() => self.stored = Some(stored.get(..loaded_size).unwrap_or(stored)),
            None => self.stored = Some(&[]),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.stored {
            Some(stored) => stored,
            None => self.decompressed.get(..self.valid).unwrap_or_default(),
        }
    }

    /// True if part of the payload is missing. A record that does not fit is then no additional defect.
    fn is_incomplete(&self, buffer: &BufferInfo) -> bool {
        self.bytes().len() < buffer.payload_size()
    }
}

fn buffer_location(buffer: &BufferInfo) -> Location {
    Location { file: buffer.file, offset: buffer.offset as u64 }
}

/// Counts a defect that ended the scan of a buffer early.
pub(crate) fn count_defect(
    buffer: &BufferInfo,
    payload: &Payload<'_>,
    offset: usize,
    defect: Defect,
    losses: &mut Losses,
) {
    let location = match buffer.compression {
        Some(_) => buffer_location(buffer),
        None => Location { file: buffer.file, offset: (buffer.offset + BUFFER_HEADER_SIZE + offset) as u64 },
    };
    match defect {
        Defect::Fill => losses.add_at(Loss::UnwrittenSpace, 1, location),
        Defect::Size { .. } if payload.is_incomplete(buffer) => {}
        _ => losses.add_at(Loss::BadRecord, 1, location),
    }
}

/// The records of a buffer, sorted by time.
#[derive(Debug, Default)]
pub(crate) struct BufferRecords<'a> {
    pub payload: Payload<'a>,
    pub entries: Vec<Entry>,
}

impl<'a> BufferRecords<'a> {
    /// Loads a buffer. `to_axis` converts a stored timestamp to ticks of the recording's clock.
    pub(crate) fn load(
        &mut self,
        buffer: &BufferInfo,
        file: &'a [u8],
        interval: Interval,
        to_axis: impl Fn(u64) -> u64,
        losses: &mut Losses,
    ) {
        self.payload.load(buffer, file, usize::MAX, losses);
        self.entries.clear();
        let entries = &mut self.entries;
        let mut latest = 0;
        let mut previous_ticks = None;
        let (mut untimed, mut inverted, mut contradictory) = (0, 0, 0);
        let walk: ControlFlow<(), _> = each_record(self.payload.bytes(), |offset, shape, record| {
            let ticks = match shape.ticks(record) {
                Some(timestamp) => {
                    let timestamp = to_axis(timestamp);
                    let ticks = timestamp.clamp(interval.low, interval.high);
                    contradictory += u64::from(ticks != timestamp);
                    if previous_ticks.is_none() {
                        // Leading records without a time get the first time in the buffer.
                        entries.iter_mut().for_each(|entry: &mut Entry| entry.ticks = ticks);
                    }
                    ticks
                }
                None => {
                    untimed += 1;
                    previous_ticks.unwrap_or(interval.low)
                }
            };
            if shape.has_time() {
                previous_ticks = Some(ticks);
            }
            inverted += u64::from(ticks < latest);
            latest = latest.max(ticks);
            entries.push(Entry { ticks, offset: offset as u32, shape });
            ControlFlow::Continue(())
        });
        if inverted > 0 {
            entries.sort_by_key(|entry| entry.ticks);
        }
        let location = buffer_location(buffer);
        losses.add_at(Loss::UntimedRecord, untimed, location);
        losses.add_at(Loss::TimeInversion, inverted, location);
        losses.add_at(Loss::TimeContradiction, contradictory, location);
        if let ControlFlow::Continue(Some((offset, defect))) = walk {
            count_defect(buffer, &self.payload, offset, defect, losses);
        }
    }
}

/// Time of the first record of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BufferStart {
    /// Timestamp of the first record that has one, in ticks of the recording's clock.
    Timed(u64),
    /// The buffer has records, but none has a timestamp.
    Untimed,
    /// The buffer has no records.
    Empty,
}

/// Finds the time of a buffer's first record, decompressing no more than necessary.
pub(crate) fn buffer_start<'a>(
    payload: &mut Payload<'a>,
    buffer: &BufferInfo,
    file: &'a [u8],
    to_axis: impl Fn(u64) -> u64,
    losses: &mut Losses,
) -> BufferStart {
    let mut scan = |max_size: usize, losses: &mut Losses| {
        payload.load(buffer, file, max_size, losses);
        let mut has_records = false;
        let walk = each_record(payload.bytes(), |_, shape, record| {
            has_records = true;
            shape.ticks(record).map_or(ControlFlow::Continue(()), ControlFlow::Break)
        });
        match walk {
            ControlFlow::Break(timestamp) => return BufferStart::Timed(to_axis(timestamp)),
            // A buffer without records is not loaded again, so its defect is counted here.
            ControlFlow::Continue(Some((offset, defect))) if !has_records && max_size >= buffer.payload_size() => {
                count_defect(buffer, payload, offset, defect, losses);
            }
            ControlFlow::Continue(_) => {}
        }
        if has_records { BufferStart::Untimed } else { BufferStart::Empty }
    };
    const FIRST_SCAN_SIZE: usize = 1024;
    if buffer.payload_size() > FIRST_SCAN_SIZE && buffer.compression.is_some() {
        // Losses of the first scan are found again when the whole buffer is read.
        if let found @ BufferStart::Timed(_) = scan(FIRST_SCAN_SIZE, &mut Losses::default()) {
            return found;
        }
    }
    scan(usize::MAX, losses)
}
