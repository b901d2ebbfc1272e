//! Analyzes disk requests: how many, by which process, and how long they took.

use std::collections::BTreeMap;

use onoff_trace::{DiskIo, DiskOperation, Losses, SystemKind, TableName, TableSet, Trace};
use serde::Serialize;

use super::grouping::{Groups, Key, Names, SharedValues};
use super::queue::{issued_ns, neighbors};
use crate::disk::{DiskOperations, DiskWork, is_read_ahead};
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;

/// The tables that [`analyze`] reads.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::DiskIos, TableName::Processes]);

/// The result of `onoff disk`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskReport {
    /// The analyzed interval.
    pub range: Interval,
    pub by: Vec<Key>,
    /// Activity of each disk, by all processes.
    pub disks: Vec<DiskActivity>,
    /// Totals of the selected processes.
    pub total: DiskAmounts,
    /// Requests by group, most disk time first.
    pub groups: Vec<DiskGroup>,
    /// Number of requests in the recording, regardless of the selection.
    pub recorded: u64,
    /// Names of the losses that can affect the result.
    pub affecting_losses: Vec<String>,
    pub losses: Losses,
}

/// Activity of one disk in the range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskActivity {
    pub disk: u32,
    /// Manufacturer and model; empty if not recorded.
    pub model: String,
    /// The requests that completed in the range.
    #[serde(flatten)]
    pub operations: DiskOperations,
    /// Read-ahead requests among the reads. Windows: reads without a file, which ReadyBoot issues during a boot. Linux:
    /// reads flagged by the kernel.
    pub read_ahead: DiskWork,
    /// Time in the range in which the disk worked on a request, ns.
    pub busy_ns: i64,
    /// Remaining time in the range, ns.
    pub idle_ns: i64,
    /// Mean number of outstanding requests over the range.
    pub mean_queue: f64,
    /// Maximum number of outstanding requests.
    pub longest_queue: u32,
}

/// Totals of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskGroup {
    #[serde(flatten)]
    pub shared: SharedValues,
    #[serde(flatten)]
    pub amounts: DiskAmounts,
}

/// Totals of disk requests. The service time is the time that the disk worked on a request; the response time is the
/// time from issue to completion, including the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskAmounts {
    /// Number of requests of all kinds.
    pub requests: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Total service time, ns.
    pub service_ns: i64,
    /// Total response time, ns.
    pub response_ns: i64,
    /// Mean response time, ns.
    pub mean_response_ns: i64,
    /// Longest response time, ns.
    pub longest_response_ns: i64,
    pub reads: u64,
    pub read_bytes: u64,
    /// Service time of reads, ns.
    pub read_service_ns: i64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Service time of writes, ns.
    pub write_service_ns: i64,
    /// Flushes of the device cache.
    pub flushes: u64,
    /// Service time of flushes, ns.
    pub flush_service_ns: i64,
    /// Sum over all requests of the number of requests outstanding on the disk when they were issued. Divided by
    /// `requests`, this is the mean queue length at issue.
    pub queue_depth_sum: u64,
    /// Maximum number of requests outstanding when a request was issued.
    pub max_queue_depth: u32,
}

/// Analyzes the disk requests in `scope`, grouped by `keys`; without keys there is one group.
#[must_use]
pub fn analyze(trace: &Trace, scope: &Scope, keys: &[Key]) -> DiskReport {
    let range = scope.range;
    let mut names = Names::new(trace, scope);
    let mut groups: Groups<DiskAmounts> = Groups::with_keys(keys);
    let mut total = DiskAmounts::default();
    let mut disks: BTreeMap<u32, Meter> = BTreeMap::new();
    let neighbors_by_row = neighbors(trace);
    for (io, neighbors) in trace.disk_ios.iter().zip(neighbors_by_row) {
        let meter = disks.entry(io.disk).or_default();
        meter.add(&io, neighbors.at_issue, range);
        if !range.contains(io.complete_ns) {
            continue;
        }
        meter.complete(trace.system.kind, &io);
        if let Some(subject) = names.request_subject(&io) {
            for amounts in [groups.entry(&names, subject), &mut total] {
                amounts.add(&io, neighbors.at_issue);
            }
        }
    }
    let mut groups: Vec<DiskGroup> =
        groups.finish(&names).into_iter().map(|(shared, amounts)| DiskGroup { shared, amounts }).collect();
    groups.sort_by(|a, b| {
        let cost = |group: &DiskGroup| (group.amounts.service_ns, group.amounts.bytes);
        cost(b).cmp(&cost(a)).then_with(|| a.shared.order().cmp(&b.shared.order()))
    });
    DiskReport {
        range,
        by: keys.to_vec(),
        disks: disks.into_iter().map(|(disk, meter)| meter.finish(trace, disk, range)).collect(),
        total,
        groups,
        recorded: trace.disk_ios.len() as u64,
        affecting_losses: affecting_losses(trace, &[TableName::DiskIos, TableName::Processes]),
        losses: trace.losses.clone(),
    }
}

