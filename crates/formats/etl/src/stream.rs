//! Streams: the buffers of one processor and session, in sequence. The start of the next buffer limits the times of a
//! buffer, so most buffers do not have to be read in full to place them.

use crate::clock::ClockKind;
use crate::contents::Contents;
use crate::isolated::LatestTimes;
use crate::losses::Location;
use crate::scan::{BufferRecords, BufferStart, Interval, Payload};
use crate::{BufferInfo, Loss, Losses};

/// A thread may be interrupted between taking its timestamp and reserving its space, so a record may be this much
/// later than the start of the next buffer: 1/50 s (20 ms).
const SLACK_DIVISOR: u64 = 50;

/// Position of a buffer in time. `rank` orders buffers whose records have equal times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferPlacement {
    pub interval: Interval,
    pub rank: u32,
}

/// Positions of all buffers in time.
#[derive(Debug)]
pub(crate) struct Placement {
    /// Indexed by buffer.
    pub placements: Vec<BufferPlacement>,
    /// Buffers with records, by (earliest time, rank).
    pub order: Vec<u32>,
    /// Time of the last record, except for isolated records.
    pub end_ticks: u64,
}

impl Placement {
    /// Finds the start of each buffer and the latest time its records may have.
    pub(crate) fn new(contents: &Contents<'_>, losses: &mut Losses) -> Placement {
        let mut streams: Vec<u32> = (0..contents.buffers.len() as u32).collect();
        let stream_key = |info: &BufferInfo| (info.cpu, info.file, info.session);
        streams.sort_by_key(|&buffer| {
            let info = contents.buffer(buffer);
            info.map(|info| (stream_key(info), info.sequence, info.offset))
        });
        let default_placement = BufferPlacement { interval: Interval::ANY, rank: u32::MAX };
        let mut placements = vec![default_placement; contents.buffers.len()];
        for (rank, &buffer) in streams.iter().enumerate() {
            if let Some(placement) = placements.get_mut(buffer as usize) {
                placement.rank = rank as u32;
            }
        }

        let mut order = Vec::with_capacity(contents.buffers.len());
        let mut end_ticks = contents.axes.clock.start_ticks();
        let mut placer = Placer {
            contents,
            payload: Payload::default(),
            records: BufferRecords::default(),
            latest: LatestTimes::default(),
        };
        let same_stream = |&a: &u32, &b: &u32| contents.buffer(a).map(stream_key) == contents.buffer(b).map(stream_key);
        for stream in streams.chunk_by(same_stream) {
            let stream = placer.place(stream, losses);
            for (&buffer, &interval) in stream.buffers.iter().zip(&stream.intervals) {
                if let Some(placement) = placements.get_mut(buffer as usize) {
                    placement.interval = interval;
                    order.push(buffer);
                }
            }
            end_ticks = end_ticks.max(stream.end_ticks);
        }
        order.sort_by_key(|&buffer| {
            placements.get(buffer as usize).map(|placement| (placement.interval.low, placement.rank))
        });
        let clock = &contents.axes.clock;
        let recording_bytes = contents.buffers.iter().fold(0_usize, |sum, buffer| sum.saturating_add(buffer.fill));
        let bounds = (clock.start_ticks(), end_ticks);
        let (end_ticks, isolated) = placer.latest.end(bounds, clock.ticks_per_second(), recording_bytes);
        losses.add(Loss::IsolatedTime, isolated);
        Placement { placements, order, end_ticks }
    }
}

/// The buffers of a stream that have records, in stream order.
struct Stream {
    buffers: Vec<u32>,
    intervals: Vec<Interval>,
    end_ticks: u64,
}

/// Places the buffers of one stream at a time.
struct Placer<'c, 'a> {
    contents: &'c Contents<'a>,
    payload: Payload<'a>,
    records: BufferRecords<'a>,
    latest: LatestTimes,
}

