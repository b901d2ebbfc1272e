//! Splits off the times that a host computer puts in front of the lines of a serial console: `grabserial -t`, `ts` of
//! moreutils, `tio -t`, minicom, and test systems such as LAVA.

use onoff_trace::CivilTime;

use onoff_linux_log::kernel_line::{self, Stamp, nanoseconds};

/// Number of lines inspected to recognize the form.
const SNIFF_LINES: usize = 400;

/// Form of the times in front of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostStamps {
    /// `[12.345678 0.000123] text`: since the start, and since the previous line (grabserial).
    SinceStart,
    /// `2020-11-05 19:26:04.804000+00:00  text`, also with a `T` or in brackets.
    DateTime,
    /// `[19:26:04.804] text`, or without brackets (`ts -s`).
    TimeOfDay,
    /// `Nov 05 19:26:04 text` (`ts`).
    MonthDay,
    /// `1604604364.804 text` (`ts '%.s'`).
    Seconds,
}

const FORMS: [HostStamps; 5] =
    [HostStamps::SinceStart, HostStamps::DateTime, HostStamps::TimeOfDay, HostStamps::MonthDay, HostStamps::Seconds];

impl HostStamps {
    /// Recognizes the form: most lines have it, and what follows is a console of a booting computer.
    pub(super) fn recognize(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(SNIFF_LINES).collect();
        FORMS.into_iter().find(|form| {
            let rests: Vec<&str> = lines.iter().filter_map(|line| Some(form.split(line)?.1)).collect();
            rests.len() * 3 >= lines.len() * 2 && rests.iter().any(|rest| is_console_line(rest))
        })
    }

    /// Returns the time in ns, from an arbitrary origin, and the rest of the line.
    pub(super) fn split(self, line: &str) -> Option<(i64, &str)> {
        let line = line.trim_start_matches(['\r', '\u{feff}']);
        match self {
            Self::SinceStart => {
                let (times, rest) = line.strip_prefix('[')?.split_once(']')?;
                let (time, delta) = times.trim().split_once(' ')?;
                nanoseconds(delta.trim())?;
                Some((nanoseconds(time)?, rest.strip_prefix(' ').unwrap_or(rest)))
            }
            Self::DateTime => {
                let (stamp, rest) = bracketed_or_words(line, 2)?;
                let (date, time) = stamp.split_once(['T', ' '])?;
                let mut fields = date.splitn(3, '-');
                let (year, month, day) = (fields.next()?, fields.next()?, fields.next()?);
                let (time, zone_ns) = split_zone(time);
                let midnight = CivilTime {
                    year: year.parse().ok().filter(|_| year.len() == 4)?,
                    month: month.parse().ok()?,
                    day: day.parse().ok()?,
                    hour: 0,
                    minute: 0,
                    second: 0,
                    nanosecond: 0,
                };
                let ns = midnight.to_unix_ns()?.checked_add(time_of_day(time)?)?.checked_sub(zone_ns)?;
                Some((ns, rest))
            }
            Self::TimeOfDay => {
                let (stamp, rest) = bracketed_or_words(line, 1)?;
                Some((time_of_day(stamp)?, rest))
            }
            Self::MonthDay => {
                const MONTHS: [&str; 12] =
                    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
                let (stamp, rest) = bracketed_or_words(line, 3)?;
                let mut words = stamp.split_ascii_whitespace();
                let (month, day, time) = (words.next()?, words.next()?, words.next()?);
                let month = u8::try_from(MONTHS.iter().position(|name| *name == month)? + 1).ok()?;
                // Without a year, any will do; a log over New Year's Eve is read up to that.
                let midnight = CivilTime {
                    year: 2000,
                    month,
                    day: day.parse().ok()?,
                    hour: 0,
                    minute: 0,
                    second: 0,
                    nanosecond: 0,
                };
                Some((midnight.to_unix_ns()?.checked_add(time_of_day(time)?)?, rest))
            }
            Self::Seconds => {
                let (stamp, rest) = line.split_once(' ')?;
                Some((nanoseconds(stamp)?, rest))
            }
        }
    }
}

/// True for a line of the kernel with its own time, and for the first line of a firmware or loader.
fn is_console_line(text: &str) -> bool {
    let text = text.trim_start();
    let is_kernel =
        text.starts_with(['[', '<']) && kernel_line::line(text).is_some_and(|line| matches!(line.stamp, Stamp::Log(_)));
    is_kernel || super::stages::stage_of(text).is_some()
}

