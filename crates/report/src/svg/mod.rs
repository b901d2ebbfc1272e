//! Pictures as SVG: no script, no font or file from elsewhere.

pub mod netboot;

use std::borrow::Cow;

use crate::text::printable::printable;

/// `text` for the inside of an element or an attribute.
fn escaped(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place() {
        assert_eq!(escaped("boot.wim"), "boot.wim");
        assert_eq!(escaped("<script>a&\"b'\u{1b}"), "&lt;script&gt;a&amp;&quot;b&#39;\\u{1b}");
    }
}
