//! Parses numbers and times in text.

use std::borrow::Cow;

/// Decodes text. Nearly all text is valid UTF-8, and one check is faster than a lossy conversion.
pub(crate) fn decode(text: &[u8]) -> Cow<'_, str> {
    str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

/// Number of decimal digits that always fit in 64 bits.
const MAX_SAFE_DIGITS: usize = 19;

/// Parses a decimal number.
pub(crate) fn parse_unsigned(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let (safe, rest) = text.split_at(text.len().min(MAX_SAFE_DIGITS));
    let mut value = parse_digits(safe)?;
    for digit in rest {
        value = value.checked_mul(10)?.checked_add(parse_digits(&[*digit])?)?;
    }
    Some(value)
}

/// Parses at most [`MAX_SAFE_DIGITS`] digits.
fn parse_digits(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + u64::from(digit))
    })
}

/// Parses a decimal number that fits in 32 bits.
pub(crate) fn parse_u32(text: &[u8]) -> Option<u32> {
    u32::try_from(parse_unsigned(text)?).ok()
}

/// Parses seconds with any number of decimals after a point or comma, to ns; digits after the ninth are dropped.
pub(crate) fn seconds_ns(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let point = text.iter().position(|&byte| byte == b'.' || byte == b',');
    let (integer, fraction) = match point {
        Some(point) => (text.get(..point)?, text.get(point + 1..)?),
        None => (text, &[][..]),
    };
    if integer.is_empty() && fraction.is_empty() {
        return None;
    }
    let integer = if integer.is_empty() { 0 } else { i64::try_from(parse_unsigned(integer)?).ok()? };
    let (ns_digits, dropped_digits) = fraction.split_at(fraction.len().min(9));
    if !dropped_digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction_ns = i64::try_from(parse_digits(ns_digits)?).ok()? * 10_i64.pow(9 - ns_digits.len() as u32);
    let value = integer.checked_mul(1_000_000_000)?.checked_add(fraction_ns)?;
    Some(if negative { -value } else { value })
}

/// Parses a time of day, `hours:minutes:seconds` with decimals, to ns since midnight. Relative times may have more than
/// 23 hours.
pub(crate) fn clock_ns(text: &[u8]) -> Option<i64> {
    let mut parts = text.splitn(3, |&byte| byte == b':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (hours, minutes) = (i64::from(parse_u32(hours)?), i64::from(parse_u32(minutes)?));
    if minutes > 59 {
        return None;
    }
    (hours * 3600 + minutes * 60).checked_mul(1_000_000_000)?.checked_add(seconds_ns(seconds)?)
}

pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// Converts times of day to a continuous axis across midnights.
#[derive(Debug, Default)]
pub(crate) struct MidnightUnwrapper {
    last_ns: Option<i64>,
    days_ns: i64,
}

impl MidnightUnwrapper {
    /// Converts the time of day `ns`.
    pub(crate) fn unwrap_time(&mut self, ns: i64) -> i64 {
        if let Some(last_ns) = self.last_ns {
            // Records are nearly in order, so a drop by more than half a day is midnight.
            if last_ns.saturating_sub(ns) > DAY_NS / 2 {
                self.days_ns = self.days_ns.saturating_add(DAY_NS);
            } else if ns.saturating_sub(last_ns) > DAY_NS / 2 && self.days_ns > 0 {
                // A late record from before midnight.
                return ns.saturating_add(self.days_ns - DAY_NS);
            }
        }
        self.last_ns = Some(ns);
        ns.saturating_add(self.days_ns)
    }
}

/// Iterates over lines and their byte offsets, without carriage returns.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let remaining = bytes.get(next..)?;
        if remaining.is_empty() {
            return None;
        }
        let start = next;
        let length = memchr::memchr(b'\n', remaining).unwrap_or(remaining.len());
        next = start + length + 1;
        let line = remaining.get(..length)?;
        Some((start, line.strip_suffix(b"\r").unwrap_or(line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_seconds() {
        assert_eq!(seconds_ns(b"0.0000074"), Some(7_400));
        assert_eq!(seconds_ns(b" 1795216356.059992"), Some(1_795_216_356_059_992_000));
        assert_eq!(seconds_ns(b"1,5"), Some(1_500_000_000));
        assert_eq!(seconds_ns(b"-0.5"), Some(-500_000_000));
        assert_eq!(seconds_ns(b"1.0000000009"), Some(1_000_000_000));
        for wrong in [&b""[..], b".", b"x", b"1.x", b"99999999999999999999", b"1:2"] {
            assert_eq!(seconds_ns(wrong), None);
        }
    }

    #[test]
    fn parses_numbers_of_up_to_64_bits() {
        assert_eq!(parse_unsigned(b" 18446744073709551615 "), Some(u64::MAX));
        assert_eq!(parse_unsigned(b"00000000000000000007"), Some(7));
        for wrong in [&b"18446744073709551616"[..], b"99999999999999999999", b"", b"-1", b"1x"] {
            assert_eq!(parse_unsigned(wrong), None);
        }
    }

    #[test]
    fn unwraps_midnight() {
        let mut unwrapper = MidnightUnwrapper::default();
        assert_eq!(unwrapper.unwrap_time(DAY_NS - 5), DAY_NS - 5);
        assert_eq!(unwrapper.unwrap_time(3), DAY_NS + 3);
        assert_eq!(unwrapper.unwrap_time(DAY_NS - 2), DAY_NS - 2);
        assert_eq!(unwrapper.unwrap_time(4), DAY_NS + 4);
        assert_eq!(clock_ns(b"23:12:36.100122"), Some(83_556_100_122_000));
        assert_eq!(clock_ns(b"1:60:00"), None);
    }
}
