//! Several logs of one boot, written as one.
//!
//! Records are copied byte for byte, in order of time, into new plain buffers of each processor. What a recorder counts (events and
//! buffers lost, buffers it marked, buffers and numbers that are absent) is in the new file as often as in all inputs together, so that
//! reading it says what reading the inputs together does. As other merging tools write it, the session is called `Relogger`, the
//! file `[multiple files]`.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;

use crate::buffer::BufferFlags;
use crate::logfile_header::{BUFFER_HEADER_SIZE, Rewritten, log_file_mode};
use crate::recording::Recording;
use crate::{Error, FileSummary, HeaderKind, Input, LogfileHeader, Loss, Losses, Record};

/// Buffers are at most so large, however large those of the inputs are. Any record fits.
const MAX_BUFFER_SIZE: usize = 1 << 20;
/// `ETW_BUFFER_STATE_FLUSH`, which written buffers have.
const STATE_FLUSH: u32 = 3;
const TYPE_GENERIC: u16 = 0;
const TYPE_HEADER: u16 = 4;
/// Since this version of Windows, buffers have processor numbers of more than a byte.
const WIDE_PROCESSOR_NUMBERS: (u8, u8) = (6, 2);

/// Why files are not written as one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The new file cannot be written.
    #[error("cannot write the merged recording: {0}")]
    Write(#[from] io::Error),
    /// Two files do not belong together.
    #[error("{first} and {second} cannot be one recording: {reason}")]
    Apart {
        /// Name of the input that the other one was compared with.
        first: String,
        /// Name of the other one.
        second: String,
        /// What tells them apart.
        reason: String,
    },
    /// A file holds sessions of several boots, whose clock began again.
    #[error("a file holds several sessions, and its clock began again between them: one recording has one clock")]
    ClockRestarted,
}

/// What was written.
#[derive(Debug, Clone)]
pub struct MergedFile {
    /// Records, the logfile header included: those of the inputs, but for the logfile headers of all but one.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// What reading the inputs went on without.
    pub losses: Losses,
}

