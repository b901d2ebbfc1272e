//! Disk requests, file names, hard faults.

use crate::assemble::{Payload, Record};

/// I/O priority in a request's flags (bits 17 to 19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoPriority {
    VeryLow,
    Low,
    #[default]
    Normal,
    High,
    /// Paging.
    Critical,
}

impl IoPriority {
    /// The idle metric ignores this priority.
    #[must_use]
    pub const fn is_low(self) -> bool {
        matches!(self, Self::VeryLow | Self::Low)
    }

    const fn flags(self) -> u32 {
        (match self {
            Self::VeryLow => 1,
            Self::Low => 2,
            Self::Normal => 3,
            Self::High => 4,
            Self::Critical => 5,
        }) << 17
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    /// Flushes the disk's cache.
    Flush,
}

/// A disk request.
#[derive(Clone, Copy, Debug)]
pub struct DiskRequest {
    pub disk: u32,
    pub operation: Operation,
    pub size: u32,
    /// Disk offset, bytes.
    pub offset: u64,
    /// File key; 0 for unknown, as in prefetcher requests.
    pub file: u64,
    pub irp: u64,
    pub priority: IoPriority,
    pub thread: u32,
}

impl DiskRequest {
    /// Returns the completion record (version 3); `duration` is in ticks since the issue.
    #[must_use]
    pub fn complete(&self, ticks: u64, duration: u64) -> Record<'static> {
        // IRP_NOCACHE and IRP_SYNCHRONOUS_PAGING_IO, then the read or write bit.
        let flags = self.priority.flags() | 0x5;
        let payload = Payload::wide().u32(self.disk);
        let (hook, payload) = match self.operation {
            Operation::Flush => (0x010E, payload.u32(flags).u64(duration).pointer(self.irp).u32(self.thread)),
            operation => {
                let (hook, bit) = if operation == Operation::Read { (0x010A, 0x100) } else { (0x010B, 0x200) };
                let payload = payload
                    .u32(flags | bit)
                    .u32(self.size)
                    .u32(0)
                    .u64(self.offset)
                    .pointer(self.file)
                    .pointer(self.irp)
                    .u64(duration)
                    .u32(self.thread);
                (hook, payload)
            }
        };
        Record::perfinfo(hook, 3, ticks, payload)
    }

    /// Returns the issue record (version 3).
    #[must_use]
    pub fn issue(&self, ticks: u64) -> Record<'static> {
        let hook = match self.operation {
            Operation::Read => 0x010C,
            Operation::Write => 0x010D,
            Operation::Flush => 0x010F,
        };
        Record::perfinfo(hook, 3, ticks, Payload::wide().pointer(self.irp).u32(self.thread))
    }
}

/// A file is opened (hook 0x0440, version 3).
#[must_use]
pub fn file_open(ticks: u64, packet: u64, thread: u32, path: &str) -> Record<'static> {
    /// `FILE_OPEN` with `FILE_SYNCHRONOUS_IO_NONALERT`.
    const OPTIONS: u32 = 0x0100_0020;
    let payload = Payload::wide()
        .pointer(packet)
        .pointer(packet ^ 0x80_0000_0000)
        .u32(thread)
        .u32(OPTIONS)
        .u32(0x80)
        .u32(7)
        .text(path);
    Record::perfinfo(0x0440, 3, ticks, payload)
}

/// A file operation completes successfully (hook 0x044C, version 3).
#[must_use]
pub fn file_operation_end(ticks: u64, packet: u64) -> Record<'static> {
    let payload = Payload::wide().pointer(packet).pointer(1).u32(0);
    Record::perfinfo(0x044C, 3, ticks, payload)
}

/// A file name, of a new file (hook 0x0420) or from the rundown (0x0424), version 2.
#[must_use]
pub fn file_name(rundown: bool, ticks: u64, thread: u32, process: u32, file: u64, path: &str) -> Record<'static> {
    let hook = if rundown { 0x0424 } else { 0x0420 };
    Record::system(hook, 2, ticks, thread, process, Payload::wide().pointer(file).text(path))
}

/// A hard fault from `start_ticks` until now (hook 0x0220, version 2).
#[must_use]
pub fn hard_fault(ticks: u64, start_ticks: u64, file: u64, offset: u64, size: u32, thread: u32) -> Record<'static> {
    let payload = Payload::wide()
        .u64(start_ticks)
        .u64(offset)
        .pointer(0x7FF8_0000_0000 + offset)
        .pointer(file)
        .u32(thread)
        .u32(size);
    Record::perfinfo(0x0220, 2, ticks, payload)
}
