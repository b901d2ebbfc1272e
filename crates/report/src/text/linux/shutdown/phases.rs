//! The phases of a shutdown of Linux.

use std::io::{self, Write};

use onoff_analysis::transition::PhaseName;
use onoff_analysis::transition::linux::shutdown::LinuxShutdownReport;
use onoff_trace::duration::ExactTime;

use crate::text::phases::{self, PhaseRow, PhaseTable};
use crate::text::section::title;

/// A phase in words, for a sentence.
pub(super) fn words(name: PhaseName) -> String {
    match name {
        PhaseName::Sync => "sync".to_owned(),
        PhaseName::TerminateRemaining => "SIGTERM".to_owned(),
        PhaseName::KillRemaining => "SIGKILL".to_owned(),
        name => phases::name(name),
    }
}

pub(super) fn write(report: &LinuxShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    let start = report.details.starts.time_ns.unwrap_or(0);
    let note = format!("times count from the start of the shutdown, {} of the recording", ExactTime(start));
    title("Phases", &note, out)?;
    let rows = report.phases.iter().map(PhaseRow::of).collect();
    PhaseTable { origin_ns: start, whole_ns: Some(report.total_at_least_ns), away: None, rows }.write(out)
}

/// A time as seen from the begin of the shutdown, ns.
pub(super) fn since(report: &LinuxShutdownReport, time_ns: i64) -> i64 {
    time_ns.saturating_sub(report.details.starts.time_ns.unwrap_or(0))
}