/// Writes files of one boot as one file.
///
/// # Errors
/// A file cannot be read, the new one not be written, or the files are not of one boot and one clock.
pub fn write_merged(inputs: &[Input<'_>], out: impl Write + Seek) -> Result<MergedFile, MergeError> {
    let recording = Recording::open(inputs)?;
    refuse_what_is_apart(&recording)?;
    let mut writer = Writer::new(&recording, inputs, out)?;
    let walk = writer.write_records(&recording)?;
    let mut losses = recording.losses().clone();
    losses.merge(&walk);
    writer.finish(&losses)?;
    Ok(MergedFile { records: writer.records, bytes: writer.bytes, losses })
}

fn refuse_what_is_apart(recording: &Recording<'_>) -> Result<(), MergeError> {
    if recording.losses().count(Loss::ClockRestarted) > 0 {
        return Err(MergeError::ClockRestarted);
    }
    let earliest = recording.files().iter().min_by_key(|file| file.clock.start_filetime());
    for (number, second) in recording.files().iter().enumerate() {
        let by_clock = earliest.filter(|_| !second.shares_clock).map(|first| (first, unlike_clocks(first, second)));
        let earlier = recording.files().iter().take(number);
        let by_session = || earlier.filter_map(|first| Some((first, unlike_sessions(first, second)?))).next();
        if let Some((first, reason)) = by_clock.or_else(by_session) {
            return Err(MergeError::Apart { first: first.name.clone(), second: second.name.clone(), reason });
        }
    }
    Ok(())
}

fn unlike_clocks(first: &FileSummary, second: &FileSummary) -> String {
    let clock = |file: &FileSummary| format!("{} at {} Hz", file.clock.kind().name(), file.clock.ticks_per_second());
    let (one, other) = (clock(first), clock(second));
    if one == other { "they are of two boots".to_owned() } else { format!("their clocks are {one} and {other}") }
}

/// What tells two sessions of one clock apart; `None` when nothing does.
fn unlike_sessions(first: &FileSummary, second: &FileSummary) -> Option<String> {
    let (one, other) = (&first.header, &second.header);
    if one.os_build != other.os_build {
        return Some(format!("they are of two builds of Windows, {} and {}", one.os_build, other.os_build));
    }
    let merged = one.has_mode(log_file_mode::RELOG) || other.has_mode(log_file_mode::RELOG);
    let same_name = one.logger_name.eq_ignore_ascii_case(&other.logger_name) && !one.logger_name.is_empty();
    let (before, after) = if one.start_time <= other.start_time { (one, other) } else { (other, one) };
    let side_by_side = !before.finished() || after.start_time < before.end_time;
    (!merged && same_name && side_by_side)
        .then(|| format!("both are of a session '{}' at one time, and a computer runs one of a name", one.logger_name))
}

/// A buffer that is being filled.
#[derive(Debug, Default)]
struct Open {
    records: Vec<u8>,
    last_ticks: u64,
    lossy: u16,
}

struct Writer<W> {
    out: W,
    header_record: Vec<u8>,
    rewritten: Rewritten,
    /// Whether processors have numbers of more than a byte.
    wide: bool,
    open: BTreeMap<u16, Open>,
    /// Buffers that recorders marked, by processor in order of time: when each begins, and its marks.
    marked: BTreeMap<u16, VecDeque<(u64, u16)>>,
    /// A full buffer, which is written when it is known whether another one follows.
    waiting: Option<(u16, Open)>,
    sequence: u64,
    records: u64,
    bytes: u64,
}

impl<W: Write + Seek> Writer<W> {
    fn new(recording: &Recording<'_>, inputs: &[Input<'_>], out: W) -> Result<Self, MergeError> {
        let files = recording.files();
        // The one whose clock is the recording's.
        let first = files.iter().enumerate().min_by_key(|(_, file)| file.clock.start_ticks()).ok_or(Error::NoInput)?;
        let (number, first) = first;
        let input = inputs.get(number).ok_or(Error::NoInput)?;
        let headers = || files.iter().map(|file| &file.header);
        let rewritten = rewritten(recording, headers());
        let header_record = LogfileHeader::record(input.name, input.bytes)?.to_vec();
        let processors = headers().map(|header| header.processors).max().unwrap_or(1);
        let mut writer = Self {
            out,
            header_record,
            rewritten,
            wide: first.header.os_version >= WIDE_PROCESSOR_NUMBERS || processors > 256,
            open: BTreeMap::new(),
            marked: marked(recording),
            waiting: None,
            sequence: 0,
            records: 1,
            bytes: 0,
        };
        // Again when all is known.
        writer.write_header()?;
        Ok(writer)
    }

    fn write_header(&mut self) -> io::Result<()> {
        let record = self.rewritten.apply(&self.header_record);
        let header = Open { records: record, ..Open::default() };
        self.write(0, 0, TYPE_HEADER, BufferFlags::FLUSH_MARKER, &header)
    }

    /// Copies all records. Gives what reading them went on without.
    fn write_records(&mut self, recording: &Recording<'_>) -> io::Result<Losses> {
        let mut headers_left = vec![true; recording.files().len()];
        let walk = recording.for_each(|record| {
            if record.kind() == HeaderKind::System && record.hook() == Some(0) {
                // Each file begins with one, and this file has its own.
                let is_header = headers_left.get_mut(record.file()).is_some_and(std::mem::take);
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
        while let Some(&(begins, flags)) = self.marked.get(&cpu).and_then(VecDeque::front)
            && begins <= record.ticks()
        {
            self.marked.entry(cpu).or_default().pop_front();
            self.mark(cpu, flags)?;
        }
        let capacity = (self.rewritten.buffer_size as usize).saturating_sub(BUFFER_HEADER_SIZE);
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

    /// Begins a buffer that has the marks of one of an input.
    fn mark(&mut self, cpu: u16, flags: u16) -> io::Result<()> {
        let open = self.open.entry(cpu).or_default();
        if !open.records.is_empty() || open.lossy != 0 {
            self.close(cpu)?;
        }
        self.open.entry(cpu).or_default().lossy = flags;
        Ok(())
    }

    fn close(&mut self, cpu: u16) -> io::Result<()> {
        let closed = self.open.remove(&cpu).unwrap_or_default();
        let before = self.waiting.replace((cpu, closed));
        before.map_or(Ok(()), |(cpu, buffer)| self.write_next(cpu, &buffer))
    }

    fn write_next(&mut self, cpu: u16, buffer: &Open) -> io::Result<()> {
        self.sequence = self.sequence.saturating_add(1);
        self.rewritten.buffers_written = self.rewritten.buffers_written.saturating_add(1);
        self.write(self.sequence, cpu, TYPE_GENERIC, buffer.lossy, buffer)
    }

    fn write(&mut self, sequence: u64, cpu: u16, kind: u16, flags: u16, buffer: &Open) -> io::Result<()> {
        let size = self.rewritten.buffer_size;
        let fill = (BUFFER_HEADER_SIZE + buffer.records.len()) as u32;
        let index = if self.wide { BufferFlags::PROCESSOR_INDEX } else { 0 };
        // Without wide numbers, the second byte is an alignment.
        let context = if self.wide { cpu } else { (cpu & 0xFF) | 0x0800 };
        let mut bytes = Vec::with_capacity(size as usize);
        [size, fill, size, 0].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        [buffer.last_ticks, sequence, 0].iter().for_each(|long| bytes.extend_from_slice(&long.to_le_bytes()));
        [context, 0].iter().for_each(|short| bytes.extend_from_slice(&short.to_le_bytes()));
        [STATE_FLUSH, fill].iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        [flags | index, kind].iter().for_each(|short| bytes.extend_from_slice(&short.to_le_bytes()));
        bytes.resize(BUFFER_HEADER_SIZE, 0);
        bytes.extend_from_slice(&buffer.records);
        bytes.resize(bytes.len().max(size as usize), 0xFF);
        self.bytes += bytes.len() as u64;
        self.out.write_all(&bytes)
    }

    /// Writes what is left, and the header again, with what the inputs lost.
    fn finish(&mut self, losses: &Losses) -> io::Result<()> {
        let processors: Vec<u16> = self.open.keys().copied().collect();
        for cpu in processors {
            self.close(cpu)?;
        }
        // Marks of buffers without records.
        for (cpu, marks) in std::mem::take(&mut self.marked) {
            for (_, flags) in marks {
                self.mark(cpu, flags)?;
                self.close(cpu)?;
            }
        }
        if let Some((cpu, mut last)) = self.waiting.take() {
            // The numbers that are missing in the inputs are missing here too, if not at the same place.
            if self.sequence > 0 {
                self.sequence = self.sequence.saturating_add(losses.count(Loss::MissingSequence));
            }
            last.lossy |= BufferFlags::FLUSH_MARKER;
            self.write_next(cpu, &last)?;
        }
        let absent = u32::try_from(losses.count(Loss::BuffersAbsent)).unwrap_or(u32::MAX);
        self.rewritten.buffers_written = self.rewritten.buffers_written.saturating_add(absent);
        let total = self.bytes;
        self.out.seek(SeekFrom::Start(0))?;
        self.write_header()?;
        self.bytes = total;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()
    }
}

/// What the new file's header says, but for the buffers that are still to be written.
fn rewritten<'h>(recording: &Recording<'_>, headers: impl Iterator<Item = &'h LogfileHeader> + Clone) -> Rewritten {
    let largest = recording.buffers().iter().map(|buffer| buffer.payload_size().saturating_add(BUFFER_HEADER_SIZE));
    let announced = headers.clone().map(|header| header.buffer_size as usize);
    let size = largest.chain(announced).max().unwrap_or(0).clamp(0x1000, MAX_BUFFER_SIZE).next_multiple_of(8);
    let all = |mode: u32| headers.clone().all(|header| header.has_mode(mode));
    let mut mode = log_file_mode::RELOG | log_file_mode::SEQUENTIAL;
    if all(log_file_mode::NO_PER_PROCESSOR_BUFFERING) {
        mode |= log_file_mode::NO_PER_PROCESSOR_BUFFERING;
    }
    // Of what rings and memory hold, the beginning is not all there is to know.
    let of_ring = log_file_mode::CIRCULAR | log_file_mode::BUFFERING;
    mode |= headers.clone().fold(0, |modes, header| modes | header.log_file_mode & of_ring);
    if mode & log_file_mode::CIRCULAR != 0 {
        mode &= !log_file_mode::SEQUENTIAL;
    }
    let sum = |count: fn(&LogfileHeader) -> u32| headers.clone().map(count).fold(0, u32::saturating_add);
    let finished = headers.clone().all(LogfileHeader::finished);
    Rewritten {
        buffer_size: size as u32,
        layout_version: headers.clone().map(|header| header.layout_version).max().unwrap_or_default(),
        processors: headers.clone().map(|header| header.processors).max().unwrap_or(1),
        end_time: if finished { headers.clone().map(|header| header.end_time).max().unwrap_or(0) } else { 0 },
        log_file_mode: mode,
        buffers_written: 1,
        events_lost: sum(|header| header.events_lost),
        buffers_lost: sum(|header| header.buffers_lost),
        logger_name: "Relogger",
        log_file_name: "[multiple files]",
    }
}

/// The buffers that say that something was lost before them.
fn marked(recording: &Recording<'_>) -> BTreeMap<u16, VecDeque<(u64, u16)>> {
    let mut marked: BTreeMap<u16, Vec<(u64, u16)>> = BTreeMap::new();
    for (number, buffer) in (0..).zip(recording.buffers()).filter(|(_, buffer)| buffer.flags.is_lossy()) {
        let (begins, _) = recording.begins(number);
        marked.entry(buffer.cpu).or_default().push((begins, buffer.flags.0 & BufferFlags::LOSSY));
    }
    let in_order = |mut marks: Vec<(u64, u16)>| {
        marks.sort_unstable();
        VecDeque::from(marks)
    };
    marked.into_iter().map(|(cpu, marks)| (cpu, in_order(marks))).collect()
}
