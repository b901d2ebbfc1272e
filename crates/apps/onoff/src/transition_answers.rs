//! Answers about a transition, whichever system it is of.

use std::io::{self, Write};

use onoff_evidence::recording::{Provenance, RecordingSummary};
use onoff_report::text::transition::{LISTED, TransitionReport};
use onoff_sections::csv::timed;
use onoff_sections::paper::{HtmlPaper, TextPaper};
use onoff_sections::section::{self, Section};
use onoff_transitions::boot::BootReport;
use onoff_transitions::linux::boot::LinuxBootReport;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSuspendReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::SuspendReport;

/// Where the time of transitions went.
#[derive(Clone, Debug)]
pub struct TransitionAnswer<R> {
    /// What was found.
    pub report: R,
    /// The recording.
    pub recording: Box<RecordingSummary>,
}

/// Where the time of a boot went.
pub type BootAnswer = TransitionAnswer<Boot>;
/// Where the time of a shutdown went.
pub type ShutdownAnswer = TransitionAnswer<Shutdown>;
/// Where the time of sleeping and waking went.
pub type SleepAnswer = TransitionAnswer<Sleeps>;

/// A boot.
#[derive(Clone, Debug)]
pub enum Boot {
    /// Of Windows, from off.
    Windows(Box<BootReport>),
    /// Of Windows after a fast startup's shutdown: the half that comes back.
    FastStartup(Box<SuspendReport>),
    /// Of Linux.
    Linux(Box<LinuxBootReport>),
}

/// A shutdown.
#[derive(Clone, Debug)]
pub enum Shutdown {
    /// Of Windows.
    Windows(Box<ShutdownReport>),
    /// Of Linux.
    Linux(Box<LinuxShutdownReport>),
}

/// Sleeps.
#[derive(Clone, Debug)]
pub enum Sleeps {
    /// Of Windows.
    Windows(Box<SuspendReport>),
    /// Of Linux.
    Linux(Box<LinuxSuspendReport>),
}

/// What the answers about all kinds of transitions are written from.
pub trait OfAnySystem {
    /// The title of a page about it.
    const TITLE: &'static str;

    /// The report.
    fn any(&self) -> &dyn TransitionReport;
}

impl OfAnySystem for Boot {
    const TITLE: &'static str = "Boot";

    fn any(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::FastStartup(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl OfAnySystem for Shutdown {
    const TITLE: &'static str = "Shutdown";

    fn any(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl OfAnySystem for Sleeps {
    const TITLE: &'static str = "Sleep";

    fn any(&self) -> &dyn TransitionReport {
        match self {
            Self::Windows(report) => &**report,
            Self::Linux(report) => &**report,
        }
    }
}

impl<R: OfAnySystem> TransitionAnswer<R> {
    /// Writes the answer for a person.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_text_with(LISTED, out)
    }

    /// Writes the answer for a person, with `top` rows of each list.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text_with(&self, top: usize, out: &mut dyn Write) -> io::Result<()> {
        self.report.any().write(&self.recording, top, &mut TextPaper(out))
    }

    /// Writes the answer as a page of HTML without scripts: the rows of each list after the first `top` are folded.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_html(&self, top: usize, out: &mut dyn Write) -> io::Result<()> {
        HtmlPaper::write(R::TITLE, out, |paper| self.report.any().write(&self.recording, top, paper))
    }

    /// Writes the answer as JSON; `recordings` are where it comes from ([`crate::Session::provenance`]).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        self.report.any().write_json(recordings, out)
    }

    /// The answer's sections, each a table with all its rows; text shows `top` of each list.
    #[must_use]
    pub fn sections(&self, top: usize) -> Vec<Section<'_>> {
        self.report.any().sections(top)
    }
}

impl ShutdownAnswer {
    /// Writes everything that took time as comma-separated values, one row each.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match &self.report {
            Shutdown::Windows(report) => timed::shutdown(report),
            Shutdown::Linux(report) => timed::linux_shutdown(report),
        };
        section::csv::write(&[rows], out)
    }
}

impl SleepAnswer {
    /// Writes everything that took time as comma-separated values, one row each.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match &self.report {
            Sleeps::Windows(report) => timed::sleeps(report),
            Sleeps::Linux(report) => timed::linux_sleeps(report),
        };
        section::csv::write(&[rows], out)
    }
}
