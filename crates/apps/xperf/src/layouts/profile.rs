//! `xperf -a profile -detail` and `-freq`: CPU time from profile samples.

use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_lists::cpu::{CpuList, CpuRow};
use onoff_lists::functions::FunctionRow;
use onoff_usage::cpu::{CpuSource, CpuTotals};
use onoff_usage::functions::CodeFrame;

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;

/// Placeholder for an unknown module or function.
const UNKNOWN: &str = "\"Unknown\"";

/// CPU time of a process in a module or function.
#[derive(Clone, Debug, Default)]
pub struct CodeTime {
    image: String,
    pid: Option<u32>,
    /// `module!function` or the module, with `"Unknown"` for an unknown part; empty if no known module contains the
    /// address.
    code: String,
    ns: i64,
}

impl CodeTime {
    #[must_use]
    pub fn from_cpu_row(row: &CpuRow) -> Self {
        Self { image: row.image.clone(), pid: row.pid, code: row.module.clone(), ns: row.cpu_ns }
    }

    #[must_use]
    pub fn from_function_row(row: &FunctionRow) -> Self {
        let name_or_unknown = |name: &str| if name.is_empty() { UNKNOWN.to_owned() } else { name.to_owned() };
        let frame = CodeFrame { module: name_or_unknown(&row.module), function: name_or_unknown(&row.function) };
        Self { image: row.image.clone(), pid: row.pid, code: frame.label(), ns: row.own_ns }
    }
}

/// Writes the time of each process by module or function, most time first. Idle time is the process `Idle`; percentages
/// are relative to the time of all processors.
pub fn write_detail(cpu: &CpuTotals, rows: Vec<CodeTime>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "   Process Name ( PID),     Weight,    Usage %,          Module Name!Function Name")?;
    if cpu.source != CpuSource::Samples {
        return Ok(());
    }
    // The total time of each process, and its rows.
    let mut processes: Vec<(i64, Vec<CodeTime>)> = Vec::new();
    if cpu.idle_ns > 0 {
        let idle = CodeTime { image: "Idle".to_owned(), pid: Some(0), ns: cpu.idle_ns, ..CodeTime::default() };
        processes.push((idle.ns, vec![idle]));
    }
    let mut process_indexes = BTreeMap::new();
    for row in rows {
        let index = *process_indexes.entry((row.pid, row.image.clone())).or_insert_with(|| {
            processes.push((0, Vec::new()));
            processes.len() - 1
        });
        let (sum, rows) = &mut processes[index];
        *sum = sum.saturating_add(row.ns);
        rows.push(row);
    }
    processes.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
    for row in processes.iter().flat_map(|(_, rows)| rows) {
        let code = if row.code.is_empty() { UNKNOWN } else { &row.code };
        writeln!(
            out,
            "{}, {:>10}, {:>10.2}, {:>20}",
            ProcessName(Some(&row.image), row.pid),
            microseconds(Some(row.ns)),
            share(row.ns, cpu.capacity_ns),
            printable(code),
        )?;
    }
    Ok(())
}

/// Writes the number of samples by processor. `list` must be grouped by processor.
pub fn write_frequency(list: &CpuList, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Cpu,    Samples,     Weight, Interval")?;
    if list.cpu.source != CpuSource::Samples {
        return Ok(());
    }
    let mut by_processor: BTreeMap<Option<u16>, (u64, i64)> = BTreeMap::new();
    for row in &list.rows {
        let (samples, cpu_ns) = by_processor.entry(row.processor).or_default();
        *samples = samples.saturating_add(row.samples.unwrap_or(0));
        *cpu_ns = cpu_ns.saturating_add(row.cpu_ns);
    }
    for (processor, (samples, cpu_ns)) in by_processor {
        let interval_ns = cpu_ns.checked_div(i64::try_from(samples).unwrap_or(i64::MAX)).unwrap_or(0);
        writeln!(
            out,
            "{:>3}, {samples:>10}, {:>10}, {:>8}",
            processor.map_or(-1, i64::from),
            microseconds(Some(cpu_ns)),
            microseconds(Some(interval_ns)),
        )?;
    }
    Ok(())
}
