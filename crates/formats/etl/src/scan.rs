//! The records of one buffer: decompressed if need be, stepped through once, and put in order of time.

use std::ops::ControlFlow;

use crate::header::{Defect, Shape};
use crate::logfile_header::BUFFER_HEADER_SIZE;
use crate::losses::Place;
use crate::{BufferInfo, Loss, Losses};

/// The times a buffer's records may have, in ticks of the recording's clock: what its neighbors in the stream leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub low: u64,
    pub high: u64,
}

impl Span {
    pub(crate) const ANY: Span = Span { low: 0, high: u64::MAX };
}

/// Where a record is and when it happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Time stamp in ticks of the recording's clock, made to agree with the buffer's span.
    pub ticks: u64,
    /// Bytes from the start of the payload.
    pub offset: u32,
    pub shape: Shape,
}

/// Steps through the records of a payload. Gives the defect that ended it early and its offset.
#[inline]
pub(crate) fn each_record<B>(
    payload: &[u8],
    mut visit: impl FnMut(usize, Shape, &[u8]) -> ControlFlow<B>,
) -> ControlFlow<B, Option<(usize, Defect)>> {
    let mut offset = 0;
    loop {
        let rest = payload.get(offset..).unwrap_or_default();
        match Shape::of(rest) {
            Ok(shape) => {
                visit(offset, shape, rest)?;
                offset += shape.stride();
            }
            // What is left of a buffer when the next record did not fit.
            Err(Defect::Short) => return ControlFlow::Continue(None),
            Err(defect) => return ControlFlow::Continue(Some((offset, defect))),
        }
    }
}

/// A buffer's payload: borrowed from the file, or decompressed into memory that the next buffer uses again.
#[derive(Debug, Default)]
pub(crate) struct Payload<'a> {
    stored: Option<&'a [u8]>,
    decompressed: Vec<u8>,
    good: usize,
}

impl<'a> Payload<'a> {
    /// Takes the first `at_most` bytes of a buffer's payload. Counts what is missing of them.
    pub(crate) fn load(&mut self, buffer: &BufferInfo, file: &'a [u8], at_most: usize, losses: &mut Losses) {
        let stored = buffer.stored(file).get(BUFFER_HEADER_SIZE..).unwrap_or_default();
        let wanted = buffer.payload_size().min(at_most);
        match buffer.compression {
            Some(format) => {
                if self.decompressed.len() < wanted {
                    self.decompressed.resize(wanted, 0);
                }
                let output = self.decompressed.get_mut(..wanted).unwrap_or_default();
                self.good = format.decompress(stored, output);
                self.stored = None;
                // A cut buffer is counted as such.
                if self.good < wanted && !buffer.is_cut() {
                    losses.add_at(Loss::DecompressionShort, 1, place_of(buffer));
                }
            }
            None if buffer.is_readable() => self.stored = Some(stored.get(..wanted).unwrap_or(stored)),
            None => self.stored = Some(&[]),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.stored {
            Some(stored) => stored,
            None => self.decompressed.get(..self.good).unwrap_or_default(),
        }
    }

    /// Whether bytes are missing at the end, so that a record that does not fit is not the recorder's fault.
    fn is_short_of(&self, buffer: &BufferInfo) -> bool {
        self.bytes().len() < buffer.payload_size()
    }
}

fn place_of(buffer: &BufferInfo) -> Place {
    Place { file: buffer.file, offset: buffer.offset as u64 }
}

/// Counts a defect that ended a buffer early.
pub(crate) fn count_defect(
    buffer: &BufferInfo,
    payload: &Payload<'_>,
    offset: usize,
    defect: Defect,
    losses: &mut Losses,
) {
    let place = match buffer.compression {
        Some(_) => place_of(buffer),
        None => Place { file: buffer.file, offset: (buffer.offset + BUFFER_HEADER_SIZE + offset) as u64 },
    };
    match defect {
        Defect::Fill => losses.add_at(Loss::UnwrittenSpace, 1, place),
        Defect::Size { .. } if payload.is_short_of(buffer) => {}
        _ => losses.add_at(Loss::BadRecord, 1, place),
    }
}

/// The records of a buffer in order of time.
#[derive(Debug, Default)]
pub(crate) struct BufferRecords<'a> {
    pub payload: Payload<'a>,
    pub entries: Vec<Entry>,
}

