//! One or several files of one recording on one axis of time.

use std::ops::ControlFlow;

use crate::axis::Axes;
use crate::contents::Contents;
use crate::file::index;
use crate::scan::{BufferRecords, Payload, Span, count_defect, each_record};
use crate::stream::{Placement, separate_sessions};
use crate::{BufferInfo, Clock, Error, FileSummary, Input, LogfileHeader, Losses, Record};

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

/// Files of one recording, indexed: what they are, which buffers they hold, and the order of their records.
#[derive(Debug)]
pub struct Recording<'a> {
    files: Vec<FileSummary>,
    contents: Contents<'a>,
    placement: Placement,
    losses: Losses,
}

impl<'a> Recording<'a> {
    /// Most files one recording may have.
    pub const MAX_FILES: usize = u16::MAX as usize;

    /// Indexes the files of a recording: reads every buffer's header and first record, and the last buffer of each stream.
    ///
    /// Files that share a clock (an unmerged kernel and user log of one boot; any logs stamped with system time) are put on one
    /// axis tick by tick. A file with another clock or of another boot is placed by its UTC start time and counted as
    /// [`Loss::UnrelatedFile`](crate::Loss::UnrelatedFile).
    ///
    /// # Errors
    /// When there is no input, or an input is empty, no Event Trace Log, or cut before the end of its logfile header.
    pub fn open(inputs: &[Input<'a>]) -> Result<Recording<'a>, Error> {
        if inputs.len() > Self::MAX_FILES {
            return Err(Error::TooManyInputs { count: inputs.len(), limit: Self::MAX_FILES });
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
        let axes = Axes::align(&mut files, &mut losses).ok_or(Error::NoInput)?;
        let inputs = inputs.iter().map(|input| input.bytes).collect();
        let mut contents = Contents { inputs, buffers, axes };
        let sessions: Vec<u32> = files.iter().map(|file| file.sessions).collect();
        separate_sessions(&mut contents, &sessions, &mut losses);
        let placement = Placement::of(&contents, &mut losses);
        Ok(Recording { files, contents, placement, losses })
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
        &self.contents.axes.clock
    }

    /// All buffers, file by file in the order they stand there.
    #[must_use]
    pub fn buffers(&self) -> &[BufferInfo] {
        &self.contents.buffers
    }

    /// Time of the last record, in nanoseconds since the recording started.
    #[must_use]
    pub fn duration_ns(&self) -> i64 {
        self.clock().ns(self.placement.end_ticks).max(0)
    }

    /// What is missing as far as the files' structure shows; walking the records may find more.
    #[must_use]
    pub fn losses(&self) -> &Losses {
        &self.losses
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
        let file = self.contents.file(buffer);
        space.0.load(buffer, file, usize::MAX, &mut losses);
        let mut ticks = self.clock().start_ticks();
        let walk = each_record(space.0.bytes(), |_, shape, record| {
            if let Some(stamp) = shape.ticks(record) {
                ticks = self.contents.axes.place(buffer, stamp);
            }
            let bytes = record.get(..shape.size as usize).unwrap_or(record);
            records += 1;
            visit(&Record::from_shape(bytes, shape, ticks, self.clock().ns(ticks), buffer.cpu, buffer.file as u16))
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
        Walk { outcome, losses, records }
    }

    /// The buffers by the time they begin.
    pub(crate) fn order(&self) -> &[u32] {
        &self.placement.order
    }

    /// When a buffer begins, and its rank among those that begin with it.
    #[inline]
    pub(crate) fn begins(&self, buffer: u32) -> (u64, u32) {
        let placed = self.placement.places.get(buffer as usize);
        placed.map_or((u64::MAX, u32::MAX), |placed| (placed.span.low, placed.rank))
    }

    pub(crate) fn span(&self, buffer: u32) -> Span {
        self.placement.places.get(buffer as usize).map_or(Span::ANY, |placed| placed.span)
    }

    /// Loads a buffer's records in order of time. Gives its processor and file.
    pub(crate) fn load(&self, buffer: u32, records: &mut BufferRecords<'a>, losses: &mut Losses) -> (u16, u16) {
        let Some(info) = self.contents.buffer(buffer) else { return (0, 0) };
        self.contents.load(info, self.span(buffer), records, losses);
        (info.cpu, info.file as u16)
    }
}

/// Memory that [`Recording::for_each_in_buffer`] uses again from call to call.
#[derive(Debug, Default)]
pub struct BufferSpace<'a>(Payload<'a>);
