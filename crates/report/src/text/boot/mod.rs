//! Where the time of a boot went, for a person: the answer first, then the phases, then the worst of each kind.

mod devices;
mod headline;
mod logon;
mod phases;
mod services;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::boot::{BootReport, NotABoot};

use super::boot_axis;
use super::phases::touched_by;
use super::printable::printable;
use super::section::{title, write_news};
use super::usage;
use super::{lacking, losses};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootTextOptions {
    /// Rows of each list.
    pub top: usize,
}

impl Default for BootTextOptions {
    fn default() -> Self {
        Self { top: 5 }
    }
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &BootReport,
    recording: &RecordingSummary,
    options: &BootTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = options.top;
    headline::write(report, recording, out)?;
    phases::write(report, out)?;
    if let Some(axis) = report.details.axis.as_ref().filter(|axis| boot_axis::adds_to_phases(axis)) {
        boot_axis::write_section(axis, out)?;
    }
    services::write(report, top, out)?;
    devices::write(report, top, out)?;
    usage::write(&report.phases, &touched_by(&report.phases), out)?;
    logon::write(report, top, out)?;
    writeln!(out)?;
    losses::write(&report.losses, out)?;
    lacking::write(&report.lacking, out)
}

/// Why there is no report, in one line.
#[must_use]
pub fn no_boot(answer: &NotABoot) -> String {
    let recorder = if answer.recorder.is_empty() {
        "an unnamed session".to_owned()
    } else {
        printable(&answer.recorder).into_owned()
    };
    format!("{} (recorded by {recorder})", printable(&answer.to_string()))
}

/// The losses that touch a section, unless they are those that touch the phases, where they are named already.
fn write_touching(report: &BootReport, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    write_news(&touched_by(&report.phases), names, out)
}
