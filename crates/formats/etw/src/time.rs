//! Dates and times in payloads.

use std::fmt;

/// A FILETIME: units of 100 ns since 1601-01-01 UTC. Formatted as ISO 8601 with seven decimals, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub u64);

impl FileTime {
    /// True if the value means "no time": 0, or all bits set.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.0 == 0 || self.0 == u64::MAX
    }
}

impl fmt::Display for FileTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        const UNITS_PER_DAY: u64 = 24 * 60 * 60 * 10_000_000;
        let (year, month, day) = civil_from_days(self.0 / UNITS_PER_DAY);
        let time_of_day = self.0 % UNITS_PER_DAY;
        let seconds = time_of_day / 10_000_000;
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:07}Z",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            time_of_day % 10_000_000,
        )
    }
}

/// Converts a number of days since 1601-01-01 to year, month and day (Gregorian).
///
/// Years are counted from 1600-03-01, so that the leap day is the last day of a year. 400 years are always 146,097
/// days.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 306;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = 1600 + era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// A SYSTEMTIME: year, month, weekday, day, hour, minute, second, millisecond; 16 bits each, no time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SystemTime(pub [u16; 8]);

impl fmt::Display for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, _, day, hour, minute, second, millisecond] = self.0;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_known_times() {
        let format_units = |units| FileTime(units).to_string();
        assert_eq!(format_units(1), "1601-01-01T00:00:00.0000001Z");
        assert_eq!(format_units(116_444_736_000_000_000), "1970-01-01T00:00:00.0000000Z");
        assert_eq!(format_units(125_962_560_000_000_000), "2000-02-29T00:00:00.0000000Z");
        assert_eq!(format_units(125_963_423_999_999_999), "2000-02-29T23:59:59.9999999Z");
        assert_eq!(format_units(125_963_424_000_000_000), "2000-03-01T00:00:00.0000000Z");
        assert_eq!(format_units(133_515_648_123_456_789), "2024-02-05T00:00:12.3456789Z");
        assert_eq!(format_units(0), "none");
        assert_eq!(format_units(u64::MAX), "none");
        assert_eq!(format_units(u64::MAX - 1), "60056-05-28T05:36:10.9551614Z");
    }
}
