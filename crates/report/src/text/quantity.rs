//! Times, sizes, counts and shares as a person reads them: three significant digits and a unit.

/// A time span, e.g. `12.3 s`, `245 ms`, `17 min 25 s`.
#[must_use]
pub fn duration(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let text = match ns {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{ns} ns"),
        1_000..999_500 => scaled(ns, 1_000, "µs"),
        999_500..999_500_000 => scaled(ns, 1_000_000, "ms"),
        999_500_000..999_950_000_000 => scaled(ns, 1_000_000_000, "s"),
        _ => {
            let seconds = (ns + 500_000_000) / 1_000_000_000;
            match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
                (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
                (hours @ 1..48, minutes, _) => format!("{hours} h {minutes:02} min"),
                (hours, _, _) => format!("{} d {:02} h", hours / 24, hours % 24),
            }
        }
    };
    format!("{sign}{text}")
}

/// A time span that may not be known; `-` when it is not.
#[must_use]
pub fn duration_or_dash(ns: Option<i64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

/// A size, e.g. `512 B`, `12.3 KiB`, `1.40 GiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut divisor = 1024_u64;
    let mut unit = 0;
    // Four digits would be more than a reader takes in: the next unit says it better.
    while unit + 1 < UNITS.len() && bytes as f64 / divisor as f64 >= 999.5 {
        divisor *= 1024;
        unit += 1;
    }
    scaled(bytes, divisor, UNITS[unit])
}

/// A count with its thousands set apart, e.g. `179,474`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent, e.g. `7.5 %`, `39 %`; `<0.1 %` where rounding would say none.
#[must_use]
pub fn percent(percent: f64) -> String {
    match percent {
        share if share <= 0.0 => "0 %".to_owned(),
        share if share < 0.1 => "<0.1 %".to_owned(),
        share if share < 9.95 => format!("{share:.1} %"),
        share => format!("{share:.0} %"),
    }
}

/// `part` of `whole` in percent; nothing of nothing is 0.
#[must_use]
pub fn share(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// One thing or several, e.g. `1 file`, `2 files`.
#[must_use]
pub fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

fn scaled(value: u64, unit: u64, name: &str) -> String {
    let value = value as f64 / unit as f64;
    let decimals = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        // Seconds keep a decimal up to a thousand: boots are compared by the tenth.
        _ if name == "s" => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_change_unit_without_a_gap() {
        for (ns, text) in [
            (0, "0 s"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (245_000_000, "245 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (12_345_000_000, "12.3 s"),
            (113_547_000_000, "113.5 s"),
            (999_949_999_999, "999.9 s"),
            (1_045_000_000_000, "17 min 25 s"),
            (10_920_000_000_000, "3 h 02 min"),
            (180_000_000_000_000, "2 d 02 h"),
            (-1_500_000, "-1.50 ms"),
            (i64::MIN, "-106751 d 23 h"),
        ] {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn sizes_counts_and_shares() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.00 KiB");
        assert_eq!(size(1_023_999), "0.98 MiB");
        assert_eq!(size(8 << 30), "8.00 GiB");
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
    }
}
