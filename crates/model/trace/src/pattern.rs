//! Name patterns for selecting processes, events and so on.

/// A name pattern: case-insensitive, `*` matches any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The parts between asterisks, in lower case.
    parts: Vec<String>,
}

impl Pattern {
    /// Parses a pattern; enclosing braces (of a GUID) are ignored.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.trim().trim_start_matches('{').trim_end_matches('}').to_lowercase();
        Self { parts: text.split('*').map(str::to_owned).collect() }
    }

    /// True if the pattern matches all of `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let (Some(prefix), Some(suffix)) = (self.parts.first(), self.parts.last()) else { return false };
        if self.parts.len() == 1 {
            return text == *prefix;
        }
        let Some(mut remaining) =
            text.strip_prefix(prefix.as_str()).and_then(|text| text.strip_suffix(suffix.as_str()))
        else {
            return false;
        };
        // Matching each part as early as possible leaves the most text for the following parts.
        for part in &self.parts[1..self.parts.len() - 1] {
            let Some(position) = remaining.find(part.as_str()) else { return false };
            remaining = &remaining[position + part.len()..];
        }
        true
    }

    /// True if the pattern is this number, in decimal or in hexadecimal with the prefix `0x`.
    #[must_use]
    pub fn is_number(&self, number: u32) -> bool {
        let [text] = self.parts.as_slice() else { return false };
        let pattern_number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => text.parse(),
        };
        pattern_number == Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asterisks_match_any_text() {
        let matches = |pattern: &str, text: &str| Pattern::new(pattern).matches(text);
        assert!(matches("smss.exe", "SMSS.EXE"));
        assert!(!matches("smss", "smss.exe"));
        assert!(matches("*Kernel-PnP*", "Microsoft-Windows-Kernel-PnP"));
        assert!(matches("a*b*c", "aXbYc"));
        assert!(!matches("a*b*c", "aXcYb"));
        assert!(!matches("ab*ba", "aba"));
        assert!(matches("*", ""));
        assert!(matches("{22FB2CD6-0e7b-422b-a0c7-2fad1fd0e716}", "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"));
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert!(Pattern::new("216").is_number(216));
        assert!(Pattern::new("0x0524").is_number(0x524));
        assert!(!Pattern::new("0x524").is_number(524));
        assert!(!Pattern::new("2*").is_number(21));
    }
}
