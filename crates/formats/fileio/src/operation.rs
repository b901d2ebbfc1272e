//! What every format is read into.

use crate::format::Format;
use crate::losses::{LossKind, Losses};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// Open or create.
    Open,
    /// Close.
    Close,
    /// Read.
    Read,
    /// Write.
    Write,
    /// Write-back of what is cached: `fsync`, `FlushBuffersFile`.
    Flush,
}

/// Who made the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// A program.
    Application,
    /// The memory manager or cache, to bring in or write back pages; a cached read that misses shows as one of each.
    Paging,
    /// The block layer: what reached a disk.
    Device,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// A read at or beyond the end of the file: no data.
    EndOfFile,
    /// It failed.
    Failed,
}

/// One operation. What a format does not record is empty, zero or `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'s> {
    /// Begin, ns since the first operation.
    pub start_ns: i64,
    /// How long it took, ns.
    pub duration_ns: Option<i64>,
    /// What was done.
    pub kind: OperationKind,
    /// Who made the request.
    pub level: Level,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it passed the cache by.
    pub unbuffered: bool,
    /// Process id.
    pub pid: Option<u32>,
    /// Thread id.
    pub tid: Option<u32>,
    /// Image file name of the process; empty when not known.
    pub process: &'s str,
    /// File or device.
    pub file: &'s str,
    /// Number of the open file; 0 when not known.
    pub handle: u64,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes moved, or bytes asked for when the recording does not say how many were moved.
    pub length: u64,
}

impl Operation<'_> {
    /// An operation of a program that succeeded, with nothing else known.
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

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// Operations handed over.
    pub operations: u64,
    /// Records of the recording, those that are no file operation included.
    pub records: u64,
    /// Time of the first operation, ns since 1970-01-01 UTC, where the recording has one.
    pub first_unix_ns: Option<i64>,
    /// What was left out.
    pub losses: Losses,
}

impl Summary {
    /// Adds what was read of a later part of the same recording.
    pub fn add(&mut self, later: &Summary) {
        self.operations += later.operations;
        self.records += later.records;
        self.losses.append(&later.losses);
    }
}

/// Bytes after which it is said how far a reader is.
const PASSED_BYTES: usize = 4 << 20;

/// Puts times on one axis, and counts.
pub(crate) struct Counted<'s> {
    sink: &'s mut dyn FnMut(&Operation<'_>),
    /// Is told how many bytes at the start are not looked at again.
    passed: &'s mut dyn FnMut(usize),
    passed_bytes: usize,
    summary: Summary,
    first_ns: Option<i64>,
    /// Whether times are since 1970.
    unix: bool,
}

impl<'s> Counted<'s> {
    pub(crate) fn new(
        format: Format,
        sink: &'s mut dyn FnMut(&Operation<'_>),
        passed: &'s mut dyn FnMut(usize),
    ) -> Self {
        let summary = Summary { format, operations: 0, records: 0, first_unix_ns: None, losses: Losses::default() };
        Counted { sink, passed, passed_bytes: 0, summary, first_ns: None, unix: false }
    }

    /// The same for operations whose times are on the caller's axis, going on with `losses`.
    pub(crate) fn of_known_times(
        format: Format,
        losses: Losses,
        sink: &'s mut dyn FnMut(&Operation<'_>),
        passed: &'s mut dyn FnMut(usize),
    ) -> Self {
        let mut counted = Self::new(format, sink, passed);
        counted.first_ns = Some(0);
        counted.summary.losses = losses;
        counted
    }

    /// Says that nothing before byte `offset` is looked at again.
    pub(crate) fn pass(&mut self, offset: usize) {
        if offset.saturating_sub(self.passed_bytes) >= PASSED_BYTES {
            self.passed_bytes = offset;
            (self.passed)(offset);
        }
    }

    /// Says that the recording's times count from 1970-01-01 UTC.
    pub(crate) fn times_are_unix(&mut self) {
        self.unix = true;
    }

    /// Counts a record, whatever it is.
    pub(crate) fn record(&mut self) {
        self.summary.records += 1;
    }

    /// Counts a loss at byte `offset`.
    pub(crate) fn lose(&mut self, kind: LossKind, offset: usize) {
        self.summary.losses.add(kind, offset);
    }

    /// Hands on an operation whose `start_ns` is on the recording's own axis.
    pub(crate) fn push(&mut self, operation: &Operation<'_>) {
        let first_ns = *self.first_ns.get_or_insert(operation.start_ns);
        self.summary.operations += 1;
        let start_ns = operation.start_ns.saturating_sub(first_ns);
        (self.sink)(&Operation { start_ns, ..*operation });
    }

    pub(crate) fn finish(mut self) -> Summary {
        self.summary.first_unix_ns = self.first_ns.filter(|_| self.unix);
        self.summary
    }
}
