//! A recording: one or more files on one time axis.

use std::ops::ControlFlow;

use crate::axis::Axes;
use crate::contents::Contents;
use crate::file::index;
use crate::scan::{BufferRecords, Interval, Payload, count_defect, each_record};
use crate::stream::{Placement, separate_sessions};
use crate::{BufferInfo, Clock, Error, FileSummary, Input, LogfileHeader, Losses, Record};

/// Result of visiting records.
#[derive(Debug, Clone)]
#[must_use]
pub struct Walk<B> {
    /// `Break` with the visitor's value if the visitor stopped the walk.
    pub outcome: ControlFlow<B>,
    /// Losses found by this walk. [`Recording::losses`] returns the losses found on opening.
    pub losses: Losses,
    /// Number of records visited.
    pub records: u64,
}

/// The indexed files of one recording: their summaries, their buffers and the order of their records.
#[derive(Debug)]
pub struct Recording<'a> {
    files: Vec<FileSummary>,
    contents: Contents<'a>,
    placement: Placement,
    losses: Losses,
}

impl<'a> Recording<'a> {
    /// Maximum number of files in a recording.
    pub const MAX_FILES: usize = u16::MAX as usize;

    /// Indexes the files of a recording: reads each buffer's header and first record, and the last buffer of each
    /// stream.
    ///
    /// Files that share a clock (for example, an unmerged kernel and user log of one boot, or any logs stamped with
    /// system time) keep their ticks. A file with another clock or from another boot is placed by its UTC start time
    /// and counted as [`Loss::UnrelatedFile`](crate::Loss::UnrelatedFile).
    ///
    /// # Errors
    /// There are no inputs or too many, or an input is empty, is not an Event Trace Log, or ends inside its logfile
    /// header.
    pub fn open(inputs: &[Input<'a>]) -> Result<Recording<'a>, Error> {
        if inputs.len() > Self::MAX_FILES {
            return Err(Error::TooManyInputs { count: inputs.len(), limit: Self::MAX_FILES });
        }
        let mut losses = Losses::default();
        let mut files = Vec::with_capacity(inputs.len());
        let mut buffers = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            let (summary, file_buffers, file_losses) = index(input, number)?;
            files.push(summary);
            buffers.extend(file_buffers);
            losses.merge(&file_losses);
        }
        let axes = Axes::align(&mut files, &mut losses).ok_or(Error::NoInput)?;
        let inputs = inputs.iter().map(|input| input.bytes).collect();
        let mut contents = Contents { inputs, buffers, axes };
        let sessions: Vec<u32> = files.iter().map(|file| file.sessions).collect();
        separate_sessions(&mut contents, &sessions, &mut losses);
        let placement = Placement::new(&contents, &mut losses);
        Ok(Recording { files, contents, placement, losses })
    }

    /// Returns the logfile header of the first file.
    #[must_use]
    pub fn header(&self) -> &LogfileHeader {
        // `open` rejects an empty list.
        &self.files[0].header
    }

    /// Returns the summaries of the files, in the order of the inputs.
    #[must_use]
    pub fn files(&self) -> &[FileSummary] {
        &self.files
    }

    /// Returns the clock of the recording, taken from the file that started first.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.contents.axes.clock
    }

    /// Returns all buffers, grouped by file, in file order.
    #[must_use]
    pub fn buffers(&self) -> &[BufferInfo] {
        &self.contents.buffers
    }

    /// Returns the time of the last record, in nanoseconds since the recording started.
    #[must_use]
    pub fn duration_ns(&self) -> i64 {
        self.clock().ns(self.placement.end_ticks).max(0)
    }

    /// Returns the losses found on opening. Visiting the records may find more.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Visits the records of one buffer in file order, independently of other buffers. Meant for counting.
    ///
    /// A record without a timestamp gets the time of the previous one, or the start of the recording. `scratch` is
    /// memory reused between calls.
    pub fn for_each_in_buffer<B>(
        &self,
        buffer: &BufferInfo,
        scratch: &mut BufferScratch<'a>,
        mut visit: impl FnMut(&Record<'_>) -> ControlFlow<B>,
    ) -> Walk<B> {
        let mut losses = Losses::default();
        let mut records = 0;
        let file = self.contents.file(buffer);
        scratch.0.load(buffer, file, usize::MAX, &mut losses);
        let mut ticks = self.clock().start_ticks();
        let walk = each_record(scratch.0.bytes(), |_, shape, record| {
            if let Some(timestamp) = shape.ticks(record) {
                ticks = self.contents.axes.to_ticks(buffer, timestamp);
            }
            let bytes = record.get(..shape.size as usize).unwrap_or(record);
            records += 1;
            visit(&Record::from_shape(bytes, shape, ticks, self.clock().ns(ticks), buffer.cpu, buffer.file as u16))
        });
        let outcome = match walk {
            ControlFlow::Break(value) => ControlFlow::Break(value),
            ControlFlow::Continue(defect) => {
                if let Some((offset, defect)) = defect {
                    count_defect(buffer, &scratch.0, offset, defect, &mut losses);
                }
                ControlFlow::Continue(())
            }
        };
        Walk { outcome, losses, records }
    }

    /// Returns the buffers, sorted by start time.
    pub(crate) fn order(&self) -> &[u32] {
        &self.placement.order
    }

    /// Returns the start time of a buffer in ticks, and its rank among buffers with the same start.
    #[inline]
    pub(crate) fn start(&self, buffer: u32) -> (u64, u32) {
        let placement = self.placement.placements.get(buffer as usize);
        placement.map_or((u64::MAX, u32::MAX), |placement| (placement.interval.low, placement.rank))
    }

    pub(crate) fn interval(&self, buffer: u32) -> Interval {
        self.placement.placements.get(buffer as usize).map_or(Interval::ANY, |placement| placement.interval)
    }

    /// Loads a buffer's records, sorted by time. Returns the processor and the file.
    pub(crate) fn load(&self, buffer: u32, records: &mut BufferRecords<'a>, losses: &mut Losses) -> (u16, u16) {
        let Some(info) = self.contents.buffer(buffer) else { return (0, 0) };
        self.contents.load(info, self.interval(buffer), records, losses);
        (info.cpu, info.file as u16)
    }
}

/// Scratch memory of [`Recording::for_each_in_buffer`].
#[derive(Debug, Default)]
pub struct BufferScratch<'a>(Payload<'a>);
