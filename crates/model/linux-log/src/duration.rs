//! Parses durations as systemd writes them: `6.107s`, `1min 30s`, `infinity`.

/// Parses a duration as systemd's tools write it, to ns. Returns `None` for `infinity` and invalid text. A number
/// without a unit is in µs, as in `systemctl show`.
///
/// Source of the units: `systemd.time(7)`, where a month has 30.44 days and a year 365.25.
pub fn duration_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    let mut remaining = text;
    let mut sum = 0_i128;
    if text.is_empty() || text == "infinity" {
        return None;
    }
    if let Ok(us) = text.parse::<u64>() {
        // All bits set means unset; the conversion fails.
        return i64::try_from(us).ok()?.checked_mul(1_000);
    }
    while !remaining.is_empty() {
        let number_end = remaining
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(remaining.len());
        let (number, unit_and_rest) = remaining.split_at(number_end);
        let unit_and_rest = unit_and_rest.trim_start();
        let unit_end = unit_and_rest.find(|character: char| !character.is_alphabetic()).unwrap_or(unit_and_rest.len());
        let (unit, rest) = unit_and_rest.split_at(unit_end);
        let unit_ns: i128 = match unit {
            "us" | "µs" | "usec" => 1_000,
            "ms" | "msec" => 1_000_000,
            "s" | "sec" | "second" | "seconds" => 1_000_000_000,
            "min" | "m" | "minute" | "minutes" => 60_000_000_000,
            "h" | "hr" | "hour" | "hours" => 3_600_000_000_000,
            "d" | "day" | "days" => 86_400_000_000_000,
            "w" | "week" | "weeks" => 604_800_000_000_000,
            "month" | "months" => 2_629_800_000_000_000,
            "y" | "year" | "years" => 31_557_600_000_000_000,
            _ => return None,
        };
        sum = sum.checked_add(scaled(number, unit_ns)?)?;
        remaining = rest.trim_start();
    }
    i64::try_from(sum).ok()
}

/// Multiplies a decimal number by `unit_ns` without floating-point rounding.
fn scaled(number: &str, unit_ns: i128) -> Option<i128> {
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut value = integer.parse::<u64>().ok().map(i128::from)?.checked_mul(unit_ns)?;
    let mut digit_ns = unit_ns;
    for digit in fraction.chars() {
        digit_ns /= 10;
        value += i128::from(digit.to_digit(10)?) * digit_ns;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_exact_durations() {
        for (text, ns) in [
            ("6.107s", Some(6_107_000_000)),
            ("739ms", Some(739_000_000)),
            ("1min 26.294s", Some(86_294_000_000)),
            ("1min 30s", Some(90_000_000_000)),
            ("2h 3min", Some(7_380_000_000_000)),
            ("1w", Some(604_800_000_000_000)),
            ("17us", Some(17_000)),
            ("5448538", Some(5_448_538_000)),
            ("0", Some(0)),
            ("5.448538s", Some(5_448_538_000)),
            ("infinity", None),
            ("18446744073709551615", None),
            ("n/a", None),
            ("", None),
            ("1x", None),
            ("s", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(duration_ns(text), ns, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String) {
            let _ = duration_ns(&text);
        }
    }
}
