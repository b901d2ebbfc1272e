//! One or several files of one recording on one axis of time.

use std::ops::ControlFlow;

use crate::clock::ClockKind;
use crate::file::index;
use crate::logfile_header::BUFFER_HEADER_SIZE;
use crate::losses::Place;
use crate::merge::{Part, merge};
use crate::scan::{Beginning, BufferRecords, Payload, Span, beginning, count_defect, each_record};
use crate::window::{Window, cut_into_windows};
use crate::{BufferInfo, Clock, Error, FileSummary, Input, LogfileHeader, Loss, Losses, Record};

/// Result of stepping through records.
#[derive(Debug, Clone)]
#[must_use]
pub struct Walk<B> {
    /// What the visitor broke off with, if it did.
    pub outcome: ControlFlow<B>,
    /// What this walk went on without; the recording's own losses are in [`Recording::losses`].
    pub losses: Losses,
    /// Records visited.
    pub records: u64,
}

/// How a file's time stamps become ticks of the recording's clock.
#[derive(Debug, Clone)]
enum Axis {
    Shared,
    /// Another clock: by its own time since its start, and its start in nanoseconds since the recording's.
    ByUtc {
        clock: Clock,
        offset_ns: i64,
    },
}

impl Axis {
    #[inline]
    fn place(&self, stamp: u64, recording: &Clock) -> u64 {
        match self {
            Axis::Shared => stamp,
            Axis::ByUtc { clock, offset_ns } => {
                recording.ticks(clock.ns(stamp).saturating_add(*offset_ns))
            }
        }
    }
}

/// Logs of one boot agree on when their counter stood at zero, up to adjustments of the system time between their starts.
const SAME_BOOT_FILETIME: i128 = 60 * 10_000_000;

/// A thread may be interrupted between taking its time stamp and its place in the buffer; so much later than the next buffer's
/// beginning a record is believed. Ticks per second are divided by this: 20 ms.
const SLACK_DIVISOR: u64 = 50;

/// The place of a buffer in time. `rank` orders buffers whose records have equal times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub span: Span,
    pub rank: u32,
}

/// Files of one recording, indexed: what they are, which buffers they hold, and the order of their records.
#[derive(Debug)]
pub struct Recording<'a> {
    inputs: Vec<&'a [u8]>,
    files: Vec<FileSummary>,
    axes: Vec<Axis>,
    clock: Clock,
    buffers: Vec<BufferInfo>,
    placed: Vec<Placed>,
    /// Buffers with records, by (earliest time, rank).
    order: Vec<u32>,
    end_ticks: u64,
    losses: Losses,
}

impl<'a> Recording<'a> {
    /// Most files one recording may have.
    pub const MOST_FILES: usize = u16::MAX as usize;

    /// Indexes the files of a recording: reads every buffer's header and first record, and the last buffer of each stream.
    ///
    /// Files that share a clock (an unmerged kernel and user log of one boot; any logs stamped with system time) are put on one
    /// axis tick by tick. A file with another clock or of another boot is placed by its UTC start time and counted as
    /// [`Loss::UnrelatedFile`].
    ///
    /// # Errors
    /// When there is no input, or an input is empty, no Event Trace Log, or cut before the end of its logfile header.
    pub fn open(inputs: &[Input<'a>]) -> Result<Recording<'a>, Error> {
        if inputs.len() > Self::MOST_FILES {
            return Err(Error::TooManyInputs {
                count: inputs.len(),
                limit: Self::MOST_FILES,
            });
        }
        let mut losses = Losses::default();
        let mut files = Vec::with_capacity(inputs.len());
        let mut buffers = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            let (summary, found, lost) = index(input, number)?;
            files.push(summary);
            buffers.extend(found);
            losses.merge(&lost);
        }
        let (clock, axes) = align(&mut files, &mut losses).ok_or(Error::NoInput)?;
        let end_ticks = clock.start_ticks();
        let inputs = inputs.iter().map(|input| input.bytes).collect();
        let mut recording = Recording {
            inputs,
            files,
            axes,
            clock,
            buffers,
            placed: Vec::new(),
            order: Vec::new(),
            end_ticks,
            losses,
        };
        recording.place_buffers();
        Ok(recording)
    }

    /// Logfile header of the first file.
    #[must_use]
    pub fn header(&self) -> &LogfileHeader {
        // `open` refuses an empty list.
        &self.files[0].header
    }

    /// The files, in the order given.
    #[must_use]
    pub fn files(&self) -> &[FileSummary] {
        &self.files
    }

    /// The clock of the axis: that of the file that started first.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// All buffers, file by file in the order they stand there.
    #[must_use]
    pub fn buffers(&self) -> &[BufferInfo] {
        &self.buffers
    }

    /// Time of the last record, in nanoseconds since the recording started.
    #[must_use]
    pub fn duration_ns(&self) -> i64 {
        self.clock.ns(self.end_ticks).max(0)
    }

    /// What is missing as far as the files' structure shows; walking the records may find more.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// All records in order of time. Equal times are ordered by processor, file, sequence number and position.
    pub fn for_each<B>(&self, visit: impl FnMut(&Record<'_>) -> ControlFlow<B>) -> Walk<B> {
        merge(
            self,
            &Part {
                carried: &[],
                owned: &self.order,
                from: 0,
                until: None,
            },
            visit,
        )
    }

    /// Consecutive, disjoint spans of time that together are the recording, each with about as many bytes of records.
    ///
    /// Visiting them one after the other is the same as [`Recording::for_each`]; each can be visited by another thread. A buffer that
    /// reaches over the end of a window is read again by the next, so windows should be several times larger than one buffer
    /// of every processor.
    #[must_use]
    pub fn windows(&self, at_most: usize) -> Vec<Window<'_>> {
        cut_into_windows(self, &self.order, at_most)
    }

    /// The records from `start_ns` up to, not including, `end_ns` since the recording started.
    #[must_use]
    pub fn between(&self, start_ns: i64, end_ns: i64) -> Window<'_> {
        Window::between(
            self,
            &self.order,
            self.clock.ticks(start_ns),
            self.clock.ticks(end_ns),
        )
    }

