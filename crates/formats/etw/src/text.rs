//! Text in payloads: borrowed, and converted only on demand.
//!
//! Events contain UTF-16LE text (at any alignment) and 8-bit text. Neither is guaranteed to be well formed, so both
//! types convert lossily and never fail.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;

/// UTF-16LE text without its terminator. May be unaligned and malformed; an unpaired surrogate is read as U+FFFD.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Utf16<'b> {
    bytes: &'b [u8],
}

impl<'b> Utf16<'b> {
    /// Wraps UTF-16LE code units; an odd last byte is ignored.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes: &bytes[..bytes.len() & !1] }
    }

    /// Returns the encoded code units.
    #[must_use]
    pub fn as_bytes(self) -> &'b [u8] {
        self.bytes
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Iterates over the code units.
    pub fn units(self) -> impl Iterator<Item = u16> + Clone + 'b {
        self.bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
    }

    /// Iterates over the characters, with unpaired surrogates replaced by U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'b {
        char::decode_utf16(self.units()).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Returns the text up to the first NUL, as in fixed-size, NUL-padded arrays.
    #[must_use]
    pub fn until_nul(self) -> Self {
        let end = self.bytes.chunks_exact(2).position(|unit| unit == [0, 0]);
        Self { bytes: end.map_or(self.bytes, |units| &self.bytes[..units * 2]) }
    }

    /// Appends the text to `out`, replacing malformed parts with U+FFFD.
    pub fn push_to(self, out: &mut String) {
        out.reserve(self.bytes.len() / 2);
        out.extend(self.chars());
    }

    /// Compares, ignoring ASCII case. Windows compares file and registry names by its own rules, but those differ only
    /// for non-ASCII names.
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

/// 8-bit text without its terminator. Recordings do not store the code page: valid UTF-8 is read as UTF-8, and
/// anything else as ISO 8859-1, so that no byte is lost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Ansi<'b> {
    bytes: &'b [u8],
}

impl<'b> Ansi<'b> {
    /// Wraps 8-bit text.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the encoded bytes.
    #[must_use]
    pub fn as_bytes(self) -> &'b [u8] {
        self.bytes
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the text up to the first NUL.
    #[must_use]
    pub fn until_nul(self) -> Self {
        let end = self.bytes.iter().position(|&byte| byte == 0);
        Self { bytes: end.map_or(self.bytes, |end| &self.bytes[..end]) }
    }

    /// Returns the text, borrowed if it is valid UTF-8.
    #[must_use]
    pub fn to_str(self) -> Cow<'b, str> {
        match std::str::from_utf8(self.bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(self.bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }

    /// Compares, ignoring ASCII case.
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
    fn utf16_replaces_lone_surrogates_and_ignores_odd_byte() {
        let bytes = utf16("naïve 𝄞");
        assert_eq!(Utf16::new(&bytes).to_string(), "naïve 𝄞");
        assert_eq!(Utf16::new(&[0x00, 0xd8, b'x', 0]).to_string(), "\u{fffd}x");
        assert_eq!(Utf16::new(&[b'a', 0, b'b']), "a", "an odd byte is not a code unit");
    }

    #[test]
    fn utf16_compares_and_ends_at_nul() {
        let bytes = utf16("SVCHOST.exe\0junk");
        let text = Utf16::new(&bytes).until_nul();
        assert_eq!(text, "SVCHOST.exe");
        assert!(text.eq_ignore_ascii_case("svchost.EXE"));
        assert!(!text.eq_ignore_ascii_case("svchost"));
    }

    #[test]
    fn ansi_falls_back_to_latin1() {
        assert_eq!(Ansi::new("é".as_bytes()).to_string(), "é");
        assert_eq!(Ansi::new(&[0xe9, b'!']).to_string(), "é!");
        assert_eq!(Ansi::new(b"a\0b").until_nul(), "a");
    }
}
