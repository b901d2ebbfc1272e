//! `xperf -a cswitch -process` and `-thread`: processor time from context switches, in µs.

use std::io::{self, Write};

use onoff_lists::cpu::{CpuList, CpuRow};
use onoff_usage::cpu::CpuSource;

use super::microseconds;
use super::process_name::ProcessName;

/// What of a thread's time to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CswitchOptions {
    /// Threads, not processes.
    pub threads: bool,
    /// Leave out what interrupts and DPCs took: `-exc_dpcisr`.
    pub without_interrupts: bool,
}

/// Writes one row per process or thread, most time first; the idle time is the process `Idle`. Times that are not from context
/// switches have no rows.
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
