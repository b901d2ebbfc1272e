//! Numbers and texts at the end of a line, without the machinery of formatting: a dump writes hundreds of millions.

/// Blanks to put before what is short.
const BLANKS: &str = "                                                                ";

/// Room for the digits of 64 bits and a sign.
type Digits = [u8; 24];

fn pad(length: usize, width: usize, line: &mut String) {
    let mut missing = width.saturating_sub(length);
    while missing > 0 {
        let now = missing.min(BLANKS.len());
        line.push_str(BLANKS.get(..now).unwrap_or(BLANKS));
        missing -= now;
    }
}

/// Appends `digits` from `start` on, to the right of `width` characters.
fn append(digits: &Digits, start: usize, width: usize, line: &mut String) {
    let digits = digits.get(start..).unwrap_or_default();
    pad(digits.len(), width, line);
    // Only ASCII was put there.
    line.push_str(std::str::from_utf8(digits).unwrap_or_default());
}

/// Puts the decimal digits of `number` at the end of `digits`; gives where they begin.
fn decimal(mut number: u64, digits: &mut Digits) -> usize {
    let mut start = digits.len();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start = at;
        if number == 0 {
            break;
        }
    }
    start
}

/// A number to the right of `width` characters.
pub(super) fn unsigned(number: u64, width: usize, line: &mut String) {
    let mut digits: Digits = [0; 24];
    let start = decimal(number, &mut digits);
    append(&digits, start, width, line);
}

/// A number to the right of `width` characters.
pub(super) fn signed(number: i64, width: usize, line: &mut String) {
    let mut digits: Digits = [0; 24];
    let mut start = decimal(number.unsigned_abs(), &mut digits);
    if number < 0 {
        start = start.saturating_sub(1);
        if let Some(sign) = digits.get_mut(start) {
            *sign = b'-';
        }
    }
    append(&digits, start, width, line);
}

/// `0x` and at least `least` hexadecimal digits.
pub(super) fn hexadecimal(mut number: u64, least: usize, line: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits: Digits = [b'0'; 24];
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number & 15) as usize];
        number >>= 4;
        count += 1;
        if number == 0 && count >= least {
            break;
        }
    }
    line.push_str("0x");
    append(&digits, digits.len() - count, 0, line);
}

/// A text to the right of `width` characters.
pub(super) fn right(text: &str, width: usize, line: &mut String) {
    let length = if text.is_ascii() { text.len() } else { text.chars().count() };
    pad(length, width, line);
    line.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_formatter() {
        for number in [0, 1, 9, 10, 255, 4_294_967_295, u64::MAX] {
            for width in [0, 1, 5, 10, 70] {
                let mut line = String::new();
                unsigned(number, width, &mut line);
                assert_eq!(line, format!("{number:>width$}"));
                let mut line = String::new();
                hexadecimal(number, width.min(16), &mut line);
                assert_eq!(line, format!("{number:#0width$x}", width = width.min(16) + 2));
            }
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut line = String::new();
            signed(number, 7, &mut line);
            assert_eq!(line, format!("{number:>7}"));
        }
        for text in ["", "ab", "äö", "abcdefgh"] {
            let mut line = String::new();
            right(text, 4, &mut line);
            assert_eq!(line, format!("{text:>4}"));
        }
    }
}
