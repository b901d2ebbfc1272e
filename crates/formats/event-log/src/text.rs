//! Decodes text files of Windows.

use std::borrow::Cow;

/// Number of bytes at the start of a file that show its form.
const START_SIZE: usize = 1024;

/// Decodes UTF-8 and UTF-16 with or without a byte order mark; invalid characters are replaced.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let units = |from: &[u8], unit: fn([u8; 2]) -> u16| -> String {
        let units = from.as_chunks::<2>().0.iter().map(|&pair| unit(pair));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(units(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(units(rest, u16::from_be_bytes)),
        [b'<', 0, ..] => Cow::Owned(units(bytes, u16::from_le_bytes)),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Decodes the start of a file, without byte order mark and leading spaces.
pub(crate) fn start(bytes: &[u8]) -> String {
    let start = decode(bytes.get(..START_SIZE).unwrap_or(bytes));
    start.trim_start_matches('\u{feff}').trim_start().to_owned()
}
