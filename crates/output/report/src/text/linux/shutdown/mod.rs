//! The text report of a Linux shutdown: headline, phases, units and processes.

mod headline;
mod phases;
mod units;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::linux::shutdown::{LinuxShutdown, LinuxShutdownReport};

use crate::text::fix_first;
use crate::text::machine::machine;
use crate::text::style::QUIET;
use crate::text::transition::SingleReport;
use crate::text::usage;
use onoff_sections::section::Section;

impl SingleReport for LinuxShutdown {
    fn headline(report: &LinuxShutdownReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
        headline::write(report, out)?;
        fix_first::write(report, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
    }

    fn sections(report: &LinuxShutdownReport, top: usize) -> Vec<Section<'_>> {
        let mut sections = vec![phases::section(report)];
        sections.extend(units::units(report, top));
        sections.extend(units::path(report, top));
        sections.extend(units::killed(report));
        sections.extend(units::processes(report, top));
        sections.extend(usage::sections(&report.phases, &report.affecting_losses));
        if let Some(last) = sections.pop() {
            sections.push(last.affected_by(&report.affecting_losses, &[]));
        }
        sections
    }
}
