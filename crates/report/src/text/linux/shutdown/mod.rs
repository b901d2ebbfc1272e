//! Where the time of a shutdown of Linux went: the answer first, then the phases, then units and processes.

mod headline;
mod phases;
mod units;

use std::io;

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::shutdown::LinuxShutdownReport;

use crate::paper::Paper;
use crate::section::Section;
use crate::text::machine::machine;
use crate::text::shutdown::ShutdownTextOptions;
use crate::text::style::QUIET;
use crate::text::{ending, usage};

/// Writes the report.
///
/// # Errors
/// What `paper` answers.
pub fn write(
    report: &LinuxShutdownReport,
    recording: &RecordingSummary,
    options: &ShutdownTextOptions,
    paper: &mut dyn Paper,
) -> io::Result<()> {
    paper.lines(&mut |out| {
        headline::write(report, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
    })?;
    paper.sections(&sections(report, options.top))?;
    paper.lines(&mut |out| ending::write(&report.losses, &report.lacking, out))
}

/// The sections of the report, of which text shows `top` rows of each list.
#[must_use]
pub fn sections(report: &LinuxShutdownReport, top: usize) -> Vec<Section<'_>> {
    let mut sections = vec![phases::section(report)];
    sections.extend(units::units(report, top));
    sections.extend(units::path(report, top));
    sections.extend(units::killed(report));
    sections.extend(units::processes(report, top));
    sections.extend(usage::sections(&report.phases, &report.touched_by));
    if let Some(last) = sections.pop() {
        sections.push(last.touched_by(&report.touched_by, &[]));
    }
    sections
}
