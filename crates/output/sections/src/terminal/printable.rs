//! Escaping of names from a recording, which are untrusted input for a terminal.

use std::borrow::Cow;

/// Escapes all characters in `text` that could move the cursor, change colors, or reorder text.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Fast path: almost every text is plain ASCII.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unprintable(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// True for control characters, line and paragraph separators, and bidirectional overrides (Unicode TR 36).
pub(crate) fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_only_control_characters() {
        assert_eq!(printable("svchost.exe"), "svchost.exe");
        assert_eq!(printable("Gerät 装置"), "Gerät 装置");
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d"), "a\\u{1b}[2Jb\\nc\\u{202e}d");
    }
}