impl Placer<'_, '_> {
    fn place(&mut self, stream: &[u32], losses: &mut Losses) -> Stream {
        let clock = &self.contents.axes.clock;
        let mut buffers = Vec::with_capacity(stream.len());
        let mut lows: Vec<u64> = Vec::with_capacity(stream.len());
        let mut any_timed = false;
        for &buffer in stream {
            let Some(info) = self.contents.buffer(buffer) else { continue };
            match self.contents.buffer_start(info, &mut self.payload, losses) {
                BufferStart::Timed(ticks) => {
                    // Leading buffers without timestamps start with the first buffer that has one.
                    if !any_timed {
                        lows.fill(ticks);
                    }
                    any_timed = true;
                    lows.push(ticks);
                }
                BufferStart::Untimed => lows.push(lows.last().copied().unwrap_or(clock.start_ticks())),
                BufferStart::Empty => continue,
            }
            buffers.push(buffer);
        }
        if !self.repair(&buffers, &mut lows) {
            return self.place_disordered(buffers, &lows, losses);
        }
        self.repair_last(&buffers, &mut lows);
        let slack = clock.ticks_per_second() / SLACK_DIVISOR;
        let highs = lows.iter().skip(1).map(|next| next.saturating_add(slack)).chain([u64::MAX]);
        let mut intervals: Vec<Interval> = lows.iter().zip(highs).map(|(&low, high)| Interval { low, high }).collect();
        let mut end_ticks = 0;
        if let (Some(&last), Some(interval)) = (buffers.last(), intervals.last_mut()) {
            self.load_all(last);
            let times = self.records.entries.iter().rev().map(|entry| entry.ticks);
            self.latest.add(times.take(LatestTimes::MAX));
            interval.high = self.records.entries.last().map_or(interval.low, |entry| entry.ticks.max(interval.low));
            end_ticks = interval.high;
        }
        Stream { buffers, intervals, end_ticks }
    }

    /// Repairs single damaged timestamps. Where a buffer seems to start after the next one, a later record of either
    /// buffer may give a better start. Returns `false` if the stream really goes back in time.
    fn repair(&mut self, buffers: &[u32], lows: &mut [u64]) -> bool {
        for position in 1..lows.len() {
            let low_at = |lows: &[u64], position: usize| lows.get(position).copied();
            let (Some(previous), Some(current)) = (low_at(lows, position - 1), low_at(lows, position)) else {
                continue;
            };
            if previous <= current {
                continue;
            }
            let floor = position.checked_sub(2).and_then(|earlier| low_at(lows, earlier)).unwrap_or(0);
            let ceiling = low_at(lows, position + 1).unwrap_or(u64::MAX);
            let repaired_previous = self.earliest_from(buffers.get(position - 1), floor);
            if let Some(repaired) = repaired_previous.filter(|&ticks| ticks <= current) {
                lows.iter_mut().skip(position - 1).take(1).for_each(|low| *low = repaired);
                continue;
            }
            let repaired_current = self.earliest_from(buffers.get(position), previous);
            let Some(repaired) = repaired_current.filter(|&ticks| ticks <= ceiling) else { return false };
            lows.iter_mut().skip(position).take(1).for_each(|low| *low = repaired);
        }
        true
    }

    /// Repairs the start of the last buffer if it is long after the other records of the buffer, which would all be
    /// moved to it.
    fn repair_last(&mut self, buffers: &[u32], lows: &mut [u64]) {
        let floor = lows.iter().rev().nth(1).copied().unwrap_or(0);
        let earliest = self.earliest_from(buffers.last(), floor);
        let min_silence = LatestTimes::min_silence(self.contents.axes.clock.ticks_per_second());
        if let Some((low, earliest)) = lows.last_mut().zip(earliest)
            && low.saturating_sub(earliest) > min_silence
        {
            *low = earliest;
        }
    }

