//! Calendar time, UTC, to the nanosecond.

use std::fmt;

const NS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// A calendar time, UTC, in the proleptic Gregorian calendar without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CivilTime {
    pub year: i64,
    /// Month, 1–12.
    pub month: u8,
    /// Day of the month, 1–31.
    pub day: u8,
    /// Hour, 0–23.
    pub hour: u8,
    /// Minute, 0–59.
    pub minute: u8,
    /// Second, 0–59.
    pub second: u8,
    /// Nanoseconds within the second.
    pub nanosecond: u32,
}

impl CivilTime {
    /// Converts `unix_ns`, in ns since 1970-01-01.
    #[must_use]
    pub fn from_unix_ns(unix_ns: i64) -> Self {
        let seconds = unix_ns.div_euclid(NS_PER_SECOND);
        let second_of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        Self {
            year,
            month,
            day,
            hour: (second_of_day / 3600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
            nanosecond: unix_ns.rem_euclid(NS_PER_SECOND) as u32,
        }
    }

    /// Converts to ns since 1970-01-01; `None` for an invalid date or time, or a year outside 1678 to 2261.
    #[must_use]
    pub fn to_unix_ns(self) -> Option<i64> {
        let is_in_range = (1..=12).contains(&self.month)
            && self.day >= 1
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && i64::from(self.nanosecond) < NS_PER_SECOND
            && (-9999..=9999).contains(&self.year);
        if !is_in_range {
            return None;
        }
        let days = days_from_civil(self.year, self.month, self.day);
        if civil_from_days(days) != (self.year, self.month, self.day) {
            return None;
        }
        let second_of_day = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        // The earliest times need more than 64 bits until their nanoseconds are added.
        let whole_seconds_ns = i128::from(days * SECONDS_PER_DAY + second_of_day) * i128::from(NS_PER_SECOND);
        i64::try_from(whole_seconds_ns + i128::from(self.nanosecond)).ok()
    }
}

impl fmt::Display for CivilTime {
    /// Writes RFC 3339 with seven decimals, the resolution of a Windows FILETIME: `2011-04-21T08:30:00.1234567Z`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, nanosecond } = self;
        let decimals = nanosecond / 100;
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{decimals:07}Z")
    }
}

/// Returns year, month and day of a day number counted from 1970-01-01.
///
/// Counts years from March, so that a leap day is the last day of a year, in eras of 400 years (146,097 days).
fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

/// Returns the day number counted from 1970-01-01; the inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_round_trip() {
        for (unix_ns, text) in [
            (0, "1970-01-01T00:00:00.0000000Z"),
            (-1, "1969-12-31T23:59:59.9999999Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.0000000Z"),
            // FILETIME 132675686690347142, the start of a trace dump published in 2021.
            (1_623_095_069_034_714_200, "2021-06-07T19:44:29.0347142Z"),
            (i64::MAX, "2262-04-11T23:47:16.8547758Z"),
            (i64::MIN, "1677-09-21T00:12:43.1452241Z"),
        ] {
            let time = CivilTime::from_unix_ns(unix_ns);
            assert_eq!(time.to_string(), text);
            assert_eq!(time.to_unix_ns(), Some(unix_ns));
        }
    }

    #[test]
    fn rejects_invalid_dates() {
        let time = CivilTime::from_unix_ns(0);
        assert_eq!(CivilTime { month: 2, day: 30, ..time }.to_unix_ns(), None);
        assert_eq!(CivilTime { year: 2100, month: 2, day: 29, ..time }.to_unix_ns(), None);
        assert_eq!(CivilTime { hour: 24, ..time }.to_unix_ns(), None);
        assert_eq!(CivilTime { year: 3000, ..time }.to_unix_ns(), None);
    }
}
