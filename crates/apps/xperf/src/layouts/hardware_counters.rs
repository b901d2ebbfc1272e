//! `xperf -a pmc -process` and `-thread`: hardware counters by process or thread.

use std::io::{self, Write};

use onoff_report::text::printable::printable;

use super::microseconds;
use super::process_name::ProcessName;
use crate::event_analyses::hardware_counters::{HardwareCounters, ThreadCounts};

/// Writes one row per process or thread, longest running first, and the number of skipped runs.
pub fn write(answer: &HardwareCounters, threads: bool, out: &mut dyn Write) -> io::Result<()> {
    let thread = if threads { ",        TID" } else { "" };
    write!(out, "{:>12}, {:>10},    Process Name ( PID){thread}", "Usec", "Runs")?;
    let of_processes;
    let rows = match threads {
        true => &answer.threads,
        false => {
            of_processes = answer.by_process();
            &of_processes
        }
    };
    let most = rows.iter().map(|row| row.counts.len()).max().unwrap_or(0).max(answer.names.len());
    for at in 0..most {
        match answer.names.get(at) {
            Some(name) => write!(out, ", {}", printable(name))?,
            None => write!(out, ", Counter {}", at + 1)?,
        }
    }
    writeln!(out)?;
    rows.iter().try_for_each(|row| write_row(row, threads, out))?;
    match answer.skipped_runs {
        0 => Ok(()),
        skipped_runs => {
            writeln!(out, "Runs in no row, as a counter ran backwards or a switch is missing: {skipped_runs}")
        }
    }
}

fn write_row(row: &ThreadCounts, threads: bool, out: &mut dyn Write) -> io::Result<()> {
    let name = ProcessName(Some(&row.process.image), row.process.pid);
    write!(out, "{:>12}, {:>10}, {name}", microseconds(Some(row.ran_ns)), row.runs)?;
    if threads {
        write!(out, ", {:>10}", row.tid.map_or(-1, i64::from))?;
    }
    row.counts.iter().try_for_each(|count| write!(out, ", {count}"))?;
    writeln!(out)
}
