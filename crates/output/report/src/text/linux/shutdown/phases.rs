//! The phases of a shutdown of Linux.

use onoff_trace::duration::ExactTime;
use onoff_transitions::PhaseName;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;

use crate::text::phases::{self, PhaseRow, PhaseTable};
use onoff_sections::section::Section;

/// A phase in words, for a sentence.
pub(super) fn words(name: PhaseName) -> String {
    match name {
        PhaseName::Sync => "sync".to_owned(),
        PhaseName::TerminateRemaining => "SIGTERM".to_owned(),
        PhaseName::KillRemaining => "SIGKILL".to_owned(),
        name => phases::name(name),
    }
}

pub(super) fn section(report: &LinuxShutdownReport) -> Section<'_> {
    let origin_ns = report.details.starts.time_ns.unwrap_or(0);
    let note = format!("times count from the start of the shutdown, {} of the recording", ExactTime(origin_ns));
    let rows = report.phases.iter().map(PhaseRow::of).collect();
    PhaseTable { origin_ns, whole_ns: Some(report.total_at_least_ns), away: None, rows }.section(note)
}