    /// The records of one buffer in the order they stand there, without regard to the others: for counting.
    ///
    /// A record without a time stamp has the time of the one before it, or the start of the recording. `space` is memory that is used
    /// again from call to call.
    pub fn for_each_in_buffer<B>(
        &self,
        buffer: &BufferInfo,
        space: &mut BufferSpace<'a>,
        mut visit: impl FnMut(&Record<'_>) -> ControlFlow<B>,
    ) -> Walk<B> {
        let mut losses = Losses::default();
        let mut records = 0;
        let file = self.inputs.get(buffer.file).copied().unwrap_or_default();
        space.0.load(buffer, file, usize::MAX, &mut losses);
        let mut ticks = self.clock.start_ticks();
        let axis = self.axes.get(buffer.file).unwrap_or(&Axis::Shared);
        let walk = each_record(space.0.bytes(), |_, shape, record| {
            if let Some(stamp) = shape.ticks(record) {
                ticks = axis.place(stamp, &self.clock);
            }
            let bytes = record.get(..shape.size as usize).unwrap_or(record);
            records += 1;
            visit(&Record::from_shape(
                bytes,
                shape,
                ticks,
                self.clock.ns(ticks),
                buffer.cpu,
                buffer.file as u16,
            ))
        });
        let outcome = match walk {
            ControlFlow::Break(value) => ControlFlow::Break(value),
            ControlFlow::Continue(defect) => {
                if let Some((offset, defect)) = defect {
                    count_defect(buffer, &space.0, offset, defect, &mut losses);
                }
                ControlFlow::Continue(())
            }
        };
        Walk {
            outcome,
            losses,
            records,
        }
    }

    /// When a buffer begins, and its rank among those that begin with it.
    #[inline]
    pub(crate) fn begins(&self, buffer: u32) -> (u64, u32) {
        self.placed
            .get(buffer as usize)
            .map_or((u64::MAX, u32::MAX), |placed| {
                (placed.span.low, placed.rank)
            })
    }

    pub(crate) fn span(&self, buffer: u32) -> Span {
        self.placed
            .get(buffer as usize)
            .map_or(Span::ANY, |placed| placed.span)
    }

    /// Loads a buffer's records in order of time. Gives its processor and file.
    pub(crate) fn load(
        &self,
        buffer: u32,
        records: &mut BufferRecords<'a>,
        losses: &mut Losses,
    ) -> (u16, u16) {
        let Some(info) = self.buffers.get(buffer as usize) else {
            return (0, 0);
        };
        self.load_within(info, self.span(buffer), records, losses);
        (info.cpu, info.file as u16)
    }

    fn load_within(
        &self,
        info: &BufferInfo,
        span: Span,
        records: &mut BufferRecords<'a>,
        losses: &mut Losses,
    ) {
        let file = self.inputs.get(info.file).copied().unwrap_or_default();
        match self.axes.get(info.file) {
            Some(axis @ Axis::ByUtc { .. }) => {
                records.load(
                    info,
                    file,
                    span,
                    |stamp| axis.place(stamp, &self.clock),
                    losses,
                );
            }
            _ => records.load(info, file, span, |stamp| stamp, losses),
        }
    }

    /// Finds when each buffer begins, and until when its records may be believed.
    fn place_buffers(&mut self) {
        let mut streams: Vec<u32> = (0..self.buffers.len() as u32).collect();
        let info = |buffer: u32| self.buffers.get(buffer as usize);
        streams.sort_by_key(|&buffer| {
            info(buffer).map(|info| {
                (
                    info.cpu,
                    info.file,
                    info.session,
                    info.sequence,
                    info.offset,
                )
            })
        });
        let mut losses = std::mem::take(&mut self.losses);
        let mut placed = vec![
            Placed {
                span: Span::ANY,
                rank: u32::MAX
            };
            self.buffers.len()
        ];
        for (rank, &buffer) in streams.iter().enumerate() {
            if let Some(placed) = placed.get_mut(buffer as usize) {
                placed.rank = rank as u32;
            }
        }
        let same_stream = |&a: &u32, &b: &u32| match (info(a), info(b)) {
            (Some(a), Some(b)) => (a.cpu, a.file, a.session) == (b.cpu, b.file, b.session),
            _ => false,
        };
        let mut order = Vec::with_capacity(self.buffers.len());
        let mut end_ticks = self.clock.start_ticks();
        let mut placer = Placer {
            recording: self,
            payload: Payload::default(),
            records: BufferRecords::default(),
        };
        for stream in streams.chunk_by(same_stream) {
            let (buffers, spans, end) = placer.place_stream(stream, &mut losses);
            for (&buffer, &span) in buffers.iter().zip(&spans) {
                if let Some(placed) = placed.get_mut(buffer as usize) {
                    placed.span = span;
                    order.push(buffer);
                }
            }
            end_ticks = end_ticks.max(end);
        }
        order.sort_by_key(|&buffer| {
            placed
                .get(buffer as usize)
                .map(|placed| (placed.span.low, placed.rank))
        });
        self.placed = placed;
        self.order = order;
        self.end_ticks = end_ticks;
        self.losses = losses;
    }
}

/// Memory that [`Recording::for_each_in_buffer`] uses again from call to call.
#[derive(Debug, Default)]
pub struct BufferSpace<'a>(Payload<'a>);

