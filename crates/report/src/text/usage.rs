//! What processors and disks did, phase by phase.

use std::io::{self, Write};

use onoff_analysis::Certainty;
use onoff_analysis::cpu::{CpuSource, CpuUsage};
use onoff_analysis::disk::DiskUsage;
use onoff_analysis::transition::{Phase, PhaseName};

use super::phases;
use super::printable::printable;
use super::quantity::{count, duration, percent, share, size};
use super::section::{title, write_news};
use super::style::QUIET;
use super::table::{Table, cell, styled_cell};

/// Names beside each phase.
const NAMES: usize = 3;

/// From this share of the phase's work on, a name is worth its place, percent.
const NOTABLE_PERCENT: f64 = 1.0;

/// Writes what processors and disks did in `phases`, as far as it was recorded; `told` are the losses named before. What came
/// after the transition, and phases in which nothing happened, are left out.
///
/// # Errors
/// What `out` answers.
pub fn write<'p>(phases: impl IntoIterator<Item = &'p Phase>, told: &[String], out: &mut dyn Write) -> io::Result<()> {
    let is_shown = |phase: &&Phase| phase.name != PhaseName::TraceTail && phase.recorded_ns > 0;
    let phases: Vec<&Phase> = phases.into_iter().filter(is_shown).collect();
    write_processors(&phases, told, out)?;
    write_disks(&phases, told, out)
}

fn write_processors(phases: &[&Phase], told: &[String], out: &mut dyn Write) -> io::Result<()> {
    let is_sleep = |phase: &Phase| phase.half.is_some();
    let usages: Vec<(&Phase, &CpuUsage)> = phases
        .iter()
        .filter_map(|&phase| Some((phase, phase.cpu.as_ref()?)))
        .filter(|(phase, cpu)| !is_sleep(phase) || cpu.busy_ns > 0)
        .collect();
    let Some((_, first)) = usages.first() else {
        return Ok(());
    };
    let note = match (first.source, first.certainty) {
        (CpuSource::Samples, _) => "busy share of all processors; estimated from samples",
        (_, Certainty::Measured) => "busy share of all processors",
        _ => "busy share of all processors; some of it not recorded",
    };
    title("Processors", note, out)?;
    let mut table = Table::new().left("phase", 24).right("busy").right("busy time").left("most by", 100);
    for (phase, cpu) in &usages {
        let names: Vec<String> = cpu
            .by_process
            .iter()
            .filter(|process| share(process.cpu_ns, cpu.busy_ns) >= NOTABLE_PERCENT)
            .take(NAMES)
            .map(|process| format!("{} {}", process_name(&process.image, process.pid), duration(process.cpu_ns)))
            .collect();
        table.row([
            cell(phases::name(phase.name)),
            cell(percent(share(cpu.busy_ns, cpu.capacity_ns))),
            cell(duration(cpu.busy_ns)),
            cell(names.join(", ")),
        ]);
    }
    table.write(out)?;
    write_news(told, &first.touched_by, out)
}

fn write_disks(phases: &[&Phase], told: &[String], out: &mut dyn Write) -> io::Result<()> {
    let is_sleep = |phase: &Phase| phase.half.is_some();
    let usages: Vec<(&Phase, &DiskUsage)> = phases
        .iter()
        .filter_map(|&phase| Some((phase, phase.disk.as_ref()?)))
        .filter(|(phase, disk)| !is_sleep(phase) || disk.service_ns > 0 || disk.operations.flush.operations > 0)
        .collect();
    let Some((_, first)) = usages.first() else {
        return Ok(());
    };
    title("Disks", "service time summed over disks", out)?;
    let mut table = Table::new()
        .left("phase", 24)
        .right("working")
        .right("share")
        .right("read")
        .right("requests")
        .right("written")
        .right("requests")
        .right("flushes")
        .right("read ahead")
        .left("most for", 90);
    for (phase, disk) in &usages {
        let (read, write) = (&disk.operations.read, &disk.operations.write);
        let working = if disk.service_ns > 0 { duration(disk.service_ns) } else { "idle".to_owned() };
        table.row([
            cell(phases::name(phase.name)),
            cell(working),
            cell(some(disk.service_ns > 0, || percent(share(disk.service_ns, phase.recorded_ns)))),
            cell(some(read.operations > 0, || size(read.bytes))),
            cell(some(read.operations > 0, || count(read.operations))),
            cell(some(write.operations > 0, || size(write.bytes))),
            cell(some(write.operations > 0, || count(write.operations))),
            cell(some(disk.operations.flush.operations > 0, || count(disk.operations.flush.operations))),
            cell(some(disk.read_ahead.operations > 0, || size(disk.read_ahead.bytes))),
            styled_cell(QUIET, most_for(disk)),
        ]);
    }
    table.write(out)?;
    write_news(told, &first.touched_by, out)
}

/// A text, or nothing where there is nothing to tell.
fn some(is: bool, text: impl FnOnce() -> String) -> String {
    if is { text() } else { String::new() }
}

fn most_for(disk: &DiskUsage) -> String {
    let names: Vec<String> = disk
        .by_file
        .iter()
        .filter(|file| share(file.service_ns, disk.service_ns) >= NOTABLE_PERCENT)
        .take(NAMES)
        .map(|file| {
            // The last part tells a reader most; the whole path is in the JSON.
            let name = file.name.rsplit(['\\', '/']).next().unwrap_or_default();
            let name = if name.is_empty() { "unnamed" } else { name };
            format!("{} {}", printable(name), duration(file.service_ns))
        })
        .collect();
    names.join(", ")
}

/// `svchost.exe (536)`; without a name or id, what there is.
pub(super) fn process_name(image: &str, pid: Option<u32>) -> String {
    match (image, pid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{} ({pid})", printable(image)),
        (image, None) => printable(image).into_owned(),
    }
}
