//! The end of every report: losses, and what was not recorded.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::MissingEvidence;
use onoff_trace::Losses;

use super::{losses, missing_evidence};

/// Writes the losses and what was not recorded.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(losses: &Losses, missing: &MissingEvidence, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    losses::write(losses, out)?;
    missing_evidence::write(missing, out)
}
