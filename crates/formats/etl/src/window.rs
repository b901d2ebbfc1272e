//! Windows: intervals of a recording that can be visited independently.

use std::ops::{ControlFlow, Range};

use crate::merge::{Part, merge};
use crate::recording::Recording;
use crate::{Record, Walk};

/// A range of bytes in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRange {
    /// Index of the input.
    pub file: usize,
    /// Offsets from the start of the input.
    pub bytes: Range<usize>,
}

impl Recording<'_> {
    /// Visits all records in time order. Equal times are ordered by processor, file, sequence number and position.
    pub fn for_each<B>(&self, visit: impl FnMut(&Record<'_>) -> ControlFlow<B>) -> Walk<B> {
        merge(
            self,
            &Part { carried_buffers: &[], starting_buffers: self.order(), start_ticks: 0, end_ticks: None },
            visit,
        )
    }

    /// Divides the recording into at most `max_windows` consecutive, disjoint windows, each with about the same number
    /// of record bytes.
    ///
    /// Visiting them in order is equivalent to [`Recording::for_each`], and each can be visited by another thread. A
    /// buffer that extends past the end of a window is read again by the next one, so windows should be several times
    /// larger than one buffer of every processor.
    #[must_use]
    pub fn windows(&self, max_windows: usize) -> Vec<Window<'_>> {
        divide_into_windows(self, self.order(), max_windows)
    }

    /// Returns the window from `start_ns` up to but not including `end_ns`, in nanoseconds since the recording
    /// started.
    #[must_use]
    pub fn window(&self, start_ns: i64, end_ns: i64) -> Window<'_> {
        Window::new(self, self.order(), self.clock().ticks(start_ns), self.clock().ticks(end_ns))
    }
}

/// An interval of a recording. Windows of one recording can be visited by several threads at once.
#[derive(Debug, Clone)]
pub struct Window<'r> {
    recording: &'r Recording<'r>,
    carried_buffers: Vec<u32>,
    starting_buffers: &'r [u32],
    start_ticks: u64,
    end_ticks: Option<u64>,
}

impl<'r> Window<'r> {
    /// Visits the window's records in time order. Stops early if `visit` breaks.
    pub fn for_each<B>(&self, visit: impl FnMut(&Record<'_>) -> ControlFlow<B>) -> Walk<B> {
        let part = Part {
            carried_buffers: &self.carried_buffers,
            starting_buffers: self.starting_buffers,
            start_ticks: self.start_ticks,
            end_ticks: self.end_ticks,
        };
        merge(self.recording, &part, visit)
    }

    /// Returns the decompressed size of the records in the buffers that start in the window, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let buffers = self.recording.buffers();
        self.starting_buffers
            .iter()
            .filter_map(|&buffer| buffers.get(buffer as usize))
            .map(|info| info.payload_size())
            .sum()
    }

    /// Returns the parts of the files that no later window reads. Once every window up to this one is done, their pages
    /// can be released.
    #[must_use]
    pub fn releasable_ranges(&self) -> Vec<FileRange> {
        let buffers = self.recording.buffers();
        let finished =
            self.carried_buffers.iter().chain(self.starting_buffers).filter(|&&buffer| {
                self.end_ticks.is_none_or(|end_ticks| self.recording.interval(buffer).high < end_ticks)
            });
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

    pub(crate) fn new(recording: &'r Recording<'r>, order: &'r [u32], start_ticks: u64, end_ticks: u64) -> Window<'r> {
        let start = order.partition_point(|&buffer| recording.interval(buffer).low < start_ticks);
        let end = order.partition_point(|&buffer| recording.interval(buffer).low < end_ticks).max(start);
        let (earlier_buffers, later_buffers) = order.split_at(start);
        let carried_buffers =
            earlier_buffers.iter().copied().filter(|&buffer| recording.interval(buffer).high >= start_ticks).collect();
        let starting_buffers = later_buffers.get(..end - start).unwrap_or_default();
        Window {
            recording,
            carried_buffers,
            starting_buffers,
            start_ticks,
            end_ticks: Some(end_ticks.max(start_ticks)),
        }
    }
}

/// Divides a recording into windows of about the same number of record bytes. `order` lists the buffers by start time.
pub(crate) fn divide_into_windows<'r>(
    recording: &'r Recording<'r>,
    order: &'r [u32],
    max_windows: usize,
) -> Vec<Window<'r>> {
    let payload_size = |buffer: u32| recording.buffers().get(buffer as usize).map_or(0, |info| info.payload_size());
    let total: usize = order.iter().map(|&buffer| payload_size(buffer)).sum();
    let target = (total / max_windows.max(1)).max(1);

    // Start of each window: position in `order` and time. Windows must start later than the previous window.
    let mut starts = vec![(0, 0)];
    let mut size = 0;
    for &buffer in order {
        let low = recording.interval(buffer).low;
        let (_, previous_start) = starts.last().copied().unwrap_or_default();
        if size >= target && starts.len() < max_windows && low > previous_start {
            starts.push((order.partition_point(|&buffer| recording.interval(buffer).low < low), low));
            size = 0;
        }
        size += payload_size(buffer);
    }

    let mut windows: Vec<Window<'r>> = Vec::with_capacity(starts.len());
    for (number, &(position, start_ticks)) in starts.iter().enumerate() {
        let next = starts.get(number + 1).copied();
        let end = next.map_or(order.len(), |(position, _)| position);
        let carried_buffers = windows.last().map_or_else(Vec::new, |previous_window| {
            let open = previous_window.carried_buffers.iter().chain(previous_window.starting_buffers);
            open.copied().filter(|&buffer| recording.interval(buffer).high >= start_ticks).collect()
        });
        let starting_buffers = order.get(position..end).unwrap_or_default();
        windows.push(Window {
            recording,
            carried_buffers,
            starting_buffers,
            start_ticks,
            end_ticks: next.map(|(_, time)| time),
        });
    }
    windows
}
