//! Where the time of a shutdown went, for a person: the answer first, then the phases, then the worst of each kind.

mod exits;
mod headline;
mod phases;
mod sessions;
mod work;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::shutdown::{NotAShutdown, ShutdownReport};

use super::phases::touched_by;
use super::printable::printable;
use super::usage;
use super::{lacking, losses};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownTextOptions {
    /// Rows of each list.
    pub top: usize,
}

impl Default for ShutdownTextOptions {
    fn default() -> Self {
        Self { top: 5 }
    }
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &ShutdownReport,
    recording: &RecordingSummary,
    options: &ShutdownTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let top = options.top;
    headline::write(report, recording, out)?;
    phases::write(report, out)?;
    sessions::write_applications(report, top, out)?;
    sessions::write_services(report, top, out)?;
    work::write_logoff(report, top, out)?;
    work::write_kernel(report, top, out)?;
    usage::write(&report.phases, &touched_by(&report.phases), out)?;
    work::write_flushes(report, top, out)?;
    exits::write(report, top, out)?;
    writeln!(out)?;
    losses::write(&report.losses, out)?;
    lacking::write(&report.lacking, out)
}

/// Why there is no report, in one line.
#[must_use]
pub fn no_shutdown(answer: &NotAShutdown) -> String {
    let recorder = if answer.recorder.is_empty() {
        "an unnamed session".to_owned()
    } else {
        printable(&answer.recorder).into_owned()
    };
    format!("{} (recorded by {recorder})", printable(&answer.to_string()))
}
