//! Writes several logs of one boot as one file.
//!
//! Records are copied byte for byte, in time order, into new uncompressed buffers per processor. The recorder's loss
//! counts (events and buffers lost, flagged buffers, absent buffers and sequence numbers) are summed over all inputs,
//! so the new file reports the same losses as the inputs read together. As with other merging tools, the session is
//! named `Relogger` and the file `[multiple files]`.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;

use crate::buffer::BufferFlags;
use crate::logfile_header::{BUFFER_HEADER_SIZE, HeaderOverrides, log_file_mode};
use crate::recording::Recording;
use crate::{Error, FileSummary, HeaderKind, Input, LogfileHeader, Loss, Losses, Record};

/// Upper limit of the buffer size in bytes. Any record fits.
const MAX_BUFFER_SIZE: usize = 1 << 20;
/// `ETW_BUFFER_STATE_FLUSH`, the state of written buffers.
const STATE_FLUSH: u32 = 3;
const TYPE_GENERIC: u16 = 0;
const TYPE_HEADER: u16 = 4;
/// First Windows version whose buffers have 16-bit processor numbers.
const WIDE_PROCESSOR_NUMBERS: (u8, u8) = (6, 2);

/// Why files cannot be written as one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// An input cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The merged file cannot be written.
    #[error("cannot write the merged recording: {0}")]
    Write(#[from] io::Error),
    /// Two files are not parts of one recording.
    #[error("{first} and {second} are not parts of one recording: {reason}")]
    Incompatible {
        /// Name of the reference input.
        first: String,
        /// Name of the input that does not match it.
        second: String,
        /// The difference.
        reason: String,
    },
    /// A file contains sessions of several boots.
    #[error("a file contains sessions of several boots: the clock of a merged recording cannot restart")]
    ClockRestarted,
}

/// Summary of a merged file.
#[derive(Debug, Clone)]
pub struct MergedFile {
    /// Number of records, including the logfile header of the new file but not the headers of the inputs.
    pub records: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Losses found while reading the inputs.
    pub losses: Losses,
}