    /// Places buffers that overlap or go back in time. Each interval spans the earliest to the latest record.
    fn place_disordered(&mut self, buffers: Vec<u32>, lows: &[u64], losses: &mut Losses) -> Stream {
        let descents = lows.windows(2).filter(|pair| matches!(pair, [a, b] if a > b)).count();
        losses.add(Loss::DisorderedBuffers, descents.max(1) as u64);
        let mut intervals = Vec::with_capacity(buffers.len());
        for (&buffer, &low) in buffers.iter().zip(lows) {
            self.load_all(buffer);
            let low = self.record_times().min().unwrap_or(low);
            intervals.push(Interval { low, high: self.record_times().max().unwrap_or(low) });
            let times = self.records.entries.iter().rev().map(|entry| entry.ticks);
            self.latest.add(times.take(LatestTimes::MAX));
        }
        let end_ticks = intervals.iter().map(|interval| interval.high).max().unwrap_or(0);
        Stream { buffers, intervals, end_ticks }
    }

    fn earliest_from(&mut self, buffer: Option<&u32>, floor: u64) -> Option<u64> {
        self.load_all(*buffer?);
        self.record_times().filter(|&ticks| ticks >= floor).min()
    }

    /// Iterates over the times of the loaded records that have a timestamp.
    fn record_times(&self) -> impl Iterator<Item = u64> + '_ {
        let timed_entries = self.records.entries.iter().filter(|entry| entry.shape.has_time());
        timed_entries.map(|entry| entry.ticks)
    }

    /// Loads all records of a buffer. Losses are counted when the buffer is visited.
    fn load_all(&mut self, buffer: u32) {
        if let Some(info) = self.contents.buffer(buffer) {
            self.contents.load(info, Interval::ANY, &mut self.records, &mut Losses::default());
        }
    }
}

/// Places appended sessions from later boots, whose counter restarted, directly after the previous session: the file
/// does not record how long the machine was off.
pub(crate) fn separate_sessions(contents: &mut Contents<'_>, sessions_of_files: &[u32], losses: &mut Losses) {
    if contents.axes.clock.kind() == ClockKind::SystemTime {
        return;
    }
    let appended = sessions_of_files.iter().enumerate().filter(|&(_, &sessions)| sessions > 1);
    for (file, &sessions) in appended {
        let mut previous: Option<SessionExtent> = None;
        for (session, extent) in session_extents(contents, file, sessions) {
            let mut extent = extent;
            // A single wild timestamp at the end of a session does not make the next one a session of an earlier boot.
            if let Some(previous) = previous.filter(|previous| extent.first < previous.latest_buffer_start) {
                let shift = previous.last.saturating_sub(extent.first).saturating_add(1);
                contents.axes.shift(file, session, shift);
                extent.last = extent.last.saturating_add(shift);
                extent.latest_buffer_start = extent.latest_buffer_start.saturating_add(shift);
                let offset = extent.offset as u64;
                losses.add_at(Loss::ClockRestarted, 1, Location { file, offset });
            }
            previous = Some(extent);
        }
    }
}

/// The time from the earliest to the latest record of a session.
#[derive(Clone, Copy)]
struct SessionExtent {
    first: u64,
    last: u64,
    /// The latest start of a buffer.
    latest_buffer_start: u64,
    /// Offset of the first buffer in the file.
    offset: usize,
}

/// Iterates over the sessions of a file that have records, in order.
fn session_extents(
    contents: &Contents<'_>,
    file: usize,
    sessions: u32,
) -> impl Iterator<Item = (u32, SessionExtent)> + use<> {
    let mut records = BufferRecords::default();
    let mut extents: Vec<Option<SessionExtent>> = vec![None; sessions as usize];
    for buffer in contents.buffers.iter().filter(|buffer| buffer.file == file) {
        contents.load(buffer, Interval::ANY, &mut records, &mut Losses::default());
        let ends = records.entries.first().zip(records.entries.last());
        let slot = extents.get_mut(buffer.session as usize);
        let Some(((first, last), slot)) = ends.zip(slot) else { continue };
        let (first, last) = (first.ticks, last.ticks);
        let offset = buffer.offset;
        let session_extent = slot.get_or_insert(SessionExtent { first, last, latest_buffer_start: first, offset });
        session_extent.first = session_extent.first.min(first);
        session_extent.last = session_extent.last.max(last);
        session_extent.latest_buffer_start = session_extent.latest_buffer_start.max(first);
    }
    (0..).zip(extents).filter_map(|(session, extent)| Some((session, extent?)))
}
