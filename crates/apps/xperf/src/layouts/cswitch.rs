//! `xperf -a cswitch -process` and `-thread`: CPU time from context switches, in µs.

use std::io::{self, Write};

use onoff_lists::cpu::{CpuList, CpuRow};
use onoff_usage::cpu::CpuSource;

use super::microseconds;
use super::process_name::ProcessName;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CswitchOptions {
    /// Rows by thread instead of by process.
    pub threads: bool,
    /// `-exc_dpcisr`: exclude the time of interrupts and DPCs.
    pub without_interrupts: bool,
}

/// Writes one row per process or thread, longest first. Idle time is the process `Idle`. Times from other
/// sources than context switches are omitted.
pub fn write(list: &CpuList, options: CswitchOptions, out: &mut dyn Write) -> io::Result<()> {
    let idle =
        CpuRow { image: "Idle".to_owned(), pid: Some(0), tid: Some(0), cpu_ns: list.cpu.idle_ns, ..CpuRow::default() };
    let time_ns = |row: &CpuRow| {
        let interrupted_ns = row.interrupted_ns.filter(|_| options.without_interrupts);
        row.cpu_ns.saturating_sub(interrupted_ns.unwrap_or(0))
    };
    let mut rows: Vec<&CpuRow> = std::iter::once(&idle).filter(|idle| idle.cpu_ns > 0).chain(&list.rows).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(time_ns(row)));
    let thread = if options.threads { ",        TID" } else { "" };
    writeln!(out, "{:>12},    Process Name ( PID){thread}", "Usec")?;
    for row in rows.into_iter().filter(|_| list.cpu.source == CpuSource::ContextSwitches) {
        let time = microseconds(Some(time_ns(row)));
        write!(out, "{time:>12}, {}", ProcessName(Some(&row.image), row.pid))?;
        if options.threads {
            write!(out, ", {:>10}", row.tid.map_or(-1, i64::from))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
