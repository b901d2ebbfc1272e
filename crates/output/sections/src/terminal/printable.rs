//! Names from a recording, made safe for a terminal.

use std::borrow::Cow;

/// `text` with everything that could move the cursor, change colors or reorder what is read written as an escape:
/// a recording comes from elsewhere, and so do the names in it.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Nearly every text is plain, which is quickly told.
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

/// Control characters, line and paragraph separators, and the marks that override text direction (Unicode TR 36).
pub(crate) fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_would_obey_and_nothing_else() {
        assert_eq!(printable("svchost.exe"), "svchost.exe");
        assert_eq!(printable("Gerät 装置"), "Gerät 装置");
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{202e}d"), "a\\u{1b}[2Jb\\nc\\u{202e}d");
    }
}
