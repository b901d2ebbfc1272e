//! Exact conversion of clock ticks to nanoseconds and UTC.

use crate::LogfileHeader;

/// 1970-01-01 (Unix time zero) as a FILETIME, in units of 100 ns since 1601-01-01.
const UNIX_EPOCH_FILETIME: i64 = 116_444_736_000_000_000;
const NS_PER_SECOND: u64 = 1_000_000_000;
const FILETIME_PER_SECOND: u64 = 10_000_000;

/// Clock that stamped the records (`ReservedFlags` of the logfile header).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClockKind {
    /// `QueryPerformanceCounter` ticks.
    PerformanceCounter,
    /// System time: FILETIME, 100 ns ticks. Jumps when the time is set.
    SystemTime,
    /// CPU cycles.
    CpuCycles,
}

impl ClockKind {
    /// Returns the name used in reports, lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ClockKind::PerformanceCounter => "performance counter",
            ClockKind::SystemTime => "system time",
            ClockKind::CpuCycles => "processor cycles",
        }
    }
}

/// Conversion of ticks to nanoseconds: multiplication by an integer (10 MHz, FILETIME) or a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Multiply(u64),
    Divide,
}

/// The clock of a log: converts between ticks, nanoseconds since the start and UTC.
///
/// Time zero is the timestamp of the logfile header record, the moment of the header's UTC start time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    kind: ClockKind,
    ticks_per_second: u64,
    scale: Scale,
    start_ticks: u64,
    start_filetime: i64,
}

impl Clock {
    /// Returns the clock described by a logfile header, and whether it is usable.
    pub(crate) fn from_header(header: &LogfileHeader) -> (Clock, bool) {
        let (kind, ticks_per_second) = match header.clock_type {
            1 => (ClockKind::PerformanceCounter, header.perf_freq),
            2 => (ClockKind::SystemTime, FILETIME_PER_SECOND),
            3 => (ClockKind::CpuCycles, u64::from(header.cpu_speed_mhz) * 1_000_000),
            // No clock type: a first timestamp near the UTC start can only be system time.
            _ => {
                let difference = header.start_ticks.abs_diff(header.start_time);
                if difference < 86_400 * FILETIME_PER_SECOND {
                    (ClockKind::SystemTime, FILETIME_PER_SECOND)
                } else {
                    (ClockKind::PerformanceCounter, header.perf_freq)
                }
            }
        };
        let is_usable = ticks_per_second != 0 && (1..=3).contains(&header.clock_type);
        let ticks_per_second = if ticks_per_second == 0 { FILETIME_PER_SECOND } else { ticks_per_second };
        let start = if kind == ClockKind::SystemTime { header.start_ticks } else { header.start_time };
        let clock = Clock::new(kind, ticks_per_second, header.start_ticks, i64::try_from(start).unwrap_or(i64::MAX));
        (clock, is_usable)
    }

    fn new(kind: ClockKind, ticks_per_second: u64, start_ticks: u64, start_filetime: i64) -> Clock {
        let scale = if NS_PER_SECOND.is_multiple_of(ticks_per_second) {
            Scale::Multiply(NS_PER_SECOND / ticks_per_second)
        } else {
            Scale::Divide
        };
        Clock { kind, ticks_per_second, scale, start_ticks, start_filetime }
    }

    /// Returns the clock that stamped the records.
    #[must_use]
    pub fn kind(&self) -> ClockKind {
        self.kind
    }

