//! Settings and counters of a session, as stored in the logfile header.
//!
//! Layout of the header: reference "ETL format", section 3.1.

use super::payload::{Payload, PointerSize};
use super::record::Record;
use crate::compress::Compression;

/// Clock of the timestamps (the logfile header's `ReservedFlags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// Performance counter ticks at `perf_freq` per second.
    Qpc,
    /// `FILETIME`, 100 ns units.
    SystemTime,
    /// CPU cycles at `cpu_mhz` million per second.
    CpuCycles,
}

/// Encoding of the processor number in a buffer header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorField {
    /// A byte next to the alignment byte (Windows Vista, 7, private loggers).
    Byte,
    /// 16-bit index, marked by buffer flag 0x0020 (Windows 8 and later).
    Index,
}

/// `LogFileMode` bits.
pub mod mode {
    /// Sequential file.
    pub const SEQUENTIAL: u32 = 0x1;
    /// Ring of buffers after the header buffer.
    pub const CIRCULAR: u32 = 0x2;
    /// A session appended to an older one.
    pub const APPEND: u32 = 0x4;
    /// File preallocated at its full size.
    pub const PREALLOCATE: u32 = 0x20;
    /// Compressed buffers.
    pub const COMPRESSED: u32 = 0x0400_0000;
    /// A single stream for all processors.
    pub const NO_PER_PROCESSOR_BUFFERING: u32 = 0x1000_0000;
}

/// Settings and counters of one recording session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Size of an uncompressed buffer including its header, bytes.
    pub buffer_size: u32,
    /// Size of the header buffer, bytes; merge tools write smaller ones (0x200, 0x400).
    pub header_buffer_size: u32,
    pub os: (u8, u8),
    /// Log layout: 1.4 for Vista, 1.5 for Windows 7 and later, 2.0 if compressed or above 256 CPUs.
    pub layout: (u8, u8),
    pub build: u32,
    pub processors: u32,
    /// Pointer size of the controller, used in the logfile header.
    pub pointer_size: PointerSize,
    /// `LogFileMode` without the compression bit, see [`mode`].
    pub mode: u32,
    pub clock: ClockKind,
    /// Performance counter ticks per second.
    pub perf_freq: u64,
    /// Processor speed, MHz.
    pub cpu_mhz: u32,
    /// Clock interrupt interval, 100 ns units.
    pub timer_resolution: u32,
    /// Timestamp of the logfile header record, in the session's clock.
    pub start_ticks: u64,
    /// Boot time, `FILETIME`.
    pub boot_time: u64,
    /// Start of the session, `FILETIME`.
    pub start_time: u64,
    /// End of the session, `FILETIME`; 0 after a power loss.
    pub end_time: u64,
    /// Events the recorder could not store.
    pub events_lost: u32,
    /// Buffers the recorder could not write.
    pub buffers_lost: u32,
    /// Minutes added to local time to get UTC.
    pub bias_minutes: i32,
    pub logger_name: String,
    /// Name of the log file.
    pub file_name: String,
    pub processor_field: ProcessorField,
    pub compression: Option<Compression>,
    /// Thread that wrote the logfile header.
    pub header_thread: u32,
    /// Process that wrote the logfile header.
    pub header_process: u32,
    /// Encoded records that follow the logfile header in the header buffer.
    pub header_records: Vec<Vec<u8>>,
}

/// 2024-01-09 08:00:00 UTC as `FILETIME`.
const EXAMPLE_TIME: u64 = 133_492_608_000_000_000;

impl Session {
    /// Creates a 64-bit Windows 10 kernel logger: 64 KiB buffers, QPC at 10 MHz.
    #[must_use]
    pub fn windows_10(processors: u32) -> Self {
        Self {
            buffer_size: 0x1_0000,
            header_buffer_size: 0x1_0000,
            os: (10, 0),
            layout: (1, 5),
            build: 19045,
            processors,
            pointer_size: PointerSize::Eight,
            mode: mode::SEQUENTIAL,
            clock: ClockKind::Qpc,
            perf_freq: 10_000_000,
            cpu_mhz: 2400,
            timer_resolution: 156_250,
            start_ticks: 6_370_000,
            boot_time: EXAMPLE_TIME,
            start_time: EXAMPLE_TIME + 6_370_000,
            end_time: EXAMPLE_TIME + 1_200_000_000,
            events_lost: 0,
            buffers_lost: 0,
            bias_minutes: -60,
            logger_name: "NT Kernel Logger".to_owned(),
            file_name: "C:\\trace.etl".to_owned(),
            processor_field: ProcessorField::Index,
            compression: None,
            header_thread: 4,
            header_process: 4,
            header_records: Vec::new(),
        }
    }

    /// Creates a 32-bit Windows 7 logger: processor bytes, and a QPC frequency that is not a power of 10.
    #[must_use]
    pub fn windows_7_x86(processors: u32) -> Self {
        Self {
            os: (6, 1),
            build: 7601,
            pointer_size: PointerSize::Four,
            perf_freq: 2_341_025,
            processor_field: ProcessorField::Byte,
            ..Self::windows_10(processors)
        }
    }

    /// Compresses the buffers and sets the layout version that requires.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self.layout = (2, 0);
        self
    }

    /// Returns `LogFileMode` as stored in the header.
    #[must_use]
    pub fn log_file_mode(&self) -> u32 {
        if self.compression.is_some() { self.mode | mode::COMPRESSED } else { self.mode }
    }

    /// Returns the logfile header record (hook 0x0000).
    #[must_use]
    pub fn header_record(&self, buffers_written: u32) -> Record<'static> {
        let clock = match self.clock {
            ClockKind::Qpc => 1,
            ClockKind::SystemTime => 2,
            ClockKind::CpuCycles => 3,
        };
        let payload = Payload::new(self.pointer_size)
            .u32(self.buffer_size)
            .bytes(&[self.os.0, self.os.1, self.layout.0, self.layout.1])
            .u32(self.build)
            .u32(self.processors)
            .u64(self.end_time)
            .u32(self.timer_resolution)
            .u32(0)
            .u32(self.log_file_mode())
            .u32(buffers_written)
            .u32(1)
            .u32(self.pointer_size.bytes() as u32)
            .u32(self.events_lost)
            .u32(self.cpu_mhz)
            .pointer(0)
            .pointer(1)
            .i32(self.bias_minutes)
            .fixed_text("@tzres.dll,-322", 32)
            .bytes(&[0; 16])
            .i32(0)
            .fixed_text("@tzres.dll,-321", 32)
            .bytes(&[0; 16])
            .i32(-60)
            .u32(0)
            .u64(self.boot_time)
            .u64(self.perf_freq)
            .u64(self.start_time)
            .u32(clock)
            .u32(self.buffers_lost)
            .text(&self.logger_name)
            .text(&self.file_name);
        Record::system(0, 2, self.start_ticks, self.header_thread, self.header_process, payload)
    }
}
