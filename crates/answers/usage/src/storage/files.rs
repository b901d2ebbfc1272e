//! Analyzes the file operations of programs, and the disk requests they caused.

use hashbrown::HashMap;
use onoff_trace::{DiskIo, DiskOperation, FileIo, FileOperation, Losses, TableName, TableSet, Trace};
use serde::Serialize;

use super::grouping::{Groups, Key, Names, SharedValues};
use super::queue::issued_ns;
use crate::disk::DiskOperations;
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;

/// The tables that [`analyze`] reads.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::FileIos, TableName::DiskIos, TableName::Processes]);

/// The result of `onoff files`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReport {
    /// The analyzed interval.
    pub range: Interval,
    pub by: Vec<Key>,
    /// Totals of the selected processes.
    pub total: FileAmounts,
    /// Operations by group, most time first.
    pub groups: Vec<FileGroup>,
    /// Disk requests that do not belong to any group: paging, read-ahead, write-back.
    pub disk_alone: DiskOperations,
    /// Flushes requested by programs, ordered by start.
    pub flushes: Vec<FileFlush>,
    /// Number of file operations in the recording, regardless of the selection.
    pub recorded: u64,
    /// Names of the losses that can affect the result.
    pub affecting_losses: Vec<String>,
    pub losses: Losses,
}

/// Totals of one group, including the disk requests that match it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileGroup {
    #[serde(flatten)]
    pub shared: SharedValues,
    #[serde(flatten)]
    pub amounts: FileAmounts,
}

/// Totals of file operations. An operation that a file system passes on to another file system counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileAmounts {
    /// Number of operations of all kinds.
    pub operations: u64,
    /// Creates and opens, including failed ones.
    pub opens: u64,
    /// Creates and opens that failed.
    pub failed_opens: u64,
    pub reads: u64,
    /// Bytes requested by reads.
    pub read_bytes: u64,
    pub writes: u64,
    /// Bytes passed to writes.
    pub write_bytes: u64,
    pub flushes: u64,
    /// Operations other than opens, reads, writes and flushes.
    pub others: u64,
    /// Failed operations of all kinds.
    pub failed: u64,
    /// Operations whose end was not recorded; their time is unknown.
    pub unfinished: u64,
    /// Total time from start to end, ns, without change notifications and file-system controls, which wait for
    /// events; 0 if no end was recorded.
    pub time_ns: i64,
    /// Longest time of one operation, ns.
    pub longest_ns: i64,
    /// Disk requests that match the group.
    pub disk_requests: u64,
    /// Bytes read by these requests.
    pub disk_read_bytes: u64,
    /// Bytes written by these requests.
    pub disk_write_bytes: u64,
    /// Disk time of these requests, ns.
    pub disk_service_ns: i64,
}

/// A flush requested by a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFlush {
    /// Start, ns.
    pub start_ns: i64,
    /// `None` if not recorded.
    pub end_ns: Option<i64>,
    /// `None` if the end was not recorded.
    pub duration_ns: Option<i64>,
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown.
    pub image: String,
    /// Path of the file; empty if unknown.
    pub path: String,
    /// Flushes of the disk cache that the thread issued during the flush.
    pub disk_flushes: u64,
    /// Disk time of these flushes, ns.
    pub disk_service_ns: i64,
}

/// Analyzes the file operations in `scope`, grouped by `keys`; without keys there is one group. The keys for disk and
/// priority are ignored, because file operations have neither.
///
/// An operation without a recorded end counts at its start.
#[must_use]
pub fn analyze(trace: &Trace, scope: &Scope, keys: &[Key]) -> FileReport {
    let keys: Vec<Key> = keys.iter().copied().filter(|key| !matches!(key, Key::Disk | Key::Priority)).collect();
    let mut names = Names::new(trace, scope);
    let mut groups: Groups<FileAmounts> = Groups::with_keys(&keys);
    let mut total = FileAmounts::default();
    let mut flushes = Vec::new();
    let device_flushes = DeviceFlushes::from_trace(trace);
    for io in trace.file_ios.iter() {
        if !scope.range.contains(io.end_ns.unwrap_or(io.start_ns)) {
            continue;
        }
        let actor = (io.pid, io.start_ns);
        let Some(subject) = names.subject(actor, io.file, io.operation.as_str()) else { continue };
        for amounts in [groups.entry(&names, subject), &mut total] {
            amounts.add(&io);
        }
        if io.operation == FileOperation::Flush {
            flushes.push(flush(&io, &names, &device_flushes));
        }
    }
    let mut disk_alone = DiskOperations::default();
    for io in trace.disk_ios.iter() {
        if !scope.range.contains(io.complete_ns) {
            continue;
        }
        let Some(subject) = names.request_subject(&io) else { continue };
        match groups.existing(&names, subject.without_disk()) {
            Some(amounts) => {
                for amounts in [amounts, &mut total] {
                    amounts.add_request(&io);
                }
            }
            None => disk_alone.add(&io),
        }
    }
    let mut groups: Vec<FileGroup> =
        groups.finish(&names).into_iter().map(|(shared, amounts)| FileGroup { shared, amounts }).collect();
    groups.sort_by(|a, b| {
        let cost = |group: &FileGroup| (group.amounts.time_ns, group.amounts.operations);
        cost(b).cmp(&cost(a)).then_with(|| a.shared.order().cmp(&b.shared.order()))
    });
    FileReport {
        range: scope.range,
        by: keys,
        total,
        groups,
        disk_alone,
        flushes,
        recorded: trace.file_ios.len() as u64,
        losses: trace.losses.clone(),
        affecting_losses: affecting_losses(trace, &[TableName::FileIos, TableName::DiskIos, TableName::Processes]),
    }
}

