//! `xperf -a winlogon`, `-a winsat`, `-a focuschange`, `-a prefetch` and `-a perfctrs`: reports from single providers.

use std::io::{self, Write};

use crate::event_analyses::Limited;
use crate::event_analyses::focus::Focus;
use crate::event_analyses::prefetch::Prefetch;
use crate::event_analyses::process_counters::ProcessCounters;
use crate::event_analyses::work::ReportedWork;

use super::microseconds;
use super::process_name::ProcessName;
use super::time_unit::TimeUnit;
use onoff_report::text::printable::printable;

/// Writes work items and single events, by start.
pub fn write_work(report: &Limited<ReportedWork>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, " StartTime,    EndTime,   Duration,     Process Name ( PID),   ThreadID, Task, Details")?;
    for row in &report.rows {
        let tid = row.tid.map_or(-1, i64::from);
        writeln!(
            out,
            "{:>10}, {:>10}, {:>10}, {}, {tid:>10}, {}, {}",
            microseconds(row.start_ns),
            microseconds(row.end_ns),
            microseconds(row.duration_ns()),
            ProcessName(Some(&row.process.image), row.process.pid),
            printable(&row.name),
            printable(&row.detail.join("; "))
        )?;
    }
    write_omitted(report.omitted, out)
}

/// Writes the owners of the keyboard focus, by start.
pub fn write_focus(report: &Limited<Focus>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, " StartTime,    EndTime,   Duration, SessionID,     Process Name ( PID)")?;
    for row in &report.rows {
        let session = row.session.map_or(-1, i64::from);
        let duration = row.start_ns.zip(row.end_ns).map(|(start, end)| end.saturating_sub(start));
        writeln!(
            out,
            "{:>10}, {:>10}, {:>10}, {session:>9}, {}",
            row.start_ns.map_or_else(|| "MIN".to_owned(), |ns| microseconds(Some(ns)).to_string()),
            row.end_ns.map_or_else(|| "MAX".to_owned(), |ns| microseconds(Some(ns)).to_string()),
            microseconds(duration),
            ProcessName(Some(&row.process.image), row.process.pid)
        )?;
    }
    write_omitted(report.omitted, out)
}

/// Writes prefetch operations by start, with times in `unit` with `decimals` decimals.
pub fn write_prefetch(
    report: &Limited<Prefetch>,
    unit: TimeUnit,
    decimals: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = unit.name;
    let time_text = |ns: Option<i64>| match ns {
        Some(ns) => format!("{:.decimals$}", ns as f64 / unit.ns as f64),
        None => "-1".to_owned(),
    };
    writeln!(
        out,
        "Start ({name:>2}),   End ({name:>2}), Time ({name:>2}),      Pages,  ReadLists, Type,       Hash, Task, Scenario"
    )?;
    for row in &report.rows {
        let number_text = |number: Option<u64>| number.map_or("-1".to_owned(), |number| number.to_string());
        writeln!(
            out,
            "{:>10}, {:>10}, {:>9}, {:>10}, {:>10}, {:>4}, {:#010x}, {}, {}",
            time_text(row.start_ns),
            time_text(row.end_ns),
            time_text(row.duration_ns()),
            number_text(row.pages),
            number_text(row.read_lists),
            row.kind,
            row.hash,
            printable(&row.task),
            printable(&row.scenario)
        )?;
    }
    write_omitted(report.omitted, out)
}

/// Writes the counters of processes, by time. Sizes are in KB of 1024 bytes, last and peak.
pub fn write_counters(report: &Limited<ProcessCounters>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        " TimeStamp,     Process Name ( PID), Lives, PageFaults,    Handles,      WS KB, Peak WS KB,    Virt KB, \
         Peak Virt KB, PageFile KB, Peak PageFile KB, Paged KB, Peak Paged KB, NonPaged KB, Peak NonPaged KB, \
         PrivatePages"
    )?;
    for row in &report.rows {
        let kilobytes = |bytes: u64| bytes.div_ceil(1024);
        writeln!(
            out,
            "{:>10}, {}, {:>5}, {:>10}, {:>10}, {:>10}, {:>10}, {:>10}, {:>12}, {:>11}, {:>16}, {:>8}, {:>13}, \
             {:>11}, {:>16}, {:>12}",
            microseconds(Some(row.time_ns)),
            ProcessName(Some(&row.process.image), row.process.pid),
            if row.is_running { "Yes" } else { "No" },
            row.page_faults,
            row.handles,
            kilobytes(row.working_set.0),
            kilobytes(row.working_set.1),
            kilobytes(row.virtual_size.0),
            kilobytes(row.virtual_size.1),
            kilobytes(row.pagefile.0),
            kilobytes(row.pagefile.1),
            kilobytes(row.paged_pool.0),
            kilobytes(row.paged_pool.1),
            kilobytes(row.nonpaged_pool.0),
            kilobytes(row.nonpaged_pool.1),
            row.private_pages,
        )?;
    }
    write_omitted(report.omitted, out)
}

/// Writes the number of rows beyond the limit, if there are any.
fn write_omitted(omitted: u64, out: &mut dyn Write) -> io::Result<()> {
    match omitted {
        0 => Ok(()),
        omitted => writeln!(out, "Rows omitted (limit reached): {omitted}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_rows_are_in_the_report() {
        let text = |omitted| {
            let mut out = Vec::new();
            let mut report = Limited::default();
            report.omitted = omitted;
            write_focus(&report, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0).lines().count(), 1);
        assert_eq!(text(7).lines().last(), Some("Rows omitted (limit reached): 7"));
    }
}