/// Chooses the recording's clock, and how each file's time stamps come to it.
/// `None` when there is no file.
fn align(files: &mut [FileSummary], losses: &mut Losses) -> Option<(Clock, Vec<Axis>)> {
    let earliest = files
        .iter()
        .min_by_key(|file| file.clock.start_filetime())?;
    let (mut clock, boot_time) = (earliest.clock.clone(), earliest.header.boot_time);
    let shares = |file: &FileSummary| {
        let same_units = file.clock.kind() == clock.kind()
            && file.clock.ticks_per_second() == clock.ticks_per_second();
        let same_boot = (file.clock.zero_filetime() - clock.zero_filetime()).abs()
            <= SAME_BOOT_FILETIME
            || i128::from(file.header.boot_time.abs_diff(boot_time)) <= SAME_BOOT_FILETIME;
        same_units && (clock.kind() == ClockKind::SystemTime || same_boot)
    };
    let shared: Vec<bool> = files.iter().map(shares).collect();
    for (file, &shares_clock) in files.iter_mut().zip(&shared) {
        file.shares_clock = shares_clock;
        // The system time may have been set between the starts: the counter knows better which was first.
        if shares_clock && file.clock.start_ticks() < clock.start_ticks() {
            clock = file.clock.clone();
        }
    }
    let axes = files.iter().enumerate().map(|(number, file)| {
        if file.shares_clock {
            return Axis::Shared;
        }
        losses.add_at(
            Loss::UnrelatedFile,
            1,
            Place {
                file: number,
                offset: BUFFER_HEADER_SIZE as u64,
            },
        );
        let offset = file
            .clock
            .start_filetime()
            .saturating_sub(clock.start_filetime());
        Axis::ByUtc {
            clock: file.clock.clone(),
            offset_ns: offset.saturating_mul(100),
        }
    });
    let axes = axes.collect();
    Some((clock, axes))
}

/// Places the buffers of one stream after the other.
struct Placer<'r, 'a> {
    recording: &'r Recording<'a>,
    payload: Payload<'a>,
    records: BufferRecords<'a>,
}

