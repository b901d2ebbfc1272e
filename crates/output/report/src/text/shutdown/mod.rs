//! Where the time of a shutdown went, for a person: the answer first, then the phases, then the worst of each kind.

mod exits;
mod headline;
mod phases;
mod sessions;
mod work;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::shutdown::{NotAShutdown, ShutdownReport, WindowsShutdown};

use super::phases::touched_by;
use super::transition::{Once, no_transition};
use super::usage;
use onoff_sections::section::Section;

impl Once for WindowsShutdown {
    fn headline(report: &ShutdownReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
        headline::write(report, recording, out)
    }

    fn sections(report: &ShutdownReport, top: usize) -> Vec<Section<'_>> {
        let named = touched_by(&report.phases);
        let mut sections = vec![phases::section(report)];
        sections.extend(sessions::applications(report, top, &named));
        sections.extend(sessions::services(report, top, &named));
        sections.extend(work::logoff(report, top));
        sections.extend(work::kernel(report, top));
        sections.extend(usage::sections(&report.phases, &named));
        sections.extend(work::flushes(report, top));
        sections.extend(exits::section(report, top, &named));
        sections
    }
}

/// Why there is no report, in one line.
#[must_use]
pub fn no_shutdown(answer: &NotAShutdown) -> String {
    no_transition(answer, &answer.recorder)
}
