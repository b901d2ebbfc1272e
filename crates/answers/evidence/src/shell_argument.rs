//! Shell arguments of the commands in advice.

/// Quotes an argument for a shell, within a command printed in single quotes.
#[must_use]
pub fn quote_argument(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-+=@:/,%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut escaped = String::new();
    let mut remaining = text.chars().peekable();
    while let Some(c) = remaining.next() {
        let is_special = |c: char| matches!(c, '"' | '\\' | '$' | '`');
        // In every shell, a backslash before any other character is literal.
        let escape = match c {
            '\\' => remaining.peek().is_none_or(|&next| is_special(next)),
            c => is_special(c),
        };
        if escape {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_special_characters() {
        assert_eq!(quote_argument("WinLogonInit"), "WinLogonInit");
        assert_eq!(quote_argument("My Service"), "\"My Service\"");
        assert_eq!(quote_argument(r"ROOT\A&B"), r#""ROOT\A&B""#);
        assert_eq!(quote_argument(""), "\"\"");
    }
}
