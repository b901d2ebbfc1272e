//! CPU and disk time counted while the machine is simulated, independent of every analysis.
//!
//! Time is split into buckets: one per phase until the desktop is ready, then one per 100 ms slice. The end of PostBoot
//! is known only afterwards, and slices guarantee that it falls on a bucket boundary.

use super::timeline::UsageTimeline;
use super::usage::{LOW_PRIORITY, NS_PER_TICK, PostBoot, REQUIRED_SLICES, SLICE, Slice, Usage};
use onoff_testkit::events::storage::{IoPriority, Operation};

#[derive(Debug, Default)]
struct Bucket {
    usage: Usage,
    cpu_busy: u64,
    disk_busy: u64,
}

#[derive(Debug)]
pub(super) struct Accounting {
    processors: u64,
    /// Start of each phase bucket; the first starts at 0.
    phase_starts: Vec<u64>,
    phases: Vec<Bucket>,
    /// Start of the first slice.
    ready: Option<u64>,
    slices: Vec<Bucket>,
    evaluated: usize,
    idle_slices: usize,
    slices_until_satisfied: Option<usize>,
    /// Every CPU and disk interval; `None` in a scenario that only boots.
    pub(super) timeline: Option<UsageTimeline>,
}

impl Accounting {
    pub(super) fn new(processors: u32) -> Self {
        Self {
            processors: u64::from(processors),
            phase_starts: vec![0],
            phases: vec![Bucket::default()],
            ready: None,
            slices: Vec::new(),
            evaluated: 0,
            idle_slices: 0,
            slices_until_satisfied: None,
            timeline: None,
        }
    }

    /// Starts a phase. Running intervals must already be accounted for up to `now`.
    pub(super) fn next_phase(&mut self, now: u64) {
        self.phase_starts.push(now);
        self.phases.push(Bucket::default());
    }

    /// Starts the slices.
    pub(super) fn desktop_ready(&mut self, now: u64) {
        self.ready = Some(now);
    }

    fn bucket(&mut self, time: u64) -> Option<&mut Bucket> {
        match self.ready {
            Some(ready) if time >= ready => {
                let index = ((time - ready) / SLICE) as usize;
                if self.slices.len() <= index {
                    self.slices.resize_with(index + 1, Bucket::default);
                }
                self.slices.get_mut(index)
            }
            _ => self.phases.last_mut(),
        }
    }

    /// Splits an interval at slice boundaries and passes each part to `add` with its bucket.
    fn spread(&mut self, start: u64, end: u64, mut add: impl FnMut(&mut Bucket, u64)) {
        let mut start = start;
        while start < end {
            let boundary = match self.ready {
                Some(ready) if start >= ready => ready + ((start - ready) / SLICE + 1) * SLICE,
                _ => u64::MAX,
            };
            let duration = boundary.min(end) - start;
            if let Some(bucket) = self.bucket(start) {
                add(bucket, duration);
            }
            start += duration;
        }
    }