/// Writes the files of one boot to `out` as one file.
///
/// # Errors
/// An input cannot be read, `out` cannot be written, or the inputs differ in boot or clock.
pub fn write_merged(inputs: &[Input<'_>], out: impl Write + Seek) -> Result<MergedFile, MergeError> {
    let recording = Recording::open(inputs)?;
    check_compatible(&recording)?;
    let mut writer = Writer::new(&recording, inputs, out)?;
    let read_losses = writer.write_records(&recording)?;
    let mut losses = recording.losses().clone();
    losses.merge(&read_losses);
    writer.finish(&losses)?;
    Ok(MergedFile { records: writer.records, bytes: writer.bytes, losses })
}

fn check_compatible(recording: &Recording<'_>) -> Result<(), MergeError> {
    if recording.losses().count(Loss::ClockRestarted) > 0 {
        return Err(MergeError::ClockRestarted);
    }
    let earliest = recording.files().iter().min_by_key(|file| file.clock.start_filetime());
    for (number, second) in recording.files().iter().enumerate() {
        let clock_mismatch =
            earliest.filter(|_| !second.shares_clock).map(|first| (first, clock_difference(first, second)));
        let earlier = recording.files().iter().take(number);
        let session_mismatch = || earlier.filter_map(|first| Some((first, session_conflict(first, second)?))).next();
        if let Some((first, reason)) = clock_mismatch.or_else(session_mismatch) {
            return Err(MergeError::Incompatible { first: first.name.clone(), second: second.name.clone(), reason });
        }
    }
    Ok(())
}

fn clock_difference(first: &FileSummary, second: &FileSummary) -> String {
    let clock = |file: &FileSummary| format!("{} at {} Hz", file.clock.kind().name(), file.clock.ticks_per_second());
    let (first_clock, second_clock) = (clock(first), clock(second));
    if first_clock == second_clock {
        "they are from different boots".to_owned()
    } else {
        format!("their clocks are {first_clock} and {second_clock}")
    }
}

/// Returns the reason why two sessions with one clock cannot be merged, or `None` if they can.
fn session_conflict(first: &FileSummary, second: &FileSummary) -> Option<String> {
    let (first, second) = (&first.header, &second.header);
    if first.os_build != second.os_build {
        return Some(format!("their Windows builds are {} and {}", first.os_build, second.os_build));
    }
    let merged = first.has_mode(log_file_mode::RELOG) || second.has_mode(log_file_mode::RELOG);
    let same_name = first.logger_name.eq_ignore_ascii_case(&second.logger_name) && !first.logger_name.is_empty();
    let (earlier, later) = if first.start_time <= second.start_time { (first, second) } else { (second, first) };
    let overlap = !earlier.is_finished() || later.start_time < earlier.end_time;
    (!merged && same_name && overlap).then(|| {
        format!("both recorded a session named '{}' at the same time, which one computer cannot do", first.logger_name)
    })
}

/// A buffer being filled.
#[derive(Debug, Default)]
struct OutputBuffer {
    records: Vec<u8>,
    last_ticks: u64,
    flags: u16,
}

struct Writer<W> {
    out: W,
    header_record: Vec<u8>,
    overrides: HeaderOverrides,
    /// True if processor numbers have 16 bits.
    has_wide_numbers: bool,
    open: BTreeMap<u16, OutputBuffer>,
    /// Input buffers that report losses, by processor and in time order: start and flags.
    lossy_buffers: BTreeMap<u16, VecDeque<(u64, u16)>>,
    /// The most recent full buffer and its processor. It is written when the next buffer is full: only the final buffer
    /// gets the flush marker.
    pending: Option<(u16, OutputBuffer)>,
    sequence: u64,
    records: u64,
    bytes: u64,
}

impl<W: Write + Seek> Writer<W> {
    fn new(recording: &Recording<'_>, inputs: &[Input<'_>], out: W) -> Result<Self, MergeError> {
        let files = recording.files();
        // The file whose clock is the recording's.
        let earliest = files.iter().enumerate().min_by_key(|(_, file)| file.clock.start_ticks());
        let (number, first) = earliest.ok_or(Error::NoInput)?;
        let input = inputs.get(number).ok_or(Error::NoInput)?;
        let headers = || files.iter().map(|file| &file.header);
        let overrides = overrides(recording, headers());
        let header_record = LogfileHeader::record(input.name, input.bytes)?.to_vec();
        let processors = headers().map(|header| header.processors).max().unwrap_or(1);
        let mut writer = Self {
            out,
            header_record,
            overrides,
            has_wide_numbers: first.header.os_version >= WIDE_PROCESSOR_NUMBERS || processors > 256,
            open: BTreeMap::new(),
            lossy_buffers: lossy_buffers(recording),
            pending: None,
            sequence: 0,
            records: 1,
            bytes: 0,
        };
        // Reserves the space; `finish` writes the final counts.
        writer.write_header()?;
        Ok(writer)
    }

    fn write_header(&mut self) -> io::Result<()> {
        let record = self.overrides.apply(&self.header_record);
        let header = OutputBuffer { records: record, ..OutputBuffer::default() };
        self.write(0, 0, TYPE_HEADER, BufferFlags::FLUSH_MARKER, &header)
    }

    /// Copies all records and returns the losses found while reading them.
    fn write_records(&mut self, recording: &Recording<'_>) -> io::Result<Losses> {
        let mut pending_headers = vec![true; recording.files().len()];
        let walk = recording.for_each(|record| {
            if record.kind() == HeaderKind::System && record.hook() == Some(0) {
                // Skip the logfile header of each input; the merged file has a new one.
                let is_header = pending_headers.get_mut(record.file()).is_some_and(std::mem::take);
                if is_header {
                    return ControlFlow::Continue(());
                }
            }
            match self.push(record) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        match walk.outcome {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(walk.losses),
        }
    }

    fn push(&mut self, record: &Record<'_>) -> io::Result<()> {
        let cpu = record.cpu();
        while let Some(&(start, flags)) = self.lossy_buffers.get(&cpu).and_then(VecDeque::front)
            && start <= record.ticks()
        {
            self.lossy_buffers.entry(cpu).or_default().pop_front();
            self.start_lossy_buffer(cpu, flags)?;
        }
        let capacity = (self.overrides.buffer_size as usize).saturating_sub(BUFFER_HEADER_SIZE);
        let open = self.open.entry(cpu).or_default();
        let start = open.records.len().next_multiple_of(8);
        if start > 0 && start + record.size() > capacity {
            self.close(cpu)?;
        }
        let open = self.open.entry(cpu).or_default();
        open.records.resize(open.records.len().next_multiple_of(8), 0);
        open.records.extend_from_slice(record.bytes());
        open.last_ticks = open.last_ticks.max(record.ticks());
        self.records += 1;
        Ok(())
    }

    /// Starts a buffer with the loss flags of an input buffer.
    fn start_lossy_buffer(&mut self, cpu: u16, flags: u16) -> io::Result<()> {
        let open = self.open.entry(cpu).or_default();
        if !open.records.is_empty() || open.flags != 0 {
            self.close(cpu)?;
        }
        self.open.entry(cpu).or_default().flags = flags;
        Ok(())
    }

    fn close(&mut self, cpu: u16) -> io::Result<()> {
        let closed = self.open.remove(&cpu).unwrap_or_default();
        let previous = self.pending.replace((cpu, closed));
        previous.map_or(Ok(()), |(cpu, buffer)| self.write_next(cpu, &buffer))
    }

    fn write_next(&mut self, cpu: u16, buffer: &OutputBuffer) -> io::Result<()> {
        self.sequence = self.sequence.saturating_add(1);
        self.overrides.buffers_written = self.overrides.buffers_written.saturating_add(1);
        self.write(self.sequence, cpu, TYPE_GENERIC, buffer.flags, buffer)
    }

    fn write(&mut self, sequence: u64, cpu: u16, kind: u16, flags: u16, buffer: &OutputBuffer) -> io::Result<()> {
        let size = self.overrides.buffer_size;
        let fill = (BUFFER_HEADER_SIZE + buffer.records.len()) as u32;
        let index_flag = if self.has_wide_numbers { BufferFlags::PROCESSOR_INDEX } else { 0 };
        // With 8-bit numbers, the high byte is an alignment.
        let context = if self.has_wide_numbers { cpu } else { (cpu & 0xFF) | 0x0800 };
        let mut bytes = Vec::with_capacity(size as usize);
        [size, fill, size, 0].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        [buffer.last_ticks, sequence, 0].iter().for_each(|long| bytes.extend_from_slice(&long.to_le_bytes()));
        [context, 0].iter().for_each(|short| bytes.extend_from_slice(&short.to_le_bytes()));
        [STATE_FLUSH, fill].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        [flags | index_flag, kind].iter().for_each(|short| bytes.extend_from_slice(&short.to_le_bytes()));
        bytes.resize(BUFFER_HEADER_SIZE, 0);
        bytes.extend_from_slice(&buffer.records);
        bytes.resize(bytes.len().max(size as usize), 0xFF);
        self.bytes += bytes.len() as u64;
        self.out.write_all(&bytes)
    }

    /// Writes the remaining buffers, then the header again with the losses of the inputs.
    fn finish(&mut self, losses: &Losses) -> io::Result<()> {
        let processors: Vec<u16> = self.open.keys().copied().collect();
        for cpu in processors {
            self.close(cpu)?;
        }
        // Buffers with loss flags but without records.
        for (cpu, buffers) in std::mem::take(&mut self.lossy_buffers) {
            for (_, flags) in buffers {
                self.start_lossy_buffer(cpu, flags)?;
                self.close(cpu)?;
            }
        }
        if let Some((cpu, mut last_buffer)) = self.pending.take() {
            // Keep the number of sequence gaps of the inputs, although at another position.
            if self.sequence > 0 {
                self.sequence = self.sequence.saturating_add(losses.count(Loss::MissingSequence));
            }
            last_buffer.flags |= BufferFlags::FLUSH_MARKER;
            self.write_next(cpu, &last_buffer)?;
        }
        let absent = u32::try_from(losses.count(Loss::BuffersAbsent)).unwrap_or(u32::MAX);
        self.overrides.buffers_written = self.overrides.buffers_written.saturating_add(absent);
        let file_size = self.bytes;
        self.out.seek(SeekFrom::Start(0))?;
        self.write_header()?;
        self.bytes = file_size;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()
    }
}

/// Returns the header fields of the merged file, except for the number of buffers.
fn overrides<'h>(
    recording: &Recording<'_>,
    headers: impl Iterator<Item = &'h LogfileHeader> + Clone,
) -> HeaderOverrides {
    let actual_sizes =
        recording.buffers().iter().map(|buffer| buffer.payload_size().saturating_add(BUFFER_HEADER_SIZE));
    let declared_sizes = headers.clone().map(|header| header.buffer_size as usize);
    let size = actual_sizes.chain(declared_sizes).max().unwrap_or(0).clamp(0x1000, MAX_BUFFER_SIZE).next_multiple_of(8);
    let all_have = |mode: u32| headers.clone().all(|header| header.has_mode(mode));
    let mut mode = log_file_mode::RELOG | log_file_mode::SEQUENTIAL;
    if all_have(log_file_mode::NO_PER_PROCESSOR_BUFFERING) {
        mode |= log_file_mode::NO_PER_PROCESSOR_BUFFERING;
    }
    // If any input was a ring, the merged recording may also lack its beginning.
    let ring_modes = log_file_mode::CIRCULAR | log_file_mode::BUFFERING;
    mode |= headers.clone().fold(0, |modes, header| modes | header.log_file_mode & ring_modes);
    if mode & log_file_mode::CIRCULAR != 0 {
        mode &= !log_file_mode::SEQUENTIAL;
    }
    let total = |count: fn(&LogfileHeader) -> u32| headers.clone().map(count).fold(0, u32::saturating_add);
    let all_finished = headers.clone().all(LogfileHeader::is_finished);
    HeaderOverrides {
        buffer_size: size as u32,
        layout_version: headers.clone().map(|header| header.layout_version).max().unwrap_or_default(),
        processors: headers.clone().map(|header| header.processors).max().unwrap_or(1),
        end_time: if all_finished { headers.clone().map(|header| header.end_time).max().unwrap_or(0) } else { 0 },
        log_file_mode: mode,
        buffers_written: 1,
        events_lost: total(|header| header.events_lost),
        buffers_lost: total(|header| header.buffers_lost),
        logger_name: "Relogger",
        log_file_name: "[multiple files]",
    }
}

/// Lists the input buffers that report losses, by processor: start and flags.
fn lossy_buffers(recording: &Recording<'_>) -> BTreeMap<u16, VecDeque<(u64, u16)>> {
    let mut lossy_buffers: BTreeMap<u16, Vec<(u64, u16)>> = BTreeMap::new();
    for (number, buffer) in (0..).zip(recording.buffers()).filter(|(_, buffer)| buffer.flags.is_lossy()) {
        let (start, _) = recording.start(number);
        lossy_buffers.entry(buffer.cpu).or_default().push((start, buffer.flags.0 & BufferFlags::LOSSY));
    }
    let sorted = |mut buffers: Vec<(u64, u16)>| {
        buffers.sort_unstable();
        VecDeque::from(buffers)
    };
    lossy_buffers.into_iter().map(|(cpu, buffers)| (cpu, sorted(buffers))).collect()
}
