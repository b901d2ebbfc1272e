//! Decides which logs are parts of one recording.

use crate::file::{Input, first_buffer};
use crate::logfile_header::log_file_mode;
use crate::{Clock, ClockKind, Error, LogfileHeader};

/// Earlier Windows versions read the system time once per timer tick (15.6 ms) instead of every 100 ns.
const FIRST_PRECISE_VERSION: (u8, u8) = (6, 2);
/// Maximum difference between the counter zeros computed from two headers of one boot, in units of 100 ns: 1 ms. Two
/// sessions of a real boot that started 0.2 s apart differ by 4.8 µs.
const ZERO_TOLERANCE: u128 = 10_000;
/// Inverse of the maximum drift between system time and counter: less than one part in 1,000.
const MAX_SLEW: u128 = 1_000;
/// Upper limit of the tolerance with drift, in units of 100 ns: 1 s.
const MAX_ZERO_TOLERANCE: u128 = 10_000_000;
/// Windows rounds the boot time to 0.5 s, and the headers of one boot may round differently. Unit: 100 ns.
const BOOT_TIME_ROUNDING: u64 = 5_000_000;
/// Maximum gap between two consecutive files of one session, in units of 100 ns.
const MAX_FILE_GAP: u64 = 10 * 10_000_000;

impl LogfileHeader {
    /// Reads the header from the first bytes of a log, which must include the header buffer.
    ///
    /// # Errors
    /// The bytes are not the start of an Event Trace Log.
    pub fn from_prefix(input: &Input<'_>) -> Result<LogfileHeader, Error> {
        first_buffer(input)?;
        LogfileHeader::read(input.name, input.bytes)
    }

    /// True if the logs of both headers were recorded together: on one computer, in one boot, by sessions
    /// that overlap or by one session that continued in another file. Overlapping sessions with the same name must come
    /// from two computers, because Windows does not allow two sessions with the same name.
    #[must_use]
    pub fn is_same_recording(&self, other: &LogfileHeader) -> bool {
        if !self.is_same_machine(other) || !self.is_same_boot(other) {
            return false;
        }
        let (first, second) = if self.start_time <= other.start_time { (self, other) } else { (other, self) };
        let overlap = first.end_time == 0 || second.start_time < first.end_time;
        if self.logger_name.eq_ignore_ascii_case(&other.logger_name) && !self.logger_name.is_empty() {
            return !overlap && second.start_time - first.end_time <= MAX_FILE_GAP;
        }
        overlap
    }

    /// Returns the boot time, in units of 100 ns. Logs of one boot differ by at most
    /// [`LogfileHeader::MAX_BOOT_TIME_DIFFERENCE`].
    #[must_use]
    pub fn boot_filetime(&self) -> u64 {
        self.boot_time
    }

    /// Maximum difference between the boot times of two logs of one boot, in units of 100 ns.
    pub const MAX_BOOT_TIME_DIFFERENCE: u64 = BOOT_TIME_ROUNDING;

    fn is_same_machine(&self, other: &LogfileHeader) -> bool {
        let machine_key = |header: &LogfileHeader| {
            let bias_minutes = header.time_zone.bias_minutes;
            (header.os_build, header.os_version, header.perf_freq, header.cpu_speed_mhz, bias_minutes)
        };
        // A session whose processors share buffers reports 1 processor.
        let has_per_processor_buffers =
            |header: &LogfileHeader| header.log_file_mode & log_file_mode::NO_PER_PROCESSOR_BUFFERING == 0;
        let processors_differ =
            has_per_processor_buffers(self) && has_per_processor_buffers(other) && self.processors != other.processors;
        machine_key(self) == machine_key(other) && !processors_differ
    }

