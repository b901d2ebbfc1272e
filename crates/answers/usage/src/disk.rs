//! Measures disk usage: bytes, operations and time by file, extension and process, with read-ahead counted separately.
//!
//! A request belongs entirely to the interval in which it completed.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{DiskIo, DiskOperation, StringId, SystemKind, TableName, Trace};
use serde::Serialize;

use crate::owners::extension;
use crate::processes::Images;
use onoff_evidence::affecting_losses;

/// Totals of one kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskWork {
    /// Number of requests.
    pub operations: u64,
    pub bytes: u64,
    /// Time the disk spent on the requests, ns.
    pub service_ns: i64,
}

/// Requests by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskOperations {
    pub read: DiskWork,
    pub write: DiskWork,
    /// Flushes of the device cache.
    pub flush: DiskWork,
}

/// Requests with a common name: a file or an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedDiskUsage {
    /// File path as recorded, or extension in lowercase without dot; empty if unknown.
    pub name: String,
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disk spent on all requests, ns.
    pub service_ns: i64,
}

/// Requests of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessDiskUsage {
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Image file name; empty if unknown.
    pub image: String,
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disk spent on all requests, ns.
    pub service_ns: i64,
}

/// Disk usage in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskUsage {
    /// All requests.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Disk time, ns, summed over all disks.
    pub service_ns: i64,
    /// Read-ahead requests among the reads. On Windows these are the reads of ReadyBoot, which have no file (xperf
    /// shows `Unknown (0x0)`). On Linux the kernel flags them (`RA`).
    pub read_ahead: DiskWork,
    /// By file, most disk time first, without read-ahead.
    pub by_file: Vec<NamedDiskUsage>,
    /// By extension, most disk time first, without read-ahead.
    pub by_extension: Vec<NamedDiskUsage>,
    /// By process, most disk time first, without ReadyBoot.
    pub by_process: Vec<ProcessDiskUsage>,
    /// Names of the losses that can affect these values.
    pub affecting_losses: Vec<String>,
}

/// Measures the disk usage in the intervals between consecutive `cuts`, which must be in ascending order.
#[must_use]
pub fn usage(trace: &Trace, cuts: &[i64]) -> Vec<DiskUsage> {
    let affecting_losses = affecting_losses(trace, &[TableName::DiskIos, TableName::FileIos, TableName::Processes]);
    let mut intervals: Vec<DiskTally> = cuts.windows(2).map(|_| DiskTally::default()).collect();
    let images = Images::new(trace);
    let (begin, end) = (cuts.first().copied().unwrap_or(0), cuts.last().copied().unwrap_or(0));
    for io in trace.disk_ios_between(begin, end) {
        let next_cut = cuts.partition_point(|&cut| cut <= io.complete_ns);
        if let Some(interval) = next_cut.checked_sub(1).and_then(|index| intervals.get_mut(index)) {
            let process = io.pid.and_then(|pid| images.row_at(pid, io.complete_ns));
            interval.add(trace.system.kind, &io, process);
        }
    }
    intervals.into_iter().map(|interval| interval.into_usage(trace, &images, &affecting_losses)).collect()
}

/// Returns whether a request is read-ahead. On Windows, ReadyBoot reads below the file system, so its requests have no
/// file. On Linux, no request has a file, and the kernel flags read-ahead.
///
/// Sources: the Microsoft paper ("the file that is named Unknown (0x0) ... represents the boot prefetcher");
/// `blk_fill_rwbs` in the Linux kernel.
#[must_use]
pub fn is_read_ahead(system: SystemKind, io: &DiskIo) -> bool {
    io.operation == DiskOperation::Read
        && match system {
            SystemKind::Linux => io.irp_flags & DiskIo::LINUX_READ_AHEAD != 0,
            _ => io.file.is_empty() && io.file_object == 0,
        }
}

