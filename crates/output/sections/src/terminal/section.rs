//! What sections of a report have in common.

use std::io::{self, Write};

use super::style::{QUIET, TITLE};

/// A section's title, after an empty line.
///
/// # Errors
/// Errors of `out`.
pub fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if note.is_empty() {
        writeln!(out, "{TITLE}{text}{TITLE:#}")
    } else {
        writeln!(out, "{TITLE}{text}{TITLE:#}  {QUIET}{note}{QUIET:#}")
    }
}