impl DiskAmounts {
    pub(super) fn add(&mut self, io: &DiskIo, queued_before: u32) {
        let response_ns = io.complete_ns.saturating_sub(issued_ns(io)).max(0);
        let service_ns = io.service_ns.max(0);
        let (requests, bytes, sum_ns) = match io.operation {
            DiskOperation::Read => (&mut self.reads, &mut self.read_bytes, &mut self.read_service_ns),
            DiskOperation::Write => (&mut self.writes, &mut self.write_bytes, &mut self.write_service_ns),
            // A flush transfers no bytes, even if its record has a size.
            DiskOperation::Flush => (&mut self.flushes, &mut 0, &mut self.flush_service_ns),
        };
        *requests += 1;
        *bytes = bytes.saturating_add(io.size);
        *sum_ns = sum_ns.saturating_add(service_ns);
        self.requests += 1;
        self.bytes = self.read_bytes.saturating_add(self.write_bytes);
        self.service_ns = self.service_ns.saturating_add(service_ns);
        self.response_ns = self.response_ns.saturating_add(response_ns);
        let requests = i64::try_from(self.requests).unwrap_or(i64::MAX);
        self.mean_response_ns = self.response_ns / requests.max(1);
        self.longest_response_ns = self.longest_response_ns.max(response_ns);
        self.queue_depth_sum = self.queue_depth_sum.saturating_add(queued_before.into());
        self.max_queue_depth = self.max_queue_depth.max(queued_before);
    }
}

/// Accumulates the activity of one disk.
#[derive(Debug, Default)]
struct Meter {
    operations: DiskOperations,
    read_ahead: DiskWork,
    busy_ns: i64,
    /// End of the latest service so far, ns.
    busy_until_ns: Option<i64>,
    outstanding_ns: i128,
    longest_queue: u32,
    /// Number of outstanding requests at the start of the range.
    outstanding_at_start: u32,
}

impl Meter {
    /// Adds the part of a request in the range.
    fn add(&mut self, io: &DiskIo, queued_before: u32, range: Interval) {
        let issued_ns = issued_ns(io);
        // Requests are in order of completion. Overlapping service times count once.
        let service_start_ns = io.complete_ns.saturating_sub(io.service_ns.max(0));
        let busy_start_ns = service_start_ns.max(self.busy_until_ns.unwrap_or(i64::MIN));
        self.busy_until_ns = self.busy_until_ns.max(Some(io.complete_ns));
        let time_in_range = |start_ns: i64| range.overlap_ns(start_ns, io.complete_ns);
        self.busy_ns = self.busy_ns.saturating_add(time_in_range(busy_start_ns));
        self.outstanding_ns += i128::from(time_in_range(issued_ns));
        if range.contains(issued_ns) {
            self.longest_queue = self.longest_queue.max(queued_before.saturating_add(1));
        } else if issued_ns < range.start_ns && io.complete_ns > range.start_ns {
            self.outstanding_at_start = self.outstanding_at_start.saturating_add(1);
        }
    }

    fn complete(&mut self, system: SystemKind, io: &DiskIo) {
        self.operations.add(io);
        if is_read_ahead(system, io) {
            self.read_ahead.add(io);
        }
    }

