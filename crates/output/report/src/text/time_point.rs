//! Points in time in the syntax of xperf options.

use onoff_trace::{CivilTime, Clock, StreamHeader};

/// A point in time as given to an xperf option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePoint {
    /// Nanoseconds since the start of the recording.
    SinceStart(i64),
    /// Nanoseconds since 1970-01-01, in UTC if `utc` is set, otherwise in the local time of the recorded machine.
    Calendar { unix_ns: i64, utc: bool },
}

impl TimePoint {
    /// Parses `1234[s|ms|us|ns]` or `yyyy/mm/dd:hh:mm:ss[.fffffffff][+UTC]`. The default unit is µs; a decimal number
    /// needs a unit, because `2.5` could mean seconds or µs.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.contains('/') {
            let (text, utc) = match text.strip_suffix("+UTC") {
                Some(text) => (text, true),
                None => (text, false),
            };
            return Some(Self::Calendar { unix_ns: calendar(text)?, utc });
        }
        let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" if digits.contains('.') => return None,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "" | "us" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        Some(Self::SinceStart(decimal(digits, unit)?))
    }

    /// Returns the point in ns since the start of the recording; `None` if the recording has no wall-clock time.
    #[must_use]
    pub fn resolve(self, header: &StreamHeader) -> Option<i64> {
        self.since_start(header.start_unix_ns, header.utc_bias_minutes)
    }

    /// Resolves the point like [`resolve`](Self::resolve), for a recording that was read into tables.
    #[must_use]
    pub fn resolve_on(self, clock: &Clock) -> Option<i64> {
        self.since_start(clock.start_unix_ns, clock.utc_bias_minutes)
    }

    fn since_start(self, start_unix_ns: Option<i64>, bias_minutes: Option<i32>) -> Option<i64> {
        match self {
            Self::SinceStart(ns) => Some(ns),
            Self::Calendar { unix_ns, utc } => {
                let bias = if utc { 0 } else { i64::from(bias_minutes?) };
                unix_ns.checked_add(bias.checked_mul(60_000_000_000)?)?.checked_sub(start_unix_ns?)
            }
        }
    }
}

/// Parses an integer or decimal number of `unit`s, without rounding.
fn decimal(text: &str, unit: i64) -> Option<i64> {
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if integer.is_empty() || !all_digits(integer) || !all_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let mut ns = integer.parse::<i64>().ok()?.checked_mul(unit)?;
    if !fraction.is_empty() {
        let scale = 10_i128.pow(fraction.len() as u32);
        let part = fraction.parse::<i128>().ok()? * i128::from(unit) / scale;
        ns = ns.checked_add(i64::try_from(part).ok()?)?;
    }
    Some(ns)
}

fn calendar(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(':')?;
    let mut date = date.splitn(3, '/');
    let mut time = time.splitn(3, ':');
    let seconds = |text: &str| decimal(text, 1_000_000_000);
    let year = date.next()?.parse().ok()?;
    let month = date.next()?.parse().ok()?;
    let day = date.next()?.parse().ok()?;
    let hour = time.next()?.parse().ok()?;
    let minute = time.next()?.parse().ok()?;
    let second_ns = seconds(time.next()?)?;
    CivilTime {
        year,
        month,
        day,
        hour,
        minute,
        second: u8::try_from(second_ns / 1_000_000_000).ok()?,
        nanosecond: (second_ns % 1_000_000_000) as u32,
    }
    .to_unix_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_to_microseconds() {
        let since = |ns| Some(TimePoint::SinceStart(ns));
        assert_eq!(TimePoint::parse("1234"), since(1_234_000));
        assert_eq!(TimePoint::parse("12.5s"), since(12_500_000_000));
        assert_eq!(TimePoint::parse("245ms"), since(245_000_000));
        assert_eq!(TimePoint::parse("7ns"), since(7));
        for invalid in ["", "s", "-1", "2.5", "1h", "1.2.3", "1e3", "99999999999999999999", "0x10"] {
            assert_eq!(TimePoint::parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn resolves_calendar_times_in_recorded_time_zone() {
        let header = StreamHeader {
            start_unix_ns: Some(951_782_400_000_000_000),
            utc_bias_minutes: Some(-60),
            ..StreamHeader::default()
        };
        let point = TimePoint::parse("2000/02/29:00:00:01.5+UTC").unwrap();
        assert_eq!(point.resolve(&header), Some(1_500_000_000));
        let point = TimePoint::parse("2000/02/29:01:00:01.5").unwrap();
        assert_eq!(point.resolve(&header), Some(1_500_000_000));
        assert_eq!(point.resolve(&StreamHeader::default()), None);
        let nonsense = StreamHeader { utc_bias_minutes: Some(i32::MAX), ..header };
        assert_eq!(point.resolve(&nonsense), None);
        assert_eq!(TimePoint::parse("2000/02/30:00:00:00"), None);
    }
}
