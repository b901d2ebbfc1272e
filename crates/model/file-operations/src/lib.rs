//! Reads recordings of file operations into the tables of the model: Process Monitor, `strace`, `blkparse`, `fio`,
//! Darshan, and CSV.

#![forbid(unsafe_code)]

use hashbrown::{HashMap, HashSet};
use onoff_fileio::operations_csv::{self, Chunk};
use onoff_fileio::{Format, Level, LossKind, Operation, OperationKind, Outcome, Summary};
use onoff_trace::{
    Clock, Counter, FileIo, FileIos, FileOperation, IoOrigin, Process, RecordingFile, Severity, StringId, StringPool,
    SystemKind, TableName, TableSet, Trace, counters,
};
use rayon::prelude::*;

use onoff_input::error::Error;
use onoff_input::opened::Files;

const STATUS_END_OF_FILE: u32 = 0xC000_0011;
const STATUS_UNSUCCESSFUL: u32 = 0xC000_0001;

counters! {
    GENERATED_IDS = "fileio_process_ids_made_up", Notice, [FileIos, Processes],
        "The recording has process names without ids; onoff assigned ids in descending order from the highest number.";
}

/// Reads recordings of file operations into the model's tables.
pub fn open(files: &Files, wanted: TableSet) -> Result<Trace, Error> {
    let mut builder = TraceBuilder::default();
    builder.trace.requested_tables = wanted;
    let mut summaries = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let mut released = 0;
        let mut passed = |bytes: usize| {
            let bytes = bytes as u64;
            files.release(at, released..bytes);
            released = bytes;
        };
        let summary = match read_in_chunks(file.bytes(), CHUNK_BYTES, &mut builder.rows, &mut passed) {
            Some(summary) => summary,
            None => onoff_fileio::read_with_progress(file.bytes(), &mut |of| builder.rows.add(of), &mut passed)
                .map_err(|source| Error::FileOperations { name: file.name().to_owned(), source })?,
        };
        builder.count(file.name(), &summary);
        builder.trace.files.push(RecordingFile {
            name: file.name().to_owned(),
            content: summary.format.name(),
            bytes: file.stored_bytes(),
            compressed: false,
            finished: true,
        });
        summaries.push(summary);
    }
    Ok(builder.finish(&summaries))
}

/// Size of a chunk, bytes: small enough that its rows are still cached when they are merged.
const CHUNK_BYTES: usize = 2 << 20;

/// Reads a recording with independent lines on all processors. Returns `None`, without reading anything, if lines
/// depend on each other.
fn read_in_chunks(bytes: &[u8], chunk_bytes: usize, rows: &mut Rows, passed: &mut dyn FnMut(usize)) -> Option<Summary> {
    // Too small, or another format.
    if bytes.len() <= chunk_bytes || onoff_fileio::recognize(bytes) != Some(Format::OperationsCsv) {
        return None;
    }
    let mut chunks = operations_csv::chunks(bytes, chunk_bytes)?;
    let mut all = Rows::default();
    let mut total: Option<Summary> = None;
    let mut first_ns = None;
    let mut previous: Vec<(Rows, Summary)> = Vec::new();
    loop {
        let batch: Vec<Chunk<'_>> = chunks.by_ref().take((rayon::current_num_threads() * 2).max(1)).collect();
        // Merge the previous batch while this one is read.
        let (read, ()) = rayon::join(
            || batch.par_iter().map(read_chunk).collect::<Option<Vec<_>>>(),
            || {
                for (chunk, summary) in previous.drain(..) {
                    first_ns = first_ns.or_else(|| chunk.file_ios.start_ns.first().copied());
                    all.append(&chunk, first_ns.unwrap_or(0));
                    match &mut total {
                        Some(total) => total.add(&summary),
                        None => total = Some(summary),
                    }
                }
            },
        );
        previous = read?;
        if previous.is_empty() {
            break;
        }
        if let Some(last) = batch.last() {
            passed(last.end());
        }
    }
    if rows.file_ios.is_empty() {
        *rows = all;
    } else {
        rows.append(&all, 0);
    }
    total
}

fn read_chunk(chunk: &Chunk<'_>) -> Option<(Rows, Summary)> {
    let mut rows = Rows::default();
    let summary = chunk.read(&mut |operation| rows.add(operation))?;
    Some((rows, summary))
}

#[derive(Default)]
struct TraceBuilder {
    trace: Trace,
    rows: Rows,
}

/// Rows of operations, and the processes they belong to.
struct Rows {
    strings: StringPool,
    file_ios: FileIos,
    processes: Vec<Process>,
    sorted: bool,
    earliest_ns: i64,
    last_ns: i64,
    /// Latest end of an operation.
    end_ns: i64,
    file: (String, StringId),
    process: (Option<u32>, String),
    images: HashMap<u32, StringId>,
    generated_ids: HashMap<String, u32>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            strings: StringPool::default(),
            file_ios: FileIos::default(),
            processes: Vec::new(),
            sorted: true,
            earliest_ns: 0,
            last_ns: 0,
            end_ns: 0,
            file: (String::new(), StringId::EMPTY),
            process: (None, String::new()),
            images: HashMap::new(),
            generated_ids: HashMap::new(),
        }
    }
}