    fn finish(self, trace: &Trace, disk: u32, range: Interval) -> DiskActivity {
        let length_ns = range.duration_ns();
        let model = trace
            .system
            .disks
            .iter()
            .find(|description| description.number == disk)
            .map(|description| description.model.trim().to_owned());
        DiskActivity {
            disk,
            model: model.unwrap_or_default(),
            operations: self.operations,
            read_ahead: self.read_ahead,
            busy_ns: self.busy_ns,
            idle_ns: length_ns.saturating_sub(self.busy_ns).max(0),
            mean_queue: if length_ns == 0 { 0.0 } else { self.outstanding_ns as f64 / length_ns as f64 },
            longest_queue: self.longest_queue.max(self.outstanding_at_start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, disk, process, request};
    use onoff_trace::{IoPriority, Pattern};

    /// A request: (disk, operation, [issue, start of service, completion], bytes, priority, process, file).
    type Row = (u32, DiskOperation, [i64; 3], u64, IoPriority, u32, &'static str);

    fn recording(rows: &[Row]) -> Trace {
        let mut trace = Trace::default();
        process(&mut trace, 4, "System", None, None);
        process(&mut trace, 860, "scan.exe", None, None);
        for &(number, operation, [issue, begin, complete], size, priority, pid, file) in rows {
            let file = trace.strings.intern(file);
            trace.disk_ios.push(DiskIo {
                issue_ns: Some(issue * MS),
                complete_ns: complete * MS,
                disk: number,
                operation,
                offset: 0,
                size,
                priority,
                service_ns: (complete - begin) * MS,
                pid: Some(pid),
                tid: Some(pid + 4),
                file,
                file_object: u64::from(!file.is_empty()),
                irp: 0,
                irp_flags: 0,
            });
        }
        trace.duration_ns = 100 * MS;
        trace
    }

    /// Returns a trace in which two requests are queued on disk 0 while a third is served, and disk 1 flushes.
    fn busy() -> Trace {
        use DiskOperation::{Flush, Read, Write};
        use IoPriority::{Normal, VeryLow};
        recording(&[
            (0, Read, [10, 10, 20], 4096, Normal, 860, r"\a.dll"),
            (0, Read, [12, 20, 25], 8192, VeryLow, 860, r"\b.txt"),
            (0, Write, [15, 25, 40], 512, Normal, 4, r"\a.dll"),
            (1, Flush, [50, 50, 60], 0, Normal, 4, ""),
            (0, Read, [80, 80, 90], 65536, Normal, 4, ""),
        ])
    }

    #[test]
    fn groups_add_up_to_the_total_for_any_keys() {
        let trace = busy();
        for by in [
            &[][..],
            &[Key::Process],
            &[Key::Path, Key::Priority],
            &[Key::File, Key::Extension, Key::Disk, Key::Operation],
            &Key::ALL,
        ] {
            let report = analyze(&trace, &Scope::whole_recording(&trace), by);
            let sum = |amount: fn(&DiskAmounts) -> i64| -> i64 {
                let groups = report.groups.iter();
                groups.map(|group| amount(&group.amounts)).sum()
            };
            assert_eq!(sum(|amounts| amounts.service_ns), 50 * MS, "{by:?}");
            assert_eq!(sum(|amounts| amounts.response_ns), 68 * MS, "{by:?}");
            assert_eq!(report.total.requests, 5);
            assert_eq!(report.total.bytes, 78336);
        }
    }

    #[test]
    fn a_group_has_the_values_its_members_share() {
        let trace = busy();
        let report = analyze(&trace, &Scope::whole_recording(&trace), &[Key::Process, Key::Extension]);
        let rows: Vec<_> = report
            .groups
            .iter()
            .map(|group| {
                let shared = &group.shared;
                (
                    shared.image.as_deref().unwrap(),
                    shared.extension.as_deref().unwrap(),
                    shared.path.as_deref(),
                    shared.priority.map(IoPriority::as_str),
                    shared.operation,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("System", "", None, Some("normal"), None),
                ("System", "dll", Some(r"\a.dll"), Some("normal"), Some("write")),
                ("scan.exe", "dll", Some(r"\a.dll"), Some("normal"), Some("read")),
                ("scan.exe", "txt", Some(r"\b.txt"), Some("very_low"), Some("read")),
            ]
        );
        let report = analyze(&trace, &Scope::whole_recording(&trace), &[Key::Path]);
        assert!(report.groups.iter().any(|group| group.shared.path.as_deref() == Some(super::super::NO_FILE)));
    }

    #[test]
    fn disk_activity_does_not_depend_on_the_selected_processes() {
        let trace = busy();
        let scope = Scope::whole_recording(&trace).with_processes(vec![Pattern::new("scan.exe")]);
        let report = analyze(&trace, &scope, &[Key::Process]);
        assert_eq!(report.total.requests, 2);
        let disk = &report.disks[0];
        assert_eq!(disk.operations.read.operations, 3);
        assert_eq!(disk.read_ahead.bytes, 65536);
        assert_eq!(disk.busy_ns, 40 * MS);
        assert_eq!(disk.idle_ns + disk.busy_ns, report.range.duration_ns());
        assert_eq!(disk.longest_queue, 3);
        // 10 + 13 + 25 + 10 ms of requests in 100 ms.
        assert!((disk.mean_queue - 0.58).abs() < 1e-6, "{}", disk.mean_queue);
        assert_eq!(report.disks[1].operations.flush.operations, 1);
        assert_eq!(report.disks[1].idle_ns, report.range.duration_ns() - 10 * MS);
    }

    #[test]
    fn a_range_has_the_busy_time_within_it_and_the_requests_that_complete_in_it() {
        let trace = busy();
        let scope = Scope::between(&trace, 15 * MS, 30 * MS).unwrap();
        let report = analyze(&trace, &scope, &[]);
        assert_eq!(report.total.requests, 2);
        assert_eq!(report.disks[0].busy_ns, 15 * MS);
        assert_eq!(report.disks[0].idle_ns, 0);
        assert_eq!(report.disks[0].longest_queue, 3);
        assert_eq!(report.disks[1].idle_ns, 15 * MS);
        // One request is outstanding when the request at 12 ms is issued, none at 10 ms.
        assert_eq!(report.total.queue_depth_sum, 1);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let mut trace = Trace::default();
        disk(&mut trace, 5, i64::MAX, IoPriority::Normal, "a");
        request(&mut trace, 0, i64::MIN, i64::MAX);
        request(&mut trace, 0, i64::MIN, i64::MIN);
        let scope = Scope { range: Interval::new(i64::MIN, i64::MAX), ..Scope::default() };
        assert_eq!(analyze(&trace, &scope, &Key::ALL).disks.len(), 1);
    }
}
