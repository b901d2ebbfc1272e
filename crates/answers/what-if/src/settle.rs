//! Applies the idle rule to the loads of a replay.

use onoff_usage::idle::{IdleCounter, IdleMetric};

/// Maximum number of slices: more than a day of 100 ms slices.
const MAX_SLICES: usize = 1_000_000;

/// The loads of a replay, each list ordered by start.
#[derive(Clone, Copy, Debug)]
pub struct Loads<'r> {
    /// Start and end of the time in which a processor was busy, ns.
    pub cpu: &'r [(i64, i64)],
    /// Disk, start and end of each request, ns.
    pub disks: &'r [(u32, i64, i64)],
}

/// When a replayed machine became idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// End of the slice that completed the required idle time, ns on the awake clock.
    pub end_ns: i64,
    /// Idle time in between, ns.
    pub idle_ns: i64,
}

/// Returns when the machine became idle, counting from `start_ns`; `None` if it did not. After the recorded work there
/// is no load.
#[must_use]
pub fn settle(loads: Loads<'_>, start_ns: i64, processors: u32, metric: IdleMetric) -> Option<Settled> {
    settle_until(loads, start_ns, processors, metric, i64::MAX).ok()
}

/// Like [`settle`], for loads that are known up to `known_ns`.
///
/// # Errors
/// Returns the idle time up to `known_ns`, ns, if it was not enough.
pub(crate) fn settle_until(
    loads: Loads<'_>,
    start_ns: i64,
    processors: u32,
    metric: IdleMetric,
    known_ns: i64,
) -> Result<Settled, i64> {
    let slice_ns = metric.slice_ns.max(1);
    let mut cpu = Slices { start_ns, slice_ns, busy_ns: Vec::new() };
    for &(from_ns, to_ns) in loads.cpu {
        cpu.add(from_ns, to_ns);
    }
    let mut disks: Vec<(Slices, i64)> = Vec::new();
    for &(disk, from_ns, to_ns) in loads.disks {
        let disk = disk as usize;
        while disks.len() <= disk {
            disks.push((Slices { start_ns, slice_ns, busy_ns: Vec::new() }, i64::MIN));
        }
        if let Some((slices, counted_ns)) = disks.get_mut(disk) {
            // Overlapping requests count once.
            slices.add(from_ns.max(*counted_ns), to_ns);
            *counted_ns = to_ns.max(*counted_ns);
        }
    }
    let mut counter = IdleCounter::new(metric, processors);
    let mut end_ns = start_ns;
    for index in 0..MAX_SLICES {
        let slice_start_ns = end_ns;
        end_ns = slice_start_ns.saturating_add(slice_ns);
        if end_ns > known_ns {
            break;
        }
        let busiest_ns = disks.iter().map(|(slices, _)| slices.get(index)).max().unwrap_or(0);
        counter.add(slice_start_ns, cpu.get(index), Some(busiest_ns));
        if counter.is_complete() {
            return Ok(Settled { end_ns, idle_ns: counter.idle_ns() });
        }
    }
    Err(counter.idle_ns())
}

/// Busy time by slice.
struct Slices {
    start_ns: i64,
    slice_ns: i64,
    busy_ns: Vec<i64>,
}

impl Slices {
    fn add(&mut self, from_ns: i64, to_ns: i64) {
        let mut from_ns = from_ns.max(self.start_ns);
        while from_ns < to_ns {
            let Ok(index) = usize::try_from(from_ns.saturating_sub(self.start_ns) / self.slice_ns) else { return };
            if index >= MAX_SLICES {
                return;
            }
            if self.busy_ns.len() <= index {
                self.busy_ns.resize(index + 1, 0);
            }
            let rest_ns = self.slice_ns - from_ns.saturating_sub(self.start_ns) % self.slice_ns;
            let slice_end_ns = from_ns.saturating_add(rest_ns);
            if let Some(sum) = self.busy_ns.get_mut(index) {
                *sum = sum.saturating_add(to_ns.min(slice_end_ns).saturating_sub(from_ns));
            }
            from_ns = slice_end_ns;
        }
    }

    fn get(&self, index: usize) -> i64 {
        self.busy_ns.get(index).copied().unwrap_or(0)
    }
}
