//! Which logs are parts of one recording.

use crate::file::{Input, first_buffer};
use crate::{Clock, ClockKind, Error, LogfileHeader};

/// Logs of one boot agree on when their counter stood at zero, up to what the system time was corrected between their starts.
const SAME_ZERO_FILETIME: u128 = 10_000_000;
/// A session that goes on in another file begins it at once.
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
        let same_machine = self.os_build == other.os_build
            && self.os_version == other.os_version
            && (self.perf_freq, self.timer_resolution) == (other.perf_freq, other.timer_resolution);
        if !same_machine || !self.same_boot(other) {
            return false;
        }
        let (first, second) = if self.start_time <= other.start_time { (self, other) } else { (other, self) };
        let overlap = first.end_time == 0 || second.start_time < first.end_time;
        if self.logger_name.eq_ignore_ascii_case(&other.logger_name) && !self.logger_name.is_empty() {
            return !overlap && second.start_time - first.end_time <= NEXT_FILE_FILETIME;
        }
        overlap
    }

    fn same_boot(&self, other: &LogfileHeader) -> bool {
        let [(mine, _), (others, _)] = [self, other].map(Clock::of);
        let counts = |clock: &Clock| clock.kind() == ClockKind::PerformanceCounter;
        let apart = if counts(&mine) && counts(&others) {
            mine.zero_filetime().abs_diff(others.zero_filetime())
        } else {
            u128::from(self.boot_time.abs_diff(other.boot_time))
        };
        apart <= SAME_ZERO_FILETIME
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
}
