//! Parses the time at the start of a line of a text log, in the formats of `journalctl` and of syslog daemons.
//!
//! `journalctl` prints the names of months and days in the language of the user. Only the shape of the line identifies
//! them; the month comes from a list of the names that the C library uses.

use onoff_trace::CivilTime;

use crate::kernel_line::nanoseconds;

const US_PER_S: i64 = 1_000_000;
pub const US_PER_DAY: i64 = 86_400 * US_PER_S;

/// Timestamp of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// µs since the kernel's start.
    Monotonic(i64),
    /// Wall-clock time, µs.
    Wall {
        us: i64,
        /// True if `us` counts from 1970 UTC: year and time zone are known.
        absolute: bool,
        /// True if the line has whole seconds only.
        seconds: bool,
    },
}

/// A stamp and the certainty that it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedLine<'a> {
    pub stamp: Stamp,
    /// The line after the time and a blank.
    pub rest: &'a str,
    /// True if the logs of other programs have the same form, so that the sender must confirm the line.
    pub is_common_form: bool,
}

/// Parses the time at the start of `line`.
pub fn stamped_line(line: &str) -> Option<StampedLine<'_>> {
    let is_common_form = false;
    // Priority of the syslog protocol: `<30>Nov 22 …`
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((priority, rest)) if priority.len() <= 3 && priority.parse::<u8>().is_ok() => rest,
        _ => line,
    };
    if let Some(rest) = line.strip_prefix('[') {
        // `[   12.345678]`, `[   12.345678 <    0.000012 >]`
        let (times, rest) = rest.split_once("] ")?;
        let time = times.split('<').next()?.trim();
        return Some(StampedLine { stamp: Stamp::Monotonic(nanoseconds(time)? / 1000), rest, is_common_form });
    }
    let (first_word, rest) = line.split_once(' ')?;
    if first_word.bytes().next()?.is_ascii_digit() && month(first_word).is_none() {
        if first_word.contains('T') {
            // `2026-11-22T09:04:00+0000`, `…09:04:00.123456+00:00`
            return Some(StampedLine { stamp: iso(first_word)?, rest, is_common_form });
        }
        if first_word.contains('-') {
            // `2026-11-22 09:04:00`, `2026-11-22 09:04:00,123456`
            let (time, rest) = rest.split_once(' ')?;
            let (us, seconds) = time_of_day(time)?;
            let us = date_days(first_word)?.checked_mul(US_PER_DAY)?.checked_add(us)?;
            return Some(StampedLine {
                stamp: Stamp::Wall { us, absolute: false, seconds },
                rest,
                is_common_form: true,
            });
        }
        // `1700000000.123456`
        let us = nanoseconds(first_word)? / 1000;
        return Some(StampedLine { stamp: Stamp::Wall { us, absolute: true, seconds: false }, rest, is_common_form });
    }
    let (second_word, after_second) = rest.trim_start().split_once(' ')?;
    if let Some(month) = month(first_word)
        && let Some(line) = month_line(month, second_word, after_second)
    {
        return Some(line);
    }
    if let Some(days) = date_days(second_word) {
        // `Sun 2026-11-22 09:04:00 UTC`
        let (time, rest) = after_second.split_once(' ')?;
        let (zone, rest) = rest.split_once(' ')?;
        let (us, seconds) = time_of_day(time)?;
        let us = days.checked_mul(US_PER_DAY)?.checked_add(us)?;
        return Some(StampedLine { stamp: Stamp::Wall { us, absolute: zone == "UTC", seconds }, rest, is_common_form });
    }
    if let Some((day, after_day)) = after_second.trim_start().split_once(' ')
        && let Some((year, rest)) = after_day.trim_start().split_once(' ').and_then(|(_, rest)| rest.split_once(' '))
        && let Some(year) = year.parse().ok().filter(|year| (1970..=9999).contains(year))
        && let Some(month) = month(second_word)
    {
        // `Sun Nov 22 09:04:00 2026`, from `logread` of OpenWrt
        let time = after_day.trim_start().split(' ').next()?;
        let (us, seconds) = time_of_day(time)?;
        let us = days(year, month, day.parse().ok()?)?.checked_mul(US_PER_DAY)?.checked_add(us)?;
        return Some(StampedLine { stamp: Stamp::Wall { us, absolute: false, seconds }, rest, is_common_form });
    }
    // A month in a language that is not listed. Any month will do, because the year is unknown too.
    let is_word = first_word.trim_end_matches('.').chars().all(char::is_alphabetic);
    let line = month_line(1, second_word, after_second).filter(|_| is_word)?;
    Some(StampedLine { is_common_form: true, ..line })
}

/// Parses the rest of `Nov 22 09:04:00`, `Nov  2 09:04:00.123456`, without a year.
fn month_line<'a>(month: i64, day: &str, after_day: &'a str) -> Option<StampedLine<'a>> {
    let (time, rest) = after_day.split_once(' ')?;
    let (us, seconds) = time_of_day(time)?;
    let days = days(PLACEHOLDER_YEAR, month, day.trim_end_matches('.').parse().ok()?)?;
    let stamp = Stamp::Wall { us: days * US_PER_DAY + us, absolute: false, seconds };
    Some(StampedLine { stamp, rest, is_common_form: false })
}

/// Parses `Fri 2026-11-20 23:15:07 UTC` to µs since 1970.
pub fn utc_us(date: &str) -> Option<i64> {
    match stamped_line(&format!("{date} "))?.stamp {
        Stamp::Wall { us, absolute: true, .. } => Some(us),
        _ => None,
    }
}

/// A leap year, so that February 29 is valid.
pub const PLACEHOLDER_YEAR: i64 = 2000;

