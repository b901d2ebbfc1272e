//! The common operation type of all formats, and the writer that emits operations.

use crate::format::Format;
use crate::losses::{LossKind, Losses};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Open or create.
    Open,
    Close,
    Read,
    Write,
    /// Flush of cached data: `fsync`, `FlushBuffersFile`.
    Flush,
}

/// Layer that made a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// A program.
    Application,
    /// The memory manager or cache, to read or write back pages. A cached read that misses appears both as an
    /// application and as a paging read.
    Paging,
    /// The block layer: requests that reached a disk.
    Device,
}

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Success.
    Done,
    /// A read at or beyond the end of the file: no data.
    EndOfFile,
    Failed,
}

/// One operation. Values that a format does not record are empty, zero or `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'s> {
    /// Start, ns since the first operation.
    pub start_ns: i64,
    /// Duration, ns.
    pub duration_ns: Option<i64>,
    pub kind: OperationKind,
    pub level: Level,
    pub outcome: Outcome,
    /// True if the operation bypassed the cache.
    pub unbuffered: bool,
    /// Process id.
    pub pid: Option<u32>,
    /// Thread id.
    pub tid: Option<u32>,
    /// Executable name of the process; empty if unknown.
    pub process: &'s str,
    /// File or device.
    pub file: &'s str,
    /// Id of the open file; 0 if unknown.
    pub handle: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Transferred bytes, or requested bytes if the recording has no transferred bytes.
    pub length: u64,
}

impl Operation<'_> {
    /// Creates a successful operation of a program. All other values are unknown.
    #[must_use]
    pub const fn new(kind: OperationKind) -> Self {
        Operation {
            start_ns: 0,
            duration_ns: None,
            kind,
            level: Level::Application,
            outcome: Outcome::Done,
            unbuffered: false,
            pid: None,
            tid: None,
            process: "",
            file: "",
            handle: 0,
            offset: 0,
            length: 0,
        }
    }
}

/// Summary of a read recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub format: Format,
    /// Number of operations passed to the sink.
    pub operations: u64,
    /// Number of records, including those that are not file operations.
    pub records: u64,
    /// Time of the first operation, ns since 1970-01-01 UTC, if recorded.
    pub first_unix_ns: Option<i64>,
    /// Unreadable and skipped data.
    pub losses: Losses,
}

impl Summary {
    /// Adds the summary of a later part of the same recording.
    pub fn add(&mut self, later: &Summary) {
        self.operations += later.operations;
        self.records += later.records;
        self.losses.append(&later.losses);
    }
}

/// Number of bytes between two progress calls.
const PROGRESS_INTERVAL: usize = 4 << 20;

/// Counts operations and passes them to the sink, with times relative to the first operation.
pub(crate) struct OperationWriter<'s> {
    sink: &'s mut dyn FnMut(&Operation<'_>),
    /// Called with the number of bytes at the start that are no longer needed.
    release: &'s mut dyn FnMut(usize),
    released_bytes: usize,
    summary: Summary,
    first_ns: Option<i64>,
    /// True if times count from 1970.
    has_unix_times: bool,
}

impl<'s> OperationWriter<'s> {
    pub(crate) fn new(
        format: Format,
        sink: &'s mut dyn FnMut(&Operation<'_>),
        release: &'s mut dyn FnMut(usize),
    ) -> Self {
        let summary = Summary { format, operations: 0, records: 0, first_unix_ns: None, losses: Losses::default() };
        OperationWriter { sink, release, released_bytes: 0, summary, first_ns: None, has_unix_times: false }
    }

    /// Creates a writer for operations whose times are already on the caller's axis. It adds to `losses`.
    pub(crate) fn with_absolute_times(
        format: Format,
        losses: Losses,
        sink: &'s mut dyn FnMut(&Operation<'_>),
        release: &'s mut dyn FnMut(usize),
    ) -> Self {
        let mut writer = Self::new(format, sink, release);
        writer.first_ns = Some(0);
        writer.summary.losses = losses;
        writer
    }

    /// Reports that bytes before `offset` are not accessed again.
    pub(crate) fn report_progress(&mut self, offset: usize) {
        if offset.saturating_sub(self.released_bytes) >= PROGRESS_INTERVAL {
            self.released_bytes = offset;
            (self.release)(offset);
        }
    }

    /// Marks times as counting from 1970-01-01 UTC.
    pub(crate) fn set_unix_times(&mut self) {
        self.has_unix_times = true;
    }

    /// Counts a record of any kind.
    pub(crate) fn count_record(&mut self) {
        self.summary.records += 1;
    }

    /// Counts a loss at byte `offset`.
    pub(crate) fn count_loss(&mut self, kind: LossKind, offset: usize) {
        self.summary.losses.add(kind, offset);
    }

    /// Passes an operation to the sink. Its `start_ns` is on the recording's axis.
    pub(crate) fn push(&mut self, operation: &Operation<'_>) {
        let first_ns = *self.first_ns.get_or_insert(operation.start_ns);
        self.summary.operations += 1;
        let start_ns = operation.start_ns.saturating_sub(first_ns);
        (self.sink)(&Operation { start_ns, ..*operation });
    }

    pub(crate) fn finish(mut self) -> Summary {
        self.summary.first_unix_ns = self.first_ns.filter(|_| self.has_unix_times);
        self.summary
    }
}
