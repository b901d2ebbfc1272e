//! `xperf -a pmc -process` and `-thread`: hardware counters by process or thread.

use std::io::{self, Write};

use onoff_report::text::printable::printable;

use super::microseconds;
use super::process_name::ProcessName;
use crate::event_analyses::hardware_counters::{HardwareCounters, ThreadCounts};

/// Writes one row per process or thread, longest run time first, and the number of skipped runs.
pub fn write(counters: &HardwareCounters, threads: bool, out: &mut dyn Write) -> io::Result<()> {
    let thread = if threads { ",        TID" } else { "" };
    write!(out, "{:>12}, {:>10},    Process Name ( PID){thread}", "Usec", "Runs")?;
    let process_rows;
    let rows = match threads {
        true => &counters.threads,
        false => {
            process_rows = counters.by_process();
            &process_rows
        }
    };
    let columns = rows.iter().map(|row| row.counts.len()).max().unwrap_or(0).max(counters.names.len());
    for index in 0..columns {
        match counters.names.get(index) {
            Some(name) => write!(out, ", {}", printable(name))?,
            None => write!(out, ", Counter {}", index + 1)?,
        }
    }
    writeln!(out)?;
    rows.iter().try_for_each(|row| write_row(row, threads, out))?;
    match counters.skipped_runs {
        0 => Ok(()),
        skipped_runs => {
            writeln!(out, "Skipped runs (a counter ran backwards, or a context switch is missing): {skipped_runs}")
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
