//! Titles of sections.

use std::io::{self, Write};

use super::style::{QUIET, TITLE};

/// Writes an empty line and the title of a section.
///
/// # Errors
/// Returns errors from `out`.
pub fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if note.is_empty() {
        writeln!(out, "{TITLE}{text}{TITLE:#}")
    } else {
        writeln!(out, "{TITLE}{text}{TITLE:#}  {QUIET}{note}{QUIET:#}")
    }
}
