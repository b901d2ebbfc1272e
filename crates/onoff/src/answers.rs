//! Answers about a transition, whichever system it is of.

use std::io::{self, Write};

use onoff_analysis::recording::{Provenance, RecordingSummary};
use onoff_analysis::transition::boot::BootReport;
use onoff_analysis::transition::linux::boot::LinuxBootReport;
use onoff_analysis::transition::linux::shutdown::LinuxShutdownReport;
use onoff_analysis::transition::linux::suspend::LinuxSuspendReport;
use onoff_analysis::transition::shutdown::ShutdownReport;
use onoff_analysis::transition::suspend::SuspendReport;
use onoff_report::csv::timed;
use onoff_report::paper::{HtmlPaper, Paper, TextPaper};
use onoff_report::section::{self, Section};
use onoff_report::text::boot::BootTextOptions;
use onoff_report::text::shutdown::ShutdownTextOptions;
use onoff_report::text::suspend::SuspendTextOptions;
use onoff_report::{json, text};

/// Where the time of a boot went.
#[derive(Clone, Debug)]
pub enum BootAnswer {
    /// A boot of Windows from off.
    Windows {
        /// The boot.
        report: Box<BootReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
    /// A boot of Windows after a fast startup's shutdown: the half that comes back.
    FastStartup {
        /// The transition.
        report: Box<SuspendReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
    /// A boot of Linux.
    Linux {
        /// The boot.
        report: Box<LinuxBootReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
}

impl BootAnswer {
    /// Writes the answer for a person.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_text_with(&BootTextOptions::default(), out)
    }

    /// Writes the answer for a person, with `options`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text_with(&self, options: &BootTextOptions, out: &mut dyn Write) -> io::Result<()> {
        self.write_on(options, &mut TextPaper(out))
    }

    /// Writes the answer as a page of HTML without scripts, with `options`: the rows that text leaves out are folded.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_html(&self, options: &BootTextOptions, out: &mut dyn Write) -> io::Result<()> {
        HtmlPaper::write("Boot", out, |paper| self.write_on(options, paper))
    }

    fn write_on(&self, options: &BootTextOptions, paper: &mut dyn Paper) -> io::Result<()> {
        match self {
            Self::Windows { report, recording } => text::boot::write(report, recording, options, paper),
            Self::FastStartup { report, recording } => {
                text::suspend::write(report, recording, &SuspendTextOptions { top: options.top }, paper)
            }
            Self::Linux { report, recording } => text::linux::boot::write(report, recording, options, paper),
        }
    }

    /// Writes the answer as JSON; `recordings` are where it comes from ([`crate::Session::provenance`]).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Windows { report, .. } => json::document::write(recordings, &**report, out),
            Self::FastStartup { report, .. } => json::document::write(recordings, &**report, out),
            Self::Linux { report, .. } => json::document::write(recordings, &**report, out),
        }
    }

    /// The answer's sections, each a table with all its rows; text shows `top` of each list.
    #[must_use]
    pub fn sections(&self, top: usize) -> Vec<Section<'_>> {
        match self {
            Self::Windows { report, .. } => text::boot::sections(report, top),
            Self::FastStartup { report, .. } => text::suspend::sections(report, top),
            Self::Linux { report, .. } => text::linux::boot::sections(report, top),
        }
    }
}

/// Where the time of a shutdown went.
#[derive(Clone, Debug)]
pub enum ShutdownAnswer {
    /// A shutdown of Windows.
    Windows {
        /// The shutdown.
        report: Box<ShutdownReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
    /// A shutdown of Linux.
    Linux {
        /// The shutdown.
        report: Box<LinuxShutdownReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
}

impl ShutdownAnswer {
    /// Writes the answer for a person, with `options`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text_with(&self, options: &ShutdownTextOptions, out: &mut dyn Write) -> io::Result<()> {
        self.write_on(options, &mut TextPaper(out))
    }

    /// Writes the answer as a page of HTML without scripts, with `options`: the rows that text leaves out are folded.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_html(&self, options: &ShutdownTextOptions, out: &mut dyn Write) -> io::Result<()> {
        HtmlPaper::write("Shutdown", out, |paper| self.write_on(options, paper))
    }

    fn write_on(&self, options: &ShutdownTextOptions, paper: &mut dyn Paper) -> io::Result<()> {
        match self {
            Self::Windows { report, recording } => text::shutdown::write(report, recording, options, paper),
            Self::Linux { report, recording } => text::linux::shutdown::write(report, recording, options, paper),
        }
    }

    /// Writes the answer as JSON; `recordings` are where it comes from ([`crate::Session::provenance`]).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Windows { report, .. } => json::document::write(recordings, &**report, out),
            Self::Linux { report, .. } => json::document::write(recordings, &**report, out),
        }
    }

    /// The answer's sections, each a table with all its rows; text shows `top` of each list.
    #[must_use]
    pub fn sections(&self, top: usize) -> Vec<Section<'_>> {
        match self {
            Self::Windows { report, .. } => text::shutdown::sections(report, top),
            Self::Linux { report, .. } => text::linux::shutdown::sections(report, top),
        }
    }

    /// Writes everything that took time as comma-separated values, one row each.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match self {
            Self::Windows { report, .. } => timed::shutdown(report),
            Self::Linux { report, .. } => timed::linux_shutdown(report),
        };
        section::csv::write(&[rows], out)
    }
}

/// Where the time of sleeping and waking went.
#[derive(Clone, Debug)]
pub enum SleepAnswer {
    /// Sleeps of Windows.
    Windows {
        /// The sleeps.
        report: Box<SuspendReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
    /// Sleeps of Linux.
    Linux {
        /// The sleeps.
        report: Box<LinuxSuspendReport>,
        /// The recording.
        recording: Box<RecordingSummary>,
    },
}

impl SleepAnswer {
    /// Writes the answer for a person, with `options`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text_with(&self, options: &SuspendTextOptions, out: &mut dyn Write) -> io::Result<()> {
        self.write_on(options, &mut TextPaper(out))
    }

    /// Writes the answer as a page of HTML without scripts, with `options`: the rows that text leaves out are folded.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_html(&self, options: &SuspendTextOptions, out: &mut dyn Write) -> io::Result<()> {
        HtmlPaper::write("Sleep", out, |paper| self.write_on(options, paper))
    }

    fn write_on(&self, options: &SuspendTextOptions, paper: &mut dyn Paper) -> io::Result<()> {
        match self {
            Self::Windows { report, recording } => text::suspend::write(report, recording, options, paper),
            Self::Linux { report, recording } => text::linux::suspend::write(report, recording, options, paper),
        }
    }

    /// Writes the answer as JSON; `recordings` are where it comes from ([`crate::Session::provenance`]).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Windows { report, .. } => json::document::write(recordings, &**report, out),
            Self::Linux { report, .. } => json::document::write(recordings, &**report, out),
        }
    }

    /// The answer's sections, each a table with all its rows; text shows `top` of each list.
    #[must_use]
    pub fn sections(&self, top: usize) -> Vec<Section<'_>> {
        match self {
            Self::Windows { report, .. } => text::suspend::sections(report, top),
            Self::Linux { report, .. } => text::linux::suspend::sections(report, top),
        }
    }

    /// Writes everything that took time as comma-separated values, one row each.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows = match self {
            Self::Windows { report, .. } => timed::sleeps(report),
            Self::Linux { report, .. } => timed::linux_sleeps(report),
        };
        section::csv::write(&[rows], out)
    }
}
