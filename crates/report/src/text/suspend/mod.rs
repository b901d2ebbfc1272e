//! Where the time of sleeping and waking went, for a person: the answer first, then the phases, then the worst of each
//! kind; several transitions as a list, and then each.

mod accounts;
mod children;
mod headline;
mod overview;
mod phases;

use std::io;

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::suspend::{PowerTransition, SuspendReport};

use super::machine::machine;
use super::style::{QUIET, TITLE};
use super::{ending, usage};
use crate::paper::Paper;
use crate::section::Section;

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendTextOptions {
    /// Rows of each list.
    pub top: usize,
}

impl Default for SuspendTextOptions {
    fn default() -> Self {
        Self { top: 5 }
    }
}

/// Writes the report.
///
/// # Errors
/// What `paper` answers.
pub fn write(
    report: &SuspendReport,
    recording: &RecordingSummary,
    options: &SuspendTextOptions,
    paper: &mut dyn Paper,
) -> io::Result<()> {
    if let [transition] = &report.transitions[..] {
        paper.lines(&mut |out| {
            headline::write(transition, out)?;
            writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
        })?;
        paper.sections(&sections_of(transition, options.top))?;
    } else {
        paper.lines(&mut |out| {
            overview::write(report, out)?;
            writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
        })?;
        for transition in &report.transitions {
            paper.lines(&mut |out| {
                writeln!(out)?;
                writeln!(out, "{TITLE}Transition {} of {}{TITLE:#}", transition.number, report.found)?;
                headline::write(transition, out)
            })?;
            paper.sections(&sections_of(transition, options.top))?;
        }
    }
    match report.losses().zip(report.lacking()) {
        Some((lost, lacked)) => paper.lines(&mut |out| ending::write(lost, lacked, out)),
        None => Ok(()),
    }
}

/// The sections of the report, of which text shows `top` rows of each list: those of each transition.
#[must_use]
pub fn sections(report: &SuspendReport, top: usize) -> Vec<Section<'_>> {
    report.transitions.iter().flat_map(|transition| sections_of(transition, top)).collect()
}

fn sections_of(transition: &PowerTransition, top: usize) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    sections.extend(phases::section(transition));
    sections.extend(accounts::sections(transition));
    sections.extend(children::notified(transition, top));
    sections.extend(children::devices(transition, top));
    sections.extend(children::drivers(transition, top));
    sections.extend(usage::sections(&transition.phases, &transition.touched_by));
    match sections.pop() {
        Some(last) => sections.push(last.touched_by(&transition.touched_by, &[])),
        None => sections.push(Section::of_lines("losses", "").touched_by(&transition.touched_by, &[])),
    }
    sections
}
