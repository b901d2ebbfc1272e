//! Disks and files.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// A disk operation.
    pub enum DiskOperation {
        /// Read.
        Read = "read",
        /// Write.
        Write = "write",
        /// Flush of the device's cache.
        Flush = "flush",
    }
}

codes! {
    /// Priority of an I/O request.
    pub enum IoPriority {
        /// Not recorded.
        Unknown = "unknown",
        /// Background work such as defragmentation.
        VeryLow = "very_low",
        /// Low.
        Low = "low",
        /// Normal.
        Normal = "normal",
        /// High.
        High = "high",
        /// Critical: paging.
        Critical = "critical",
    }
}

impl IoPriority {
    /// Whether the idle metric leaves the work out: very low and low.
    #[must_use]
    pub const fn is_low(self) -> bool {
        matches!(self, Self::VeryLow | Self::Low)
    }
}

table! {
    /// A request that reached a disk.
    DiskIos of DiskIo {
        /// When it was issued, ns; `None` when only its completion was recorded and its response time was not.
        issue_ns: Option<i64> as Start,
        /// When it completed, ns.
        complete_ns: i64 as End,
        /// Disk number.
        disk: u32,
        /// What was done.
        operation: DiskOperation,
        /// First byte on the disk.
        offset: u64 as Bytes,
        /// Bytes.
        size: u64 as Bytes,
        /// Priority.
        priority: IoPriority,
        /// Time the disk itself worked on it, ns: from the completion before, or the issue if later, to its completion.
        service_ns: i64 as Duration,
        /// Process that issued it.
        pid: Option<u32> as Process,
        /// Thread that issued it.
        tid: Option<u32> as Thread,
        /// File, when names were recorded.
        file: StringId,
        /// File key or object as recorded.
        file_object: u64,
        /// Request packet as recorded.
        irp: u64,
        /// Request flags as recorded.
        irp_flags: u32,
    }
}

impl DiskIo {
    /// The only bit of `irp_flags` on Linux: the kernel read this before anybody needed it. Its traces write flags as
    /// letters (`rwbs`), not as bits; this one is `A`.
    ///
    /// Source: the kernel's `blk_fill_rwbs`, which writes `A` for `REQ_RAHEAD`.
    pub const LINUX_READ_AHEAD: u32 = 1;
}

codes! {
    /// A file operation.
    pub enum FileOperation {
        /// Create or open.
        Create = "create",
        /// Last handle closed.
        Cleanup = "cleanup",
        /// Last reference dropped.
        Close = "close",
        /// Read.
        Read = "read",
        /// Write.
        Write = "write",
        /// Flush.
        Flush = "flush",
        /// Query information.
        QueryInformation = "query_information",
        /// Set information.
        SetInformation = "set_information",
        /// Delete.
        Delete = "delete",
        /// Rename.
        Rename = "rename",
        /// Directory enumeration.
        DirectoryEnumeration = "directory_enumeration",
        /// Directory change notification.
        DirectoryNotification = "directory_notification",
        /// File-system control.
        FileSystemControl = "file_system_control",
        /// Mapping into memory.
        Map = "map",
    }
}

codes! {
    /// Who made a request.
    pub enum IoLevel {
        /// A program.
        Application = "application",
        /// The memory manager or the cache, for missing or changed pages.
        Paging = "paging",
        /// The block layer: it reached a disk.
        Device = "device",
    }
}

table! {
    /// A file operation as a program requested it.
    FileIos of FileIo {
        /// Begin, ns.
        start_ns: i64 as Start,
        /// End, ns; `None` when its completion was not recorded.
        end_ns: Option<i64> as End,
        /// Operation.
        operation: FileOperation,
        /// Process id.
        pid: Option<u32> as Process,
        /// Thread id.
        tid: Option<u32> as Thread,
        /// File.
        file: StringId,
        /// Offset in the file.
        offset: u64 as Bytes,
        /// Bytes requested.
        size: u64 as Bytes,
        /// Who made the request.
        level: IoLevel,
        /// Whether it passed the cache by.
        unbuffered: bool,
        /// Result status: an `NTSTATUS`, whatever the system.
        status: Option<u32>,
        /// Request packet as recorded.
        irp: u64,
        /// File object as recorded.
        file_object: u64,
    }
}

table! {
    /// A page that had to be read from a file.
    HardFaults of HardFault {
        /// Begin, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
        /// Process id.
        pid: Option<u32> as Process,
        /// Thread id.
        tid: u32 as Thread,
        /// File.
        file: StringId,
        /// File object or key as recorded.
        file_object: u64,
        /// Offset in the file.
        offset: u64 as Bytes,
        /// Bytes read.
        size: u64 as Bytes,
        /// Faulting address.
        address: u64 as Address,
    }
}
