//! Where the time of transitions went, for a person: the answer first, then the phases, then the worst of each kind; several sleeps
//! as a list, and then each.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use onoff_evidence::recording::{Provenance, RecordingSummary};
use onoff_transitions::{Transition, Transitions};

use super::machine::machine;
use super::printable::printable;
use super::quantity::counted;
use super::style::{HEADLINE, QUIET, TITLE};
use super::{ending, fix_first};
use onoff_sections::json::document::{self, Document};
use onoff_sections::paper::Paper;
use onoff_sections::section::{self, Section};

/// Rows of each list that text shows unless a person asks for more or fewer.
pub const LISTED: usize = 5;

/// A report of transitions, whichever kind and system they are of.
pub trait TransitionReport {
    /// Writes it for a person, with `top` rows of each list.
    ///
    /// # Errors
    /// What `paper` answers.
    fn write(&self, recording: &RecordingSummary, top: usize, paper: &mut dyn Paper) -> io::Result<()>;

    /// Its sections, of which text shows `top` rows of each list; of several sleeps those of each.
    fn sections(&self, top: usize) -> Vec<Section<'_>>;

    /// Writes it as JSON, made from `recordings`.
    ///
    /// # Errors
    /// What `out` answers.
    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()>;
}

/// Why there is no report, in one line.
pub(super) fn no_transition(answer: &impl Display, recorder: &str) -> String {
    format!("{} (recorded by {})", printable(&answer.to_string()), named(recorder))
}

/// What a recording's session is called.
pub(super) fn named(recorder: &str) -> Cow<'_, str> {
    if recorder.is_empty() { "an unnamed session".into() } else { printable(recorder) }
}

/// What is said of boots, or of shutdowns, of one system.
pub(super) trait Once: Sized {
    /// Writes the answer in a few sentences, and on which machine it was.
    fn headline(transition: &Transition<Self>, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()>;

    /// The sections.
    fn sections(transition: &Transition<Self>, top: usize) -> Vec<Section<'_>>;
}

impl<D: Once> TransitionReport for Transition<D>
where
    Self: Document,
{
    fn write(&self, recording: &RecordingSummary, top: usize, paper: &mut dyn Paper) -> io::Result<()> {
        paper.lines(&mut |out| D::headline(self, recording, out))?;
        paper.sections(&D::sections(self, top))?;
        paper.lines(&mut |out| ending::write(&self.losses, &self.lacking, out))
    }

    fn sections(&self, top: usize) -> Vec<Section<'_>> {
        D::sections(self, top)
    }

    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        document::write(recordings, self, out)
    }
}

/// What is said of sleeps of one system.
pub(super) trait Sleep: Sized {
    /// What one is called, at the beginning of a title and within a sentence.
    const CALLED: (&str, &str);

    /// Writes the answer in a few sentences.
    fn headline(sleep: &Transition<Self>, out: &mut dyn Write) -> io::Result<()>;

    /// Several as a list.
    fn overview(sleeps: &[Transition<Self>]) -> Section<'_>;

    /// The sections.
    fn sections(sleep: &Transition<Self>, top: usize) -> Vec<Section<'_>>;
}

impl<D: Sleep> TransitionReport for Transitions<D>
where
    Self: Document,
{
    fn write(&self, recording: &RecordingSummary, top: usize, paper: &mut dyn Paper) -> io::Result<()> {
        let (title, one) = D::CALLED;
        let several = self.transitions.len() != 1;
        if several {
            paper.lines(&mut |out| {
                let found = counted(self.found.into(), one);
                writeln!(out, "{HEADLINE}{found}.{HEADLINE:#} {QUIET}--transition N shows one.{QUIET:#}")?;
                section::text::write(&D::overview(&self.transitions), out)?;
                writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
            })?;
        }
        for sleep in &self.transitions {
            paper.lines(&mut |out| {
                if several {
                    writeln!(out, "\n{TITLE}{title} {} of {}{TITLE:#}", sleep.number, self.found)?;
                    D::headline(sleep, out)?;
                    return fix_first::write(sleep, out);
                }
                D::headline(sleep, out)?;
                fix_first::write(sleep, out)?;
                writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
            })?;
            paper.sections(&sections_of(sleep, top))?;
        }
        match self.losses().zip(self.lacking()) {
            Some((lost, lacked)) => paper.lines(&mut |out| ending::write(lost, lacked, out)),
            None => Ok(()),
        }
    }

    fn sections(&self, top: usize) -> Vec<Section<'_>> {
        self.transitions.iter().flat_map(|sleep| sections_of(sleep, top)).collect()
    }

    fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        document::write(recordings, self, out)
    }
}

/// The sections of a sleep; the last one says which losses touch it.
fn sections_of<D: Sleep>(sleep: &Transition<D>, top: usize) -> Vec<Section<'_>> {
    let mut sections = D::sections(sleep, top);
    sections.extend(super::usage::sections(&sleep.phases, &sleep.touched_by));
    let last = sections.pop().unwrap_or_else(|| Section::of_lines("losses", ""));
    sections.push(last.touched_by(&sleep.touched_by, &[]));
    sections
}
