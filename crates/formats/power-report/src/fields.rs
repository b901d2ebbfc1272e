//! Times and units of the reports.

use jiff::Timestamp;
use jiff::civil::DateTime;

/// Parses a time in UTC, e.g. `2026-03-01T20:00:00Z`, as ns since 1970-01-01.
pub(crate) fn utc_ns(text: &str) -> Option<i64> {
    let time: Timestamp = text.trim().parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

/// Parses a local time, e.g. `2026-03-01` and `20:00:00`, as ns since 1970-01-01 of the local clock.
pub(crate) fn local_ns(date: &str, time: &str) -> Option<i64> {
    let time: DateTime = format!("{}T{}", date.trim(), time.trim()).parse().ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    i64::try_from(time.as_nanosecond()).ok()
}

/// Parses a local time, e.g. `2026-03-01T20:00:00`, as ns since 1970-01-01 of the local clock.
pub(crate) fn local_time_ns(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    local_ns(date, time)
}

/// Parses the times of consecutive rows. A row on the same day as the row before has no date.
#[derive(Default)]
pub(crate) struct LocalClock {
    date: String,
}

impl LocalClock {
    /// Parses e.g. `2026-03-01 20:00:00`, or `20:00:00` on the day of the row before, as ns since 1970-01-01 of the
    /// local clock.
    pub(crate) fn time_ns(&mut self, text: &str) -> Option<i64> {
        let mut parts = text.split_whitespace();
        let time = parts.next_back()?;
        if let Some(date) = parts.next() {
            date.clone_into(&mut self.date);
        }
        local_ns(&self.date, time)
    }
}

/// Parses a capacity, e.g. `45,620 mWh`, `45.620 mWh` or `45 620 mWh`, in mWh. The reports have no fractions, so each
/// separator groups digits.
pub(crate) fn mwh(text: &str) -> Option<i64> {
    let text = text.trim();
    let number = text.split(char::is_alphabetic).next().unwrap_or_default();
    let is_grouped = number.starts_with(|first: char| first.is_ascii_digit()) && number.len() < text.len();
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    if is_grouped { digits.parse().ok() } else { None }
}

/// Parses the difference of local time to UTC in minutes, e.g. `-6:00` or `+5:30`.
pub(crate) fn utc_offset_minutes(text: &str) -> Option<i32> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    ((0..=24).contains(&hours) && (0..60).contains(&minutes)).then_some(sign * (hours * 60 + minutes))
}

/// Parses hours, minutes and seconds, e.g. `107:05:09`, as ns.
pub(crate) fn hours_ns(text: &str) -> Option<i64> {
    let mut parts = text.trim().split(':').map(|part| part.parse::<i64>().ok().filter(|&part| part >= 0));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || minutes >= 60 || seconds >= 60 {
        return None;
    }
    hours.checked_mul(3600)?.checked_add(minutes * 60 + seconds)?.checked_mul(1_000_000_000)
}

/// Converts microseconds to ns.
pub(crate) fn from_us(us: i64) -> Option<i64> {
    us.checked_mul(1000).filter(|&ns| ns >= 0)
}

/// Converts ticks of 100 ns to ns.
pub(crate) fn from_ticks(ticks: i64) -> Option<i64> {
    ticks.checked_mul(100).filter(|&ns| ns >= 0)
}

/// Returns a text, or nothing for the dashes and the word that the reports write for no value.
pub(crate) fn text_or_empty(text: &str) -> String {
    let text = text.trim();
    let has_value = text != "Unknown" && text.chars().any(|character| character != '-');
    if has_value { text.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_offsets() {
        assert_eq!(utc_ns("1970-01-02T00:00:01Z"), Some(86_401_000_000_000));
        assert_eq!(local_ns("1970-01-02 ", "00:00:01"), Some(86_401_000_000_000));
        assert_eq!(utc_ns("0000-00-00T00:00:00Z"), None);
        for (text, minutes) in [("-6:00", -360), ("+5:45", 345), ("0:00", 0)] {
            assert_eq!(utc_offset_minutes(text), Some(minutes), "{text}");
        }
        assert_eq!(utc_offset_minutes("99:00"), None);
        for text in ["45,620 mWh\n", "45.620 mWh", "45\u{a0}620 mWh", "45\u{2019}620 мВт\u{b7}ч"] {
            assert_eq!(mwh(text), Some(45_620), "{text}");
        }
        for text in ["-", "", "71 %", "mWh", "-5 mWh", "99999999999999999999 mWh"] {
            assert_eq!(mwh(text), None, "{text}");
        }
        let mut clock = LocalClock::default();
        assert_eq!(clock.time_ns("00:00:01"), None, "no date yet");
        assert_eq!(clock.time_ns("1970-01-02  00:00:01"), Some(86_401_000_000_000));
        assert_eq!(clock.time_ns(" 00:00:02"), Some(86_402_000_000_000));
        assert_eq!(hours_ns("107:05:09"), Some(385_509_000_000_000));
        for text in ["1:2", "1:60:00", "-1:00:00", "1:00:00:00", "9223372036854775807:00:00"] {
            assert_eq!(hours_ns(text), None, "{text}");
        }
        assert_eq!((text_or_empty("----"), text_or_empty(" Lid ")), (String::new(), "Lid".to_owned()));
    }
}
