//! Durations, sizes, counts and shares as text: three significant digits and a unit.

use onoff_trace::duration::three_digits;
use onoff_trace::{CivilTime, Duration};

/// Formats a duration, e.g. `12.3 s`, `245 ms`, `17 min 25 s`; `<1 µs` below the resolution of most clocks.
#[must_use]
pub fn duration(ns: i64) -> String {
    match ns.unsigned_abs() {
        1..1_000 => "<1 µs".to_owned(),
        _ => Duration::from_ns(ns).to_string(),
    }
}

/// Formats a duration, or `-` if unknown.
#[must_use]
pub fn duration_or_dash(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

/// Formats a calendar time in UTC, to the second, or `-` if unknown.
#[must_use]
pub fn second_or_dash(unix_ns: Option<i64>) -> String {
    unix_ns.map_or_else(
        || "-".to_owned(),
        |ns| {
            let text = CivilTime::from_unix_ns(ns).to_string();
            text.get(..19).unwrap_or(&text).replace('T', " ")
        },
    )
}

/// Formats a size, e.g. `512 B`, `12.3 KiB`, `1.40 GiB`; without trailing zeros if exact, e.g. `64 KiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut divisor = 1024_u64;
    let mut unit = 0;
    // At most three digits before the decimal point.
    while unit + 1 < UNITS.len() && bytes as f64 / divisor as f64 >= 999.5 {
        divisor *= 1024;
        unit += 1;
    }
    let text = three_digits(bytes, divisor, UNITS[unit]);
    let number = text.split(' ').next().unwrap_or_default();
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
    let is_exact = (u128::from(bytes) * 10_u128.pow(decimals)).is_multiple_of(u128::from(divisor));
    match is_exact && decimals > 0 {
        true => format!("{} {}", number.trim_end_matches('0').trim_end_matches('.'), UNITS[unit]),
        false => text,
    }
}

/// Formats a count with thousands separators, e.g. `179,474`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a share in percent, e.g. `7.5 %`, `39 %`; `<0.1 %` instead of a rounded zero.
#[must_use]
pub fn percent(percent: f64) -> String {
    match percent {
        share if share <= 0.0 => "0 %".to_owned(),
        share if share < 0.1 => "<0.1 %".to_owned(),
        share if share < 9.95 => format!("{share:.1} %"),
        share => format!("{share:.0} %"),
    }
}

/// Returns `part` as a share of `total`, in percent; 0 if `total` is not positive.
#[must_use]
pub fn share(part: i64, total: i64) -> f64 {
    if total <= 0 { 0.0 } else { part as f64 * 100.0 / total as f64 }
}

/// Capitalizes the first letter of a sentence.
#[must_use]
pub fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Formats a number with a noun in the singular or plural, e.g. `1 file`, `2 files`, `2 entries`.
#[must_use]
pub fn counted(number: u64, singular: &str) -> String {
    let (stem, ending) = match singular.strip_suffix("ry") {
        _ if number == 1 => (singular, ""),
        Some(stem) => (stem, "ries"),
        None if singular.ends_with('s') || singular.ends_with("sh") => (singular, "es"),
        None => (singular, "s"),
    };
    format!("{} {stem}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_quantities() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1 KiB");
        assert_eq!(size(1025), "1.00 KiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size(100 << 10), "100 KiB");
        assert_eq!(size(1_023_999), "0.98 MiB");
        assert_eq!(size(8 << 30), "8 GiB");
        assert_eq!([duration(0), duration(20), duration(-999), duration(1_000)], ["0 s", "<1 µs", "<1 µs", "1.00 µs"]);
        assert_eq!(size(u64::MAX), "16384 PiB");
        assert_eq!(count(0), "0");
        assert_eq!(count(179_474), "179,474");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.04), "<0.1 %");
        assert_eq!(percent(9.94), "9.9 %");
        assert_eq!(percent(39.4), "39 %");
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1200, "event"), "1,200 events");
        let plurals = ["entry", "key", "process", "flush"].map(|singular| counted(2, singular));
        assert_eq!(plurals, ["2 entries", "2 keys", "2 processes", "2 flushes"]);
    }
}
