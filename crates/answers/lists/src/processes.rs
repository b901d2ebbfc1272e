//! Processes in an interval: their lifetimes, and their CPU and disk usage.

use onoff_trace::{DiskIo, Losses, Process, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_usage::asleep;
use onoff_usage::cpu::{Capacity, CpuSource, CpuTotals, charge};
use onoff_usage::owners::{IDLE, Owners, UNKNOWN, file_name};
use onoff_usage::processes::{Images, ProcessLifetime, process_lifetime};

/// The tables that the list needs.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
])
.union(asleep::TABLES);

/// A process and its usage in the interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRow {
    /// The process and its lifetime.
    #[serde(flatten)]
    pub life: ProcessLifetime,
    /// Image file name of the parent process; empty if unknown.
    pub parent_image: String,
    /// User: SID on Windows, otherwise name or id; empty if not recorded.
    pub user: String,
    /// CPU time in the interval, ns; `None` if not recorded, and for the idle process.
    pub cpu_ns: Option<i64>,
    /// CPU time as a percentage of the interval times the number of processors.
    pub cpu_percent: Option<f64>,
    /// Number of threads that existed in the interval; `None` without thread records.
    pub threads: Option<u64>,
    /// Number of disk requests completed in the interval; `None` without disk records.
    pub disk_operations: Option<u64>,
    /// Bytes of these requests.
    pub disk_bytes: Option<u64>,
    /// Disk service time of these requests, ns.
    pub disk_service_ns: Option<i64>,
}

/// The result of `onoff processes`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessList {
    /// The listed interval.
    pub range: Interval,
    /// CPU time of all processes in the interval, regardless of the selection.
    pub cpu: CpuTotals,
    /// Disk service time in the interval, for all processes, ns.
    pub disk_service_ns: i64,
    /// Number of processes in the recording, regardless of the selection.
    pub recorded: u64,
    /// Processes, most CPU time first, then by start.
    pub processes: Vec<ProcessRow>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Lists the processes that existed in `scope`.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope) -> ProcessList {
    let range = scope.range;
    let mut owners = Owners::from_trace(trace);
    let mut cpu_ns = vec![0_i64; owners.list().len()];
    let source = charge(trace, &mut owners, &[range.start_ns, range.end_ns], |cpu_interval| {
        if let Some(sum) = cpu_ns.get_mut(cpu_interval.owner as usize) {
            *sum = sum.saturating_add(cpu_interval.ns);
        }
    });
    let idle_ns = cpu_ns.get(IDLE as usize).copied().unwrap_or(0);
    let unattributed_ns = cpu_ns.get(UNKNOWN as usize).copied().unwrap_or(0);
    let busy_ns = cpu_ns.iter().skip(UNKNOWN as usize).fold(0_i64, |sum, &ns| sum.saturating_add(ns));
    let cpu = Capacity::new(trace, &owners).totals(range, busy_ns, idle_ns, unattributed_ns);

    let if_recorded = |ns: i64| (source != CpuSource::None).then_some(ns);
    let images = Images::new(trace);
    // After the idle and the unknown owner come the processes in table order, then those known only from threads.
    let mut owner = UNKNOWN as usize;
    let mut rows: Vec<ProcessRow> = Vec::new();
    for process in trace.processes.iter() {
        let cpu_ns = if process.pid == 0 {
            None
        } else {
            owner += 1;
            if_recorded(cpu_ns.get(owner).copied().unwrap_or(0))
        };
        rows.push(row(trace, &images, &process, cpu_ns));
    }
    for (owner, &ns) in owners.list().iter().zip(&cpu_ns).skip(owner + 1) {
        let process = Process::unknown(owner.pid.unwrap_or(0));
        rows.push(row(trace, &images, &process, if_recorded(ns)));
    }
    let disk_service_ns = add_disk_requests(trace, range, &images, &mut rows);
    add_threads(trace, range, &images, &mut rows);

    let recorded = rows.len() as u64;
    rows.retain(|row| {
        range.overlaps(row.life.start_ns, row.life.end_ns) && scope.has_process(Some(row.life.pid), &row.life.image)
    });
    for row in &mut rows {
        row.cpu_percent = row.cpu_ns.map(|ns| cpu.percent(ns));
    }
    rows.sort_by_key(|row| (std::cmp::Reverse(row.cpu_ns), row.life.start_ns, row.life.pid));
    let mut tables = vec![TableName::Processes, TableName::DiskIos];
    tables.extend(source.tables());
    ProcessList {
        range,
        cpu,
        disk_service_ns,
        recorded,
        processes: rows,
        affecting_losses: affecting_losses(trace, &tables),
        losses: trace.losses.clone(),
    }
}

fn row(trace: &Trace, images: &Images<'_>, process: &Process, cpu_ns: Option<i64>) -> ProcessRow {
    // Look the parent up at creation time: its id may have been reused since.
    let created_ns = process.start_ns.unwrap_or(0);
    let parent = process
        .parent_pid
        .filter(|&pid| pid != 0 && pid != process.pid)
        .and_then(|pid| images.image_at(pid, created_ns));
    let has_disk_records = !trace.disk_ios.is_empty();
    ProcessRow {
        life: process_lifetime(trace, process, &[]),
        parent_image: parent.map(file_name).unwrap_or_default().to_owned(),
        user: trace.text(process.user).to_owned(),
        cpu_ns,
        cpu_percent: None,
        threads: (!trace.threads.is_empty()).then_some(0),
        disk_operations: has_disk_records.then_some(0),
        disk_bytes: has_disk_records.then_some(0),
        disk_service_ns: has_disk_records.then_some(0),
    }
}

/// Adds the disk requests completed in the interval to their processes, and returns the service time of all of them,
/// ns.
fn add_disk_requests(trace: &Trace, range: Interval, images: &Images<'_>, rows: &mut [ProcessRow]) -> i64 {
    let mut service_ns = 0_i64;
    let is_in_range = |request: &DiskIo| range.contains(request.complete_ns);
    for request in trace.disk_ios.iter().filter(is_in_range) {
        service_ns = service_ns.saturating_add(request.service_ns);
        let issued_ns = request.issue_ns.unwrap_or(request.complete_ns);
        let row = request.pid.and_then(|pid| images.row_at(pid, issued_ns)).and_then(|index| rows.get_mut(index));
        if let Some(row) = row {
            *row.disk_operations.get_or_insert(0) += 1;
            let bytes = row.disk_bytes.get_or_insert(0);
            *bytes = bytes.saturating_add(request.size);
            let service_ns = row.disk_service_ns.get_or_insert(0);
            *service_ns = service_ns.saturating_add(request.service_ns);
        }
    }
    service_ns
}

fn add_threads(trace: &Trace, range: Interval, images: &Images<'_>, rows: &mut [ProcessRow]) {
    for thread in trace.threads.iter() {
        if range.overlaps(thread.start_ns, thread.end_ns)
            && let Some(index) = images.row_at(thread.pid, thread.start_ns.unwrap_or(0))
            && let Some(row) = rows.get_mut(index)
        {
            *row.threads.get_or_insert(0) += 1;
        }
    }
}
