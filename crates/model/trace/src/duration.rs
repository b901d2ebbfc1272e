//! Durations and their text form, shared by all reports and findings.

use std::fmt;

use serde::Serialize;

/// A duration, ns. Serialized as the number; [`Display`](fmt::Display) writes three significant digits and a unit:
/// `245 ms`, `12.3 s`, `114 s`, `17 min 25 s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Duration(i64);

impl Duration {
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns)
    }

    #[must_use]
    pub const fn ns(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        let text = match ns {
            0 => "0 s".to_owned(),
            1..1_000 => format!("{ns} ns"),
            1_000..999_500 => three_digits(ns, 1_000, "µs"),
            999_500..999_500_000 => three_digits(ns, 1_000_000, "ms"),
            999_500_000..999_500_000_000 => three_digits(ns, 1_000_000_000, "s"),
            _ => {
                let seconds = (ns + 500_000_000) / 1_000_000_000;
                match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
                    (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
                    (hours @ 1..48, minutes, _) => format!("{hours} h {minutes:02} min"),
                    (hours, _, _) => format!("{} d {:02} h", hours / 24, hours % 24),
                }
            }
        };
        formatter.pad(&format!("{sign}{text}"))
    }
}

/// Formats `value` in multiples of `unit`, with three significant digits.
pub fn three_digits(value: u64, unit: u64, name: &str) -> String {
    let value = value as f64 / unit as f64;
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {name}")
}

/// A time to the microsecond, in the form that options accept: `-12.345679s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactTime(pub i64);

impl fmt::Display for ExactTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = (self.0.unsigned_abs() + 500) / 1_000;
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(formatter, "{sign}{}.{:06}s", microseconds / 1_000_000, microseconds % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_significant_digits() {
        for (ns, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (245_000_000, "245 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (5_000_000_000, "5.00 s"),
            (12_345_000_000, "12.3 s"),
            (113_547_000_000, "114 s"),
            (999_499_999_999, "999 s"),
            (999_500_000_000, "16 min 40 s"),
            (1_045_000_000_000, "17 min 25 s"),
            (10_920_000_000_000, "3 h 02 min"),
            (180_000_000_000_000, "2 d 02 h"),
            (-1_500_000, "-1.50 ms"),
            (i64::MIN, "-106751 d 23 h"),
        ] {
            assert_eq!(Duration::from_ns(ns).to_string(), text, "{ns}");
        }
        assert_eq!(format!("{:>9}", Duration::from_ns(5_000_000)), "  5.00 ms");
    }

    #[test]
    fn rounds_exact_time_to_microsecond() {
        assert_eq!(ExactTime(12_345_678_901).to_string(), "12.345679s");
        assert_eq!(ExactTime(i64::MIN).to_string(), "-9223372036.854776s");
    }
}
