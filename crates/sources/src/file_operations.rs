//! File operations as other programs record them: Process Monitor, `strace`, `blkparse`, `fio`, Darshan, our own CSV.

use hashbrown::HashMap;
use onoff_fileio::{Format, Level, LossKind, Operation, OperationKind, Outcome, Summary};
use onoff_trace::{
    Clock, Counter, FileIo, FileIos, FileOperation, IoLevel, Process, RecordingFile, Severity, StringId, SystemKind,
    TableName, Tables, Trace,
};

use crate::error::Error;
use crate::opened::Files;

const STATUS_END_OF_FILE: u32 = 0xC000_0011;
const STATUS_UNSUCCESSFUL: u32 = 0xC000_0001;

/// Names of processes came without their ids.
const IDS_MADE_UP: Counter = Counter {
    name: "fileio_process_ids_made_up",
    severity: Severity::Notice,
    help: "The recording names processes without their ids; onoff numbered them from the highest number down.",
    touches: &[TableName::FileIos, TableName::Processes],
};

/// Reads recordings of file operations into the model's tables.
pub(crate) fn open(files: &Files, wanted: Tables) -> Result<Trace, Error> {
    let mut filling = Filling { sorted: true, ..Filling::default() };
    filling.trace.wanted = wanted;
    let mut summaries = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let mut released = 0;
        let mut passed = |bytes: usize| {
            let bytes = bytes as u64;
            files.release(at, released..bytes);
            released = bytes;
        };
        let summary = onoff_fileio::read_and_pass(file.bytes(), &mut |operation| filling.add(operation), &mut passed)
            .map_err(|source| Error::FileOperations { name: file.name().to_owned(), source })?;
        filling.count(file.name(), &summary);
        filling.trace.files.push(RecordingFile {
            name: file.name().to_owned(),
            content: summary.format.name(),
            bytes: file.stored_bytes(),
            compressed: false,
            finished: true,
        });
        summaries.push(summary);
    }
    Ok(filling.finish(&summaries))
}

#[derive(Default)]
struct Filling {
    trace: Trace,
    sorted: bool,
    earliest_ns: i64,
    last_ns: i64,
    file: (String, StringId),
    process: (Option<u32>, String),
    images: HashMap<u32, StringId>,
    made_up: HashMap<String, u32>,
}

impl Filling {
    fn add(&mut self, operation: &Operation<'_>) {
        if self.file.0 != operation.file {
            self.file = (operation.file.to_owned(), self.trace.strings.intern(operation.file));
        }
        let pid = match operation.pid {
            None if !operation.process.is_empty() => Some(self.numbered(operation.process)),
            pid => pid,
        };
        if (self.process.0, self.process.1.as_str()) != (pid, operation.process) {
            self.process = (pid, operation.process.to_owned());
            self.name_process(pid, operation);
        }
        let end_ns = operation.duration_ns.map(|duration_ns| operation.start_ns.saturating_add(duration_ns));
        self.sorted &= operation.start_ns >= self.last_ns;
        self.last_ns = operation.start_ns;
        self.earliest_ns = self.earliest_ns.min(operation.start_ns);
        self.trace.duration_ns = self.trace.duration_ns.max(end_ns.unwrap_or(operation.start_ns));
        self.trace.file_ios.push(row(operation, pid, self.file.1));
    }

    /// A number for a process that has a name only.
    fn numbered(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.made_up.get(name) {
            return number;
        }
        let number = u32::MAX - u32::try_from(self.made_up.len()).unwrap_or(0);
        self.made_up.insert(name.to_owned(), number);
        number
    }

    /// Keeps what a process is called; an id that is given to another name later is another life.
    fn name_process(&mut self, pid: Option<u32>, operation: &Operation<'_>) {
        let Some(pid) = pid.filter(|_| !operation.process.is_empty()) else {
            return;
        };
        let image = self.trace.strings.intern(operation.process);
        let known = self.images.insert(pid, image);
        if known != Some(image) {
            let start_ns = known.map(|_| operation.start_ns);
            self.trace.processes.push(Process { image, start_ns, ..Process::unknown(pid) });
        }
    }

    fn count(&mut self, name: &str, summary: &Summary) {
        for loss in summary.losses.iter() {
            let counter = counter(loss.kind);
            self.trace.losses.add(&counter, loss.count);
            self.trace.losses.place(&counter, || format!("{name}, byte {}", loss.first_offset));
        }
    }

    fn finish(mut self, summaries: &[Summary]) -> Trace {
        self.trace.losses.add(&IDS_MADE_UP, self.made_up.len() as u64);
        if !self.sorted || self.earliest_ns < 0 {
            let mut order: Vec<usize> = (0..self.trace.file_ios.len()).collect();
            let rows = &self.trace.file_ios;
            order.sort_by_key(|&row| rows.get(row).map_or(0, |io| io.start_ns));
            let early_ns = self.earliest_ns;
            let shifted = |io: FileIo| FileIo {
                start_ns: io.start_ns.saturating_sub(early_ns),
                end_ns: io.end_ns.map(|end_ns| end_ns.saturating_sub(early_ns)),
                ..io
            };
            let sorted: FileIos = order.into_iter().filter_map(|row| rows.get(row)).map(shifted).collect();
            self.trace.file_ios = sorted;
            self.trace.duration_ns = self.trace.duration_ns.saturating_sub(early_ns);
        }
        self.trace.file_ios.shrink_to_fit();
        let start = match summaries {
            [only] => only.first_unix_ns.map(|first_ns| first_ns.saturating_add(self.earliest_ns)),
            _ => None,
        };
        self.trace.clock = Clock { start_unix_ns: start, ..Clock::default() };
        self.trace.system.kind = match summaries.first().map(|summary| summary.format) {
            Some(Format::ProcessMonitorCsv | Format::ProcessMonitorLog) => SystemKind::Windows,
            Some(Format::Strace | Format::Blkparse) => SystemKind::Linux,
            _ => SystemKind::Unknown,
        };
        self.trace.recorder = summaries.first().map_or_else(String::new, |first| first.format.name().to_owned());
        self.trace
    }
}

/// An operation as a row.
pub(crate) fn row(operation: &Operation<'_>, pid: Option<u32>, file: StringId) -> FileIo {
    FileIo {
        start_ns: operation.start_ns,
        end_ns: operation.duration_ns.map(|duration_ns| operation.start_ns.saturating_add(duration_ns)),
        operation: match operation.kind {
            OperationKind::Open => FileOperation::Create,
            OperationKind::Close => FileOperation::Cleanup,
            OperationKind::Read => FileOperation::Read,
            OperationKind::Write => FileOperation::Write,
            OperationKind::Flush => FileOperation::Flush,
        },
        pid,
        tid: operation.tid,
        file,
        offset: operation.offset,
        size: operation.length,
        level: match operation.level {
            Level::Application => IoLevel::Application,
            Level::Paging => IoLevel::Paging,
            Level::Device => IoLevel::Device,
        },
        unbuffered: operation.unbuffered,
        status: Some(match operation.outcome {
            Outcome::Done => 0,
            Outcome::EndOfFile => STATUS_END_OF_FILE,
            Outcome::Failed => STATUS_UNSUCCESSFUL,
        }),
        irp: 0,
        file_object: operation.handle,
    }
}

/// The counter of a loss; its name and text are those of the reader.
pub(crate) fn counter(kind: LossKind) -> Counter {
    Counter {
        name: kind.as_str(),
        severity: if kind.hides_requests() { Severity::Warning } else { Severity::Notice },
        help: kind.help(),
        touches: &[TableName::FileIos],
    }
}
