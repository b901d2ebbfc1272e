//! `xperf -a bootprefetch`: the boot's read-ahead (ReadyBoot).

use onoff_transitions::PhaseName;
use std::io::{self, Write};

use crate::boot_prefetch::BootPrefetch;
use crate::event_analyses::ready_boot::ReadyBoot;
use onoff_usage::disk::DiskWork;

use super::microseconds;
use onoff_report::text::printable::printable;

/// Writes the table of phases, with a dash in columns that only ReadyBoot's own events could fill.
pub fn write_summary(report: &BootPrefetch, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "ReadyBoot Summary Table")?;
    writeln!(
        out,
        "{:<18}, {:>9}, {:>9}, Prefetch MB,       #,  Pend,   Hit,     Miss MB,       #, Skipped,    Write MB,       #",
        "Boot Phase", "Start (s)", "Duration"
    )?;
    for phase in &report.phases {
        let (prefetch, miss, write) = (&phase.prefetch, &phase.miss, &phase.write);
        writeln!(
            out,
            "{:<18}, {:>9.3}, {:>9.3}, {:>11.3}, {:>7}, {:>5}, {:>5}, {:>11.3}, {:>7}, {:>7}, {:>11.3}, {:>7}",
            phase.name.map_or("Boot Total", title),
            seconds(phase.start_ns),
            seconds(phase.duration_ns),
            megabytes(prefetch),
            prefetch.operations,
            "-",
            "-",
            megabytes(miss),
            miss.operations,
            "-",
            megabytes(write),
            write.operations
        )?;
    }
    Ok(())
}

fn title(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::PreSmss => "Pre Session Init",
        PhaseName::SmssInit => "Session Init",
        PhaseName::WinLogonInit => "WinLogon Init",
        PhaseName::ExplorerInit => "Explorer Init",
        PhaseName::PostBoot => "Post Boot",
        PhaseName::TraceTail => "Trace Tail",
        other => other.as_str(),
    }
}

/// Writes the time of each disk during the boot, by kind of work.
pub fn write_disk_time(report: &BootPrefetch, out: &mut dyn Write) -> io::Result<()> {
    for disk in &report.disks {
        let kind = if disk.is_system { "System" } else { "NonSystem" };
        writeln!(out, "{kind} Disk {}", disk.disk)?;
        writeln!(out, "{:<40}, {:>10}, {:>8}, {:>7}", "", "Time (s)", "%", "#")?;
        let mut row = |name: &str, ns: i64, count: Option<u64>| {
            let percent = if disk.total_ns > 0 { ns as f64 * 100.0 / disk.total_ns as f64 } else { 0.0 };
            let count = count.map_or_else(String::new, |count| count.to_string());
            writeln!(out, "{name:<40}, {:>10.3}, {percent:>8.2}, {count:>7}", seconds(ns))
        };
        for (name, work) in [
            ("Prefetching", &disk.prefetch),
            ("System Volume Misses", &disk.system_reads),
            ("System Volume Writes", &disk.system_writes),
            ("Non-System Volume Reads/Writes", &disk.other_volumes),
            ("Flushes", &disk.flush),
        ] {
            row(name, work.service_ns, Some(work.operations))?;
        }
        row("Disk Idle Time", disk.idle_ns, None)?;
        row("Total", disk.total_ns, None)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the requests that ReadyBoot saw, and its totals.
pub fn write_events(report: &ReadyBoot, out: &mut dyn Write) -> io::Result<()> {
    if let Some(sums) = &report.sums {
        writeln!(out, "Reads: {} ({} bytes)", sums.reads, sums.read_bytes)?;
        writeln!(out, "Hits: {} ({} bytes)", sums.hits, sums.hit_bytes)?;
        writeln!(
            out,
            "Prefetch reads: {} ({} bytes, {} us)",
            sums.prefetches, sums.prefetch_bytes, sums.prefetch_disk_us
        )?;
        writeln!(out)?;
    }
    writeln!(out, " TimeStamp,     ByteOffset,     IOSize,      Flags, FileName")?;
    for request in &report.requests {
        writeln!(
            out,
            "{:>10}, {:#014x}, {:#010x}, {:#010x}, \"{}\"",
            microseconds(Some(request.time_ns)),
            request.offset,
            request.bytes,
            request.flags,
            printable(&request.file)
        )?;
    }
    if report.omitted > 0 {
        writeln!(out, "Requests omitted (limit reached): {}", report.omitted)?;
    }
    Ok(())
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn megabytes(work: &DiskWork) -> f64 {
    work.bytes as f64 / f64::from(1 << 20)
}
