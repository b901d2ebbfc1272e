//! Where the time of a Linux boot went, for a person: the answer first, then the phases, the way to the default target, and
//! the worst of each kind.

mod boots;
mod drivers;
mod headline;
mod path;
mod phases;
mod units;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::boot::LinuxBootReport;

pub use boots::write as write_boots;

use crate::text::boot::BootTextOptions;
use crate::text::boot_axis;
use crate::text::phases::touched_by;
use crate::text::usage;
use crate::text::{lacking, losses};

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &LinuxBootReport,
    recording: &RecordingSummary,
    options: &BootTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = options.top;
    headline::write(report, recording, out)?;
    phases::write(report, out)?;
    // The table of phases has no rows for what the firmware measured itself.
    if let Some(axis) = &report.details.axis {
        boot_axis::write_section(axis, out)?;
    }
    path::write(report, out)?;
    units::write(report, top, out)?;
    drivers::write(report, top, out)?;
    usage::write(&report.phases, &touched_by(&report.phases), out)?;
    writeln!(out)?;
    losses::write(&report.losses, out)?;
    lacking::write(&report.lacking, out)
}