impl DiskWork {
    pub fn add(&mut self, io: &DiskIo) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(io.size);
        self.service_ns = self.service_ns.saturating_add(io.service_ns.max(0));
    }

    fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.service_ns = self.service_ns.saturating_add(other.service_ns);
    }
}

impl DiskOperations {
    pub fn add(&mut self, io: &DiskIo) {
        match io.operation {
            DiskOperation::Read => self.read.add(io),
            DiskOperation::Write => self.write.add(io),
            DiskOperation::Flush => self.flush.add(io),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.flush.merge(&other.flush);
    }

    /// Disk time, ns.
    #[must_use]
    pub fn service_ns(&self) -> i64 {
        self.read.service_ns.saturating_add(self.write.service_ns).saturating_add(self.flush.service_ns)
    }

    /// Number of requests of all kinds.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.read.operations + self.write.operations + self.flush.operations
    }

    /// Bytes read and written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read.bytes.saturating_add(self.write.bytes)
    }
}

#[derive(Default)]
struct DiskTally {
    all: DiskOperations,
    read_ahead: DiskWork,
    by_file: HashMap<StringId, DiskOperations>,
    /// By process id and row in the table of processes. The time shows which process had the id.
    by_process: HashMap<(Option<u32>, Option<usize>), (i64, DiskOperations)>,
}

impl DiskTally {
    fn add(&mut self, system: SystemKind, io: &DiskIo, process: Option<usize>) {
        self.all.add(io);
        if is_read_ahead(system, io) {
            self.read_ahead.add(io);
            // ReadyBoot does not read for a particular process; Linux reads ahead for the process that reads.
            if system != SystemKind::Linux {
                return;
            }
        }
        if system != SystemKind::Linux || !io.file.is_empty() {
            self.by_file.entry(io.file).or_default().add(io);
        }
        let entry = self.by_process.entry((io.pid, process));
        entry.or_insert_with(|| (io.complete_ns, DiskOperations::default())).1.add(io);
    }

    fn into_usage(self, trace: &Trace, images: &Images<'_>, affecting_losses: &[String]) -> DiskUsage {
        let mut extensions: BTreeMap<String, DiskOperations> = BTreeMap::new();
        for (&file, operations) in &self.by_file {
            extensions.entry(extension(trace.text(file))).or_default().merge(operations);
        }
        let mut by_process: Vec<ProcessDiskUsage> = self
            .by_process
            .into_iter()
            .map(|((pid, _), (time_ns, operations))| ProcessDiskUsage {
                pid,
                image: pid.and_then(|pid| images.image_at(pid, time_ns)).unwrap_or_default().to_owned(),
                operations,
                service_ns: operations.service_ns(),
            })
            .collect();
        by_process.sort_by(|a, b| {
            (b.service_ns, b.operations.bytes())
                .cmp(&(a.service_ns, a.operations.bytes()))
                .then_with(|| (a.pid, &a.image).cmp(&(b.pid, &b.image)))
        });
        DiskUsage {
            operations: self.all,
            service_ns: self.all.service_ns(),
            read_ahead: self.read_ahead,
            by_file: sorted_by_time(self.by_file.into_iter().map(|(file, operations)| {
                (trace.system.drive_paths.readable(trace.text(file)).into_owned(), operations)
            })),
            by_extension: sorted_by_time(extensions),
            by_process,
            affecting_losses: affecting_losses.to_vec(),
        }
    }
}

