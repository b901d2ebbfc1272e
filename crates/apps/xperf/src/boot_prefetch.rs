//! The boot's read-ahead, as visible in disk requests: reads that belong to no file.

use onoff_trace::{DiskIo, DiskOperation, Trace};
use onoff_transitions::PhaseName;

use onoff_transitions::boot::BootReport;
use onoff_usage::disk::{DiskWork, is_read_ahead};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefetchPhase {
    /// `None` for the whole boot until the desktop is idle.
    pub name: Option<PhaseName>,
    pub start_ns: i64,
    pub duration_ns: i64,
    pub prefetch: DiskWork,
    /// Reads that were not read ahead.
    pub miss: DiskWork,
    pub write: DiskWork,
}

/// Busy time of a disk during the boot, by kind of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskTime {
    pub disk: u32,
    /// True if the disk has the system volume.
    pub is_system: bool,
    pub prefetch: DiskWork,
    pub system_reads: DiskWork,
    pub system_writes: DiskWork,
    pub other_volumes: DiskWork,
    pub flush: DiskWork,
    pub idle_ns: i64,
    /// Duration of the boot, in ns.
    pub total_ns: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootPrefetch {
    /// The recorded phases, with the whole boot after PostBoot.
    pub phases: Vec<PrefetchPhase>,
    pub disks: Vec<DiskTime>,
}

#[must_use]
pub fn analyze(trace: &Trace, report: &BootReport) -> BootPrefetch {
    let mut phases: Vec<PrefetchPhase> = report
        .phases
        .iter()
        .filter_map(|phase| {
            let end_ns = phase.end_ns.unwrap_or(trace.duration_ns);
            Some(summarize_phase(trace, Some(phase.name), phase.start_ns?, end_ns))
        })
        .collect();
    let boot_end = report.phase(PhaseName::PostBoot).and_then(|phase| phase.end_ns).unwrap_or(trace.duration_ns);
    let boot = summarize_phase(trace, None, 0, boot_end);
    let index = phases.iter().position(|phase| phase.name == Some(PhaseName::TraceTail)).unwrap_or(phases.len());
    phases.insert(index, boot);
    BootPrefetch { phases, disks: disk_times(trace, boot_end) }
}

fn summarize_phase(trace: &Trace, name: Option<PhaseName>, start_ns: i64, end_ns: i64) -> PrefetchPhase {
    let mut phase = PrefetchPhase {
        name,
        start_ns,
        duration_ns: end_ns.saturating_sub(start_ns).max(0),
        ..PrefetchPhase::default()
    };
    for row in trace.disk_ios.iter() {
        if !(start_ns..end_ns).contains(&row.complete_ns) {
            continue;
        }
        match row.operation {
            DiskOperation::Read if is_read_ahead(trace.system.kind, &row) => add(&mut phase.prefetch, &row),
            DiskOperation::Read => add(&mut phase.miss, &row),
            DiskOperation::Write => add(&mut phase.write, &row),
            DiskOperation::Flush => {}
        }
    }
    phase
}

fn add(work: &mut DiskWork, row: &DiskIo) {
    work.operations += 1;
    work.bytes = work.bytes.saturating_add(row.size);
    work.service_ns = work.service_ns.saturating_add(row.service_ns);
}

fn disk_times(trace: &Trace, boot_end: i64) -> Vec<DiskTime> {
    // Usually C:. If no volume was recorded, everything counts as the system volume.
    let volumes = &trace.system.volumes;
    let system_volume =
        volumes.iter().find(|volume| volume.drive.eq_ignore_ascii_case("C:")).or_else(|| volumes.first());
    let is_on_system_volume = |row: &DiskIo| {
        system_volume.is_none_or(|volume| {
            let end = volume.offset.saturating_add(volume.size_bytes);
            volume.disk == row.disk && (volume.offset..end).contains(&row.offset)
        })
    };
    let mut disks: Vec<DiskTime> = Vec::new();
    for row in trace.disk_ios.iter() {
        if !(0..boot_end).contains(&row.complete_ns) {
            continue;
        }
        let index = match disks.binary_search_by_key(&row.disk, |disk| disk.disk) {
            Ok(index) => index,
            Err(index) => {
                disks.insert(
                    index,
                    DiskTime {
                        disk: row.disk,
                        is_system: system_volume.is_none_or(|volume| volume.disk == row.disk),
                        idle_ns: boot_end,
                        total_ns: boot_end,
                        ..DiskTime::default()
                    },
                );
                index
            }
        };
        let Some(disk) = disks.get_mut(index) else { continue };
        disk.idle_ns = disk.idle_ns.saturating_sub(row.service_ns).max(0);
        let work = match row.operation {
            DiskOperation::Flush => &mut disk.flush,
            _ if is_read_ahead(trace.system.kind, &row) => &mut disk.prefetch,
            _ if !is_on_system_volume(&row) => &mut disk.other_volumes,
            DiskOperation::Read => &mut disk.system_reads,
            DiskOperation::Write => &mut disk.system_writes,
        };
        add(work, &row);
    }
    disks
}
