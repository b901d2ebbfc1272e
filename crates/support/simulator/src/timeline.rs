//! When each thread ran and when the disk was busy, from which the usage of any interval is computed.

use serde::Serialize;

use super::usage::{LOW_PRIORITY, NS_PER_TICK, PostBoot, REQUIRED_SLICES, SLICE, Slice, Usage};
use onoff_testkit::events::storage::{IoPriority, Operation};

/// Process and priority of the running thread; `None` for idle.
type RunningThread = Option<(u32, u8)>;

/// Every interval of CPU and disk use, in nanoseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UsageTimeline {
    #[serde(skip)]
    processors: u32,
    #[serde(skip)]
    cpu: Vec<(RunningThread, i64, i64)>,
    #[serde(skip)]
    disk: Vec<(IoPriority, i64, i64)>,
    #[serde(skip)]
    requests: Vec<(Operation, u32, i64)>,
}

impl UsageTimeline {
    pub(super) fn new(processors: u32) -> Self {
        Self { processors, ..Self::default() }
    }

    pub(super) fn cpu(&mut self, running_thread: RunningThread, start: u64, end: u64) {
        self.cpu.push((running_thread, start as i64 * NS_PER_TICK, end as i64 * NS_PER_TICK));
    }

    pub(super) fn disk_busy(&mut self, priority: IoPriority, start: u64, end: u64) {
        self.disk.push((priority, start as i64 * NS_PER_TICK, end as i64 * NS_PER_TICK));
    }

    pub(super) fn disk_completed(&mut self, operation: Operation, size: u32, time: u64) {
        self.requests.push((operation, size, time as i64 * NS_PER_TICK));
    }

    /// Returns CPU and disk use in an interval. Requests count where they complete.
    #[must_use]
    pub fn usage(&self, start_ns: i64, end_ns: i64) -> Usage {
        let overlap_ns = |start: i64, end: i64| (end.min(end_ns) - start.max(start_ns)).max(0);
        let mut usage = Usage::default();
        for &(running_thread, start, end) in &self.cpu {
            let duration_ns = overlap_ns(start, end);
            match running_thread {
                _ if duration_ns == 0 => {}
                None => usage.idle_ns += duration_ns,
                Some((process, priority)) => {
                    *usage.cpu_by_process_ns.entry(process).or_default() += duration_ns;
                    *usage.cpu_by_priority_ns.entry(priority).or_default() += duration_ns;
                }
            }
        }
        for &(_, start, end) in &self.disk {
            usage.disk_busy_ns += overlap_ns(start, end);
        }
        for &(operation, size, time) in &self.requests {
            if !(start_ns..end_ns).contains(&time) {
                continue;
            }
            match operation {
                Operation::Read => {
                    usage.reads += 1;
                    usage.read_bytes += u64::from(size);
                }
                Operation::Write => {
                    usage.writes += 1;
                    usage.written_bytes += u64::from(size);
                }
                Operation::Flush => usage.flushes += 1,
            }
        }
        usage
    }

    /// Returns the idle metric from `start_ns`, over the slices completed by `end_ns`.
    #[must_use]
    pub fn idle_metric(&self, start_ns: i64, end_ns: i64) -> PostBoot {
        let slice_ns = SLICE as i64 * NS_PER_TICK;
        let count = usize::try_from((end_ns - start_ns) / slice_ns).unwrap_or(0);
        let mut busy = vec![(0_i64, 0_i64); count];
        let mut add_busy = |start: i64, end: i64, disk: bool| {
            let (mut start, end) = (start.max(start_ns), end.min(end_ns));
            while start < end {
                let index = (start - start_ns) / slice_ns;
                let part_ns = (start_ns + (index + 1) * slice_ns).min(end) - start;
                let slot = usize::try_from(index).ok().and_then(|index| busy.get_mut(index));
                match slot {
                    Some((_, disk_busy_ns)) if disk => *disk_busy_ns += part_ns,
                    Some((cpu_busy_ns, _)) => *cpu_busy_ns += part_ns,
                    None => {}
                }
                start += part_ns;
            }
        };
        for &(running_thread, start, end) in &self.cpu {
            if running_thread.is_some_and(|(_, priority)| priority >= LOW_PRIORITY) {
                add_busy(start, end, false);
            }
        }
        for &(priority, start, end) in &self.disk {
            if !priority.is_low() {
                add_busy(start, end, true);
            }
        }
        let mut metric = PostBoot::default();
        for (cpu_busy_ns, disk_busy_ns) in busy {
            if metric.is_satisfied {
                break;
            }
            let is_idle = cpu_busy_ns * 5 <= slice_ns * i64::from(self.processors) && disk_busy_ns * 5 <= slice_ns;
            metric.slices.push(Slice { cpu_busy_ns, disk_busy_ns, is_idle });
            if is_idle {
                metric.idle_ns += slice_ns;
            } else {
                metric.busy_ns += slice_ns;
            }
            metric.is_satisfied = metric.idle_ns == REQUIRED_SLICES as i64 * slice_ns;
        }
        metric
    }
}
