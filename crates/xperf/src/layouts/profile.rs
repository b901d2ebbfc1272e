//! `xperf -a profile -detail` and `-freq`: what profile samples found.

use std::io::{self, Write};

use onoff_analysis::lists::cpu::{CpuList, CpuRow};

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;

/// Writes the time in each module of each process: processes with most first, then their modules. The idle time is the
/// process `Idle`. Without symbols there are no functions. `list` tells processes and modules apart.
///
/// # Errors
/// What `out` answers.
pub fn write_detail(list: &CpuList, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "   Process Name ( PID),     Weight,    Usage %,          Module Name!Function Name")?;
    let idle = CpuRow { image: "Idle".to_owned(), pid: Some(0), cpu_ns: list.cpu.idle_ns, ..CpuRow::default() };
    // By process; each has the time of all its modules.
    let mut processes: Vec<(i64, Vec<&CpuRow>)> = Vec::new();
    if idle.cpu_ns > 0 {
        processes.push((idle.cpu_ns, vec![&idle]));
    }
    let mut places = std::collections::BTreeMap::new();
    for row in &list.rows {
        let at = *places.entry((row.pid, &row.image)).or_insert_with(|| {
            processes.push((0, Vec::new()));
            processes.len() - 1
        });
        let (sum, rows) = &mut processes[at];
        *sum = sum.saturating_add(row.cpu_ns);
        rows.push(row);
    }
    processes.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
    for row in processes.iter().flat_map(|(_, rows)| rows) {
        let module = if row.module.is_empty() { "Unknown" } else { &row.module };
        writeln!(
            out,
            "{}, {:>10}, {:>10.2}, {:>20}",
            ProcessName(Some(&row.image), row.pid),
            microseconds(Some(row.cpu_ns)),
            share(row.cpu_ns, list.cpu.capacity_ns),
            printable(module),
        )?;
    }
    Ok(())
}

/// Writes how often each processor was sampled. `list` tells processors apart.
///
/// # Errors
/// What `out` answers.
pub fn write_frequency(list: &CpuList, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Cpu,    Samples,     Weight, Interval")?;
    let mut rows: Vec<&CpuRow> = list.rows.iter().collect();
    rows.sort_by_key(|row| row.processor);
    for row in rows {
        let samples = row.samples.unwrap_or(0);
        let each_ns = row.cpu_ns.checked_div(i64::try_from(samples).unwrap_or(i64::MAX)).unwrap_or(0);
        writeln!(
            out,
            "{:>3}, {samples:>10}, {:>10}, {:>8}",
            row.processor.map_or(-1, i64::from),
            microseconds(Some(row.cpu_ns)),
            microseconds(Some(each_ns)),
        )?;
    }
    Ok(())
}
