//! Parts that a recording of Linux does not hold, and how to record them.

use std::io::{self, Write};

use onoff_analysis::transition::linux::MissingPart;

use crate::text::printable::printable;
use crate::text::section::title;
use crate::text::style::QUIET;

/// Writes what is missing; nothing when nothing is.
pub(super) fn write(parts: &[MissingPart], out: &mut dyn Write) -> io::Result<()> {
    if parts.is_empty() {
        return Ok(());
    }
    title("Not in this recording", "", out)?;
    for part in parts {
        writeln!(out, "  {}: {}.", printable(&part.part), printable(&part.unknown))?;
        if !part.record.is_empty() {
            writeln!(out, "    {QUIET}to record it: {}{QUIET:#}", printable(&part.record))?;
        }
    }
    Ok(())
}