impl Rows {
    fn add(&mut self, operation: &Operation<'_>) {
        if self.file.0 != operation.file {
            self.file.0.clear();
            self.file.0.push_str(operation.file);
            self.file.1 = self.strings.intern(operation.file);
        }
        let pid = match operation.pid {
            None if !operation.process.is_empty() => Some(self.generate_id(operation.process)),
            pid => pid,
        };
        if (self.process.0, self.process.1.as_str()) != (pid, operation.process) {
            self.process.0 = pid;
            self.process.1.clear();
            self.process.1.push_str(operation.process);
            if let Some(pid) = pid.filter(|_| !operation.process.is_empty()) {
                let image = self.strings.intern(operation.process);
                self.name_process(pid, image, operation.start_ns);
            }
        }
        self.push(row(operation, pid, self.file.1));
    }

    fn push(&mut self, row: FileIo) {
        self.sorted &= row.start_ns >= self.last_ns;
        self.last_ns = row.start_ns;
        self.earliest_ns = self.earliest_ns.min(row.start_ns);
        self.end_ns = self.end_ns.max(row.end_ns.unwrap_or(row.start_ns));
        self.file_ios.push(row);
    }

    /// A generated id for a process that has only a name.
    fn generate_id(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.generated_ids.get(name) {
            return number;
        }
        let number = u32::MAX - u32::try_from(self.generated_ids.len()).unwrap_or(0);
        self.generated_ids.insert(name.to_owned(), number);
        number
    }

    /// Records the name of a process. If an id later has another name, it belongs to another process.
    fn name_process(&mut self, pid: u32, image: StringId, start_ns: i64) {
        let known = self.images.insert(pid, image);
        if known != Some(image) {
            // The real start of the first process is unknown; the time of its first operation is needed when rows are
            // merged.
            self.processes.push(Process { image, start_ns: Some(start_ns), ..Process::unknown(pid) });
        }
    }

    /// Appends the rows of a chunk whose times start at `first_ns`.
    fn append(&mut self, chunk: &Self, first_ns: i64) {
        // Maps strings of the chunk to strings of this pool, once they occur.
        let mut strings = vec![None; chunk.strings.len()];
        let mut string = |own: &mut StringPool, id: StringId| match strings.get_mut(id.index()) {
            Some(known) => *known.get_or_insert_with(|| own.intern(chunk.strings.get(id))),
            None => StringId::EMPTY,
        };
        let mut names: Vec<(&String, &u32)> = chunk.generated_ids.iter().collect();
        names.sort_by_key(|&(_, &number)| std::cmp::Reverse(number));
        let numbers: HashMap<u32, u32> =
            names.into_iter().map(|(name, &number)| (number, self.generate_id(name))).collect();
        let number = |pid: u32| if numbers.is_empty() { pid } else { numbers.get(&pid).copied().unwrap_or(pid) };
        for process in &chunk.processes {
            let start_ns = process.start_ns.unwrap_or(0).saturating_sub(first_ns);
            let image = string(&mut self.strings, process.image);
            self.name_process(number(process.pid), image, start_ns);
        }
        for io in chunk.file_ios.iter() {
            let file = string(&mut self.strings, io.file);
            self.push(FileIo {
                start_ns: io.start_ns.saturating_sub(first_ns),
                end_ns: io.end_ns.map(|end_ns| end_ns.saturating_sub(first_ns)),
                pid: io.pid.map(number),
                file,
                ..io
            });
        }
    }

    /// Takes the processes. The first process of each id gets no start time, because it is unknown.
    fn take_processes(&mut self) -> Vec<Process> {
        let mut seen = HashSet::new();
        let without_first_start = |process: Process| {
            let start_ns = process.start_ns.filter(|_| !seen.insert(process.pid));
            Process { start_ns, ..process }
        };
        std::mem::take(&mut self.processes).into_iter().map(without_first_start).collect()
    }
}

impl TraceBuilder {
    fn count(&mut self, name: &str, summary: &Summary) {
        for loss in summary.losses.iter() {
            let counter = counter(loss.kind);
            self.trace.losses.add(&counter, loss.count);
            self.trace.losses.set_first_place(&counter, || format!("{name}, byte {}", loss.first_offset));
        }
    }

