//! The phases of a Linux shutdown.

use onoff_trace::duration::ExactTime;
use onoff_transitions::PhaseName;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;

use crate::text::phases::{self, PhaseRow, PhaseTable};
use onoff_sections::section::Section;

/// Returns the name of a phase within a sentence.
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
    let note = format!("times are relative to the start of the shutdown, {} into the recording", ExactTime(origin_ns));
    let rows = report.phases.iter().map(PhaseRow::from_phase).collect();
    let total_ns = Some(report.total_at_least_ns);
    PhaseTable { origin_ns, total_ns, rows, ..PhaseTable::default() }.section(note)
}
