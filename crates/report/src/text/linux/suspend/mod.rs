//! Where the time of a sleep of Linux went: the answer first, then the phases, then the worst of each kind; several sleeps as a
//! list, and then each.

mod devices;
mod headline;
mod phases;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::suspend::{LinuxSleep, LinuxSuspendReport};

use crate::paper::Paper;
use crate::section::{self, Cell, Heading, Section};
use crate::table::Value;
use crate::text::linux::call_graphs;
use crate::text::machine::machine;
use crate::text::quantity::counted;
use crate::text::style::{HEADLINE, QUIET, TITLE};
use crate::text::suspend::SuspendTextOptions;
use crate::text::{ending, usage};

/// Writes the report.
///
/// # Errors
/// What `paper` answers.
pub fn write(
    report: &LinuxSuspendReport,
    recording: &RecordingSummary,
    options: &SuspendTextOptions,
    paper: &mut dyn Paper,
) -> io::Result<()> {
    if let [sleep] = &report.transitions[..] {
        paper.lines(&mut |out| {
            headline::write(sleep, out)?;
            writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
        })?;
        paper.sections(&sections_of(sleep, options.top))?;
    } else {
        paper.lines(&mut |out| {
            write_overview(report, out)?;
            writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
        })?;
        for sleep in &report.transitions {
            paper.lines(&mut |out| {
                writeln!(out)?;
                writeln!(out, "{TITLE}Sleep {} of {}{TITLE:#}", sleep.number, report.found)?;
                headline::write(sleep, out)
            })?;
            paper.sections(&sections_of(sleep, options.top))?;
        }
    }
    match report.losses().zip(report.lacking()) {
        Some((lost, lacked)) => paper.lines(&mut |out| ending::write(lost, lacked, out)),
        None => Ok(()),
    }
}

/// The sections of the report, of which text shows `top` rows of each list: those of each sleep.
#[must_use]
pub fn sections(report: &LinuxSuspendReport, top: usize) -> Vec<Section<'_>> {
    report.transitions.iter().flat_map(|sleep| sections_of(sleep, top)).collect()
}

fn sections_of(sleep: &LinuxSleep, top: usize) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    sections.extend(phases::section(sleep));
    sections.extend(devices::devices(sleep, top));
    sections.extend(devices::callbacks(sleep, top));
    sections.extend(call_graphs::section(&sleep.details.call_graphs, top));
    sections.extend(devices::paths(sleep, top));
    sections.extend(devices::tasks(sleep, top));
    sections.extend(usage::sections(&sleep.phases, &sleep.touched_by));
    match sections.pop() {
        Some(last) => sections.push(last.touched_by(&sleep.touched_by, &[])),
        None => sections.push(Section::of_lines("losses", "").touched_by(&sleep.touched_by, &[])),
    }
    sections
}

fn write_overview(report: &LinuxSuspendReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEADLINE}{}.{HEADLINE:#} {QUIET}--transition N shows one.{QUIET:#}",
        counted(report.found.into(), "sleep")
    )?;
    section::text::write(&overview(report), out)
}

fn overview(report: &LinuxSuspendReport) -> Section<'_> {
    Section::of("sleeps", "", &report.transitions)
        .column(Heading::id("number", "no"), |sleep| Value::Id(sleep.number.into()))
        .column(Heading::name("variant", "kind").wide(24), |sleep| {
            Cell::shown(Value::text(sleep.variant.as_str()), headline::kind(sleep))
        })
        .column(Heading::time("start_ns", "begins"), |sleep| Cell::since_or_dash(Some(sleep.start_or_zero_ns()), 0))
        .column(Heading::quantity("suspend_ns", "suspend"), |sleep| {
            Cell::duration_or_dash(sleep.details.suspend.duration_ns)
        })
        .column(Heading::quantity("asleep_ns", "asleep"), |sleep| Cell::duration_or_dash(sleep.details.asleep.slept_ns))
        .column(Heading::quantity("resume_ns", "resume"), |sleep| {
            Cell::duration_or_dash(sleep.details.resume.duration_ns)
        })
        .column(Heading::name("", "longest").wide(90), |sleep| {
            let longest = match headline::unknown(sleep) {
                Some(text) => format!("not known: {text}"),
                None => headline::longest(sleep).unwrap_or_default(),
            };
            Cell::words(QUIET, longest)
        })
        .done()
}
