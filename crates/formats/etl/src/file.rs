//! Indexes a file: reads its logfile header and finds its buffers, skipping damaged parts.

use std::collections::HashMap;

use crate::buffer::{MAX_BUFFER_SIZE, RawBufferHeader};
use crate::logfile_header::{BUFFER_HEADER_SIZE, log_file_mode};
use crate::losses::Location;
use crate::{BufferInfo, BufferKind, Clock, CompressionFormat, Error, LogfileHeader, Loss, Losses};

/// The decompressed contents of an `.etl` file.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Name used in messages.
    pub name: &'a str,
    /// File contents, usually a memory map.
    pub bytes: &'a [u8],
}

/// Summary of one input of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    pub name: String,
    /// Length in bytes.
    pub length: usize,
    pub header: LogfileHeader,
    /// Clock of this file; [`Recording::clock`](crate::Recording::clock) is the clock of the whole recording.
    pub clock: Clock,
    /// Compression of the buffers; `None` if no buffer is compressed or the format is unknown.
    pub compression: Option<CompressionFormat>,
    /// True if the recorder closed the file.
    pub is_finished: bool,
    /// Number of buffers, including the header buffer.
    pub buffers: usize,
    /// Number of recording sessions: more than 1 if sessions were appended.
    pub sessions: u32,
    /// True if the records use the recording's clock; otherwise they were placed by UTC.
    pub shares_clock: bool,
}

/// Maximum expansion of a compressed file as a whole. Real recordings stay below 20.
const MAX_EXPANSION: usize = 128;
/// Expansion allowed for any file, so that short files are not limited by the ratio. Unit: bytes.
const MIN_EXPANSION_LIMIT: usize = 16 << 20;
/// Size up to which a buffer may always expand, whatever buffer size the header declares. Unit: bytes.
const MIN_BUFFER_SIZE_LIMIT: usize = 1 << 20;

