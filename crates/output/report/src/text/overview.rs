//! The overview of a recording: what the file is, and a one-line answer from each command.

use std::io::{self, Write};

use super::printable::printable;
use super::style::{HEADLINE, QUIET};
use onoff_sections::section::{self, Section};
use onoff_sections::table::Value;

/// The overview of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// The name of the recording.
    pub name: String,
    /// The kind of recording, as a phrase.
    pub kind: String,
    /// The recorded computer; empty if unknown.
    pub machine: String,
    pub lines: Vec<OverviewLine>,
    /// Commands that suit this kind of recording but have no data in it.
    pub without_data: Vec<&'static str>,
}

/// The first line of the report of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverviewLine {
    pub command: &'static str,
    /// The line, with escape sequences for colors.
    pub line: String,
}

/// Maximum width of a line, in cells. A narrower terminal wraps the line.
const LINE_CELLS: usize = 240;

/// Writes the overview.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}: {}{HEADLINE:#}", printable(&overview.name), overview.kind)?;
    if !overview.machine.is_empty() {
        writeln!(out, "{QUIET}{}{QUIET:#}", overview.machine)?;
    }
    let section = Section::builder("answers", "Answers", &overview.lines)
        .note("('onoff VERB FILE' shows everything)")
        .name("verb", "", 12, |line| Value::text(line.command))
        .name("line", "", LINE_CELLS, |line| Value::Text(without_colors(&line.line).into()));
    section::text::write(&section.build(), out)?;
    if !overview.without_data.is_empty() {
        writeln!(out, "  {QUIET}No data for: {} (each command says why){QUIET:#}", overview.without_data.join(", "))?;
    }
    Ok(())
}

/// Removes escape sequences, because the table sets the colors of its cells.
fn without_colors(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A letter ends the sequence.
            let _ = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            text.push(character);
        }
    }
    text
}
