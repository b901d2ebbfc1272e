//! Whose requests a disk worked on while another's waited its turn. Each disk is looked at alone.

use hashbrown::HashMap;
use onoff_trace::Trace;

/// Requests looked at for one wait, at most.
const MAX_REQUESTS: usize = 4096;

/// A request's time at its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Served {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) tid: Option<u32>,
    pub(super) pid: Option<u32>,
}

/// The requests of each disk, in the order in which it served them.
#[derive(Debug, Default)]
pub(super) struct Disks {
    by_disk: HashMap<u32, Vec<Served>>,
}

impl Disks {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut by_disk: HashMap<u32, Vec<Served>> = HashMap::new();
        for row in trace.disk_ios.iter() {
            let start_ns = row.complete_ns.saturating_sub(row.service_ns.max(0));
            let served = Served { start_ns, end_ns: row.complete_ns, tid: row.tid, pid: row.pid };
            by_disk.entry(row.disk).or_default().push(served);
        }
        for list in by_disk.values_mut() {
            list.sort_unstable_by_key(|row| (row.end_ns, row.start_ns));
        }
        Self { by_disk }
    }

    /// What `disk` worked on between two times, in order and without overlap.
    pub(super) fn served(&self, disk: u32, start_ns: i64, end_ns: i64) -> impl Iterator<Item = Served> + '_ {
        let list = self.by_disk.get(&disk).map_or(&[][..], Vec::as_slice);
        let first = list.partition_point(|row| row.end_ns <= start_ns);
        let mut done = start_ns;
        list.get(first..)
            .unwrap_or(&[])
            .iter()
            .take(MAX_REQUESTS)
            .take_while(move |row| row.start_ns < end_ns)
            .filter_map(move |row| {
                let from = row.start_ns.max(done);
                let to = row.end_ns.min(end_ns);
                if from >= to {
                    return None;
                }
                done = to;
                Some(Served { start_ns: from, end_ns: to, ..*row })
            })
    }
}
