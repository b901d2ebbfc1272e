//! Where the time of sleeping and waking went, for a person: the answer first, then the phases, then the worst of each
//! kind; several transitions as a list, and then each.

mod accounts;
mod children;
mod headline;
mod overview;
mod phases;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::suspend::{PowerTransition, SuspendReport};

use super::machine::machine;
use super::section::title;
use super::style::{QUIET, TITLE};
use super::{lacking, losses, usage};

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
/// What `out` answers.
pub fn write(
    report: &SuspendReport,
    recording: &RecordingSummary,
    options: &SuspendTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let [transition] = &report.transitions[..] {
        headline::write(transition, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
        write_transition(transition, options.top, out)?;
    } else {
        overview::write(report, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
        for transition in &report.transitions {
            writeln!(out)?;
            writeln!(out, "{TITLE}Transition {} of {}{TITLE:#}", transition.number, report.found)?;
            headline::write(transition, out)?;
            write_transition(transition, options.top, out)?;
        }
    }
    writeln!(out)?;
    if let Some(lost) = report.losses() {
        losses::write(lost, out)?;
    }
    match report.lacking() {
        Some(items) => lacking::write(items, out),
        None => Ok(()),
    }
}

fn write_transition(transition: &PowerTransition, top: usize, out: &mut dyn Write) -> io::Result<()> {
    phases::write(transition, out)?;
    accounts::write(transition, out)?;
    children::write_told(transition, top, out)?;
    children::write_devices(transition, top, out)?;
    usage::write(&transition.phases, &transition.touched_by, out)?;
    losses::write_touching(&transition.touched_by, out)
}