/// Beginnings of the names of the months, in the languages of the C library. Names of two months never share a
/// beginning in this list.
const MONTHS: [&[&str]; 12] = [
    &["jan", "gen", "ene", "led", "sty", "січ", "янв", "oca", "tammi", "ian"],
    &["feb", "fév", "fev", "úno", "lut", "лют", "фев", "şub", "helmi"],
    &["mar", "mär", "már", "mrt", "mrz", "bře", "бер", "мар", "maalis"],
    &["apr", "avr", "abr", "ápr", "dub", "kwi", "кві", "апр", "nis", "huhti"],
    &["may", "mai", "maj", "mag", "mei", "máj", "kvě", "тра", "май", "мая", "touko"],
    &["jun", "juin", "jún", "giu", "čen", "cze", "чер", "июн", "haz", "kesä"],
    &["jul", "juil", "júl", "lug", "čec", "lip", "лип", "июл", "tem", "heinä"],
    &["aug", "aoû", "ago", "srp", "sie", "сер", "авг", "ağu", "elo"],
    &["sep", "set", "sze", "zář", "wrz", "вер", "сен", "eyl", "syys"],
    &["oct", "okt", "out", "ott", "říj", "paź", "жов", "окт", "eki", "loka"],
    &["nov", "lis", "noi", "ноя", "kas", "marras"],
    &["dec", "déc", "dez", "dic", "des", "pro", "gru", "гру", "дек", "ara", "joulu"],
];

const ENGLISH_MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the number of the month with the name `word`: `Nov`, `nov.`, `ноя`, `11月`.
fn month(word: &str) -> Option<i64> {
    if let Some((_, number)) = ENGLISH_MONTHS.iter().zip(1..).find(|(name, _)| **name == word) {
        return Some(number);
    }
    if let Some(number) = word.strip_suffix(['月', '월']) {
        return number.parse().ok().filter(|number| (1..=12).contains(number));
    }
    let word = word.to_lowercase();
    let is_name = |name: &&&str| word.starts_with(**name);
    // "marras" starts with "mar".
    let longest = MONTHS.iter().zip(1..).filter_map(|(names, number)| {
        let length = names.iter().filter(is_name).map(|name| name.len()).max()?;
        Some((length, number))
    });
    /// Maximum length of an abbreviated name without its period, in characters.
    const MAX_NAME_CHARS: usize = 9;
    longest.max().map(|(_, number)| number).filter(|_| word.chars().count() <= MAX_NAME_CHARS)
}

/// Parses `2026-11-22T09:04:00.123456+01:00`; the zone may be missing.
fn iso(text: &str) -> Option<Stamp> {
    let (date, time) = text.split_once('T')?;
    let (time, zone) = time.split_at(time.find(['+', '-', 'Z']).unwrap_or(time.len()));
    let (us, seconds) = time_of_day(time)?;
    let offset_s = match zone.split_at_checked(1) {
        None | Some(("Z", "")) => 0,
        Some((sign, digits)) => {
            let digits = digits.replace(':', "");
            let (hours, minutes) = digits.split_at_checked(2)?;
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if sign == "-" { -seconds } else { seconds }
        }
    };
    let us = date_days(date)?.checked_mul(US_PER_DAY)?.checked_add(us)?.checked_sub(offset_s.checked_mul(US_PER_S)?)?;
    Some(Stamp::Wall { us, absolute: !zone.is_empty(), seconds })
}

/// Parses `09:04:00` or `09:04:00.123456` to µs since midnight; the flag is true if there is no fraction.
fn time_of_day(text: &str) -> Option<(i64, bool)> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text.len() == 2);
    let whole_minutes_s = number(hours)? * 3600 + number(minutes)? * 60;
    let (us, is_whole) = match number(seconds) {
        Some(seconds) => (seconds * US_PER_S, true),
        None => (nanoseconds(&seconds.replace(',', "."))? / 1000, false),
    };
    Some((whole_minutes_s * US_PER_S + us, is_whole))
}

/// Parses `2026-11-22` to days since 1970.
fn date_days(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    days(parts.next()??, parts.next()??, parts.next()??)
}

pub fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let midnight = CivilTime {
        year,
        month: u8::try_from(month).ok()?,
        day: u8::try_from(day).ok()?,
        hour: 0,
        minute: 0,
        second: 0,
        nanosecond: 0,
    };
    Some(midnight.to_unix_ns()? / 1000 / US_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_months_in_many_languages() {
        // From the C library's locales: de, fr, es, it, sv, pl, cs, ru, and numbers in ja, zh and ko.
        for (names, number) in [
            ("Jan janv. ene gen jan sty led янв 1月 1월", 1),
            ("Feb févr. feb lut úno фев 2月", 2),
            ("Mär März mars mar bře мар 3月", 3),
            ("Apr avril abr kwi dub апр 4月", 4),
            ("Mai mai may mag maj kvě мая 5月", 5),
            ("Jun juin giu cze čen июн 6月", 6),
            ("Jul juil. lug lip čec июл 7月", 7),
            ("Aug août ago sie srp авг 8月", 8),
            ("Sep sept. set wrz zář сен 9月", 9),
            ("Okt oct. ott paź říj окт 10月", 10),
            ("Nov nov. lis ноя 11月 11월", 11),
            ("Dez déc. dic dec gru pro дек 12月", 12),
        ] {
            for name in names.split(' ') {
                assert_eq!(month(name), Some(number), "{name}");
            }
        }
        for name in ["", "13月", "月", "Total", "marketing-campaign"] {
            assert_eq!(month(name), None, "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, line in "[A-Z0-9a-zа-я月: .,<>\\[\\]+T-]{0,60}") {
            stamped_line(&text);
            stamped_line(&line);
            stamped_line(&format!("Sun Nov {line} 2026 x"));
        }
    }
}
