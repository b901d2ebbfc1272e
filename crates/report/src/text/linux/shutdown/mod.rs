//! Where the time of a shutdown of Linux went: the answer first, then the phases, then units and processes.

mod headline;
mod phases;
mod units;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::shutdown::LinuxShutdownReport;

use crate::text::lacking;
use crate::text::losses;
use crate::text::machine::machine;
use crate::text::shutdown::ShutdownTextOptions;
use crate::text::style::QUIET;
use crate::text::usage;

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &LinuxShutdownReport,
    recording: &RecordingSummary,
    options: &ShutdownTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = options.top;
    headline::write(report, out)?;
    writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
    phases::write(report, out)?;
    units::write_units(report, top, out)?;
    units::write_path(report, top, out)?;
    units::write_killed(report, out)?;
    units::write_processes(report, top, out)?;
    usage::write(&report.phases, &report.touched_by, out)?;
    losses::write_touching(&report.touched_by, out)?;
    writeln!(out)?;
    losses::write(&report.losses, out)?;
    lacking::write(&report.lacking, out)
}