impl FileAmounts {
    /// True if the end of an operation was recorded, so that times are known.
    #[must_use]
    pub const fn has_durations(&self) -> bool {
        self.unfinished < self.operations
    }

    fn add(&mut self, io: &FileIo) {
        let failed = u64::from(io.status.is_some_and(is_failure));
        self.operations += 1;
        self.failed += failed;
        match io.operation {
            FileOperation::Create => {
                self.opens += 1;
                self.failed_opens += failed;
            }
            FileOperation::Read => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(io.size);
            }
            FileOperation::Write => {
                self.writes += 1;
                self.write_bytes = self.write_bytes.saturating_add(io.size);
            }
            FileOperation::Flush => self.flushes += 1,
            _ => self.others += 1,
        }
        let waits_for_event =
            matches!(io.operation, FileOperation::DirectoryNotification | FileOperation::FileSystemControl);
        match duration_ns(io) {
            Some(_) if waits_for_event => {}
            Some(time_ns) => {
                self.time_ns = self.time_ns.saturating_add(time_ns);
                self.longest_ns = self.longest_ns.max(time_ns);
            }
            None => self.unfinished += 1,
        }
    }
}

impl FileAmounts {
    fn add_request(&mut self, io: &DiskIo) {
        self.disk_requests += 1;
        match io.operation {
            DiskOperation::Read => {
                self.disk_read_bytes = self.disk_read_bytes.saturating_add(io.size);
            }
            DiskOperation::Write => {
                self.disk_write_bytes = self.disk_write_bytes.saturating_add(io.size);
            }
            DiskOperation::Flush => {}
        }
        self.disk_service_ns = self.disk_service_ns.saturating_add(io.service_ns.max(0));
    }
}

fn duration_ns(io: &FileIo) -> Option<i64> {
    io.end_ns.map(|end_ns| end_ns.saturating_sub(io.start_ns).max(0))
}

/// Returns whether a status is an error: its two highest bits are set (source: the layout of `NTSTATUS`). This also
/// holds for negative error numbers.
fn is_failure(status: u32) -> bool {
    status >> 30 == 3
}

fn flush(io: &FileIo, names: &Names<'_>, device_flushes: &DeviceFlushes) -> FileFlush {
    let (disk_flushes, disk_service_ns) =
        io.end_ns.map(|end_ns| device_flushes.count_and_service_ns(io.tid, io.start_ns, end_ns)).unwrap_or_default();
    FileFlush {
        start_ns: io.start_ns,
        end_ns: io.end_ns,
        duration_ns: duration_ns(io),
        pid: io.pid,
        image: names.image(io.pid, io.start_ns).to_owned(),
        path: names.path(io.file).into_owned(),
        disk_flushes,
        disk_service_ns,
    }
}

/// Disk cache flushes by the thread that issued them.
#[derive(Debug)]
struct DeviceFlushes {
    /// (issue, cumulative service time including this flush), ns, ordered by issue.
    by_thread: HashMap<u32, Vec<(i64, i64)>>,
}

impl DeviceFlushes {
    fn from_trace(trace: &Trace) -> Self {
        let mut by_thread: HashMap<u32, Vec<(i64, i64)>> = HashMap::new();
        for io in trace.disk_ios.iter() {
            if let (DiskOperation::Flush, Some(tid)) = (io.operation, io.tid) {
                let flushes = by_thread.entry(tid).or_default();
                flushes.push((issued_ns(&io), io.service_ns.max(0)));
            }
        }
        for flushes in by_thread.values_mut() {
            flushes.sort();
            let mut sum_ns: i64 = 0;
            for (_, service_ns) in flushes {
                sum_ns = sum_ns.saturating_add(*service_ns);
                *service_ns = sum_ns;
            }
        }
        Self { by_thread }
    }

