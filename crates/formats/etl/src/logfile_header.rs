//! The logfile header, the first record of a file (hook 0x0000, `TRACE_LOGFILE_HEADER`). It describes the recorder, the
//! machine and the clock.

use crate::Error;
use crate::layout::{u16_at, u32_at, u64_at};

/// Size of a buffer header in bytes. The logfile header record follows the first one.
pub(crate) const BUFFER_HEADER_SIZE: usize = 0x48;
const SYSTEM_HEADER_SIZE: usize = 0x20;
/// Payload sizes in bytes, without the names that follow.
const FIXED_SIZE_32: usize = 0x110;
const FIXED_SIZE_64: usize = 0x118;

/// Bits of [`LogfileHeader::log_file_mode`] (`EVENT_TRACE_..._MODE` in `evntrace.h`).
pub mod log_file_mode {
    /// Buffers are written one after the other until the session ends.
    pub const SEQUENTIAL: u32 = 0x1;
    /// A ring: the oldest buffers are overwritten.
    pub const CIRCULAR: u32 = 0x2;
    /// Several sessions, one after the other.
    pub const APPEND: u32 = 0x4;
    /// A new file is started whenever the current one is full.
    pub const NEW_FILE: u32 = 0x8;
    /// The file was created at its maximum size.
    pub const PREALLOCATE: u32 = 0x20;
    /// A ring in memory, written on demand.
    pub const BUFFERING: u32 = 0x400;
    /// A process logs its own events.
    pub const PRIVATE_LOGGER: u32 = 0x800;
    /// Written from other files (merged).
    pub const RELOG: u32 = 0x1_0000;
    /// The session may record kernel events.
    pub const SYSTEM_LOGGER: u32 = 0x200_0000;
    pub const COMPRESSED: u32 = 0x400_0000;
    /// All processors log into the same buffers.
    pub const NO_PER_PROCESSOR_BUFFERING: u32 = 0x1000_0000;
}

/// Time zone of the recorded machine (`TIME_ZONE_INFORMATION`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeZone {
    /// Minutes to add to local time to get UTC.
    pub bias_minutes: i32,
    /// Name outside daylight saving time; may be a resource reference such as `@tzres.dll,-212`.
    pub standard_name: String,
    /// Minutes to add to `bias_minutes` outside daylight saving time.
    pub standard_bias_minutes: i32,
    /// Name in daylight saving time.
    pub daylight_name: String,
    /// Minutes to add to `bias_minutes` in daylight saving time.
    pub daylight_bias_minutes: i32,
}

/// The recorder's description of the file, the machine and the clock. Times are FILETIMEs: 100 ns units since
/// 1601-01-01 UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogfileHeader {
    /// Size of the recorder's buffers in bytes, before compression.
    pub buffer_size: u32,
    /// Windows version, e.g. (10, 0).
    pub os_version: (u8, u8),
    /// Version of the log's layout: 1.4 Vista, 1.5 Windows 7 and later, 2.0 compressed, large buffers or many
    /// processors.
    pub layout_version: (u8, u8),
    /// Windows build number.
    pub os_build: u32,
    /// Number of processors; 1 if all of them share buffers.
    pub processors: u32,
    /// When the recording stopped; 0 if it was never finished.
    pub end_time: u64,
    /// System timer interval, in units of 100 ns.
    pub timer_resolution: u32,
    /// Size limit of the file in MB (in KB with mode 0x2000); 0 means no limit.
    pub maximum_file_size: u32,
    /// Bits of [`log_file_mode`].
    pub log_file_mode: u32,
    /// Number of buffers written; 0 or 1 in unfinished files.
    pub buffers_written: u32,
    /// Pointer size of the recorded machine, as seen by the program that started the recording: 4 or 8 bytes.
    pub pointer_size: u32,
    /// Lost events, as counted at the end.
    pub events_lost: u32,
    /// Lost buffers, as counted at the end.
    pub buffers_lost: u32,
    /// Nominal CPU speed in MHz.
    pub cpu_speed_mhz: u32,
    pub time_zone: TimeZone,
    /// When the machine booted. Current Windows rounds it to 0.5 s and moves it when the clock is adjusted.
    pub boot_time: u64,
    /// Frequency of the performance counter in Hz.
    pub perf_freq: u64,
    /// When the recording started: UTC of `start_ticks`.
    pub start_time: u64,
    /// Clock type: 1 performance counter, 2 system time, 3 CPU cycles.
    pub clock_type: u32,
    /// Timestamp of the header record, in ticks of the log's clock.
    pub start_ticks: u64,
    /// Name of the recording session.
    pub logger_name: String,
    /// Path under which the file was written.
    pub log_file_name: String,
}

