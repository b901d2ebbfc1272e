//! Decodes text files: UTF-8, or UTF-16 as written by a Windows shell.

use std::borrow::Cow;

/// Decodes bytes to text; invalid characters become replacement characters.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let decode_utf16 = |rest: &[u8], to_u16: fn([u8; 2]) -> u16| {
        let units = rest.as_chunks::<2>().0.iter().map(|&pair| to_u16(pair));
        Cow::Owned(char::decode_utf16(units).map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// True if bytes may be text: no zeros at the beginning, unless there is a UTF-16 byte order mark.
pub(super) fn may_be_text(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) || !bytes.iter().take(4096).any(|&byte| byte == 0)
}

/// Parses a decimal number, or a hexadecimal one with the prefix `0x`.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.starts_with(|first: char| first.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.starts_with(|first: char| first.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_every_encoding() {
        assert_eq!(decode(b"FPDT"), "FPDT");
        assert_eq!(decode(b"\xef\xbb\xbfFPDT"), "FPDT");
        assert_eq!(decode(b"\xff\xfeF\0P\0\x3f"), "FP");
        assert_eq!(decode(b"\xfe\xff\0F\0P"), "FP");
        assert!(may_be_text(b"\xff\xfeF\0"));
        assert!(!may_be_text(b"F\0P"));
    }

    #[test]
    fn parses_numbers() {
        assert_eq!(parse_number(" 42\n"), Some(42));
        assert_eq!(parse_number("0x2A"), Some(42));
        for text in ["", "-1", "+1", "0x", "0x+1", "1.5", "99999999999999999999"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }
}
