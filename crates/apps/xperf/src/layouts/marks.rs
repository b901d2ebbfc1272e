//! `xperf -a marks`: marks set during the recording.

use std::collections::HashMap;
use std::io::{self, Write};

use onoff_trace::{Milestone, Trace};

use super::microseconds;
use onoff_report::text::printable::printable;

/// Writes a row for each mark, as public readers of xperf's list expect it.
pub fn write(trace: &Trace, marks: &[Milestone], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Mark Type, TimeStamp, Label")?;
    for mark in marks {
        writeln!(out, "Mark, {}, {}", microseconds(Some(mark.time_ns)), printable(trace.text(mark.detail)))?;
    }
    Ok(())
}

/// Writes each text once with count, first and last time, by first time.
pub fn write_summary(trace: &Trace, marks: &[Milestone], out: &mut dyn Write) -> io::Result<()> {
    // Count, first and last time of each text.
    let mut rows: Vec<(u64, i64, i64, &str)> = Vec::new();
    let mut row_indexes: HashMap<&str, usize> = HashMap::new();
    for mark in marks {
        let text = trace.text(mark.detail);
        let index = *row_indexes.entry(text).or_insert_with(|| {
            rows.push((0, mark.time_ns, mark.time_ns, text));
            rows.len() - 1
        });
        if let Some((count, _, last_ns, _)) = rows.get_mut(index) {
            *count += 1;
            *last_ns = mark.time_ns;
        }
    }
    writeln!(out, "     Count,      First,       Last, Text")?;
    for (count, first_ns, last_ns, text) in rows {
        writeln!(
            out,
            "{count:>10}, {:>10}, {:>10}, \"{}\"",
            microseconds(Some(first_ns)),
            microseconds(Some(last_ns)),
            printable(text)
        )?;
    }
    Ok(())
}