    fn is_same_boot(&self, other: &LogfileHeader) -> bool {
        if self.boot_time.abs_diff(other.boot_time) > BOOT_TIME_ROUNDING {
            return false;
        }
        let [(clock, _), (other_clock, _)] = [self, other].map(Clock::from_header);
        let is_counter = |clock: &Clock| clock.kind() == ClockKind::PerformanceCounter;
        if !is_counter(&clock) || !is_counter(&other_clock) {
            return true;
        }
        let clock_resolution = if self.os_version < FIRST_PRECISE_VERSION {
            u128::from(self.timer_resolution.max(other.timer_resolution))
        } else {
            0
        };
        let slew = u128::from(self.start_time.abs_diff(other.start_time)) / MAX_SLEW;
        let tolerance = (clock_resolution + ZERO_TOLERANCE + slew).min(MAX_ZERO_TOLERANCE);
        clock.zero_filetime().abs_diff(other_clock.zero_filetime()) <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 10_000_000;
    const NOON: u64 = 133_500_000_000_000_000;

    /// Builds a log of a computer booted at noon.
    fn log(name: &str, start_s: u64, end_s: u64) -> LogfileHeader {
        LogfileHeader {
            logger_name: name.to_owned(),
            os_build: 19045,
            perf_freq: SECOND,
            clock_type: 1,
            boot_time: NOON,
            start_time: NOON + start_s * SECOND,
            start_ticks: start_s * SECOND,
            end_time: if end_s == 0 { 0 } else { NOON + end_s * SECOND },
            ..LogfileHeader::default()
        }
    }

    #[test]
    fn overlapping_sessions_are_one_recording() {
        assert!(log("NT Kernel Logger", 5, 60).is_same_recording(&log("UserTrace", 6, 61)));
        // An unfinished log may have run as long as the other.
        assert!(log("NT Kernel Logger", 5, 0).is_same_recording(&log("UserTrace", 30, 61)));
        // No overlap.
        assert!(!log("NT Kernel Logger", 5, 60).is_same_recording(&log("UserTrace", 100, 120)));
    }

    #[test]
    fn session_continues_in_next_file() {
        assert!(log("Session", 5, 60).is_same_recording(&log("Session", 60, 90)));
        assert!(log("Session", 60, 90).is_same_recording(&log("Session", 5, 60)));
        assert!(!log("Session", 5, 60).is_same_recording(&log("Session", 100, 120)));
    }

    #[test]
    fn two_computers_are_two_recordings() {
        // Started from one image in the same second, and recorded at the same time by sessions of the same name.
        assert!(!log("WPR", 5, 60).is_same_recording(&log("WPR", 5, 60)));
        let mut other_boot = log("UserTrace", 6, 61);
        other_boot.start_ticks += 30 * SECOND;
        assert!(!log("NT Kernel Logger", 5, 60).is_same_recording(&other_boot), "booted at another time");
        let mut other_build = log("UserTrace", 6, 61);
        other_build.os_build = 26100;
        assert!(!log("NT Kernel Logger", 5, 60).is_same_recording(&other_build), "another build");
    }

    #[test]
    fn simultaneous_starts_are_two_recordings() {
        let kernel = log("NT Kernel Logger", 5, 60);
        let shifted = |ticks: u64| LogfileHeader { start_ticks: 6 * SECOND + ticks, ..log("UserTrace", 6, 61) };
        // The zeros of the counter differ by 0.4 s: another boot of the same image.
        assert!(!kernel.is_same_recording(&shifted(4_000_000)));
        // A difference of 4.8 µs, as between the two sessions of a real recording.
        assert!(kernel.is_same_recording(&shifted(48)));
        for user in [
            LogfileHeader { processors: 8, ..log("UserTrace", 6, 61) },
            LogfileHeader { cpu_speed_mhz: 3000, ..log("UserTrace", 6, 61) },
            LogfileHeader { boot_time: NOON + SECOND, ..log("UserTrace", 6, 61) },
        ] {
            assert!(!kernel.is_same_recording(&user), "{user:?}");
        }
        // Shared buffers: the number of processors is unknown.
        let mode = log_file_mode::NO_PER_PROCESSOR_BUFFERING;
        assert!(kernel.is_same_recording(&LogfileHeader {
            processors: 1,
            log_file_mode: mode,
            ..log("UserTrace", 6, 61)
        }));
    }

    #[test]
    fn tolerates_clock_drift_between_session_starts() {
        // Starts 100 s apart, drift of 400 ppm: 40 ms.
        let late = LogfileHeader { start_ticks: 105 * SECOND + 400_000, ..log("UserTrace", 105, 161) };
        assert!(log("NT Kernel Logger", 5, 160).is_same_recording(&late));
        assert!(
            !log("NT Kernel Logger", 5, 160)
                .is_same_recording(&LogfileHeader { start_ticks: 105 * SECOND + 3_000_000, ..late })
        );
    }
}