/// Returns the usage by name, most disk time first.
fn sorted_by_time(rows: impl IntoIterator<Item = (String, DiskOperations)>) -> Vec<NamedDiskUsage> {
    let mut rows: Vec<NamedDiskUsage> = rows
        .into_iter()
        .map(|(name, operations)| NamedDiskUsage { name, operations, service_ns: operations.service_ns() })
        .collect();
    rows.sort_by(|a, b| {
        (b.service_ns, b.operations.bytes())
            .cmp(&(a.service_ns, a.operations.bytes()))
            .then_with(|| a.name.cmp(&b.name))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, disk, process};
    use onoff_trace::IoPriority;

    #[test]
    fn requests_count_when_they_complete_and_read_ahead_separately() {
        let mut trace = Trace::default();
        process(&mut trace, 4, "System", None, None);
        disk(&mut trace, 10 * MS, 5 * MS, IoPriority::Normal, r"\Windows\a.DLL");
        disk(&mut trace, 15 * MS, 5 * MS, IoPriority::Normal, r"\Windows\b.dll");
        disk(&mut trace, 20 * MS, 5 * MS, IoPriority::Normal, r"\Windows\a.DLL");
        disk(&mut trace, 60 * MS, 35 * MS, IoPriority::Normal, "");
        let usage = usage(&trace, &[0, 20 * MS, 100 * MS]);
        assert_eq!(usage[0].operations.read.operations, 2);
        assert_eq!(usage[0].operations.read.bytes, 8192);
        assert_eq!(usage[0].by_extension.len(), 1);
        assert_eq!(usage[0].by_extension[0].name, "dll");
        assert_eq!(usage[0].by_extension[0].service_ns, 10 * MS);
        assert_eq!(usage[0].read_ahead, DiskWork::default());

        assert_eq!(usage[1].operations.read.operations, 2);
        assert_eq!(usage[1].service_ns, 40 * MS);
        assert_eq!(usage[1].read_ahead.service_ns, 35 * MS);
        let files: Vec<_> = usage[1].by_file.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(files, [r"\Windows\a.DLL"]);
        assert_eq!(usage[1].by_process.len(), 1);
        assert_eq!(usage[1].by_process[0].image, "System");
        assert_eq!(usage[1].by_process[0].service_ns, 5 * MS);
    }

    /// On Linux requests have no file: they are read-ahead only if the kernel flagged them; all count for their
    /// process.
    #[test]
    fn on_linux_only_flagged_reads_are_read_ahead() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        process(&mut trace, 4, "cat", None, None);
        for complete_ms in [10, 30, 70] {
            disk(&mut trace, complete_ms * MS, 5 * MS, IoPriority::Unknown, "");
        }
        let rows: Vec<DiskIo> = trace.disk_ios.iter().collect();
        let flagged = DiskIo { irp_flags: DiskIo::LINUX_READ_AHEAD, complete_ns: 80 * MS, ..rows[2] };
        // Writes never count as read-ahead, even if a damaged trace has the flag.
        let write = DiskIo { operation: DiskOperation::Write, complete_ns: 90 * MS, ..flagged };
        trace.disk_ios.push(flagged);
        trace.disk_ios.push(write);

        let usage = usage(&trace, &[0, 50 * MS, 100 * MS]);
        assert_eq!(usage[0].read_ahead, DiskWork::default());
        assert_eq!(usage[0].by_process[0].operations.read.operations, 2);
        assert_eq!(usage[0].by_process[0].image, "cat");
        assert_eq!((usage[1].read_ahead.operations, usage[1].read_ahead.service_ns), (1, 5 * MS));
        let operations = usage[1].by_process[0].operations;
        // The kernel read ahead for this process.
        assert_eq!((operations.read.operations, operations.write.operations), (2, 1));
        assert_eq!(usage[1].by_file, [], "no request names a file");

        // The flag is specific to Linux: on Windows the bit is an IRP flag.
        let read_of_file = DiskIo { irp_flags: DiskIo::LINUX_READ_AHEAD, file_object: 9, ..rows[0] };
        assert!(!is_read_ahead(SystemKind::Windows, &read_of_file));
        assert!(is_read_ahead(SystemKind::Windows, &rows[0]));
    }

    #[test]
    fn extension_follows_the_last_dot_of_the_file_name() {
        assert_eq!(extension(r"\Windows\System32\config\SYSTEM"), "");
        assert_eq!(extension(r"\Windows.old\NTUSER.DAT"), "dat");
        assert_eq!(extension(r"\Windows.old\file"), "");
        assert_eq!(extension("/etc/.profile"), "");
    }
}
