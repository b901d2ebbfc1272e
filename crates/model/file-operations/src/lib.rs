//! Reads recordings of file operations into the tables of the model: Process Monitor, `strace`, `blkparse`, `fio`,
//! Darshan, and CSV.

#![forbid(unsafe_code)]

use hashbrown::{HashMap, HashSet};
use onoff_fileio::operations_csv::{self, Chunk};
use onoff_fileio::{Format, JoinedFiles, Level, LossKind, Operation, OperationKind, Outcome, Summary, ThreadFile};
use onoff_trace::{
    Clock, Concatenation, Counter, FileIo, FileIos, FileOperation, IoOrigin, Process, RecordingFile, Severity,
    StringId, StringPool, SystemKind, TableName, TableSet, Trace, counters,
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
    if let Some((joined, name)) = join_thread_files(files) {
        let summary = onoff_fileio::read(&joined.bytes, &mut |operation| builder.rows.add(operation))
            .map_err(|source| Error::FileOperations { name: name.clone(), source })?;
        builder.add_losses(&name, &summary);
        if !joined.is_ordered {
            builder.trace.losses.add(&counter(LossKind::Unordered), 1);
        }
        builder.trace.files.extend(files.iter().map(|file| RecordingFile {
            name: file.name().to_owned(),
            content: summary.format.name(),
            bytes: file.stored_bytes(),
            compressed: false,
            finished: true,
        }));
        return Ok(builder.finish(&[summary]));
    }
    for (index, file) in files.iter().enumerate() {
        let mut released_bytes = 0;
        let mut release = |read_bytes: usize| {
            let read_bytes = read_bytes as u64;
            files.release(index, released_bytes..read_bytes);
            released_bytes = read_bytes;
        };
        let summary = match read_in_chunks(file.bytes(), CHUNK_BYTES, &mut builder.rows, &mut release) {
            Some(summary) => summary,
            None => onoff_fileio::read_named(
                file.name(),
                file.bytes(),
                &mut |operation| builder.rows.add(operation),
                &mut release,
            )
            .map_err(|source| Error::FileOperations { name: file.name().to_owned(), source })?,
        };
        builder.add_losses(file.name(), &summary);
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

/// Joins the files of one run of `strace -ff`, which share a clock and open files, and returns a name for all of them.
/// Returns `None` for other recordings.
fn join_thread_files(files: &Files) -> Option<(JoinedFiles, String)> {
    let parts: Vec<ThreadFile<'_>> = files
        .iter()
        .map(|file| {
            let is_strace = onoff_fileio::recognize(file.bytes()) == Some(Format::Strace);
            let tid = onoff_fileio::thread_id_of_file(file.name()).filter(|_| is_strace)?;
            Some(ThreadFile { tid, bytes: file.bytes() })
        })
        .collect::<Option<_>>()?;
    let name = files.iter().next()?.name().to_owned();
    let name = format!("{name} and {} more, joined", parts.len().saturating_sub(1));
    (parts.len() > 1).then(|| onoff_fileio::join_thread_files(&parts)).flatten().map(|joined| (joined, name))
}

/// Number of rows that are collected before they are appended to the table: few enough to stay cached.
const RECENT_ROWS: usize = 1 << 13;

/// Size of a chunk, in bytes. Small enough that its rows are still cached when they are merged.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads a recording with independent lines on all processors. Calls `on_read` with the number of bytes read so far.
/// Returns `None` without reading anything if lines depend on each other.
fn read_in_chunks(
    bytes: &[u8],
    chunk_bytes: usize,
    rows: &mut Rows,
    on_read: &mut dyn FnMut(usize),
) -> Option<Summary> {
    // The recording is too small, or has another format.
    if bytes.len() <= chunk_bytes || onoff_fileio::recognize(bytes) != Some(Format::OperationsCsv) {
        return None;
    }
    let mut chunks = operations_csv::chunks(bytes, chunk_bytes)?;
    let mut all_rows = Rows::default();
    let mut total: Option<Summary> = None;
    let mut first_ns = None;
    let mut previous_batch: Vec<(Rows, Summary)> = Vec::new();
    loop {
        let batch: Vec<Chunk<'_>> = chunks.by_ref().take((rayon::current_num_threads() * 2).max(1)).collect();
        // Merge the previous batch while this batch is read.
        let (batch_rows, ()) = rayon::join(
            || batch.par_iter().map(read_chunk).collect::<Option<Vec<_>>>(),
            || {
                for (mut chunk_rows, summary) in previous_batch.drain(..) {
                    let file_ios = chunk_rows.take_file_ios();
                    let first_ns = *first_ns.get_or_insert(file_ios.start_ns.first().copied().unwrap_or(0));
                    all_rows.append(&chunk_rows, file_ios, first_ns);
                    match &mut total {
                        Some(total) => total.add(&summary),
                        None => total = Some(summary),
                    }
                }
            },
        );
        previous_batch = batch_rows?;
        if previous_batch.is_empty() {
            break;
        }
        if let Some(last_chunk) = batch.last() {
            on_read(last_chunk.end());
        }
    }
    if rows.is_empty() {
        *rows = all_rows;
    } else {
        let file_ios = all_rows.take_file_ios();
        rows.append(&all_rows, file_ios, 0);
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

/// Rows of operations, and the processes that they belong to.
#[derive(Default)]
struct Rows {
    strings: StringPool,
    file_ios: Concatenation<FileIos>,
    /// The last rows, which are not in `file_ios` yet.
    recent_file_ios: FileIos,
    processes: Vec<Process>,
    /// Name and id of the last file, because consecutive operations are often on the same file.
    last_file: (String, StringId),
    /// Id and name of the last process.
    last_process: (Option<u32>, String),
    /// Latest image by process id.
    images: HashMap<u32, StringId>,
    /// Generated process ids by name.
    generated_ids: HashMap<String, u32>,
}

impl Rows {
    fn add(&mut self, operation: &Operation<'_>) {
        let (last_file_name, last_file_id) = &mut self.last_file;
        if last_file_name != operation.file {
            last_file_name.clear();
            last_file_name.push_str(operation.file);
            *last_file_id = self.strings.intern(operation.file);
        }
        let file = *last_file_id;
        let pid = match operation.pid {
            None if !operation.process.is_empty() => Some(self.generate_id(operation.process)),
            pid => pid,
        };
        let (last_pid, last_process_name) = &mut self.last_process;
        if (*last_pid, last_process_name.as_str()) != (pid, operation.process) {
            *last_pid = pid;
            last_process_name.clear();
            last_process_name.push_str(operation.process);
            if let Some(pid) = pid.filter(|_| !operation.process.is_empty()) {
                let image = self.strings.intern(operation.process);
                self.name_process(pid, image, operation.start_ns);
            }
        }
        self.recent_file_ios.push(row(operation, pid, file));
        if self.recent_file_ios.len() >= RECENT_ROWS {
            self.append_recent();
        }
    }

    fn append_recent(&mut self) {
        self.file_ios.append(&std::mem::take(&mut self.recent_file_ios));
    }

    fn is_empty(&self) -> bool {
        self.file_ios.is_empty() && self.recent_file_ios.is_empty()
    }

    fn take_file_ios(&mut self) -> FileIos {
        if self.file_ios.is_empty() {
            return std::mem::take(&mut self.recent_file_ios);
        }
        self.append_recent();
        std::mem::take(&mut self.file_ios).finish()
    }

    /// Returns the generated id of a process that has only a name.
    fn generate_id(&mut self, name: &str) -> u32 {
        if let Some(&pid) = self.generated_ids.get(name) {
            return pid;
        }
        let pid = u32::MAX - u32::try_from(self.generated_ids.len()).unwrap_or(0);
        self.generated_ids.insert(name.to_owned(), pid);
        pid
    }

    /// Records the name of a process. An id that later has another name belongs to another process.
    fn name_process(&mut self, pid: u32, image: StringId, start_ns: i64) {
        let previous_image = self.images.insert(pid, image);
        if previous_image != Some(image) {
            // The real start of the first process is unknown; the time of its first operation is needed when rows are
            // merged.
            self.processes.push(Process { image, start_ns: Some(start_ns), ..Process::unknown(pid) });
        }
    }

    /// Appends the rows of a chunk, `file_ios`, whose times start at `first_ns`.
    fn append(&mut self, chunk: &Self, mut file_ios: FileIos, first_ns: i64) {
        // Maps ids of the chunk's strings to ids in this pool when they first occur.
        let mut string_ids = vec![None; chunk.strings.len()];
        let mut convert_string = |pool: &mut StringPool, id: StringId| match string_ids.get_mut(id.index()) {
            Some(pool_id) => *pool_id.get_or_insert_with(|| pool.intern(chunk.strings.get(id))),
            None => StringId::EMPTY,
        };
        let mut generated_ids: Vec<(&String, &u32)> = chunk.generated_ids.iter().collect();
        generated_ids.sort_by_key(|&(_, &pid)| std::cmp::Reverse(pid));
        let pids: HashMap<u32, u32> =
            generated_ids.into_iter().map(|(name, &pid)| (pid, self.generate_id(name))).collect();
        let convert_pid = |pid: u32| pids.get(&pid).copied().unwrap_or(pid);
        for process in &chunk.processes {
            let start_ns = process.start_ns.unwrap_or(0).saturating_sub(first_ns);
            let image = convert_string(&mut self.strings, process.image);
            self.name_process(convert_pid(process.pid), image, start_ns);
        }
        for file in &mut file_ios.file {
            *file = convert_string(&mut self.strings, *file);
        }
        if first_ns != 0 {
            file_ios.start_ns.iter_mut().for_each(|start_ns| *start_ns = start_ns.saturating_sub(first_ns));
            file_ios.end_ns.update(|end_ns| *end_ns = end_ns.saturating_sub(first_ns));
        }
        if !pids.is_empty() {
            file_ios.pid.update(|pid| *pid = convert_pid(*pid));
        }
        self.append_recent();
        self.file_ios.append(&file_ios);
    }

    /// Takes the processes. The first process of each id has no start time, because its start is unknown.
    fn take_processes(&mut self) -> Vec<Process> {
        let mut seen_pids = HashSet::new();
        let without_first_start = |process: Process| {
            let start_ns = process.start_ns.filter(|_| !seen_pids.insert(process.pid));
            Process { start_ns, ..process }
        };
        std::mem::take(&mut self.processes).into_iter().map(without_first_start).collect()
    }
}

impl TraceBuilder {
    fn add_losses(&mut self, name: &str, summary: &Summary) {
        for loss in summary.losses.iter() {
            let counter = counter(loss.kind);
            self.trace.losses.add(&counter, loss.count);
            self.trace.losses.set_first_place(&counter, || format!("{name}, byte {}", loss.first_offset));
        }
    }

    fn finish(mut self, summaries: &[Summary]) -> Trace {
        self.trace.losses.add(&GENERATED_IDS, self.rows.generated_ids.len() as u64);
        self.trace.processes.extend(self.rows.take_processes());
        self.trace.file_ios = self.rows.take_file_ios();
        self.trace.strings = self.rows.strings;
        let FileIos { start_ns, end_ns, .. } = &self.trace.file_ios;
        let earliest_ns = start_ns.iter().copied().min().unwrap_or(0).min(0);
        let latest_ns = start_ns.iter().zip(end_ns.iter()).map(|(&start_ns, end_ns)| end_ns.unwrap_or(start_ns)).max();
        self.trace.duration_ns = latest_ns.unwrap_or(0).max(0);
        if earliest_ns < 0 || !start_ns.is_sorted() {
            let mut order: Vec<usize> = (0..self.trace.file_ios.len()).collect();
            let rows = &self.trace.file_ios;
            order.sort_by_key(|&row| rows.get(row).map_or(0, |io| io.start_ns));
            let shift = |io: FileIo| FileIo {
                start_ns: io.start_ns.saturating_sub(earliest_ns),
                end_ns: io.end_ns.map(|end_ns| end_ns.saturating_sub(earliest_ns)),
                ..io
            };
            let sorted_rows: FileIos = order.into_iter().filter_map(|row| rows.get(row)).map(shift).collect();
            self.trace.file_ios = sorted_rows;
            self.trace.duration_ns = self.trace.duration_ns.saturating_sub(earliest_ns);
        }
        let start_unix_ns = match summaries {
            [summary] => summary.first_unix_ns.map(|first_ns| first_ns.saturating_add(earliest_ns)),
            _ => None,
        };
        self.trace.clock = Clock { start_unix_ns, ..Clock::default() };
        self.trace.system.kind = match summaries.first().map(|summary| summary.format) {
            Some(Format::ProcessMonitorCsv | Format::ProcessMonitorLog | Format::ProcessMonitorXml) => {
                SystemKind::Windows
            }
            Some(Format::Strace | Format::Blkparse) => SystemKind::Linux,
            _ => SystemKind::Unknown,
        };
        self.trace.recorder = summaries.first().map_or_else(String::new, |summary| summary.format.name().to_owned());
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

/// Returns the counter of a loss, with the name and text of the format crate.
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

    /// Generates a recording with all features that chunk boundaries may affect: quoted line ends, names without ids,
    /// ids with new names, unreadable lines, comments.
    fn recording(lines: usize) -> String {
        let mut text = "time,pid,process,file,operation,offset,length\n".to_owned();
        for line in 0..lines {
            let time = 5.0 + line as f64 / 1000.0;
            match line % 7 {
                0 => {
                    write!(text, "{time},7,a{}.exe,\"C:\\x, y\n\"\"z\"\"\",read,{},4\n", line / 500, line * 4).unwrap()
                }
                1 => writeln!(text, "{time},,nameless{}.exe,b.dat,write,{line},1", line % 5).unwrap(),
                2 => text.push_str("# a \"comment\", and\n# another\n"),
                3 => write!(text, "{time},7,a.exe,b.dat,what,0,4\r\n").unwrap(),
                _ => writeln!(text, "{time},{},c.exe,file{}.dat,read,0,512", line % 3, line % 11).unwrap(),
            }
        }
        text
    }

    fn read_whole(bytes: &[u8]) -> (Rows, Summary) {
        let mut rows = Rows::default();
        let summary = onoff_fileio::read(bytes, &mut |operation| rows.add(operation)).unwrap();
        (rows, summary)
    }

    fn formatted(rows: &mut Rows) -> Vec<String> {
        let file_ios = rows.take_file_ios();
        let text = |id: StringId| rows.strings.get(id).to_owned();
        let mut formatted: Vec<String> = file_ios
            .iter()
            .map(|io| format!("{io:?} {}", text(io.file)).replace(&format!("{:?}", io.file), ""))
            .collect();
        let processes: Vec<(u32, StringId, Option<i64>)> =
            rows.take_processes().into_iter().map(|process| (process.pid, process.image, process.start_ns)).collect();
        formatted.extend(
            processes.iter().map(|&(pid, image, start_ns)| format!("{pid} {} {start_ns:?}", rows.strings.get(image))),
        );
        formatted
    }

    #[test]
    fn chunks_of_any_size_give_the_same_rows() {
        let text = recording(3000);
        let (mut expected, expected_summary) = read_whole(text.as_bytes());
        let expected = formatted(&mut expected);
        for chunk_bytes in [1, 37, 4096, 50_000] {
            let mut rows = Rows::default();
            let mut read_bytes = 0;
            let summary =
                read_in_chunks(text.as_bytes(), chunk_bytes, &mut rows, &mut |bytes| read_bytes = bytes).unwrap();
            assert_eq!(summary, expected_summary);
            assert_eq!(formatted(&mut rows), expected, "{chunk_bytes}");
            assert_eq!(read_bytes, text.len());
        }
    }

    #[test]
    fn lines_without_times_are_not_read_in_chunks() {
        let mut rows = Rows::default();
        let no_times = "operation,offset,length\nread,0,4\nread,4,4\n";
        assert!(read_in_chunks(no_times.as_bytes(), 8, &mut rows, &mut |_| {}).is_none());
        let some_times = format!("{}0.1,7,a.exe,b.dat,read,0,4\n,7,a.exe,b.dat,read,0,4\n", recording(0));
        assert!(read_in_chunks(some_times.as_bytes(), 8, &mut rows, &mut |_| {}).is_none());
        assert!(rows.is_empty());
    }
}
