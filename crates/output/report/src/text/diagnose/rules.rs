//! The list of rules, and the description of one rule.

use std::io::{self, Write};

use onoff_findings::Rule;
use unicode_width::UnicodeWidthStr;

use crate::text::layout::remaining_cells;
use crate::text::style::{QUIET, TITLE};
use onoff_sections::section::{self, Section};
use onoff_sections::table::Value;

/// Writes all rules, one row each.
///
/// # Errors
/// Returns errors from `out`.
pub fn list(rules: &[Rule], out: &mut dyn Write) -> io::Result<()> {
    let rules = Section::builder("rules", "", rules)
        .name("code", "code", 60, |rule| Value::text(rule.code))
        .name("title", "finds", 120, |rule| Value::text(rule.title))
        .build();
    section::text::write(&rules, out)
}

/// Writes what a rule finds, how, and its known false positives.
///
/// # Errors
/// Returns errors from `out`.
pub fn explain(rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{TITLE}{}{TITLE:#}  {QUIET}{}{QUIET:#}", rule.code, rule.title)?;
    for section in rule.describe().sections {
        writeln!(out)?;
        writeln!(out, "{TITLE}{}{TITLE:#}", section.heading)?;
        for (index, paragraph) in section.text.split("\n\n").enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            for line in wrapped(paragraph, remaining_cells(2, 98)) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(())
}

/// Wraps `text` at blanks into lines of at most `cells`. Quoted `onoff` commands are never broken, so that they can be
/// copied.
pub(super) fn wrapped(text: &str, cells: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_command = false;
    for word in text.split_whitespace() {
        match words.last_mut().filter(|_| is_command) {
            Some(command) => {
                command.push(' ');
                command.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
        let command_start = word.find("'onoff").filter(|_| !is_command);
        is_command = match command_start {
            Some(quote) => !word.get(quote + 1..).is_some_and(|tail| tail.contains('\'')),
            None => is_command && !word.contains('\''),
        };
    }
    let mut lines: Vec<String> = Vec::new();
    for word in &words {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= cells => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_blanks() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("", 7), Vec::<String>::new());
        assert_eq!(wrapped("incomprehensible", 4), ["incomprehensible"]);
        let advice = "see it with 'onoff why a.etl --phase X', and then go on";
        assert_eq!(wrapped(advice, 16), ["see it with", "'onoff why a.etl --phase X',", "and then go on"]);
        // An unclosed quote keeps the rest together.
        assert_eq!(wrapped("a 'onoff b c", 4), ["a", "'onoff b c"]);
    }
}
