//! One file: its logfile header and the list of its buffers, damaged parts stepped over.

use std::collections::HashMap;

use crate::buffer::{MAX_BUFFER_SIZE, RawBufferHeader};
use crate::logfile_header::{BUFFER_HEADER_SIZE, log_file_mode};
use crate::losses::Place;
use crate::{BufferInfo, BufferKind, Clock, CompressionFormat, Error, LogfileHeader, Loss, Losses};

/// One `.etl` file, already unpacked.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// Its bytes, usually a memory map.
    pub bytes: &'a [u8],
}

/// What one input of a recording is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// Name as given.
    pub name: String,
    /// Length in bytes.
    pub length: usize,
    /// Its logfile header.
    pub header: LogfileHeader,
    /// Its own clock, from which its place on the recording's axis follows.
    pub clock: Clock,
    /// Compression of its buffers; `None` when no buffer is compressed or the format is not known.
    pub compression: Option<CompressionFormat>,
    /// Whether the recorder closed it.
    pub finished: bool,
    /// Number of buffers it holds, the header buffer included.
    pub buffers: usize,
    /// Recording sessions in it: more than one when sessions were appended.
    pub sessions: u32,
    /// Whether its records tick with the recording's clock; if not, they were placed by UTC.
    pub shares_clock: bool,
}

/// A compressed file may expand this many times in all. Real recordings stay below 20.
const MAX_EXPANSION: usize = 128;
/// What any file may expand to, so that short ones are not judged by the ratio.
const MIN_EXPANSION_LIMIT: usize = 16 << 20;
/// A buffer expands to no more than the logger's buffer size, or this where the header is wrong about it.
const USUAL_LARGEST_BUFFER: usize = 1 << 20;

/// Reads a file's logfile header and finds its buffers.
pub(crate) fn index(input: &Input<'_>, number: usize) -> Result<(FileSummary, Vec<BufferInfo>, Losses), Error> {
    let mut losses = Losses::default();
    let first = first_buffer(input)?;
    let header = LogfileHeader::read(input.name, input.bytes)?;
    let format = CompressionFormat::from_number(first.state.get() as u16);
    let (clock, usable) = Clock::of(&header);
    if !usable {
        losses.add_at(Loss::ClockUnknown, 1, Place { file: number, offset: BUFFER_HEADER_SIZE as u64 });
    }

    let mut finder = Finder { input, number, header: &header, format, losses: &mut losses, buffers: Vec::new() };
    finder.find();
    let mut buffers = finder.buffers;
    drop_duplicates(input.bytes, number, &mut buffers, &mut losses);
    refuse_expansion(&header, input.bytes.len(), &mut buffers, &mut losses);
    let sessions = if header.has_mode(log_file_mode::APPEND) { split_sessions(&mut buffers) } else { 1 };
    count_losses(&header, number, &buffers, &mut losses);

    let summary = FileSummary {
        name: input.name.to_owned(),
        length: input.bytes.len(),
        compression: buffers.iter().find_map(|buffer| buffer.compression),
        finished: header.finished(),
        buffers: buffers.len(),
        sessions,
        shares_clock: true,
        clock,
        header,
    };
    Ok((summary, buffers, losses))
}

pub(crate) fn first_buffer<'a>(input: &Input<'a>) -> Result<&'a RawBufferHeader, Error> {
    let file = || input.name.to_owned();
    let not_a_log = |offset, reason| Error::NotAnEventTraceLog { file: file(), offset, reason };
    let Some(first) = RawBufferHeader::at(input.bytes, 0) else {
        if input.bytes.iter().all(|&byte| byte == 0) {
            return Err(Error::Empty { file: file(), length: input.bytes.len() });
        }
        return Err(Error::Truncated {
            file: file(),
            offset: 0,
            structure: "first buffer header",
            needed: BUFFER_HEADER_SIZE,
            available: input.bytes.len(),
        });
    };
    let size = first.buffer_size.get();
    if size == 0 && input.bytes.iter().all(|&byte| byte == 0) {
        return Err(Error::Empty { file: file(), length: input.bytes.len() });
    }
    if !first.is_plausible() {
        return Err(not_a_log(
            0,
            format!("the first {BUFFER_HEADER_SIZE} bytes are not a buffer header (size {size:#x})"),
        ));
    }
    Ok(first)
}

