//! How every report ends: what was lost, and what the recording lacked.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::Lacking;
use onoff_trace::Losses;

use super::{lacking, losses};

/// Writes the end of a report.
///
/// # Errors
/// What `out` answers.
pub fn write(lost: &Losses, lacked: &Lacking, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    losses::write(lost, out)?;
    lacking::write(lacked, out)
}
