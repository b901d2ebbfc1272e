//! The rules themselves: a list, and one in full.

use std::io::{self, Write};

use onoff_findings::Rule;
use unicode_width::UnicodeWidthStr;

use crate::text::style::{QUIET, TITLE};
use crate::text::table::{Table, cell};

/// Writes every rule, one row each.
///
/// # Errors
/// What `out` answers.
pub fn list(rules: &[Rule], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new().left("code", 60).left("finds", 120);
    for rule in rules {
        table.row([cell(rule.code), cell(rule.title)]);
    }
    table.write(out)
}

/// Writes what a rule finds, why, and when it is wrong.
///
/// # Errors
/// What `out` answers.
pub fn explain(rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}  {QUIET}{}{QUIET:#}", rule.code, rule.title)?;
    for section in rule.describe().sections {
        writeln!(out)?;
        writeln!(out, "{TITLE}{}{TITLE:#}", section.heading)?;
        for (at, paragraph) in section.text.split("\n\n").enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            for line in wrapped(paragraph, 98) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(())
}

/// `text` in lines of at most `cells`, broken at blanks.
pub(super) fn wrapped(text: &str, cells: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= cells => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("", 7), Vec::<String>::new());
        assert_eq!(wrapped("incomprehensible", 4), ["incomprehensible"]);
    }
}
