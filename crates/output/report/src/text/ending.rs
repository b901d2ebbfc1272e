//! The end of every report: losses, and what was not recorded.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::Lacking;
use onoff_trace::Losses;

use super::{losses, missing_evidence};

/// Writes the losses and what was not recorded.
///
/// # Errors
/// Errors of `out`.
pub fn write(lost: &Losses, missing: &Lacking, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    losses::write(lost, out)?;
    missing_evidence::write(missing, out)
}
