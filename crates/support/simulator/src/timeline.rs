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

    pub(super) fn cpu(&mut self, ran: RunningThread, from: u64, to: u64) {
        self.cpu.push((ran, from as i64 * NS_PER_TICK, to as i64 * NS_PER_TICK));
    }

    pub(super) fn disk_busy(&mut self, priority: IoPriority, from: u64, to: u64) {
        self.disk.push((priority, from as i64 * NS_PER_TICK, to as i64 * NS_PER_TICK));
    }

    pub(super) fn disk_completed(&mut self, operation: Operation, size: u32, at: u64) {
        self.requests.push((operation, size, at as i64 * NS_PER_TICK));
    }

    /// CPU and disk use in an interval. Requests count where they complete.
    #[must_use]
    pub fn usage(&self, start_ns: i64, end_ns: i64) -> Usage {
        let within = |from: i64, to: i64| (to.min(end_ns) - from.max(start_ns)).max(0);
        let mut usage = Usage::default();
        for &(ran, from, to) in &self.cpu {
            let time = within(from, to);
            match ran {
                _ if time == 0 => {}
                None => usage.idle_ns += time,
                Some((process, priority)) => {
                    *usage.cpu_by_process_ns.entry(process).or_default() += time;
                    *usage.cpu_by_priority_ns.entry(priority).or_default() += time;
                }
            }
        }
        for &(_, from, to) in &self.disk {
            usage.disk_busy_ns += within(from, to);
        }
        for &(operation, size, at) in &self.requests {
            if !(start_ns..end_ns).contains(&at) {
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

    /// The idle metric from `start_ns`, over the slices completed by `end_ns`.
    #[must_use]
    pub fn idle_metric(&self, start_ns: i64, end_ns: i64) -> PostBoot {
        let slice_ns = SLICE as i64 * NS_PER_TICK;
        let count = usize::try_from((end_ns - start_ns) / slice_ns).unwrap_or(0);
        let mut busy = vec![(0_i64, 0_i64); count];
        let mut spread = |from: i64, to: i64, disk: bool| {
            let (mut from, to) = (from.max(start_ns), to.min(end_ns));
            while from < to {
                let index = (from - start_ns) / slice_ns;
                let part = (start_ns + (index + 1) * slice_ns).min(to) - from;
                let slot = usize::try_from(index).ok().and_then(|index| busy.get_mut(index));
                match slot {
                    Some(slot) if disk => slot.1 += part,
                    Some(slot) => slot.0 += part,
                    None => {}
                }
                from += part;
            }
        };
        for &(ran, from, to) in &self.cpu {
            if ran.is_some_and(|(_, priority)| priority >= LOW_PRIORITY) {
                spread(from, to, false);
            }
        }
        for &(priority, from, to) in &self.disk {
            if !priority.is_low() {
                spread(from, to, true);
            }
        }
        let mut metric = PostBoot::default();
        for (cpu_busy_ns, disk_busy_ns) in busy {
            if metric.is_satisfied {
                break;
            }
            let idle = cpu_busy_ns * 5 <= slice_ns * i64::from(self.processors) && disk_busy_ns * 5 <= slice_ns;
            metric.slices.push(Slice { cpu_busy_ns, disk_busy_ns, is_idle: idle });
            if idle {
                metric.idle_ns += slice_ns;
            } else {
                metric.busy_ns += slice_ns;
            }
            metric.is_satisfied = metric.idle_ns == REQUIRED_SLICES as i64 * slice_ns;
        }
        metric
    }
}