/// Reads a file's logfile header and finds its buffers.
pub(crate) fn index(input: &Input<'_>, number: usize) -> Result<(FileSummary, Vec<BufferInfo>, Losses), Error> {
    let mut losses = Losses::default();
    let first_header = first_buffer(input)?;
    let header = LogfileHeader::read(input.name, input.bytes)?;
    let format = CompressionFormat::from_number(first_header.state.get() as u16);
    let (clock, is_usable) = Clock::from_header(&header);
    if !is_usable {
        losses.add_at(Loss::ClockUnknown, 1, Location { file: number, offset: BUFFER_HEADER_SIZE as u64 });
    }

    let mut finder = BufferFinder { input, number, header: &header, format, losses: &mut losses, buffers: Vec::new() };
    finder.find();
    let mut buffers = finder.buffers;
    remove_duplicates(input.bytes, number, &mut buffers, &mut losses);
    limit_expansion(&header, input.bytes.len(), &mut buffers, &mut losses);
    let sessions = if header.has_mode(log_file_mode::APPEND) { split_sessions(&mut buffers) } else { 1 };
    count_losses(&header, number, &buffers, &mut losses);

    let summary = FileSummary {
        name: input.name.to_owned(),
        length: input.bytes.len(),
        compression: buffers.iter().find_map(|buffer| buffer.compression),
        is_finished: header.is_finished(),
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
    let not_an_etl = |offset, reason| Error::NotAnEventTraceLog { file: file(), offset, reason };
    let Some(header) = RawBufferHeader::read(input.bytes, 0) else {
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
    let size = header.buffer_size.get();
    if size == 0 && input.bytes.iter().all(|&byte| byte == 0) {
        return Err(Error::Empty { file: file(), length: input.bytes.len() });
    }
    if !header.is_plausible() {
        return Err(not_an_etl(
            0,
            format!("the first {BUFFER_HEADER_SIZE} bytes are not a buffer header (size {size:#x})"),
        ));
    }
    Ok(header)
}

struct BufferFinder<'f, 'a> {
    input: &'f Input<'a>,
    number: usize,
    header: &'f LogfileHeader,
    format: Option<CompressionFormat>,
    losses: &'f mut Losses,
    buffers: Vec<BufferInfo>,
}

impl BufferFinder<'_, '_> {
    // Scans to the end of the file. `BuffersWritten` is 0 or 1 in unfinished files.
    fn find(&mut self) {
        let bytes = self.input.bytes;
        let mut offset = 0;
        while offset < bytes.len() {
            let raw_header = RawBufferHeader::read(bytes, offset);
            match raw_header.and_then(|raw| Some((raw, self.infer_size(raw, offset)?))) {
                Some((raw, size)) => {
                    self.add(raw, offset, size);
                    offset = offset.saturating_add(size);
                }
                None => offset = self.skip_to_next_buffer(offset),
            }
        }
    }

    fn add(&mut self, raw: &RawBufferHeader, offset: usize, size: usize) {
        let length = self.input.bytes.len();
        let mut buffer = BufferInfo::from_header(raw, self.number, offset, self.header, self.format);
        buffer.resize(size, length);
        let location = Location { file: self.number, offset: offset as u64 };
        if size != raw.buffer_size.get() as usize {
            self.losses.add_at(Loss::BufferSizeDamaged, 1, location);
        }
        if buffer.is_truncated() {
            self.losses.add_at(Loss::BufferTruncated, 1, location);
        }
        if buffer.flags.is_lossy() {
            self.losses.add_at(Loss::BuffersMarkedLossy, 1, location);
        }
        if buffer.flags.is_compressed() && buffer.compression.is_none() {
            self.losses.add_at(Loss::UnknownCompression, 1, location);
        }
        self.buffers.push(buffer);
    }

    /// Returns the size of the buffer at `offset`, or `None` if there is no buffer. Trusts the declared size if it
    /// leads to another buffer: a damaged size would skip good buffers. Uncompressed buffers all have the
    /// logger's size.
    fn infer_size(&self, raw: &RawBufferHeader, offset: usize) -> Option<usize> {
        let bytes = self.input.bytes;
        let usual_size = self.uncompressed_size();
        let declared_size = raw.buffer_size.get() as usize;
        let is_plausible = raw.is_plausible();
        if is_plausible && declared_size == usual_size {
            return Some(declared_size);
        }
        let end = offset.saturating_add(declared_size);
        let next_is_valid = is_plausible
            && match RawBufferHeader::read(bytes, end) {
                // Zeros: reserved space that was never used.
                Some(next) => next.is_plausible() || next.is_blank(),
                // The end of the file, a truncated last buffer, or a buffer before a truncated header.
                None => end == bytes.len() || declared_size <= usual_size.max(1 << 20),
            };
        if next_is_valid && (declared_size < usual_size || offset == 0) {
            return Some(declared_size);
        }
        let next_after_usual_size_is_valid = !self.buffers.is_empty()
            && raw.is_convincing(usual_size)
            && !raw.is_compressed()
            && match RawBufferHeader::read(bytes, offset.saturating_add(usual_size)) {
                Some(next) => next.is_convincing(usual_size),
                None => offset.saturating_add(usual_size) == bytes.len(),
            };
        if next_after_usual_size_is_valid {
            return Some(usual_size);
        }
        // The buffer itself looks valid, so the damage is probably after it.
        let is_valid_alone = is_plausible
            && declared_size <= usual_size
            && raw.is_convincing(usual_size)
            && (offset == 0 || raw.is_compressed());
        (next_is_valid || is_valid_alone).then_some(declared_size)
    }

    /// Returns the size of an uncompressed buffer in bytes.
    fn uncompressed_size(&self) -> usize {
        (self.header.buffer_size as usize).clamp(BUFFER_HEADER_SIZE, MAX_BUFFER_SIZE)
    }

    /// Counts the loss at `offset` and returns the offset of the next buffer, or the end of the file.
    fn skip_to_next_buffer(&mut self, offset: usize) -> usize {
        let bytes = self.input.bytes;
        let remaining = bytes.get(offset..).unwrap_or_default();
        let location = Location { file: self.number, offset: offset as u64 };
        let zeros = remaining.iter().take_while(|&&byte| byte == 0).count();
        if zeros == remaining.len() {
            self.losses.add_at(Loss::UnusedSpace, 1, location);
            return bytes.len();
        }
        if remaining.len() < BUFFER_HEADER_SIZE {
            self.losses.add_at(Loss::BufferTruncated, 1, location);
            return bytes.len();
        }
        self.losses.add_at(Loss::UnreadableSpan, 1, location);
        let max_size = self.uncompressed_size();
        // Uncompressed buffers start at multiples of the buffer size after the header buffer; compressed ones can
        // start anywhere.
        let is_uncompressed = !self.header.has_mode(log_file_mode::COMPRESSED);
        let step = if is_uncompressed { max_size } else { 1 };
        let origin = self.buffers.first().map_or(0, |first| first.size);
        let mut candidate = if is_uncompressed && offset >= origin {
            origin + ((offset - origin) / step + 1) * step
        } else {
            offset + 1
        };
        while let Some(raw) = RawBufferHeader::read(bytes, candidate) {
            if raw.is_convincing(max_size) {
                return candidate;
            }
            candidate = candidate.saturating_add(step);
        }
        bytes.len()
    }
}

/// Removes duplicate buffers, which some tools that join files write.
fn remove_duplicates(bytes: &[u8], file: usize, buffers: &mut Vec<BufferInfo>, losses: &mut Losses) {
    let mut seen: HashMap<(u64, u16, usize, usize), usize> = HashMap::with_capacity(buffers.len());
    buffers.retain(|buffer| {
        let key = (buffer.sequence, buffer.cpu, buffer.size, buffer.fill);
        match seen.get(&key) {
            Some(&earlier)
                if bytes.get(earlier..earlier.saturating_add(buffer.available)) == Some(buffer.stored_bytes(bytes)) =>
            {
                losses.add_at(Loss::DuplicateBuffer, 1, Location { file, offset: buffer.offset as u64 });
                false
            }
            _ => {
                seen.insert(key, buffer.offset);
                true
            }
        }
    });
}

/// Drops the records of compressed buffers whose declared size is implausible, to bound memory.
fn limit_expansion(header: &LogfileHeader, length: usize, buffers: &mut [BufferInfo], losses: &mut Losses) {
    let limit = length.saturating_mul(MAX_EXPANSION);
    let mut budget = limit.max(MIN_EXPANSION_LIMIT);
    let max_size = (header.buffer_size as usize).max(MIN_BUFFER_SIZE_LIMIT);
    for buffer in buffers.iter_mut().filter(|buffer| buffer.compression.is_some()) {
        match budget.checked_sub(buffer.payload_size()) {
            Some(remaining) if buffer.fill <= max_size => budget = remaining,
            _ => {
                buffer.compression = None;
                let location = Location { file: buffer.file, offset: buffer.offset as u64 };
                losses.add_at(Loss::DecompressionRefused, 1, location);
            }
        }
    }
}

/// Assigns buffers to sessions and returns the number of sessions. Sequence numbers restart in every appended session;
/// nothing else in the file marks the boundary.
fn split_sessions(buffers: &mut [BufferInfo]) -> u32 {
    let mut session = 0;
    let mut last_sequences: HashMap<u16, u64> = HashMap::new();
    for buffer in buffers.iter_mut().filter(|buffer| buffer.kind != BufferKind::Header) {
        if last_sequences.get(&buffer.cpu).is_some_and(|&previous| buffer.sequence < previous) {
            session += 1;
            last_sequences.clear();
        }
        buffer.session = session;
        last_sequences.insert(buffer.cpu, buffer.sequence);
    }
    session + 1
}

fn count_losses(header: &LogfileHeader, file: usize, buffers: &[BufferInfo], losses: &mut Losses) {
    losses.add(Loss::EventsLost, u64::from(header.events_lost));
    losses.add(Loss::BuffersLost, u64::from(header.buffers_lost));
    if !header.is_finished() {
        losses.add_at(Loss::UnfinishedFile, 1, Location { file, offset: 0 });
    } else if !header.has_mode(log_file_mode::CIRCULAR | log_file_mode::APPEND | log_file_mode::BUFFERING) {
        let present = buffers.len() as u64;
        losses.add(Loss::BuffersAbsent, u64::from(header.buffers_written).saturating_sub(present));
    }
    let mut numbers: Vec<(u32, u64)> = buffers
        .iter()
        .filter(|buffer| buffer.kind != BufferKind::Header)
        .map(|buffer| (buffer.session, buffer.sequence))
        .collect();
    numbers.sort_unstable();
    for pair in numbers.windows(2) {
        if let &[(session, earlier), (next_session, later)] = pair
            && session == next_session
        {
            losses.add(Loss::MissingSequence, (later - earlier).saturating_sub(1));
        }
    }
}
