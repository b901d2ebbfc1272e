//! Finds the requests that a disk served while another request was queued. Each disk is treated separately.

use hashbrown::HashMap;
use onoff_trace::Trace;

/// Maximum number of requests examined for one wait.
const MAX_REQUESTS: usize = 4096;

/// The service time of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServiceTime {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) tid: Option<u32>,
    pub(super) pid: Option<u32>,
}

/// The requests of each disk in service order.
#[derive(Debug, Default)]
pub(super) struct Disks {
    by_disk: HashMap<u32, Vec<ServiceTime>>,
}

impl Disks {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut by_disk: HashMap<u32, Vec<ServiceTime>> = HashMap::new();
        for row in trace.disk_ios.iter() {
            let start_ns = row.complete_ns.saturating_sub(row.service_ns.max(0));
            let service_time = ServiceTime { start_ns, end_ns: row.complete_ns, tid: row.tid, pid: row.pid };
            by_disk.entry(row.disk).or_default().push(service_time);
        }
        for list in by_disk.values_mut() {
            list.sort_unstable_by_key(|row| (row.end_ns, row.start_ns));
        }
        Self { by_disk }
    }

    /// Returns the service times of `disk` between two times, in order and without overlap.
    pub(super) fn service_times(
        &self,
        disk: u32,
        start_ns: i64,
        end_ns: i64,
    ) -> impl Iterator<Item = ServiceTime> + '_ {
        let list = self.by_disk.get(&disk).map_or(&[][..], Vec::as_slice);
        let first = list.partition_point(|row| row.end_ns <= start_ns);
        let mut done_ns = start_ns;
        list.get(first..)
            .unwrap_or(&[])
            .iter()
            .take(MAX_REQUESTS)
            .take_while(move |row| row.start_ns < end_ns)
            .filter_map(move |row| {
                let clipped_start = row.start_ns.max(done_ns);
                let clipped_end = row.end_ns.min(end_ns);
                if clipped_start >= clipped_end {
                    return None;
                }
                done_ns = clipped_end;
                Some(ServiceTime { start_ns: clipped_start, end_ns: clipped_end, ..*row })
            })
    }
}
