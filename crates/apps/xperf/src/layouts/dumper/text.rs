//! Appends numbers and texts to a line without `std::fmt`, because a dump formats hundreds of millions of values. A
//! line is a byte vector, which avoids repeated UTF-8 checks.

/// Blanks for padding.
const BLANKS: &str = "                                                                ";

fn pad(length: usize, width: usize, line: &mut Vec<u8>) {
    let padding = width.saturating_sub(length);
    match BLANKS.get(..padding) {
        Some(blanks) => push(blanks, line),
        None => line.resize(line.len() + padding, b' '),
    }
}

pub(super) fn push(text: &str, line: &mut Vec<u8>) {
    line.extend_from_slice(text.as_bytes());
}

/// Appends a number, right-aligned to `width` characters.
pub(super) fn push_unsigned(number: u64, width: usize, line: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number);
    pad(digits.len(), width, line);
    push(digits, line);
}

/// Appends a number, right-aligned to `width` characters.
pub(super) fn push_signed(number: i64, width: usize, line: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number);
    pad(digits.len(), width, line);
    push(digits, line);
}

/// Appends `0x` and at least `min_digits` hexadecimal digits.
pub(super) fn push_hexadecimal(number: u64, min_digits: usize, line: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits: [u8; 16] = std::array::from_fn(|index| DIGITS[(number >> (60 - 4 * index) & 15) as usize]);
    let length = ((u64::BITS - number.leading_zeros()).div_ceil(4) as usize).max(min_digits).max(1);
    push("0x", line);
    line.resize(line.len() + length.saturating_sub(digits.len()), b'0');
    line.extend_from_slice(digits.get(digits.len().saturating_sub(length)..).unwrap_or(&digits));
}

/// Appends a text, right-aligned to `width` characters.
pub(super) fn push_right_aligned(value: &str, width: usize, line: &mut Vec<u8>) {
    let length = if value.is_ascii() { value.len() } else { value.chars().count() };
    pad(length, width, line);
    push(value, line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_text(line: &[u8]) -> &str {
        std::str::from_utf8(line).unwrap()
    }

    #[test]
    fn matches_std_fmt() {
        for number in [0, 1, 9, 10, 255, 4_294_967_295, u64::MAX] {
            for width in [0, 1, 5, 10, 70] {
                let mut line = Vec::new();
                push_unsigned(number, width, &mut line);
                assert_eq!(as_text(&line), format!("{number:>width$}"));
                let mut line = Vec::new();
                push_hexadecimal(number, width.min(16), &mut line);
                assert_eq!(as_text(&line), format!("{number:#0width$x}", width = width.min(16) + 2));
            }
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut line = Vec::new();
            push_signed(number, 7, &mut line);
            assert_eq!(as_text(&line), format!("{number:>7}"));
        }
        for text in ["", "ab", "äö", "abcdefgh"] {
            let mut line = Vec::new();
            push_right_aligned(text, 4, &mut line);
            assert_eq!(as_text(&line), format!("{text:>4}"));
        }
    }
}
