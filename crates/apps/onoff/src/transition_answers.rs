//! Results about a transition, for Windows and Linux.

use std::io::{self, Write};

use onoff_evidence::recording::{Provenance, RecordingSummary};
use onoff_report::text::transition::{DEFAULT_LIST_ROWS, TransitionReport};
use onoff_sections::csv::timed;
use onoff_sections::report_writer::{HtmlWriter, TextWriter};
use onoff_sections::section::{self, Section};
use onoff_transitions::boot::BootReport;
use onoff_transitions::linux::boot::LinuxBootReport;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSuspendReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::SuspendReport;

/// A report with the summary of its recording.
#[derive(Clone, Debug)]
pub struct TransitionAnswer<R> {
    pub report: R,
    pub recording: Box<RecordingSummary>,
}

pub type BootAnswer = TransitionAnswer<Boot>;
pub type ShutdownAnswer = TransitionAnswer<Shutdown>;
pub type SleepAnswer = TransitionAnswer<Sleeps>;

#[derive(Clone, Debug)]
pub enum Boot {
    /// A full boot of Windows.
    Windows(Box<BootReport>),
    /// The resume half of a Windows fast startup.
    FastStartup(Box<SuspendReport>),
    Linux(Box<LinuxBootReport>),
}

#[derive(Clone, Debug)]
pub enum Shutdown {
    Windows(Box<ShutdownReport>),
    Linux(Box<LinuxShutdownReport>),
}

/// All sleeps and hibernations of a recording.
#[derive(Clone, Debug)]
pub enum Sleeps {
    Windows(Box<SuspendReport>),
    Linux(Box<LinuxSuspendReport>),
}

/// A report about a transition of any operating system.
pub trait TransitionReportSource {
    /// The title of an HTML page.
    const TITLE: &'static str;

    fn as_report(&self) -> &dyn TransitionReport;
}

impl TransitionReportSource for Boot {
    const TITLE: &'static str = "Boot";

    fn as_report(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::FastStartup(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl TransitionReportSource for Shutdown {
    const TITLE: &'static str = "Shutdown";

    fn as_report(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl TransitionReportSource for Sleeps {
    const TITLE: &'static str = "Sleep";

    fn as_report(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl<R: TransitionReportSource> TransitionAnswer<R> {
    /// Writes text for people.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_text_with(DEFAULT_LIST_ROWS, out)
    }

    /// Writes text for people, with `top` rows per list.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_text_with(&self, top: usize, out: &mut dyn Write) -> io::Result<()> {
        self.report.as_report().write(&self.recording, top, &mut TextWriter(out))
    }

    /// Writes an HTML page without scripts. Rows after the first `top` of each list are collapsed.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_html(&self, top: usize, out: &mut dyn Write) -> io::Result<()> {
        HtmlWriter::write(R::TITLE, out, |writer| self.report.as_report().write(&self.recording, top, writer))
    }

    /// Writes JSON. `recordings` is the provenance ([`crate::Session::provenance`]).
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        self.report.as_report().write_json(recordings, out)
    }

    /// Returns the sections, each a table with all rows. Text shows the first `top` rows of each.
    #[must_use]
    pub fn sections(&self, top: usize) -> Vec<Section<'_>> {
        self.report.as_report().sections(top)
    }
}

impl ShutdownAnswer {
    /// Writes CSV, with one row for everything that took time.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match &self.report {
            Shutdown::Windows(report) => timed::shutdown(report),
            Shutdown::Linux(report) => timed::linux_shutdown(report),
        };
        section::csv::write(&[rows], out)
    }
}

impl SleepAnswer {
    /// Writes CSV, with one row for everything that took time.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match &self.report {
            Sleeps::Windows(report) => timed::sleeps(report),
            Sleeps::Linux(report) => timed::linux_sleeps(report),
        };
        section::csv::write(&[rows], out)
    }
}
