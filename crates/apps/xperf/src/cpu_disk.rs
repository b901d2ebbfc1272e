//! CPU and disk time of each process or thread in a range.

use hashbrown::HashMap;
use onoff_trace::{TableName, TableSet, Trace};

use onoff_evidence::scope::Scope;
use onoff_lists::cpu::{self, CpuGroup, list};
use onoff_usage::disk::DiskOperations;
use onoff_usage::processes::Images;

/// Returns the tables that [`rows`] needs.
#[must_use]
pub fn tables(threads: bool) -> TableSet {
    cpu::tables(&[group(threads)]).with(TableName::DiskIos)
}

fn group(threads: bool) -> CpuGroup {
    if threads { CpuGroup::Thread } else { CpuGroup::Process }
}

/// CPU and disk use of one process or thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuDiskRow {
    /// Image file name; empty if unknown.
    pub image: String,
    pub pid: Option<u32>,
    /// `None` if rows are by process.
    pub tid: Option<u32>,
    pub cpu_ns: i64,
    /// Completed disk requests.
    pub disk: DiskOperations,
}

/// Returns the rows by process or thread in `scope`, most CPU time first, then most disk time. `without_interrupts`
/// subtracts the time that interrupts took from the running thread.
#[must_use]
pub fn rows(trace: &Trace, scope: &Scope, threads: bool, without_interrupts: bool) -> Vec<CpuDiskRow> {
    let images = Images::new(trace);
    // Disk use by process and thread, with a time at which the process was alive.
    let mut disks: HashMap<(Option<u32>, Option<u32>), (i64, DiskOperations)> = HashMap::new();
    for request in trace.disk_ios.iter() {
        if !scope.range.contains(request.complete_ns) {
            continue;
        }
        let tid = if threads { request.tid } else { None };
        let (_, disk) =
            disks.entry((request.pid, tid)).or_insert_with(|| (request.complete_ns, DiskOperations::default()));
        disk.add(&request);
    }
    let mut rows: Vec<CpuDiskRow> = list(trace, scope, &[group(threads)])
        .rows
        .into_iter()
        .map(|row| {
            let disk = disks.remove(&(row.pid, row.tid));
            let interrupted_ns = row.interrupted_ns.filter(|_| without_interrupts);
            CpuDiskRow {
                image: row.image,
                pid: row.pid,
                tid: row.tid,
                cpu_ns: row.cpu_ns.saturating_sub(interrupted_ns.unwrap_or(0)),
                disk: disk.map(|(_, disk)| disk).unwrap_or_default(),
            }
        })
        .collect();
    rows.extend(disks.into_iter().filter_map(|((pid, tid), (time_ns, disk))| {
        let image = pid.and_then(|pid| images.image_at(pid, time_ns)).unwrap_or_default();
        scope.has_process(pid, image).then(|| CpuDiskRow { image: image.to_owned(), pid, tid, cpu_ns: 0, disk })
    }));
    rows.sort_by(|a, b| {
        (b.cpu_ns, b.disk.service_ns()).cmp(&(a.cpu_ns, a.disk.service_ns())).then((a.pid, a.tid).cmp(&(b.pid, b.tid)))
    });
    rows
}
