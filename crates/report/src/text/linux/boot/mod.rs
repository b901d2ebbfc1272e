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
use onoff_analysis::transition::linux::MissingPart;
use onoff_analysis::transition::linux::boot::LinuxBootReport;

pub use boots::write as write_boots;

use crate::text::boot::BootTextOptions;
use crate::text::losses;
use crate::text::phases::touched_by;
use crate::text::section::title;
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};
use crate::text::usage;

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
    path::write(report, out)?;
    units::write(report, top, out)?;
    drivers::write(report, top, out)?;
    usage::write(&report.phases, &touched_by(&report.phases), out)?;
    writeln!(out)?;
    losses::write(&report.losses, out)?;
    write_lacking(&report.lacking, out)
}

fn write_lacking(lacking: &[MissingPart], out: &mut dyn Write) -> io::Result<()> {
    if lacking.is_empty() {
        return Ok(());
    }
    title("What the recording lacked", "", out)?;
    let mut table = Table::new().left("to know", 70).left("needs", 60).left("record", 120);
    for item in lacking {
        table.row([cell(&*item.unknown), cell(&*item.part), styled_cell(QUIET, &*item.record)]);
    }
    table.write(out)
}
