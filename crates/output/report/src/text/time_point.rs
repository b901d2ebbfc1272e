//! Times as xperf's options take them.

use onoff_trace::{CivilTime, Clock, StreamHeader};

/// A point on the time axis of a recording, as xperf's options take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePoint {
    /// Ns since the recording's begin.
    SinceStart(i64),
    /// Real time: ns since 1970-01-01, in UTC or, without `+UTC`, in the recorded machine's local time.
    Calendar {
        /// The time.
        unix_ns: i64,
        /// Whether it is UTC.
        utc: bool,
    },
}

impl TimePoint {
    /// Reads `1234[s|ms|us|ns]` (µs without a unit, and a number with a point needs one: `2.5` would be read as seconds by some, and as µs by
    /// others) or `yyyy/mm/dd:hh:mm:ss[.fffffffff][+UTC]`.
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

    /// The point in ns since the recording's begin; `None` when the recording does not know real time.
    #[must_use]
    pub fn resolve(self, header: &StreamHeader) -> Option<i64> {
        self.since_start(header.start_unix_ns, header.utc_bias_minutes)
    }

    /// The same by the clock of a recording that was read into tables.
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

/// A whole or decimal number of `unit`s, exact.
fn decimal(text: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let mut ns = whole.parse::<i64>().ok()?.checked_mul(unit)?;
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
    let in_minute = seconds(time.next()?)?;
    CivilTime {
        year,
        month,
        day,
        hour,
        minute,
        second: u8::try_from(in_minute / 1_000_000_000).ok()?,
        nanosecond: (in_minute % 1_000_000_000) as u32,
    }
    .to_unix_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_points_are_microseconds_unless_they_say_otherwise() {
        let since = |ns| Some(TimePoint::SinceStart(ns));
        assert_eq!(TimePoint::parse("1234"), since(1_234_000));
        assert_eq!(TimePoint::parse("12.5s"), since(12_500_000_000));
        assert_eq!(TimePoint::parse("245ms"), since(245_000_000));
        assert_eq!(TimePoint::parse("7ns"), since(7));
        for wrong in ["", "s", "-1", "2.5", "1h", "1.2.3", "1e3", "99999999999999999999", "0x10"] {
            assert_eq!(TimePoint::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn calendar_times_resolve_by_the_recorded_machine_s_zone() {
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
