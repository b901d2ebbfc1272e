//! What the disks did: bytes, operations and time, by file, extension and process; read-ahead apart.
//!
//! A request counts in the interval in which it completed, as a whole.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{DiskIo, DiskOperation, StringId, SystemKind, TableName, Trace};
use serde::Serialize;

use crate::drive_paths::DrivePaths;
use crate::owners::extension;
use crate::processes::Images;
use onoff_evidence::touched_by;

/// Requests of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskWork {
    /// Requests.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time the disk worked on them, ns.
    pub service_ns: i64,
}

/// Requests by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskOperations {
    /// Reads.
    pub read: DiskWork,
    /// Writes.
    pub write: DiskWork,
    /// Flushes of the device's cache.
    pub flush: DiskWork,
}

/// Requests that share a name: a file, an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedDiskUsage {
    /// The file's path as recorded, or the extension in lower case without its dot; empty when not known.
    pub name: String,
    /// The requests.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disk worked on all of them, ns.
    pub service_ns: i64,
}

/// Requests of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessDiskUsage {
    /// Process id; `None` when the issuer is not known.
    pub pid: Option<u32>,
    /// Image file name; empty when not known.
    pub image: String,
    /// The requests.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disk worked on all of them, ns.
    pub service_ns: i64,
}

/// What the disks did in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskUsage {
    /// All requests.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disks worked, ns, summed over disks.
    pub service_ns: i64,
    /// Of the reads, those ahead of need. On Windows the boot read-ahead (ReadyBoot) issued them: they name no file, which xperf
    /// shows as `Unknown (0x0)`. On Linux the kernel flags them (`RA`).
    pub read_ahead: DiskWork,
    /// By file, most service time first; read-ahead left out.
    pub by_file: Vec<NamedDiskUsage>,
    /// By extension, most service time first; read-ahead left out.
    pub by_extension: Vec<NamedDiskUsage>,
    /// By process, most service time first; the boot read-ahead of Windows left out.
    pub by_process: Vec<ProcessDiskUsage>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

/// What the disks did in each of the intervals between consecutive `cuts`, which ascend.
#[must_use]
pub fn usage(trace: &Trace, cuts: &[i64]) -> Vec<DiskUsage> {
    let touched_by = touched_by(trace, &[TableName::DiskIos, TableName::FileIos, TableName::Processes]);
    let mut intervals: Vec<DiskTally> = cuts.windows(2).map(|_| DiskTally::default()).collect();
    let (images, paths) = (Images::of(trace), DrivePaths::of(trace));
    let (begin, end) = (cuts.first().copied().unwrap_or(0), cuts.last().copied().unwrap_or(0));
    for io in trace.disk_ios_between(begin, end) {
        let after = cuts.partition_point(|&cut| cut <= io.complete_ns);
        if let Some(interval) = after.checked_sub(1).and_then(|at| intervals.get_mut(at)) {
            let process = io.pid.and_then(|pid| images.row_at(pid, io.complete_ns));
            interval.add(trace.system.kind, &io, process);
        }
    }
    intervals.into_iter().map(|interval| interval.into_usage(trace, &images, &paths, &touched_by)).collect()
}

/// Whether a request reads before anybody needs the bytes. On Windows that is the boot read-ahead, which works below files, so its
/// reads name none. On Linux no request names a file, and the kernel flags those that read ahead.
///
/// Source: the Microsoft paper, "the file that is named Unknown (0x0) ... represents the boot prefetcher"; the kernel's
/// `blk_fill_rwbs`.
#[must_use]
pub fn is_read_ahead(system: SystemKind, io: &DiskIo) -> bool {
    io.operation == DiskOperation::Read
        && match system {
            SystemKind::Linux => io.irp_flags & DiskIo::LINUX_READ_AHEAD != 0,
            _ => io.file.is_empty() && io.file_object == 0,
        }
}

impl DiskWork {
    /// Counts a request.
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
    /// Counts a request.
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

    /// Time the disk worked, ns.
    #[must_use]
    pub fn service_ns(&self) -> i64 {
        self.read.service_ns.saturating_add(self.write.service_ns).saturating_add(self.flush.service_ns)
    }

    /// Requests of every operation.
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
    /// By process id, the row of the process that had it, and a time at which that one lived.
    by_process: HashMap<(Option<u32>, Option<usize>), (i64, DiskOperations)>,
}

