//! CPU and disk usage by phase.

use std::collections::{HashMap, HashSet};

use onoff_evidence::Certainty;
use onoff_transitions::{Phase, PhaseName};
use onoff_usage::cpu::{CpuSource, CpuUsage, ProcessCpu};
use onoff_usage::disk::DiskUsage;

use super::phases;
use super::printable::printable;
use super::quantity::{duration, percent, share};
use super::style::QUIET;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Maximum number of names per phase.
const MAX_NAMES: usize = 3;

/// Minimum share of the work in a phase, in percent, for a name to be shown.
const NOTABLE_PERCENT: f64 = 1.0;

/// Returns the recorded CPU and disk usage in `phases`, without empty phases and the time after the transition.
/// `reported_losses` were already shown.
pub fn sections<'p>(phases: impl IntoIterator<Item = &'p Phase>, reported_losses: &[String]) -> Vec<Section<'p>> {
    let is_shown = |phase: &&Phase| phase.name != PhaseName::TraceTail && phase.recorded_ns > 0;
    let phases: Vec<&Phase> = phases.into_iter().filter(is_shown).collect();
    processors(&phases, reported_losses).into_iter().chain(disks(&phases, reported_losses)).collect()
}

fn phase_cell(phase: &Phase) -> Cell<'static> {
    Cell::with_display_text(Value::text(phase.name.as_str()), phases::name(phase.name))
}

fn processors<'p>(phases: &[&'p Phase], reported_losses: &[String]) -> Option<Section<'p>> {
    let is_sleep = |phase: &Phase| phase.half.is_some();
    let usages: Vec<(&Phase, &CpuUsage)> = phases
        .iter()
        .filter_map(|&phase| Some((phase, phase.cpu.as_ref()?)))
        .filter(|(phase, cpu)| !is_sleep(phase) || cpu.busy_ns > 0)
        .collect();
    let (_, first_usage) = *usages.first()?;
    let note = match (first_usage.source, first_usage.certainty) {
        (CpuSource::Samples, _) => "share of all CPUs; estimated from samples",
        (_, Certainty::Measured) => "share of all CPUs",
        _ => "share of all CPUs; partly not recorded",
    };
    let top_processes = |cpu: &CpuUsage| {
        let notable = |process: &&ProcessCpu| share(process.cpu_ns, cpu.busy_ns) >= NOTABLE_PERCENT;
        let process_names =
            ProcessNames::new(cpu.by_process.iter().map(|process| (process.image.as_str(), process.pid)));
        let name = |process: &ProcessCpu| {
            format!("{} {}", process_names.name(&process.image, process.pid), duration(process.cpu_ns))
        };
        let names: Vec<String> = cpu.by_process.iter().filter(notable).take(MAX_NAMES).map(name).collect();
        names.join(", ")
    };
    let section = Section::builder("processors", "CPU", usages)
        .note(note)
        .name("phase", "phase", 24, |row| phase_cell(row.0))
        .quantity("busy_percent", "busy", |row| {
            Cell::with_display_text(
                Value::Percent(share(row.1.busy_ns, row.1.capacity_ns)),
                percent(share(row.1.busy_ns, row.1.capacity_ns)),
            )
        })
        .quantity("busy_ns", "CPU time", |row| Value::Duration(row.1.busy_ns))
        .name("most_by", "top processes", 100, |row| Value::Text(top_processes(row.1).into()))
        .build();
    Some(section.affected_by(&first_usage.affecting_losses, reported_losses))
}

fn disks<'p>(phases: &[&'p Phase], reported_losses: &[String]) -> Option<Section<'p>> {
    let is_sleep = |phase: &Phase| phase.half.is_some();
    let usages: Vec<(&Phase, &DiskUsage)> = phases
        .iter()
        .filter_map(|&phase| Some((phase, phase.disk.as_ref()?)))
        .filter(|(phase, disk)| !is_sleep(phase) || disk.service_ns > 0 || disk.operations.flush.operations > 0)
        .collect();
    let (_, first_usage) = *usages.first()?;
    let section = Section::builder("disks", "Disks", usages)
        .note("service time, summed over disks")
        .name("phase", "phase", 24, |row| phase_cell(row.0))
        .quantity("service_ns", "busy", |row| match row.1.service_ns {
            0 => Cell::with_display_text(Value::Duration(0), "idle"),
            ns => Value::Duration(ns).into(),
        })
        .column(Heading::quantity("service_percent", "share").sparse(), |row| {
            Value::Percent(share(row.1.service_ns, row.0.recorded_ns))
        })
        .column(Heading::quantity("read_bytes", "read").sparse(), |row| Value::Bytes(row.1.operations.read.bytes))
        .column(Heading::quantity("reads", "requests").sparse(), |row| Value::Count(row.1.operations.read.operations))
        .column(Heading::quantity("write_bytes", "written").sparse(), |row| Value::Bytes(row.1.operations.write.bytes))
        .column(Heading::quantity("writes", "requests").sparse(), |row| Value::Count(row.1.operations.write.operations))
        .column(Heading::quantity("flushes", "flushes").sparse(), |row| Value::Count(row.1.operations.flush.operations))
        .column(Heading::quantity("read_ahead_bytes", "read ahead").sparse(), |row| {
            Value::Bytes(row.1.read_ahead.bytes)
        })
        .name("most_for", "top files", 90, |row| Value::Text(top_files(row.1).into()).styled(QUIET))
        .build();
    Some(section.affected_by(&first_usage.affecting_losses, reported_losses))
}

fn top_files(disk: &DiskUsage) -> String {
    let names: Vec<String> = disk
        .by_file
        .iter()
        .filter(|file| share(file.service_ns, disk.service_ns) >= NOTABLE_PERCENT)
        .take(MAX_NAMES)
        .map(|file| {
            // The file name is enough here; the full path is in the JSON.
            let name = file.name.rsplit(['\\', '/']).next().unwrap_or_default();
            let name = if name.is_empty() { "unnamed" } else { name };
            format!("{} {}", printable(name), duration(file.service_ns))
        })
        .collect();
    names.join(", ")
}

/// Names of processes in one list, with ids only where several processes share a name.
pub(super) struct ProcessNames<'a> {
    shared: HashSet<&'a str>,
}

impl<'a> ProcessNames<'a> {
    pub(super) fn new(processes: impl IntoIterator<Item = (&'a str, Option<u32>)>) -> Self {
        let mut first_pid: HashMap<&str, Option<u32>> = HashMap::new();
        let processes = processes.into_iter();
        let shared = processes.filter(|&(image, pid)| *first_pid.entry(image).or_insert(pid) != pid);
        Self { shared: shared.map(|(image, _)| image).collect() }
    }

    pub(super) fn name(&self, image: &str, pid: Option<u32>) -> String {
        process_name(image, pid.filter(|_| image.is_empty() || self.shared.contains(image)))
    }
}

/// Formats a process as `svchost.exe (536)`, leaving out what is unknown.
pub(super) fn process_name(image: &str, pid: Option<u32>) -> String {
    match (image, pid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{} ({pid})", printable(image)),
        (image, None) => printable(image).into_owned(),
    }
}
