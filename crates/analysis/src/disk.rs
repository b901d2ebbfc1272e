//! What the disks did: bytes, operations and time, by file, extension and process; read-ahead apart.
//!
//! A request counts in the interval in which it completed, as a whole.

use serde::Serialize;

/// Requests of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
pub struct DiskUsage {
    /// All requests.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Time the disks worked, ns, summed over disks.
    pub service_ns: i64,
    /// Of the reads, those that the boot read-ahead (ReadyBoot) issued: reads that name no file, which xperf shows
    /// as file `Unknown (0x0)`.
    pub read_ahead: DiskWork,
    /// By file, most service time first; read-ahead left out.
    pub by_file: Vec<NamedDiskUsage>,
    /// By extension, most service time first; read-ahead left out.
    pub by_extension: Vec<NamedDiskUsage>,
    /// By process, most service time first; read-ahead left out.
    pub by_process: Vec<ProcessDiskUsage>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}
