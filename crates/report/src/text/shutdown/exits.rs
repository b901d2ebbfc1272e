//! What the ends of processes tell, where the providers of a shutdown were not recorded.

use std::io::{self, Write};

use onoff_analysis::transition::shutdown::{ProcessExit, ShutdownReport};

use crate::text::phases::touched_by;
use crate::text::quantity::{count, duration, duration_or_dash};
use crate::text::section::{title, write_news};
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};
use crate::text::usage::process_name;

pub(super) fn write(report: &ShutdownReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let exits = &report.details.exits;
    let (Some(last), Some(length)) = (exits.processes.last(), exits.duration_ns) else {
        return Ok(());
    };
    let note = format!(
        "{} ended in {}; last to go: {}; {} still running at the recording's end",
        count(exits.processes.len() as u64),
        duration(length),
        process_name(&last.image, Some(last.pid)),
        count(exits.still_running),
    );
    title("Ends of processes", &note, out)?;
    // Where applications and services speak for themselves, this adds little.
    if !report.details.sessions.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {DOUBT}inferred: nobody recorded who was told to end; longest waits between two ends first{DOUBT:#}"
    )?;
    let mut rows: Vec<&ProcessExit> = exits.processes.iter().collect();
    rows.sort_by_key(|exit| (std::cmp::Reverse(exit.since_previous_ns), exit.end_ns));
    let mut table = Table::new()
        .left("process", 40)
        .right("after the one before")
        .right("after the first")
        .right("took to die")
        .right("threads")
        .right("modules")
        .left("", 30);
    for exit in rows.into_iter().take(top) {
        let whose = match (exit.is_service_host, exit.session) {
            (true, _) => "host of services".to_owned(),
            (false, Some(session)) => format!("session {session}"),
            (false, None) => String::new(),
        };
        table.row([
            cell(process_name(&exit.image, Some(exit.pid))),
            cell(duration(exit.since_previous_ns)),
            cell(duration(exit.since_first_ns)),
            cell(duration_or_dash(exit.dying_ns)),
            cell(count(exit.threads_ended)),
            cell(count(exit.images_unloaded)),
            styled_cell(QUIET, whose),
        ]);
    }
    table.write(out)?;
    write_news(&touched_by(&report.phases), &exits.touched_by, out)
}