    /// Returns the number of flushes that `tid` issued between two times, and their service time in ns.
    fn count_and_service_ns(&self, tid: Option<u32>, start_ns: i64, end_ns: i64) -> (u64, i64) {
        let Some(flushes) = tid.and_then(|tid| self.by_thread.get(&tid)) else { return (0, 0) };
        let count_before = flushes.partition_point(|&(issue, _)| issue < start_ns);
        let count_until = flushes.partition_point(|&(issue, _)| issue <= end_ns);
        let sum_ns = |count: usize| {
            let last = count.checked_sub(1).and_then(|index| flushes.get(index));
            last.map_or(0, |&(_, sum_ns)| sum_ns)
        };
        let count = count_until.saturating_sub(count_before) as u64;
        (count, sum_ns(count_until).saturating_sub(sum_ns(count_before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process, request};
    use onoff_trace::IoPriority;

    struct Operation(FileOperation, i64, Option<i64>, u32, &'static str);

    fn operation(trace: &mut Trace, pid: u32, operation: Operation, size: u64) {
        let Operation(operation, start, end, status, file) = operation;
        let file = trace.strings.intern(file);
        trace.file_ios.push(FileIo {
            start_ns: start * MS,
            end_ns: end.map(|end| end * MS),
            operation,
            pid: Some(pid),
            tid: Some(pid + 4),
            file,
            offset: 0,
            size,
            level: onoff_trace::IoOrigin::Application,
            unbuffered: false,
            status: end.map(|_| status),
            irp: 0,
            file_object: 0,
        });
    }

    /// Returns a trace of a program that fails to open a file, then opens, reads, flushes and watches it.
    fn recording() -> Trace {
        use FileOperation::{Create, DirectoryNotification, Flush, Read, Write};
        const FILE: &str = r"\Windows\a.dll";
        let mut trace = Trace::default();
        process(&mut trace, 4, "System", None, None);
        process(&mut trace, 100, "editor.exe", None, None);
        for (call, size) in [
            (Operation(Create, 0, Some(1), 0xc000_0034, FILE), 0),
            (Operation(Create, 1, Some(3), 0, FILE), 0),
            (Operation(Read, 3, Some(13), 0, FILE), 5000),
            (Operation(Write, 13, Some(14), 0x8000_0005, FILE), 700),
            (Operation(Flush, 20, Some(30), 0, FILE), 0),
            (Operation(Flush, 40, None, 0, FILE), 0),
            (Operation(DirectoryNotification, 0, Some(90), 0, FILE), 64),
        ] {
            operation(&mut trace, 100, call, size);
        }
        request(&mut trace, 0, 4 * MS, 9 * MS);
        for issue in [21, 25, 35] {
            trace.disk_ios.push(DiskIo {
                operation: DiskOperation::Flush,
                priority: IoPriority::Normal,
                size: 0,
                file: onoff_trace::StringId::EMPTY,
                file_object: 0,
                issue_ns: Some(issue * MS),
                complete_ns: (issue + 2) * MS,
                service_ns: 2 * MS,
                pid: Some(100),
                tid: Some(104),
                ..trace.disk_ios.get(0).unwrap()
            });
        }
        trace.duration_ns = 100 * MS;
        trace
    }

    #[test]
    fn file_operations_and_their_disk_requests() {
        let trace = recording();
        let report = analyze(&trace, &Scope::whole_recording(&trace), &[Key::Path]);
        assert_eq!(report.groups.len(), 1);
        let group = &report.groups[0];
        assert_eq!(group.shared.path.as_deref(), Some(r"\Windows\a.dll"));
        assert_eq!(group.shared.image.as_deref(), Some("editor.exe"));
        let amounts = group.amounts;
        assert_eq!((amounts.opens, amounts.failed_opens), (2, 1));
        // A warning status is not a failure.
        assert_eq!((amounts.operations, amounts.failed), (7, 1));
        assert_eq!((amounts.reads, amounts.read_bytes), (1, 5000));
        assert_eq!((amounts.writes, amounts.write_bytes), (1, 700));
        assert_eq!((amounts.flushes, amounts.others), (2, 1));
        assert_eq!(amounts.unfinished, 1);
        // The change notification does not count, because it waits for an event.
        assert_eq!(amounts.time_ns, (1 + 2 + 10 + 1 + 10) * MS);
        assert_eq!(amounts.longest_ns, 10 * MS);
        assert_eq!(amounts.disk_read_bytes, 4096);
        assert_eq!(amounts.disk_service_ns, 5 * MS);
        // Flushes of the device have no file, so they do not belong to any path.
        assert_eq!(report.disk_alone.flush.operations, 3);
    }

    #[test]
    fn disk_requests_count_for_the_process_that_issued_them() {
        let trace = recording();
        let report = analyze(&trace, &Scope::whole_recording(&trace), &[Key::Process]);
        assert_eq!(report.groups.len(), 1);
        assert_eq!(report.groups[0].amounts.disk_requests, 3);
        // The System process read from the disk but had no file operation.
        assert_eq!(report.disk_alone.read.operations, 1);
    }

    #[test]
    fn flushes_are_listed_with_the_device_flushes_they_caused() {
        let trace = recording();
        let report = analyze(&trace, &Scope::whole_recording(&trace), &[]);
        let flushes: Vec<_> = report
            .flushes
            .iter()
            .map(|flush| {
                let service = flush.disk_service_ns / MS;
                (flush.duration_ns, flush.disk_flushes, service)
            })
            .collect();
        assert_eq!(flushes, [(Some(10 * MS), 2, 4), (None, 0, 0)]);
        assert_eq!(report.flushes[0].image, "editor.exe");
    }
}
