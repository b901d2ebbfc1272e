//! Text as it lies in a recording: borrowed, converted only when somebody reads it.
//!
//! Events carry UTF-16LE (at any alignment) and 8-bit text. Neither is guaranteed to be well formed, so
//! both types here convert lossily and never fail.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

/// UTF-16LE text inside a record, without its terminator. The bytes need not be aligned nor well formed;
/// an unpaired surrogate reads as U+FFFD.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Utf16<'b> {
    bytes: &'b [u8],
}

impl<'b> Utf16<'b> {
    /// Takes `bytes` as UTF-16LE code units; an odd last byte is left out.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes: &bytes[..bytes.len() & !1] }
    }

    /// The code units as they are in the record.
    #[must_use]
    pub fn as_bytes(self) -> &'b [u8] {
        self.bytes
    }

    /// Whether there is no code unit at all.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The code units, in order.
    pub fn units(self) -> impl Iterator<Item = u16> + Clone + 'b {
        self.bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
    }

    /// The characters, unpaired surrogates replaced by U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'b {
        char::decode_utf16(self.units()).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The text up to its first NUL: how fixed-size, NUL-padded arrays are read.
    #[must_use]
    pub fn until_nul(self) -> Self {
        let end = self.bytes.chunks_exact(2).position(|unit| unit == [0, 0]);
        Self { bytes: end.map_or(self.bytes, |units| &self.bytes[..units * 2]) }
    }

    /// Appends the text to `out`, replacing what is not well formed.
    pub fn push_to(self, out: &mut String) {
        out.reserve(self.bytes.len() / 2);
        out.extend(self.chars());
    }

    /// Compares without regard to ASCII case, as Windows compares names of files and registry keys well
    /// enough for the names an analysis asks for.
    #[must_use]
    pub fn eq_ignore_ascii_case(self, other: &str) -> bool {
        self.chars().map(|c| c.to_ascii_lowercase()).eq(other.chars().map(|c| c.to_ascii_lowercase()))
    }
}

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

impl fmt::Debug for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl PartialEq<str> for Utf16<'_> {
    fn eq(&self, other: &str) -> bool {
        self.units().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Utf16<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// 8-bit text inside a record, without its terminator. A recording does not say which code page wrote it:
/// what is valid UTF-8 is read as such, anything else byte by byte as ISO 8859-1, so no byte is lost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ansi<'b> {
    bytes: &'b [u8],
}

impl<'b> Ansi<'b> {
    /// Takes `bytes` as text.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// The bytes as they are in the record.
    #[must_use]
    pub fn as_bytes(self) -> &'b [u8] {
        self.bytes
    }

    /// Whether there is no byte at all.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The text up to its first NUL.
    #[must_use]
    pub fn until_nul(self) -> Self {
        let end = self.bytes.iter().position(|&byte| byte == 0);
        Self { bytes: end.map_or(self.bytes, |end| &self.bytes[..end]) }
    }

    /// The text; borrowed when it is valid UTF-8.
    #[must_use]
    pub fn to_str(self) -> Cow<'b, str> {
        match std::str::from_utf8(self.bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }

    /// Compares without regard to ASCII case.
    #[must_use]
    pub fn eq_ignore_ascii_case(self, other: &str) -> bool {
        self.bytes.eq_ignore_ascii_case(other.as_bytes())
    }
}

impl fmt::Display for Ansi<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

impl fmt::Debug for Ansi<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_str())
    }
}

impl PartialEq<str> for Ansi<'_> {
    fn eq(&self, other: &str) -> bool {
        self.bytes == other.as_bytes()
    }
}

impl PartialEq<&str> for Ansi<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn utf16_reads_any_alignment_and_replaces_lone_surrogates() {
        let bytes = utf16("naïve 𝄞");
        assert_eq!(Utf16::new(&bytes).to_string(), "naïve 𝄞");
        assert_eq!(Utf16::new(&[0x00, 0xd8, b'x', 0]).to_string(), "\u{fffd}x");
        assert_eq!(Utf16::new(&[b'a', 0, b'b']), "a", "an odd byte is no code unit");
    }

    #[test]
    fn utf16_compares_and_cuts_at_nul() {
        let bytes = utf16("SVCHOST.exe\0junk");
        let text = Utf16::new(&bytes).until_nul();
        assert_eq!(text, "SVCHOST.exe");
        assert!(text.eq_ignore_ascii_case("svchost.EXE"));
        assert!(!text.eq_ignore_ascii_case("svchost"));
    }

    #[test]
    fn ansi_prefers_utf8_and_loses_nothing_otherwise() {
        assert_eq!(Ansi::new("é".as_bytes()).to_string(), "é");
        assert_eq!(Ansi::new(&[0xe9, b'!']).to_string(), "é!");
        assert_eq!(Ansi::new(b"a\0b").until_nul(), "a");
    }
}