impl Placer<'_, '_> {
    /// The buffers of a stream that have records, in stream order, their spans, and when the last record is.
    fn place_stream(&mut self, stream: &[u32], losses: &mut Losses) -> (Vec<u32>, Vec<Span>, u64) {
        let recording = self.recording;
        let mut buffers = Vec::with_capacity(stream.len());
        let mut lows = Vec::with_capacity(stream.len());
        let mut untimed = Vec::new();
        for &buffer in stream {
            let Some(info) = recording.buffers.get(buffer as usize) else {
                continue;
            };
            let file = recording.inputs.get(info.file).copied().unwrap_or_default();
            let axis = recording.axes.get(info.file).unwrap_or(&Axis::Shared);
            let to_axis = |stamp| axis.place(stamp, &recording.clock);
            match beginning(&mut self.payload, info, file, to_axis, losses) {
                Beginning::At(ticks) => lows.push(ticks),
                Beginning::Untimed => {
                    untimed.push(lows.len());
                    lows.push(
                        lows.last()
                            .copied()
                            .unwrap_or(recording.clock.start_ticks()),
                    );
                }
                Beginning::Empty => continue,
            }
            buffers.push(buffer);
        }
        // Untimed buffers that come first begin with the first that says when.
        if let Some(first_timed) = (0..lows.len()).find(|position| !untimed.contains(position)) {
            let low = lows.get(first_timed).copied().unwrap_or_default();
            lows.iter_mut()
                .take(first_timed)
                .for_each(|early| *early = low);
        }
        if !self.mend(&buffers, &mut lows) {
            return self.disordered(buffers, &lows, losses);
        }
        let slack = recording.clock.ticks_per_second() / SLACK_DIVISOR;
        let highs = lows
            .iter()
            .skip(1)
            .map(|next| next.saturating_add(slack))
            .chain([u64::MAX]);
        let mut spans: Vec<Span> = lows
            .iter()
            .zip(highs)
            .map(|(&low, high)| Span { low, high })
            .collect();
        if let (Some(&last), Some(span)) = (buffers.last(), spans.last_mut()) {
            span.high = self.last_ticks(last, *span);
        }
        let end = spans.last().map_or(0, |span| span.high);
        (buffers, spans, end)
    }

    /// A single time stamp may be damaged: where a buffer seems to begin after the next one, a later record of it, or of the
    /// next, can tell better. `false` when the stream really runs backwards.
    fn mend(&mut self, buffers: &[u32], lows: &mut [u64]) -> bool {
        for position in 1..lows.len() {
            let at = |lows: &[u64], position: usize| lows.get(position).copied();
            let (Some(before), Some(here)) = (at(lows, position - 1), at(lows, position)) else {
                continue;
            };
            if before <= here {
                continue;
            }
            let floor = if position >= 2 {
                at(lows, position - 2).unwrap_or(0)
            } else {
                0
            };
            let ceiling = at(lows, position + 1).unwrap_or(u64::MAX);
            if let Some(better) = self
                .earliest_from(buffers.get(position - 1), floor)
                .filter(|&ticks| ticks <= here)
            {
                lows.iter_mut()
                    .skip(position - 1)
                    .take(1)
                    .for_each(|low| *low = better);
            } else if let Some(better) = self
                .earliest_from(buffers.get(position), before)
                .filter(|&ticks| ticks <= ceiling)
            {
                lows.iter_mut()
                    .skip(position)
                    .take(1)
                    .for_each(|low| *low = better);
            } else {
                return false;
            }
        }
        true
    }

    /// Buffers that overlap or run backwards: each from its true earliest to its true latest record.
    fn disordered(
        &mut self,
        buffers: Vec<u32>,
        lows: &[u64],
        losses: &mut Losses,
    ) -> (Vec<u32>, Vec<Span>, u64) {
        let descents = lows
            .windows(2)
            .filter(|pair| matches!(pair, [a, b] if a > b))
            .count();
        losses.add(Loss::DisorderedBuffers, descents.max(1) as u64);
        let mut spans = Vec::with_capacity(buffers.len());
        for (&buffer, &low) in buffers.iter().zip(lows) {
            self.load_all(buffer);
            let timed = || {
                self.records
                    .entries
                    .iter()
                    .filter(|entry| entry.shape.has_time())
                    .map(|entry| entry.ticks)
            };
            let low = timed().min().unwrap_or(low);
            spans.push(Span {
                low,
                high: timed().max().unwrap_or(low),
            });
        }
        let end = spans.iter().map(|span| span.high).max().unwrap_or(0);
        (buffers, spans, end)
    }

    fn earliest_from(&mut self, buffer: Option<&u32>, floor: u64) -> Option<u64> {
        self.load_all(*buffer?);
        self.records
            .entries
            .iter()
            .filter(|entry| entry.shape.has_time() && entry.ticks >= floor)
            .map(|entry| entry.ticks)
            .min()
    }

    fn last_ticks(&mut self, buffer: u32, span: Span) -> u64 {
        self.load_all(buffer);
        let last = self.records.entries.iter().map(|entry| entry.ticks).max();
        last.unwrap_or(span.low).max(span.low)
    }

    // What is lost is counted when the buffer is walked.
    fn load_all(&mut self, buffer: u32) {
        if let Some(info) = self.recording.buffers.get(buffer as usize) {
            self.recording
                .load_within(info, Span::ANY, &mut self.records, &mut Losses::default());
        }
    }
}
