//! The text report of `diagnose`: the headline, then each finding with its evidence and advice.

mod findings;
mod headline;
mod rules;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_findings::Diagnosis;

pub use rules::{explain, list};

use super::losses;
use super::machine::machine;
use super::style::QUIET;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(diagnosis: &Diagnosis, recording: &RecordingSummary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline::write(diagnosis, out)?;
    writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
    findings::caveats(diagnosis, out)?;
    findings::write(diagnosis, top, out)?;
    findings::unchecked_rules(diagnosis, out)?;
    writeln!(out)?;
    losses::write(&diagnosis.losses, out)
}