impl<'a> BufferRecords<'a> {
    /// Loads a buffer. `to_axis` turns a stored time stamp into ticks of the recording's clock.
    pub(crate) fn load(
        &mut self,
        buffer: &BufferInfo,
        file: &'a [u8],
        span: Span,
        to_axis: impl Fn(u64) -> u64,
        losses: &mut Losses,
    ) {
        self.payload.load(buffer, file, usize::MAX, losses);
        self.entries.clear();
        let entries = &mut self.entries;
        let mut latest = 0;
        let mut before = None;
        let (mut untimed, mut inverted, mut contradicting) = (0, 0, 0);
        let walk: ControlFlow<(), _> = each_record(self.payload.bytes(), |offset, shape, record| {
            let ticks = match shape.ticks(record) {
                Some(stamp) => {
                    let stamp = to_axis(stamp);
                    let ticks = stamp.clamp(span.low, span.high);
                    contradicting += u64::from(ticks != stamp);
                    if before.is_none() {
                        // Records without a time that come first take the first time there is.
                        entries.iter_mut().for_each(|entry: &mut Entry| entry.ticks = ticks);
                    }
                    ticks
                }
                None => {
                    untimed += 1;
                    before.unwrap_or(span.low)
                }
            };
            if shape.has_time() {
                before = Some(ticks);
            }
            inverted += u64::from(ticks < latest);
            latest = latest.max(ticks);
            entries.push(Entry { ticks, offset: offset as u32, shape });
            ControlFlow::Continue(())
        });
        if inverted > 0 {
            entries.sort_by_key(|entry| entry.ticks);
        }
        let place = place_of(buffer);
        losses.add_at(Loss::UntimedRecord, untimed, place);
        losses.add_at(Loss::TimeInversion, inverted, place);
        losses.add_at(Loss::TimeContradiction, contradicting, place);
        if let ControlFlow::Continue(Some((offset, defect))) = walk {
            count_defect(buffer, &self.payload, offset, defect, losses);
        }
    }
}

/// What the start of a buffer tells about its place in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// Time stamp of the first record that has one, in ticks of the recording's clock.
    At(u64),
    /// Records, but none with a time stamp.
    Untimed,
    /// No records.
    Empty,
}

/// Looks at the first records of a buffer, decompressing no more than it must.
pub(crate) fn beginning<'a>(
    payload: &mut Payload<'a>,
    buffer: &BufferInfo,
    file: &'a [u8],
    to_axis: impl Fn(u64) -> u64,
    losses: &mut Losses,
) -> Beginning {
    let mut look = |at_most: usize, losses: &mut Losses| {
        payload.load(buffer, file, at_most, losses);
        let mut any = false;
        let walk = each_record(payload.bytes(), |_, shape, record| {
            any = true;
            shape.ticks(record).map_or(ControlFlow::Continue(()), ControlFlow::Break)
        });
        match walk {
            ControlFlow::Break(stamp) => return Beginning::At(to_axis(stamp)),
            // Without records the buffer is not loaded again, so its defect is counted here.
            ControlFlow::Continue(Some((offset, defect))) if !any && at_most >= buffer.payload_size() => {
                count_defect(buffer, payload, offset, defect, losses);
            }
            ControlFlow::Continue(_) => {}
        }
        if any { Beginning::Untimed } else { Beginning::Empty }
    };
    const FIRST_LOOK: usize = 1024;
    if buffer.payload_size() > FIRST_LOOK && buffer.compression.is_some() {
        // Losses of a first look are found again when the whole is read.
        if let found @ Beginning::At(_) = look(FIRST_LOOK, &mut Losses::default()) {
            return found;
        }
    }
    look(usize::MAX, losses)
}
