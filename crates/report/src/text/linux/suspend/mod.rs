//! Where the time of a sleep of Linux went: the answer first, then the phases, then the worst of each kind; several sleeps as a
//! list, and then each.

mod devices;
mod headline;
mod phases;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::suspend::{LinuxSleep, LinuxSuspendReport};

use crate::text::lacking;
use crate::text::losses;
use crate::text::machine::machine;
use crate::text::quantity::{counted, duration, duration_or_dash};
use crate::text::style::{HEADLINE, QUIET, TITLE};
use crate::text::suspend::SuspendTextOptions;
use crate::text::table::{Table, cell, styled_cell};
use crate::text::usage;

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &LinuxSuspendReport,
    recording: &RecordingSummary,
    options: &SuspendTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let [sleep] = &report.transitions[..] {
        headline::write(sleep, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
        write_sleep(sleep, options.top, out)?;
    } else {
        write_overview(report, out)?;
        writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))?;
        for sleep in &report.transitions {
            writeln!(out)?;
            writeln!(out, "{TITLE}Sleep {} of {}{TITLE:#}", sleep.number, report.found)?;
            headline::write(sleep, out)?;
            write_sleep(sleep, options.top, out)?;
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

fn write_sleep(sleep: &LinuxSleep, top: usize, out: &mut dyn Write) -> io::Result<()> {
    phases::write(sleep, out)?;
    devices::write_devices(sleep, top, out)?;
    devices::write_paths(sleep, top, out)?;
    devices::write_tasks(sleep, top, out)?;
    usage::write(&sleep.phases, &sleep.touched_by, out)?;
    losses::write_touching(&sleep.touched_by, out)
}

fn write_overview(report: &LinuxSuspendReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEADLINE}{}.{HEADLINE:#} {QUIET}--transition N shows one.{QUIET:#}",
        counted(report.found.into(), "sleep")
    )?;
    let mut table = Table::new()
        .right("no")
        .left("kind", 24)
        .right("begins")
        .right("suspend")
        .right("asleep")
        .right("resume")
        .left("longest", 90);
    for sleep in &report.transitions {
        table.row([
            cell(sleep.number.to_string()),
            cell(headline::kind(sleep)),
            cell(duration(sleep.start_or_zero_ns())),
            cell(duration_or_dash(sleep.details.suspend.duration_ns)),
            cell(duration_or_dash(sleep.details.asleep.slept_ns)),
            cell(duration_or_dash(sleep.details.resume.duration_ns)),
            styled_cell(
                QUIET,
                match headline::unknown(sleep) {
                    Some(text) => format!("not known: {text}"),
                    None => headline::longest(sleep).unwrap_or_default(),
                },
            ),
        ]);
    }
    table.write(out)
}