    /// Counts an interval in which a processor ran a thread (process, priority) or was idle (`None`).
    pub(super) fn cpu(&mut self, running_thread: Option<(u32, u8)>, start: u64, end: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.cpu(running_thread, start, end);
        }
        self.spread(start, end, |bucket, ticks| {
            let duration_ns = ticks as i64 * NS_PER_TICK;
            match running_thread {
                None => bucket.usage.idle_ns += duration_ns,
                Some((process, priority)) => {
                    *bucket.usage.cpu_by_process_ns.entry(process).or_default() += duration_ns;
                    *bucket.usage.cpu_by_priority_ns.entry(priority).or_default() += duration_ns;
                    if priority >= LOW_PRIORITY {
                        bucket.cpu_busy += ticks;
                    }
                }
            }
        });
    }

    /// Counts an interval in which the disk served a request.
    pub(super) fn disk_busy(&mut self, priority: IoPriority, start: u64, end: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.disk_busy(priority, start, end);
        }
        self.spread(start, end, |bucket, ticks| {
            bucket.usage.disk_busy_ns += ticks as i64 * NS_PER_TICK;
            if !priority.is_low() {
                bucket.disk_busy += ticks;
            }
        });
    }

    pub(super) fn disk_completed(&mut self, operation: Operation, size: u32, time: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.disk_completed(operation, size, time);
        }
        let Some(bucket) = self.bucket(time) else {
            return;
        };
        let usage = &mut bucket.usage;
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

    /// Evaluates the slices completed by `now`; running intervals must already be accounted for. Returns the end of
    /// PostBoot once 10 s of slices were idle.
    pub(super) fn evaluate(&mut self, now: u64) -> Option<u64> {
        let ready = self.ready?;
        let complete = ((now.saturating_sub(ready)) / SLICE) as usize;
        while self.evaluated < complete && self.slices_until_satisfied.is_none() {
            let index = self.evaluated;
            self.evaluated += 1;
            if self.slice(index).is_idle {
                self.idle_slices += 1;
                if self.idle_slices == REQUIRED_SLICES {
                    self.slices_until_satisfied = Some(self.evaluated);
                }
            }
        }
        self.slices_until_satisfied.map(|slices| ready + slices as u64 * SLICE)
    }

    fn slice(&self, index: usize) -> Slice {
        let (cpu, disk) = self.slices.get(index).map_or((0, 0), |bucket| (bucket.cpu_busy, bucket.disk_busy));
        Slice {
            cpu_busy_ns: cpu as i64 * NS_PER_TICK,
            disk_busy_ns: disk as i64 * NS_PER_TICK,
            // At least 80 % idle: at most a fifth of the CPU time and of the disk time is used.
            is_idle: cpu * 5 <= SLICE * self.processors && disk * 5 <= SLICE,
        }
    }

    /// Slices up to the end of PostBoot, or all completed ones.
    pub(super) fn post_boot(&self) -> Option<PostBoot> {
        self.ready?;
        let end = self.slices_until_satisfied.unwrap_or(self.evaluated);
        let slices: Vec<Slice> = (0..end).map(|index| self.slice(index)).collect();
        let idle = slices.iter().filter(|slice| slice.is_idle).count();
        let duration_ns = |count: usize| (count as u64 * SLICE) as i64 * NS_PER_TICK;
        Some(PostBoot {
            idle_ns: duration_ns(idle),
            busy_ns: duration_ns(slices.len() - idle),
            is_satisfied: self.slices_until_satisfied.is_some(),
            slices,
        })
    }

    /// Returns the usage of each phase before the desktop, of PostBoot, and of the rest.
    pub(super) fn usages(&mut self) -> (Vec<Usage>, Usage, Usage) {
        let end = self.slices_until_satisfied.unwrap_or(self.slices.len());
        let mut post_boot = Usage::default();
        let mut tail = Usage::default();
        for (index, bucket) in self.slices.iter().enumerate() {
            let total = if index < end { &mut post_boot } else { &mut tail };
            add_usage(total, &bucket.usage);
        }
        let phases = std::mem::take(&mut self.phases).into_iter().map(|bucket| bucket.usage).collect();
        (phases, post_boot, tail)
    }

    /// Returns the start of each phase before the desktop was ready.
    pub(super) fn phase_starts(&self) -> &[u64] {
        &self.phase_starts
    }
}

fn add_usage(total: &mut Usage, part: &Usage) {
    for (process, time) in &part.cpu_by_process_ns {
        *total.cpu_by_process_ns.entry(*process).or_default() += time;
    }
    for (priority, time) in &part.cpu_by_priority_ns {
        *total.cpu_by_priority_ns.entry(*priority).or_default() += time;
    }
    total.idle_ns += part.idle_ns;
    total.reads += part.reads;
    total.read_bytes += part.read_bytes;
    total.writes += part.writes;
    total.written_bytes += part.written_bytes;
    total.flushes += part.flushes;
    total.disk_busy_ns += part.disk_busy_ns;
}
