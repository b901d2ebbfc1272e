//! The text report of a Windows shutdown: headline, phases, then the slowest applications, services and kernel steps.

mod exits;
mod headline;
mod phases;
mod sessions;
mod work;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::shutdown::{NoShutdown, ShutdownReport, WindowsShutdown};

use super::phases::affecting_losses;
use super::transition::{SingleReport, no_transition};
use super::{account_comparison, event_logs, usage};
use onoff_sections::section::Section;

impl SingleReport for WindowsShutdown {
    fn headline(report: &ShutdownReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
        headline::write(report, recording, out)
    }

    fn sections(report: &ShutdownReport, top: usize) -> Vec<Section<'_>> {
        let reported_losses = affecting_losses(&report.phases);
        let mut sections = vec![phases::section(report)];
        let comparison = report.details.account_comparison.as_ref();
        sections.extend(comparison.map(|comparison| account_comparison::section(comparison, report.kind)));
        sections.extend(sessions::applications(report, top, &reported_losses));
        sections.extend(sessions::services(report, top, &reported_losses));
        sections.extend(work::logoff(report, top));
        sections.extend(work::kernel(report, top));
        sections.extend(usage::sections(&report.phases, &reported_losses));
        sections.extend(work::flushes(report, top));
        sections.extend(exits::section(report, top, &reported_losses));
        sections.extend(event_logs::reported_delays(&report.details.reported_delays, top));
        sections.extend(event_logs::channels(&report.details.channels));
        sections
    }
}

/// Returns the one-line message for a recording without a shutdown.
#[must_use]
pub fn no_shutdown(answer: &NoShutdown) -> String {
    no_transition(answer, &answer.recorder)
}