    fn finish(mut self, summaries: &[Summary]) -> Trace {
        self.trace.losses.add(&GENERATED_IDS, self.rows.generated_ids.len() as u64);
        self.trace.processes.extend(self.rows.take_processes());
        let Rows { strings, file_ios, sorted, earliest_ns, end_ns, .. } = self.rows;
        (self.trace.strings, self.trace.file_ios, self.trace.duration_ns) = (strings, file_ios, end_ns);
        if !sorted || earliest_ns < 0 {
            let mut order: Vec<usize> = (0..self.trace.file_ios.len()).collect();
            let rows = &self.trace.file_ios;
            order.sort_by_key(|&row| rows.get(row).map_or(0, |io| io.start_ns));
            let shifted = |io: FileIo| FileIo {
                start_ns: io.start_ns.saturating_sub(earliest_ns),
                end_ns: io.end_ns.map(|end_ns| end_ns.saturating_sub(earliest_ns)),
                ..io
            };
            let sorted: FileIos = order.into_iter().filter_map(|row| rows.get(row)).map(shifted).collect();
            self.trace.file_ios = sorted;
            self.trace.duration_ns = self.trace.duration_ns.saturating_sub(earliest_ns);
        }
        self.trace.file_ios.shrink_to_fit();
        let start = match summaries {
            [only] => only.first_unix_ns.map(|first_ns| first_ns.saturating_add(earliest_ns)),
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

/// Converts an operation to a row.
pub fn row(operation: &Operation<'_>, pid: Option<u32>, file: StringId) -> FileIo {
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
            Level::Application => IoOrigin::Application,
            Level::Paging => IoOrigin::Paging,
            Level::Device => IoOrigin::Device,
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

/// The counter of a loss, with the name and text of the format crate.
pub fn counter(kind: LossKind) -> Counter {
    Counter {
        name: kind.as_str(),
        severity: if kind.hides_requests() { Severity::Warning } else { Severity::Notice },
        help: kind.help(),
        affects: &[TableName::FileIos],
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// A recording with everything that chunk boundaries may affect: quoted line ends, names without ids, ids with new
    /// names, unreadable lines, comments.
    fn recording(lines: usize) -> String {
        let mut text = "time,pid,process,file,operation,offset,length\n".to_owned();
        for at in 0..lines {
            let time = 5.0 + at as f64 / 1000.0;
            match at % 7 {
                0 => write!(text, "{time},7,a{}.exe,\"C:\\x, y\n\"\"z\"\"\",read,{},4\n", at / 500, at * 4).unwrap(),
                1 => writeln!(text, "{time},,nameless{}.exe,b.dat,write,{at},1", at % 5).unwrap(),
                2 => text.push_str("# a \"comment\", and\n# another\n"),
                3 => write!(text, "{time},7,a.exe,b.dat,what,0,4\r\n").unwrap(),
                _ => writeln!(text, "{time},{},c.exe,file{}.dat,read,0,512", at % 3, at % 11).unwrap(),
            }
        }
        text
    }

    fn whole(bytes: &[u8]) -> (Rows, Summary) {
        let mut rows = Rows::default();
        let summary = onoff_fileio::read(bytes, &mut |of| rows.add(of)).unwrap();
        (rows, summary)
    }

    fn formatted(rows: &mut Rows) -> Vec<String> {
        let text = |id: StringId| rows.strings.get(id).to_owned();
        let mut formatted: Vec<String> = rows
            .file_ios
            .iter()
            .map(|io| format!("{io:?} {}", text(io.file)).replace(&format!("{:?}", io.file), ""))
            .collect();
        let processes: Vec<(u32, StringId, Option<i64>)> =
            rows.take_processes().into_iter().map(|process| (process.pid, process.image, process.start_ns)).collect();
        formatted.extend(
            processes.iter().map(|&(pid, image, start_ns)| format!("{pid} {} {start_ns:?}", rows.strings.get(image))),
        );
        formatted.push(format!("{} {} {} {}", rows.sorted, rows.earliest_ns, rows.last_ns, rows.end_ns));
        formatted
    }

    #[test]
    fn chunks_of_any_size_give_the_same_rows() {
        let text = recording(3000);
        let (mut expected, expected_summary) = whole(text.as_bytes());
        let expected = formatted(&mut expected);
        for chunk_bytes in [1, 37, 4096, 50_000] {
            let mut rows = Rows::default();
            let mut passed = 0;
            let summary = read_in_chunks(text.as_bytes(), chunk_bytes, &mut rows, &mut |bytes| passed = bytes).unwrap();
            assert_eq!(summary, expected_summary);
            assert_eq!(formatted(&mut rows), expected, "{chunk_bytes}");
            assert_eq!(passed, text.len());
        }
    }

    #[test]
    fn lines_without_times_are_not_read_in_chunks() {
        let mut rows = Rows::default();
        let untimed = "operation,offset,length\nread,0,4\nread,4,4\n";
        assert!(read_in_chunks(untimed.as_bytes(), 8, &mut rows, &mut |_| {}).is_none());
        let some = format!("{}0.1,7,a.exe,b.dat,read,0,4\n,7,a.exe,b.dat,read,0,4\n", recording(0));
        assert!(read_in_chunks(some.as_bytes(), 8, &mut rows, &mut |_| {}).is_none());
        assert!(rows.file_ios.is_empty());
    }
}