impl LogfileHeader {
    /// Reads the header from a file's first buffer.
    pub(crate) fn read(file: &str, bytes: &[u8]) -> Result<LogfileHeader, Error> {
        let (record, fixed_size, start_ticks) = Self::split_record(file, bytes)?;
        let fields = Self::fields(record.get(SYSTEM_HEADER_SIZE..).unwrap_or_default(), fixed_size, start_ticks);
        fields.ok_or_else(|| Error::Truncated {
            file: file.to_owned(),
            offset: BUFFER_HEADER_SIZE as u64,
            structure: "logfile header",
            needed: SYSTEM_HEADER_SIZE + fixed_size,
            available: record.len(),
        })
    }

    /// Returns the header record. The names at its end may be truncated.
    pub(crate) fn record<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b [u8], Error> {
        Self::split_record(file, bytes).map(|(record, ..)| record)
    }

    /// Returns the record, the size of its payload without the names, and its timestamp.
    fn split_record<'b>(file: &str, bytes: &'b [u8]) -> Result<(&'b [u8], usize, u64), Error> {
        let record = bytes.get(BUFFER_HEADER_SIZE..).unwrap_or_default();
        let not_an_etl = |reason: String| Error::NotAnEventTraceLog {
            file: file.to_owned(),
            offset: BUFFER_HEADER_SIZE as u64,
            reason,
        };
        let truncated = |needed: usize| Error::Truncated {
            file: file.to_owned(),
            offset: BUFFER_HEADER_SIZE as u64,
            structure: "logfile header",
            needed,
            available: record.len(),
        };
        let marker = u32_at(record, 0).ok_or_else(|| truncated(SYSTEM_HEADER_SIZE + FIXED_SIZE_32))?;
        let fixed_size = match marker >> 16 {
            0xC001 => FIXED_SIZE_32,
            0xC002 => FIXED_SIZE_64,
            _ => {
                return Err(not_an_etl(format!(
                    "the first record must be a logfile header, but its marker is {marker:#010x}"
                )));
            }
        };
        let needed = SYSTEM_HEADER_SIZE + fixed_size;
        let hook = u16_at(record, 6).ok_or_else(|| truncated(needed))?;
        if hook != 0 {
            return Err(not_an_etl(format!(
                "the first record must be a logfile header (hook 0x0000), but its hook is {hook:#06x}"
            )));
        }
        let size = usize::from(u16_at(record, 4).ok_or_else(|| truncated(needed))?);
        if size < needed {
            return Err(not_an_etl(format!("the logfile header must be at least {needed} bytes, but declares {size}")));
        }
        // A truncated file may end inside the names, but not inside the fixed part.
        let record = record.get(..size).unwrap_or(record);
        let start_ticks = u64_at(record, 0x10).ok_or_else(|| truncated(needed))?;
        Ok((record, fixed_size, start_ticks))
    }

    fn fields(payload: &[u8], fixed_size: usize, start_ticks: u64) -> Option<LogfileHeader> {
        let fixed = payload.get(..fixed_size)?;
        let byte = |offset: usize| fixed.get(offset).copied();
        // Two pointer-sized slots precede the time zone; the zone and its padding are 0xB0 bytes.
        let zone_offset = if fixed_size == FIXED_SIZE_64 { 0x48 } else { 0x40 };
        let times_offset = zone_offset + 0xB0;
        let names = payload.get(fixed_size..)?;
        let (logger_name, names_after_logger) = utf16_until_nul(names);
        let (log_file_name, _) = utf16_until_nul(names_after_logger);
        let signed = |offset: usize| u32_at(fixed, offset).map(u32::cast_signed);
        Some(LogfileHeader {
            buffer_size: u32_at(fixed, 0x00)?,
            os_version: (byte(4)?, byte(5)?),
            layout_version: (byte(6)?, byte(7)?),
            os_build: u32_at(fixed, 0x08)?,
            processors: u32_at(fixed, 0x0C)?,
            end_time: u64_at(fixed, 0x10)?,
            timer_resolution: u32_at(fixed, 0x18)?,
            maximum_file_size: u32_at(fixed, 0x1C)?,
            log_file_mode: u32_at(fixed, 0x20)?,
            buffers_written: u32_at(fixed, 0x24)?,
            pointer_size: u32_at(fixed, 0x2C)?,
            events_lost: u32_at(fixed, 0x30)?,
            cpu_speed_mhz: u32_at(fixed, 0x34)?,
            time_zone: TimeZone {
                bias_minutes: signed(zone_offset)?,
                standard_name: utf16_until_nul(fixed.get(zone_offset + 0x04..zone_offset + 0x44)?).0,
                standard_bias_minutes: signed(zone_offset + 0x54)?,
                daylight_name: utf16_until_nul(fixed.get(zone_offset + 0x58..zone_offset + 0x98)?).0,
                daylight_bias_minutes: signed(zone_offset + 0xA8)?,
            },
            boot_time: u64_at(fixed, times_offset)?,
            perf_freq: u64_at(fixed, times_offset + 0x08)?,
            start_time: u64_at(fixed, times_offset + 0x10)?,
            clock_type: u32_at(fixed, times_offset + 0x18)?,
            buffers_lost: u32_at(fixed, times_offset + 0x1C)?,
            start_ticks,
            logger_name,
            log_file_name,
        })
    }

    /// True if the recorder closed the file.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.end_time != 0
    }

    /// True if any of the given bits of [`log_file_mode`] is set.
    #[must_use]
    pub fn has_mode(&self, bits: u32) -> bool {
        self.log_file_mode & bits != 0
    }
}