impl DiskTally {
    /// Counts a request.
    fn add(&mut self, system: SystemKind, io: &DiskIo, process: Option<usize>) {
        self.all.add(io);
        if is_read_ahead(system, io) {
            self.read_ahead.add(io);
            // The boot read-ahead of Windows works for everybody; Linux reads ahead for the process that reads.
            if system != SystemKind::Linux {
                return;
            }
        }
        if system != SystemKind::Linux || !io.file.is_empty() {
            self.by_file.entry(io.file).or_default().add(io);
        }
        let its = self.by_process.entry((io.pid, process));
        its.or_insert_with(|| (io.complete_ns, DiskOperations::default())).1.add(io);
    }

    fn into_usage(self, trace: &Trace, images: &Images<'_>, paths: &DrivePaths, touched_by: &[String]) -> DiskUsage {
        let mut extensions: BTreeMap<String, DiskOperations> = BTreeMap::new();
        for (&file, operations) in &self.by_file {
            extensions.entry(extension(trace.text(file))).or_default().merge(operations);
        }
        let mut by_process: Vec<ProcessDiskUsage> = self
            .by_process
            .into_iter()
            .map(|((pid, _), (time_ns, operations))| ProcessDiskUsage {
                pid,
                image: pid.and_then(|pid| images.at(pid, time_ns)).unwrap_or_default().to_owned(),
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
            by_file: named(
                self.by_file
                    .into_iter()
                    .map(|(file, operations)| (paths.readable(trace.text(file)).into_owned(), operations)),
            ),
            by_extension: named(extensions),
            by_process,
            touched_by: touched_by.to_vec(),
        }
    }
}

fn named(rows: impl IntoIterator<Item = (String, DiskOperations)>) -> Vec<NamedDiskUsage> {
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
    fn requests_count_where_they_complete_and_read_ahead_apart() {
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

    /// On Linux no request names a file: one is read ahead only if the kernel flagged it, and the others are their process's.
    #[test]
    fn on_linux_reads_are_read_ahead_only_if_the_kernel_says_so() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        process(&mut trace, 4, "cat", None, None);
        for complete_ms in [10, 30, 70] {
            disk(&mut trace, complete_ms * MS, 5 * MS, IoPriority::Unknown, "");
        }
        let rows: Vec<DiskIo> = trace.disk_ios.iter().collect();
        let flagged = DiskIo { irp_flags: DiskIo::LINUX_READ_AHEAD, complete_ns: 80 * MS, ..rows[2] };
        // A write carries no such flag; whatever a broken trace says of one, nothing is read ahead by it.
        let write = DiskIo { operation: DiskOperation::Write, complete_ns: 90 * MS, ..flagged };
        trace.disk_ios.push(flagged);
        trace.disk_ios.push(write);

        let usage = usage(&trace, &[0, 50 * MS, 100 * MS]);
        assert_eq!(usage[0].read_ahead, DiskWork::default());
        assert_eq!(usage[0].by_process[0].operations.read.operations, 2);
        assert_eq!(usage[0].by_process[0].image, "cat");
        assert_eq!((usage[1].read_ahead.operations, usage[1].read_ahead.service_ns), (1, 5 * MS));
        let its = usage[1].by_process[0].operations;
        // What the kernel read ahead, it read for the process.
        assert_eq!((its.read.operations, its.write.operations), (2, 1));
        assert_eq!(usage[1].by_file, [], "no request names a file");

        // The bit is the kernel of Linux' alone: on Windows it is a flag of the request packet.
        let named = DiskIo { irp_flags: DiskIo::LINUX_READ_AHEAD, file_object: 9, ..rows[0] };
        assert!(!is_read_ahead(SystemKind::Windows, &named));
        assert!(is_read_ahead(SystemKind::Windows, &rows[0]));
    }

    #[test]
    fn extensions_are_those_of_names() {
        assert_eq!(extension(r"\Windows\System32\config\SYSTEM"), "");
        assert_eq!(extension(r"\Windows.old\NTUSER.DAT"), "dat");
        assert_eq!(extension(r"\Windows.old\file"), "");
        assert_eq!(extension("/etc/.profile"), "");
    }
}