/// Splits off a stamp in brackets, or one of `words` words.
fn bracketed_or_words(line: &str, words: usize) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix('[') {
        let (stamp, rest) = rest.split_once(']')?;
        return Some((stamp, rest.strip_prefix(' ').unwrap_or(rest)));
    }
    let mut end = 0;
    for _ in 0..words {
        let rest = line.get(end..)?;
        let start = rest.len() - rest.trim_start_matches(' ').len();
        let length = rest.get(start..)?.find([' ', '\t']).unwrap_or(rest.len() - start);
        end += start + length;
        // `2020-11-05T19:26:04Z text` has the time in the same word.
        if words == 2 && line.get(..end)?.contains('T') {
            break;
        }
    }
    let rest = line.get(end..)?;
    Some((line.get(..end)?, rest.trim_start_matches([' ', '\t'])))
}

/// Splits `19:26:04.8+01:00` into the time and the offset of the zone, ns.
fn split_zone(time: &str) -> (&str, i64) {
    let time = time.trim_end_matches('Z');
    let Some(position) = time.rfind(['+', '-']) else { return (time, 0) };
    let (time, zone) = (time.get(..position).unwrap_or_default(), time.get(position..).unwrap_or_default());
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let number = |range: std::ops::Range<usize>| digits.get(range).and_then(|text| text.parse::<i64>().ok());
    let minutes = number(0..2).unwrap_or(0) * 60 + number(2..4).unwrap_or(0);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    (time, sign * minutes * 60_000_000_000)
}

/// Parses `19:26:04.804` or `19:26:04,804`. Returns ns since midnight.
fn time_of_day(time: &str) -> Option<i64> {
    let mut fields = time.trim().splitn(3, ':');
    let (hours, minutes, seconds) = (fields.next()?, fields.next()?, fields.next()?);
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let seconds = seconds.replace(',', ".");
    let seconds_ns = match seconds.contains('.') {
        true => nanoseconds(&seconds)?,
        false => number(&seconds)?.checked_mul(1_000_000_000)?,
    };
    let minutes = number(hours)?.checked_mul(60)?.checked_add(number(minutes)?)?;
    minutes.checked_mul(60_000_000_000)?.checked_add(seconds_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_the_stamps_of_hosts() {
        for (text, form, ns) in [
            ("[4.100000 0.000123] U-Boot SPL 2023.04", HostStamps::SinceStart, 4_100_000_000),
            ("2020-11-05 00:00:04.100000+00:00  U-Boot SPL 2023.04", HostStamps::DateTime, 1_604_534_404_100_000_000),
            ("[2020-11-05T01:00:04.100+01:00] U-Boot SPL 2023.04", HostStamps::DateTime, 1_604_534_404_100_000_000),
            ("2020-11-05T00:00:04Z U-Boot SPL 2023.04", HostStamps::DateTime, 1_604_534_404_000_000_000),
            ("[00:00:04.100] U-Boot SPL 2023.04", HostStamps::TimeOfDay, 4_100_000_000),
            ("00:00:04 U-Boot SPL 2023.04", HostStamps::TimeOfDay, 4_000_000_000),
            ("Jan 02 00:00:04 U-Boot SPL 2023.04", HostStamps::MonthDay, 946_771_204_000_000_000),
            ("4.1 U-Boot SPL 2023.04", HostStamps::Seconds, 4_100_000_000),
        ] {
            assert_eq!(HostStamps::recognize(text), Some(form), "{text}");
            assert_eq!(form.split(text), Some((ns, "U-Boot SPL 2023.04")), "{text}");
        }
        for text in [
            "[    4.100000] U-Boot SPL 2023.04",
            "Nov 22 09:04:00 host kernel: [    0.000000] Linux version 6.1",
            "2026-11-22T09:04:00+0000 host kernel: Linux version 6.1",
            "2026-11-22T09:04:00,123456+00:00 Linux version 6.1",
            "[    0.000000] Linux version 6.1",
            "12:00:00 the U-Boot SPL 2023.04",
            "",
        ] {
            assert_eq!(HostStamps::recognize(text), None, "{text}");
        }
    }
}