struct Finder<'f, 'a> {
    input: &'f Input<'a>,
    number: usize,
    header: &'f LogfileHeader,
    format: Option<CompressionFormat>,
    losses: &'f mut Losses,
    buffers: Vec<BufferInfo>,
}

impl Finder<'_, '_> {
    // To the end of the file, whatever `BuffersWritten` says: it is 0 or 1 in files that were never finished.
    fn find(&mut self) {
        let bytes = self.input.bytes;
        let mut offset = 0;
        while offset < bytes.len() {
            let found = RawBufferHeader::at(bytes, offset);
            match found.and_then(|raw| Some((raw, self.believable_size(raw, offset)?))) {
                Some((raw, size)) => {
                    self.add(raw, offset, size);
                    offset = offset.saturating_add(size);
                }
                None => offset = self.step_over(offset),
            }
        }
    }

    fn add(&mut self, raw: &RawBufferHeader, offset: usize, size: usize) {
        let length = self.input.bytes.len();
        let mut buffer = BufferInfo::of(raw, self.number, offset, self.header, self.format);
        buffer.resize(size, length);
        let place = Place { file: self.number, offset: offset as u64 };
        if size != raw.buffer_size.get() as usize {
            self.losses.add_at(Loss::BufferSizeDamaged, 1, place);
        }
        if buffer.is_cut() {
            self.losses.add_at(Loss::BufferTruncated, 1, place);
        }
        if buffer.flags.is_lossy() {
            self.losses.add_at(Loss::BuffersMarkedLossy, 1, place);
        }
        if buffer.flags.is_compressed() && buffer.compression.is_none() {
            self.losses.add_at(Loss::UnknownCompression, 1, place);
        }
        self.buffers.push(buffer);
    }

    /// How many bytes a buffer takes: what it announces if that leads to another buffer. A damaged size would jump over good
    /// buffers; plain ones all have the logger's size. `None` when there is no buffer here.
    fn believable_size(&self, raw: &RawBufferHeader, offset: usize) -> Option<usize> {
        let bytes = self.input.bytes;
        let usual = self.largest_buffer();
        let announced = raw.buffer_size.get() as usize;
        let plausible = raw.is_plausible();
        if plausible && announced == usual {
            return Some(announced);
        }
        let end = offset.saturating_add(announced);
        let leads_on = plausible
            && match RawBufferHeader::at(bytes, end) {
                // Zeros: space that was reserved and never used.
                Some(next) => next.is_plausible() || next.is_blank(),
                // The end of the file, or the last buffer, cut, or the one before a cut header.
                None => end == bytes.len() || announced <= usual.max(1 << 20),
            };
        if leads_on && (announced < usual || offset == 0) {
            return Some(announced);
        }
        let usual_leads_on = !self.buffers.is_empty()
            && raw.is_convincing(usual)
            && !raw.is_compressed()
            && match RawBufferHeader::at(bytes, offset.saturating_add(usual)) {
                Some(next) => next.is_convincing(usual),
                None => offset.saturating_add(usual) == bytes.len(),
            };
        if usual_leads_on {
            return Some(usual);
        }
        // What follows is damaged, not this one: as far as can be told from here.
        let stands_alone =
            plausible && announced <= usual && raw.is_convincing(usual) && (offset == 0 || raw.is_compressed());
        (leads_on || stands_alone).then_some(announced)
    }

    /// Bytes of an uncompressed buffer.
    fn largest_buffer(&self) -> usize {
        (self.header.buffer_size as usize).clamp(BUFFER_HEADER_SIZE, MAX_BUFFER_SIZE)
    }

