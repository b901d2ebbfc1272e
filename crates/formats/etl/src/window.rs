//! Spans of a recording's time that can be walked independently.

use std::ops::{ControlFlow, Range};

use crate::merge::{Part, merge};
use crate::recording::Recording;
use crate::{Record, Walk};

/// A part of an input, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRange {
    /// Which input, by position.
    pub file: usize,
    /// The bytes.
    pub bytes: Range<usize>,
}

impl Recording<'_> {
    /// All records in order of time. Equal times are ordered by processor, file, sequence number and position.
    pub fn for_each<B>(&self, visit: impl FnMut(&Record<'_>) -> ControlFlow<B>) -> Walk<B> {
        merge(self, &Part { carried: &[], owned: self.order(), from: 0, until: None }, visit)
    }

    /// Consecutive, disjoint spans of time that together are the recording, each with about as many bytes of records.
    ///
    /// Visiting them one after the other is the same as [`Recording::for_each`]; each can be visited by another thread. A buffer that
    /// reaches over the end of a window is read again by the next, so windows should be several times larger than one buffer
    /// of every processor.
    #[must_use]
    pub fn windows(&self, at_most: usize) -> Vec<Window<'_>> {
        cut_into_windows(self, self.order(), at_most)
    }

    /// The records from `start_ns` up to, not including, `end_ns` since the recording started.
    #[must_use]
    pub fn between(&self, start_ns: i64, end_ns: i64) -> Window<'_> {
        Window::between(self, self.order(), self.clock().ticks(start_ns), self.clock().ticks(end_ns))
    }
}

/// A span of time of a recording. Windows of one recording can be visited by several threads at once.
#[derive(Debug, Clone)]
pub struct Window<'r> {
    recording: &'r Recording<'r>,
    carried: Vec<u32>,
    owned: &'r [u32],
    from: u64,
    until: Option<u64>,
}

impl<'r> Window<'r> {
    /// The window's records in order of time. Stops early when `visit` breaks.
    pub fn for_each<B>(&self, visit: impl FnMut(&Record<'_>) -> ControlFlow<B>) -> Walk<B> {
        let part = Part { carried: &self.carried, owned: self.owned, from: self.from, until: self.until };
        merge(self.recording, &part, visit)
    }

    /// Bytes of records, once decompressed, of the buffers that begin in the window.
    #[must_use]
    pub fn size(&self) -> usize {
        let buffers = self.recording.buffers();
        self.owned.iter().filter_map(|&buffer| buffers.get(buffer as usize)).map(|info| info.payload_size()).sum()
    }

    /// Parts of the files that no later window reads: once every window up to this one is done, their pages can be given back.
    #[must_use]
    pub fn finished_ranges(&self) -> Vec<FileRange> {
        let buffers = self.recording.buffers();
        let finished = self
            .carried
            .iter()
            .chain(self.owned)
            .filter(|&&buffer| self.until.is_none_or(|until| self.recording.span(buffer).high < until));
        let mut ranges: Vec<FileRange> = finished
            .filter_map(|&buffer| buffers.get(buffer as usize))
            .map(|info| FileRange { file: info.file, bytes: info.offset..info.offset + info.available })
            .collect();
        ranges.sort_by_key(|range| (range.file, range.bytes.start));
        ranges.dedup_by(|next, kept| {
            let touches = next.file == kept.file && next.bytes.start <= kept.bytes.end;
            if touches {
                kept.bytes.end = kept.bytes.end.max(next.bytes.end);
            }
            touches
        });
        ranges
    }

    pub(crate) fn between(recording: &'r Recording<'r>, order: &'r [u32], from: u64, until: u64) -> Window<'r> {
        let start = order.partition_point(|&buffer| recording.span(buffer).low < from);
        let end = order.partition_point(|&buffer| recording.span(buffer).low < until).max(start);
        let (before, rest) = order.split_at(start);
        let carried = before.iter().copied().filter(|&buffer| recording.span(buffer).high >= from).collect();
        let owned = rest.get(..end - start).unwrap_or_default();
        Window { recording, carried, owned, from, until: Some(until.max(from)) }
    }
}

/// Cuts a recording where about as many bytes of records lie on either side. `order` are the buffers by the time they begin.
pub(crate) fn cut_into_windows<'r>(recording: &'r Recording<'r>, order: &'r [u32], at_most: usize) -> Vec<Window<'r>> {
    let size_of = |buffer: u32| recording.buffers().get(buffer as usize).map_or(0, |info| info.payload_size());
    let total: usize = order.iter().map(|&buffer| size_of(buffer)).sum();
    let target = (total / at_most.max(1)).max(1);

    // Where windows begin: position in `order`, time. A window begins where a buffer does that begins later than the one before.
    let mut starts = vec![(0, 0)];
    let mut size = 0;
    for &buffer in order {
        let low = recording.span(buffer).low;
        let (_, previous) = starts.last().copied().unwrap_or_default();
        if size >= target && starts.len() < at_most && low > previous {
            starts.push((order.partition_point(|&buffer| recording.span(buffer).low < low), low));
            size = 0;
        }
        size += size_of(buffer);
    }

    let mut windows: Vec<Window<'r>> = Vec::with_capacity(starts.len());
    for (number, &(position, from)) in starts.iter().enumerate() {
        let next = starts.get(number + 1).copied();
        let end = next.map_or(order.len(), |(position, _)| position);
        let carried = windows.last().map_or_else(Vec::new, |before| {
            let open = before.carried.iter().chain(before.owned);
            open.copied().filter(|&buffer| recording.span(buffer).high >= from).collect()
        });
        let owned = order.get(position..end).unwrap_or_default();
        windows.push(Window { recording, carried, owned, from, until: next.map(|(_, time)| time) });
    }
    windows
}
