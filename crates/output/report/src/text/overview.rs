//! What a recording is, and what each verb says of it.

use std::io::{self, Write};

use super::printable::printable;
use super::style::{HEADLINE, QUIET};
use onoff_sections::section::{self, Section};
use onoff_sections::table::Value;

/// What a recording is, and the first line of every answer about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The recording.
    pub name: String,
    /// What it is, as a phrase.
    pub is: String,
    /// The recorded computer; empty when not known.
    pub machine: String,
    /// What the verbs answer.
    pub lines: Vec<OverviewLine>,
    /// Verbs that are for such recordings and find nothing in this one.
    pub silent: Vec<&'static str>,
}

/// The first line of a verb's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverviewLine {
    /// The verb.
    pub verb: &'static str,
    /// The line, with its colors.
    pub line: String,
}

/// Widest line of an answer, cells; a narrower terminal wraps it.
const LINE_CELLS: usize = 240;

/// Writes it.
///
/// # Errors
/// What `out` answers.
pub fn write(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}: {}{HEADLINE:#}", printable(&overview.name), overview.is)?;
    if !overview.machine.is_empty() {
        writeln!(out, "{QUIET}{}{QUIET:#}", overview.machine)?;
    }
    let section = Section::of("answers", "What it answers", &overview.lines)
        .note("'onoff VERB FILE' shows all of it")
        .name("verb", "", 12, |line| Value::text(line.verb))
        .name("line", "", LINE_CELLS, |line| Value::Text(without_colors(&line.line).into()));
    section::text::write(&section.done(), out)?;
    if !overview.silent.is_empty() {
        writeln!(out, "  {QUIET}Nothing to answer: {}; the verb says why{QUIET:#}", overview.silent.join(", "))?;
    }
    Ok(())
}

/// A line without its escape sequences: those of a cell are the table's.
fn without_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // Up to the letter that ends the sequence.
            let _ = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}
