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
        /// Background work, such as defragmentation.
        VeryLow = "very_low",
        /// Low.
        Low = "low",
        /// Normal.
        Normal = "normal",
        /// High.
        High = "high",
        /// Critical (paging).
        Critical = "critical",
    }
}

impl IoPriority {
    /// True for very low and low priority, which the idle metric ignores.
    #[must_use]
    pub const fn is_low(self) -> bool {
        matches!(self, Self::VeryLow | Self::Low)
    }
}

table! {
    /// A disk request.
    DiskIos of DiskIo {
        /// Issue, ns; `None` when only the completion was recorded, without a response time.
        issue_ns: Option<i64> as Start,
        /// Completion, ns.
        complete_ns: i64 as End,
        /// Disk number.
        disk: u32,
        /// Operation.
        operation: DiskOperation,
        /// Offset on the disk, bytes.
        offset: u64 as Bytes,
        /// Size, bytes.
        size: u64 as Bytes,
        /// Priority.
        priority: IoPriority,
        /// Service time, ns: from the previous completion, or the issue if later, to the completion.
        service_ns: i64 as Duration,
        /// Process that issued the request.
        pid: Option<u32> as Process,
        /// Thread that issued the request.
        tid: Option<u32> as Thread,
        /// File, where file names were recorded.
        file: StringId,
        /// File key or object, as recorded.
        file_object: u64,
        /// IRP, as recorded.
        irp: u64,
        /// IRP flags, as recorded.
        irp_flags: u32,
    }
}

impl DiskIo {
    /// The only bit of `irp_flags` used on Linux: the kernel issued this read ahead of demand. Linux traces write flags
    /// as letters (`rwbs`), not as bits; this one is `A`.
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
        /// Map into memory.
        Map = "map",
    }
}

codes! {
    /// Origin of a request.
    pub enum IoOrigin {
        /// A program.
        Application = "application",
        /// The memory manager or the cache, for missing or modified pages.
        Paging = "paging",
        /// The block layer: the request reached a disk.
        Device = "device",
    }
}

table! {
    /// A file operation, as requested by a program.
    FileIos of FileIo {
        /// Start, ns.
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
        /// Origin of the request.
        level: IoOrigin,
        /// True if the operation bypassed the cache.
        unbuffered: bool,
        /// Result status: an `NTSTATUS` on every system.
        status: Option<u32>,
        /// IRP, as recorded.
        irp: u64,
        /// File object, as recorded.
        file_object: u64,
    }
}

table! {
    /// A hard fault: a page that had to be read from a file.
    HardFaults of HardFault {
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
        /// Process id.
        pid: Option<u32> as Process,
        /// Thread id.
        tid: u32 as Thread,
        /// File.
        file: StringId,
        /// File object or key, as recorded.
        file_object: u64,
        /// Offset in the file.
        offset: u64 as Bytes,
        /// Bytes read.
        size: u64 as Bytes,
        /// Faulting address.
        address: u64 as Address,
    }
}