    /// Gives the offset of the next buffer after bytes that are none, or the end of the file.
    fn step_over(&mut self, offset: usize) -> usize {
        let bytes = self.input.bytes;
        let rest = bytes.get(offset..).unwrap_or_default();
        let place = Place { file: self.number, offset: offset as u64 };
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        if zeros == rest.len() {
            self.losses.add_at(Loss::UnusedSpace, 1, place);
            return bytes.len();
        }
        if rest.len() < BUFFER_HEADER_SIZE {
            self.losses.add_at(Loss::BufferTruncated, 1, place);
            return bytes.len();
        }
        self.losses.add_at(Loss::UnreadableSpan, 1, place);
        let largest = self.largest_buffer();
        // Plain buffers stand at multiples of the buffer size behind the header buffer; compressed ones anywhere.
        let plain = !self.header.has_mode(log_file_mode::COMPRESSED);
        let step = if plain { largest } else { 1 };
        let origin = self.buffers.first().map_or(0, |first| first.size);
        let mut candidate =
            if plain && offset >= origin { origin + ((offset - origin) / step + 1) * step } else { offset + 1 };
        while let Some(raw) = RawBufferHeader::at(bytes, candidate) {
            if raw.is_convincing(largest) {
                return candidate;
            }
            candidate = candidate.saturating_add(step);
        }
        bytes.len()
    }
}

/// Buffers that are in the file twice, as some tools that join files leave them.
fn drop_duplicates(bytes: &[u8], file: usize, buffers: &mut Vec<BufferInfo>, losses: &mut Losses) {
    let mut seen: HashMap<(u64, u16, usize, usize), usize> = HashMap::with_capacity(buffers.len());
    buffers.retain(|buffer| {
        let key = (buffer.sequence, buffer.cpu, buffer.size, buffer.fill);
        match seen.get(&key) {
            Some(&earlier)
                if bytes.get(earlier..earlier.saturating_add(buffer.available)) == Some(buffer.stored(bytes)) =>
            {
                losses.add_at(Loss::DuplicateBuffer, 1, Place { file, offset: buffer.offset as u64 });
                false
            }
            _ => {
                seen.insert(key, buffer.offset);
                true
            }
        }
    });
}

/// Compressed buffers that announce more than any recorder would write lose their records, not our memory.
fn refuse_expansion(header: &LogfileHeader, length: usize, buffers: &mut [BufferInfo], losses: &mut Losses) {
    let limit = length.saturating_mul(MAX_EXPANSION);
    let mut left = limit.max(MIN_EXPANSION_LIMIT);
    let largest = (header.buffer_size as usize).max(USUAL_LARGEST_BUFFER);
    for buffer in buffers.iter_mut().filter(|buffer| buffer.compression.is_some()) {
        match left.checked_sub(buffer.payload_size()) {
            Some(rest) if buffer.fill <= largest => left = rest,
            _ => {
                buffer.compression = None;
                let place = Place { file: buffer.file, offset: buffer.offset as u64 };
                losses.add_at(Loss::DecompressionRefused, 1, place);
            }
        }
    }
}

/// An appended session begins its sequence numbers again; the only sign of it in the file.
fn split_sessions(buffers: &mut [BufferInfo]) -> u32 {
    let mut session = 0;
    let mut last: HashMap<u16, u64> = HashMap::new();
    for buffer in buffers.iter_mut().filter(|buffer| buffer.kind != BufferKind::Header) {
        if last.get(&buffer.cpu).is_some_and(|&previous| buffer.sequence < previous) {
            session += 1;
            last.clear();
        }
        buffer.session = session;
        last.insert(buffer.cpu, buffer.sequence);
    }
    session + 1
}

fn count_losses(header: &LogfileHeader, file: usize, buffers: &[BufferInfo], losses: &mut Losses) {
    losses.add(Loss::EventsLost, u64::from(header.events_lost));
    losses.add(Loss::BuffersLost, u64::from(header.buffers_lost));
    if !header.finished() {
        losses.add_at(Loss::UnfinishedFile, 1, Place { file, offset: 0 });
    } else if !header.has_mode(log_file_mode::CIRCULAR | log_file_mode::APPEND | log_file_mode::BUFFERING) {
        let found = buffers.len() as u64;
        losses.add(Loss::BuffersAbsent, u64::from(header.buffers_written).saturating_sub(found));
    }
    let mut numbers: Vec<(u32, u64)> = buffers
        .iter()
        .filter(|buffer| buffer.kind != BufferKind::Header)
        .map(|buffer| (buffer.session, buffer.sequence))
        .collect();
    numbers.sort_unstable();
    for pair in numbers.windows(2) {
        if let &[(session, earlier), (same, later)] = pair
            && session == same
        {
            losses.add(Loss::MissingSequence, (later - earlier).saturating_sub(1));
        }
    }
}