/// New values for some fields of a header.
#[derive(Debug, Clone)]
pub(crate) struct HeaderOverrides {
    pub buffer_size: u32,
    pub layout_version: (u8, u8),
    pub processors: u32,
    pub end_time: u64,
    pub log_file_mode: u32,
    pub buffers_written: u32,
    pub events_lost: u32,
    pub buffers_lost: u32,
    pub logger_name: &'static str,
    pub log_file_name: &'static str,
}

impl HeaderOverrides {
    /// Returns a copy of the header record `record` with these values.
    pub(crate) fn apply(&self, record: &[u8]) -> Vec<u8> {
        let is_wide = u32_at(record, 0).is_some_and(|marker| marker >> 16 == 0xC002);
        let (fixed_size, times_offset) = if is_wide { (FIXED_SIZE_64, 0xF8) } else { (FIXED_SIZE_32, 0xF0) };
        let mut bytes = record.to_vec();
        bytes.resize(SYSTEM_HEADER_SIZE + fixed_size, 0);
        let mut put = |offset: usize, value: &[u8]| {
            let start = SYSTEM_HEADER_SIZE + offset;
            if let Some(target) = bytes.get_mut(start..start + value.len()) {
                target.copy_from_slice(value);
            }
        };
        put(0x00, &self.buffer_size.to_le_bytes());
        put(0x06, &[self.layout_version.0, self.layout_version.1]);
        put(0x0C, &self.processors.to_le_bytes());
        put(0x10, &self.end_time.to_le_bytes());
        // No size limit.
        put(0x1C, &0u32.to_le_bytes());
        put(0x20, &self.log_file_mode.to_le_bytes());
        put(0x24, &self.buffers_written.to_le_bytes());
        put(0x30, &self.events_lost.to_le_bytes());
        put(times_offset + 0x1C, &self.buffers_lost.to_le_bytes());
        for name in [self.logger_name, self.log_file_name] {
            bytes.extend(name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        }
        let size = (bytes.len() as u16).to_le_bytes();
        if let Some(target) = bytes.get_mut(4..6) {
            target.copy_from_slice(&size);
        }
        bytes
    }
}

/// Splits `bytes` into the text up to the first NUL (or the end) and the bytes after the NUL.
fn utf16_until_nul(bytes: &[u8]) -> (String, &[u8]) {
    let (units, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|&unit| u16::from_le_bytes(unit)).take_while(|&unit| unit != 0).collect();
    let remaining = bytes.get(2 * (units.len() + 1)..).unwrap_or_default();
    (String::from_utf16_lossy(&units), remaining)
}