    /// Returns the ticks per second: the counter's frequency, 10,000,000 for system time.
    #[must_use]
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }

    /// Returns the timestamp of time zero, in ticks.
    #[must_use]
    pub fn start_ticks(&self) -> u64 {
        self.start_ticks
    }

    /// Returns time zero in UTC as a FILETIME: 100 ns units since 1601-01-01.
    #[must_use]
    pub fn start_filetime(&self) -> i64 {
        self.start_filetime
    }

    /// Returns time zero in UTC, in nanoseconds since 1970-01-01.
    #[must_use]
    pub fn start_unix_ns(&self) -> i64 {
        self.unix_ns(0)
    }

    /// Returns the nanoseconds from time zero to a timestamp, rounded toward zero; negative before time zero.
    #[inline]
    #[must_use]
    pub fn ns(&self, ticks: u64) -> i64 {
        if ticks >= self.start_ticks {
            self.duration_ns(ticks - self.start_ticks)
        } else {
            -self.duration_ns(self.start_ticks - ticks)
        }
    }

    /// Returns the duration of `ticks` ticks in nanoseconds, rounded down. Saturates at `i64::MAX`.
    #[inline]
    #[must_use]
    pub fn duration_ns(&self, ticks: u64) -> i64 {
        let ns = match self.scale {
            Scale::Multiply(factor) => ticks.checked_mul(factor),
            Scale::Divide => {
                let seconds = ticks / self.ticks_per_second;
                let remainder = ticks % self.ticks_per_second;
                // Fits 64 bits for every frequency up to 18 GHz.
                let fraction = match remainder.checked_mul(NS_PER_SECOND) {
                    Some(product) => product / self.ticks_per_second,
                    None => {
                        (u128::from(remainder) * u128::from(NS_PER_SECOND) / u128::from(self.ticks_per_second)) as u64
                    }
                };
                seconds.checked_mul(NS_PER_SECOND).and_then(|ns| ns.checked_add(fraction))
            }
        };
        ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(i64::MAX)
    }

    /// Returns the first timestamp at least `ns` nanoseconds after time zero, clamped to the range of a timestamp.
    #[must_use]
    pub fn ticks(&self, ns: i64) -> u64 {
        let product = u128::from(ns.unsigned_abs()) * u128::from(self.ticks_per_second);
        if ns >= 0 {
            let ticks = u64::try_from(product.div_ceil(u128::from(NS_PER_SECOND))).unwrap_or(u64::MAX);
            self.start_ticks.saturating_add(ticks)
        } else {
            let ticks = u64::try_from(product / u128::from(NS_PER_SECOND)).unwrap_or(u64::MAX);
            self.start_ticks.saturating_sub(ticks)
        }
    }

    /// Converts nanoseconds since time zero to a FILETIME (100 ns units since 1601-01-01 UTC), rounded down.
    #[must_use]
    pub fn filetime(&self, time_ns: i64) -> i64 {
        self.start_filetime.saturating_add(time_ns.div_euclid(100))
    }

    /// Converts nanoseconds since time zero to nanoseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn unix_ns(&self, time_ns: i64) -> i64 {
        self.start_filetime.saturating_sub(UNIX_EPOCH_FILETIME).saturating_mul(100).saturating_add(time_ns)
    }

    /// Returns the FILETIME of counter value zero. Logs of one boot agree on it.
    pub(crate) fn zero_filetime(&self) -> i128 {
        let ticks = u128::from(self.start_ticks) * u128::from(FILETIME_PER_SECOND) / u128::from(self.ticks_per_second);
        i128::from(self.start_filetime) - i128::try_from(ticks).unwrap_or(i128::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_10_mhz_exactly() {
        let clock = Clock::new(ClockKind::PerformanceCounter, 10_000_000, 1_000, 132_273_542_277_445_790);
        assert_eq!(clock.ns(1_001), 100);
        assert_eq!(clock.ns(999), -100);
        assert_eq!(clock.ticks(100), 1_001);
        assert_eq!(clock.ticks(101), 1_002);
        assert_eq!(clock.ticks(-100), 999);
        assert_eq!(clock.filetime(1_000), 132_273_542_277_445_800);
        assert_eq!(clock.start_unix_ns(), 1_582_880_627_744_579_000);
    }

    #[test]
    fn converts_any_frequency_without_drift() {
        for frequency in [3_117_777u64, 2_109_960, 14_318_180, 2_937_500_000, 20_000_000_019, u64::MAX] {
            let clock = Clock::new(ClockKind::PerformanceCounter, frequency, 0, 0);
            for ticks in [0, 1, frequency - 1, frequency, frequency / 3, frequency.saturating_mul(86_400)] {
                let exact = u128::from(ticks) * 1_000_000_000 / u128::from(frequency);
                assert_eq!(u128::try_from(clock.ns(ticks)).unwrap(), exact, "{ticks} at {frequency}");
            }
        }
    }

    #[test]
    fn saturates_at_the_limits() {
        let clock = Clock::new(ClockKind::SystemTime, 10_000_000, 0, i64::MAX);
        assert_eq!(clock.ns(u64::MAX), i64::MAX);
        assert_eq!(clock.filetime(i64::MAX), i64::MAX);
        assert_eq!(clock.unix_ns(i64::MAX), i64::MAX);
        assert_eq!(clock.ticks(i64::MIN), 0);
        let late = Clock::new(ClockKind::CpuCycles, 3_000_000_000, u64::MAX, 0);
        assert_eq!(late.ticks(i64::MAX), u64::MAX);
        assert!(late.ns(0) < 0);
    }
}
