//! Logon, policy, programs that start with the session, and what else happened around them.

use std::io::{self, Write};

use onoff_analysis::Span;
use onoff_analysis::activity::Work;
use onoff_analysis::transition::boot::{BootReport, TrainingState};
use onoff_trace::ActivityKind;

use super::{title, write_touching};
use crate::text::quantity::{count, duration, duration_or_dash};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};

/// Work shorter than this is not worth a line, ns.
const NOTABLE_NS: i64 = 1_000_000;

pub(super) fn write(report: &BootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let policy = &report.details.group_policy;
    let logon = &report.details.logon;
    let mut table = Table::new().left("what", 20).left("name", 60).right("took").right("begins").left("", 110);
    for (what, works) in [
        ("policy", &policy.applications),
        ("policy extension", &policy.extensions),
        ("policy script", &policy.scripts),
        ("wait for network", &policy.network_waits),
        ("waited for a person", &logon.credential_requests),
        ("authentication", &logon.authentications),
        ("user profile", &logon.user_profiles),
        ("session subscriber", &logon.notification_subscribers),
    ] {
        rows(what, works, top, &mut table);
    }
    video_row("video, system", &report.details.video.system_session, &mut table);
    video_row("video, user", &report.details.video.user_session, &mut table);
    if !table.is_empty() {
        title("Logon and policy", "", out)?;
        table.write(out)?;
    }

    write_startup_applications(report, top, out)?;
    write_processes(report, out)?;
    write_read_ahead(report, out)
}

fn write_startup_applications(report: &BootReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let programs = &report.details.startup_applications.programs;
    if programs.is_empty() {
        return Ok(());
    }
    let note = format!("costliest of {}", count(programs.len() as u64));
    title("Programs that start with the session", &note, out)?;
    let mut table = Table::new().left("program", 80).right("processor").right("disk").right("begins").left("", 40);
    for program in programs.iter().take(top) {
        // Its process tells a command that runs another program.
        let process = program
            .process_pid
            .map_or_else(|| "no process found".to_owned(), |pid| format!("{} ({pid})", program.image));
        table.row([
            cell(&*program.name),
            cell(duration_or_dash(program.cpu_ns)),
            cell(duration_or_dash(program.disk_service_ns)),
            cell(duration(program.start_ns)),
            styled_cell(QUIET, process),
        ]);
    }
    table.write(out)
}

fn rows(what: &str, works: &[Work], top: usize, table: &mut Table) {
    let notable = works.iter().filter(|work| work.duration_ns.is_none_or(|ns| ns >= NOTABLE_NS));
    for work in notable.take(top) {
        // A subscriber's detail is the number of the notification it was given.
        let detail = match work.kind {
            ActivityKind::NotificationSubscriber => format!("notification {}", work.detail),
            _ => work.detail.clone(),
        };
        let took = work.duration_ns.map_or_else(|| "unfinished".to_owned(), duration);
        table.row([
            cell(what),
            cell(&*work.name),
            cell(took),
            cell(duration(work.start_ns)),
            styled_cell(QUIET, detail),
        ]);
    }
}

fn video_row(what: &str, span: &Span, table: &mut Table) {
    if let (Some(start), Some(took)) = (span.start_ns, span.duration_ns) {
        table.row([
            cell(what),
            cell("driver initialisation"),
            cell(duration(took)),
            cell(duration(start)),
            styled_cell(QUIET, &*span.rule),
        ]);
    }
}

fn write_processes(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let summary = &report.details.process_summary;
    if summary.total == 0 {
        return Ok(());
    }
    let note = format!(
        "{}: {} expected, {} long-lived, {} short-lived, {} ended within {}",
        count(summary.total),
        count(summary.expected),
        count(summary.long_lived),
        count(summary.short_lived),
        count(summary.very_short_lived),
        duration(summary.very_short_lived_below_ns),
    );
    title("Processes", &note, out)?;
    write_touching(report, &report.details.processes_touched_by, out)
}

fn write_read_ahead(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let advice = match report.details.read_ahead.state {
        TrainingState::Untrained => "has not learnt this machine yet: expect the next boots to be faster",
        TrainingState::Training => "is still learning this machine: measure after the third boot",
        TrainingState::Trained | TrainingState::Unknown => return Ok(()),
    };
    writeln!(out, "\n{QUIET}The boot read-ahead (ReadyBoot) {advice}.{QUIET:#}")
}
