//! Which logs are parts of one recording.

use crate::file::{Input, first_buffer};
use crate::logfile_header::log_file_mode;
use crate::{Clock, ClockKind, Error, LogfileHeader};

/// Windows before 8 reads the system time once per timer tick, 15.6 ms; later versions to 100 ns.
const FIRST_PRECISE_VERSION: (u8, u8) = (6, 2);
/// How far the zeros of the counter, computed from two headers of one boot, may be apart, 100 ns: 1 ms. Two sessions of one real boot that were
/// started 0.2 s apart differ by 4.8 us.
const ZERO_TOLERANCE: u128 = 10_000;
/// The system time is slewed against the counter between two starts, by less than 1 in this.
const MAX_SLEW: u128 = 1_000;
/// A slewed clock is at most this far off, 100 ns: 1 s.
const MAX_ZERO_TOLERANCE: u128 = 10_000_000;
/// Windows rounds the boot time to 0.5 s; headers of one boot may fall on either side.
const BOOT_TIME_ROUNDING: u64 = 5_000_000;
/// A session that goes on in another file begins it at once, 100 ns.
const NEXT_FILE_FILETIME: u64 = 10 * 10_000_000;

impl LogfileHeader {
    /// The header of a log whose beginning, at least the header buffer, is at hand.
    ///
    /// # Errors
    /// Bytes that begin no Event Trace Log.
    pub fn of_beginning(input: &Input<'_>) -> Result<LogfileHeader, Error> {
        first_buffer(input)?;
        LogfileHeader::read(input.name, input.bytes)
    }

    /// Whether the logs that this header and `other` begin were recorded together: on one computer, in one boot, by sessions that ran
    /// side by side, or by one that went on in another file. One computer cannot run two sessions of a name at a time: such logs
    /// are of two.
    #[must_use]
    pub fn recorded_with(&self, other: &LogfileHeader) -> bool {
        if !self.same_machine(other) || !self.same_boot(other) {
            return false;
        }
        let (first, second) = if self.start_time <= other.start_time { (self, other) } else { (other, self) };
        let overlap = first.end_time == 0 || second.start_time < first.end_time;
        if self.logger_name.eq_ignore_ascii_case(&other.logger_name) && !self.logger_name.is_empty() {
            return !overlap && second.start_time - first.end_time <= NEXT_FILE_FILETIME;
        }
        overlap
    }

    /// Boot time, 100 ns: logs of one boot differ by no more than [`LogfileHeader::BOOT_TIMES_APART`].
    #[must_use]
    pub fn boot_filetime(&self) -> u64 {
        self.boot_time
    }

    /// The largest difference of the boot times of two logs of one boot, 100 ns.
    pub const BOOT_TIMES_APART: u64 = BOOT_TIME_ROUNDING;

    fn same_machine(&self, other: &LogfileHeader) -> bool {
        let machine = |header: &LogfileHeader| {
            let bias_minutes = header.time_zone.bias_minutes;
            (header.os_build, header.os_version, header.perf_freq, header.cpu_speed_mhz, bias_minutes)
        };
        // A session whose processors share buffers says 1.
        let per_processor =
            |header: &LogfileHeader| header.log_file_mode & log_file_mode::NO_PER_PROCESSOR_BUFFERING == 0;
        let processors_differ = per_processor(self) && per_processor(other) && self.processors != other.processors;
        machine(self) == machine(other) && !processors_differ
    }

    fn same_boot(&self, other: &LogfileHeader) -> bool {
        if self.boot_time.abs_diff(other.boot_time) > BOOT_TIME_ROUNDING {
            return false;
        }
        let [(mine, _), (others, _)] = [self, other].map(Clock::of);
        let counts = |clock: &Clock| clock.kind() == ClockKind::PerformanceCounter;
        if !counts(&mine) || !counts(&others) {
            return true;
        }
        let base = if self.os_version < FIRST_PRECISE_VERSION {
            u128::from(self.timer_resolution.max(other.timer_resolution))
        } else {
            0
        };
        let slew = u128::from(self.start_time.abs_diff(other.start_time)) / MAX_SLEW;
        let tolerance = (base + ZERO_TOLERANCE + slew).min(MAX_ZERO_TOLERANCE);
        mine.zero_filetime().abs_diff(others.zero_filetime()) <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 10_000_000;
    const NOON: u64 = 133_500_000_000_000_000;

    /// A log of a computer that was booted at noon.
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
    fn sessions_side_by_side_are_one_recording() {
        assert!(log("NT Kernel Logger", 5, 60).recorded_with(&log("UserTrace", 6, 61)));
        // One that was never finished may have run as long as the other.
        assert!(log("NT Kernel Logger", 5, 0).recorded_with(&log("UserTrace", 30, 61)));
        // Nothing of one was recorded while the other was.
        assert!(!log("NT Kernel Logger", 5, 60).recorded_with(&log("UserTrace", 100, 120)));
    }

    #[test]
    fn a_session_goes_on_in_the_next_file() {
        assert!(log("Session", 5, 60).recorded_with(&log("Session", 60, 90)));
        assert!(log("Session", 60, 90).recorded_with(&log("Session", 5, 60)));
        assert!(!log("Session", 5, 60).recorded_with(&log("Session", 100, 120)));
    }

    #[test]
    fn two_computers_are_two_recordings() {
        // Started by one image at the same second, and recorded at the same time by a session of the same name.
        assert!(!log("WPR", 5, 60).recorded_with(&log("WPR", 5, 60)));
        let mut other = log("UserTrace", 6, 61);
        other.start_ticks += 30 * SECOND;
        assert!(!log("NT Kernel Logger", 5, 60).recorded_with(&other), "booted at another time");
        let mut other = log("UserTrace", 6, 61);
        other.os_build = 26100;
        assert!(!log("NT Kernel Logger", 5, 60).recorded_with(&other), "another build");
    }

    #[test]
    fn computers_that_started_in_the_same_second_are_two_recordings() {
        let kernel = log("NT Kernel Logger", 5, 60);
        let shifted = |ticks: u64| LogfileHeader { start_ticks: 6 * SECOND + ticks, ..log("UserTrace", 6, 61) };
        // The zero of the counter is 0.4 s apart: another boot, of the same image.
        assert!(!kernel.recorded_with(&shifted(4_000_000)));
        // 4.8 us apart, as the two sessions of a real recording are.
        assert!(kernel.recorded_with(&shifted(48)));
        for other in [
            LogfileHeader { processors: 8, ..log("UserTrace", 6, 61) },
            LogfileHeader { cpu_speed_mhz: 3000, ..log("UserTrace", 6, 61) },
            LogfileHeader { boot_time: NOON + SECOND, ..log("UserTrace", 6, 61) },
        ] {
            assert!(!kernel.recorded_with(&other), "{other:?}");
        }
        // One buffer for all processors says nothing of their number.
        let mode = log_file_mode::NO_PER_PROCESSOR_BUFFERING;
        assert!(kernel.recorded_with(&LogfileHeader { processors: 1, log_file_mode: mode, ..log("UserTrace", 6, 61) }));
    }

    #[test]
    fn the_clock_of_one_boot_is_slewed_between_the_starts_of_two_sessions() {
        // 100 s apart at 400 ppm: 40 ms.
        let late = LogfileHeader { start_ticks: 105 * SECOND + 400_000, ..log("UserTrace", 105, 161) };
        assert!(log("NT Kernel Logger", 5, 160).recorded_with(&late));
        assert!(
            !log("NT Kernel Logger", 5, 160)
                .recorded_with(&LogfileHeader { start_ticks: 105 * SECOND + 3_000_000, ..late })
        );
    }
}
