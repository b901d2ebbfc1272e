//! `xperf -a cpudisk`: CPU and disk time by process or thread, per interval, in µs and bytes.

use std::io::{self, Write};

use crate::cpu_disk::CpuDiskRow;
use onoff_evidence::Interval;

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::quantity::share;

/// Writes the rows of one interval. Percentages are relative to the length of the interval times `processors`.
pub fn write(
    rows: &[CpuDiskRow],
    range: Interval,
    processors: u32,
    threads: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "CPU and disk usage from {} us to {} us:",
        microseconds(Some(range.start_ns)),
        microseconds(Some(range.end_ns))
    )?;
    writeln!(out)?;
    let thread = if threads { ",        TID" } else { "" };
    writeln!(
        out,
        "   Process Name ( PID){thread},        CPU, CPU % ,  Reads,    ReadSize,  Writes,   WriteSize, Flushes,  DiskSrvT"
    )?;
    let capacity_ns = range.duration_ns().saturating_mul(i64::from(processors));
    for row in rows {
        write!(out, "{}", ProcessName(Some(&row.image), row.pid))?;
        if threads {
            write!(out, ", {:>10}", row.tid.map_or(-1, i64::from))?;
        }
        let disk = &row.disk;
        writeln!(
            out,
            ", {:>10}, {:>6.2}, {:>6}, {:>11}, {:>7}, {:>11}, {:>7}, {:>9}",
            microseconds(Some(row.cpu_ns)),
            share(row.cpu_ns, capacity_ns),
            disk.read.operations,
            disk.read.bytes,
            disk.write.operations,
            disk.write.bytes,
            disk.flush.operations,
            microseconds(Some(disk.service_ns())),
        )?;
    }
    Ok(())
}
