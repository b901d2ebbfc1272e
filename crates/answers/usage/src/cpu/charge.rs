//! Attributes CPU time to threads, on each CPU and in each interval between two cuts.

use std::ops::Range;

use onoff_trace::Trace;

use super::{CpuSource, recorded_interval, source};
use crate::asleep::SleepIntervals;
use crate::owners::{OwnerIndex, Owners};

/// An interval in which one thread ran on one CPU, within one of the requested intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuInterval {
    /// Index of the requested interval.
    pub interval: usize,
    pub processor: u16,
    /// Thread id; 0 is the idle thread of the CPU.
    pub tid: u32,
    pub owner: OwnerIndex,
    /// Lifetime of the thread id; see [`Owners::owner_at`].
    pub life: u32,
    /// Thread priority, 0 to 31.
    pub priority: u8,
    /// Instruction address from a sample; 0 for context switches.
    pub address: u64,
    /// Start, ns.
    pub start_ns: i64,
    /// Length, ns.
    pub ns: i64,
    /// Whether the thread was already running before a sleep that ended where this interval starts.
    pub resumes_after_sleep: bool,
}

/// Attributes all CPU time between the first and the last of `cuts`, which must be in ascending order. For each CPU,
/// calls of `charge` are in order of time.
pub fn charge(trace: &Trace, owners: &mut Owners, cuts: &[i64], charge: impl FnMut(CpuInterval)) -> CpuSource {
    let source = source(trace);
    match source {
        CpuSource::ContextSwitches => charge_switches(trace, owners, cuts, charge),
        CpuSource::Samples => charge_samples(trace, owners, cuts, charge),
        CpuSource::None => {}
    }
    source
}

/// Like [`charge`], but always from profile samples: only samples have addresses.
pub fn charge_from_samples(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    charge: impl FnMut(CpuInterval),
) -> CpuSource {
    if trace.samples.is_empty() {
        return CpuSource::None;
    }
    charge_samples(trace, owners, cuts, charge);
    CpuSource::Samples
}

/// Like [`charge`], but only from context switches, which are exact.
pub(crate) fn charge_switches_of(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    charge: impl FnMut(CpuInterval),
) -> CpuSource {
    if trace.context_switches.is_empty() {
        return CpuSource::None;
    }
    charge_switches(trace, owners, cuts, charge);
    CpuSource::ContextSwitches
}

/// The running thread of a CPU, and the time up to which it has been charged.
#[derive(Clone, Copy, Debug)]
struct Running {
    tid: u32,
    owner: OwnerIndex,
    life: u32,
    priority: u8,
    processor: u16,
    charged_until_ns: i64,
    interval: usize,
    interval_end_ns: i64,
}

impl Running {
    /// Charges the running thread up to `time_ns`, split at the ends of intervals. Time that goes backwards charges
    /// nothing.
    #[inline]
    fn charge_until(
        &mut self,
        time_ns: i64,
        (cuts, asleep): (&[i64], &SleepIntervals),
        charge: &mut impl FnMut(CpuInterval),
    ) {
        while time_ns > self.interval_end_ns {
            self.charge_in_interval(self.interval_end_ns, asleep, charge);
            self.interval += 1;
            self.interval_end_ns = cuts.get(self.interval + 1).copied().unwrap_or(i64::MAX);
        }
        self.charge_in_interval(time_ns, asleep, charge);
    }

    /// Like [`charge_until`](Self::charge_until), for a row that switches away from thread `tid`. If another thread was
    /// running, rows in between were lost, and the time is unknown.
    #[inline]
    fn switch_from(
        &mut self,
        tid: u32,
        time_ns: i64,
        cuts_and_sleeps: (&[i64], &SleepIntervals),
        charge: &mut impl FnMut(CpuInterval),
    ) {
        if self.tid == tid {
            self.charge_until(time_ns, cuts_and_sleeps, charge);
        } else {
            self.charge_until(time_ns, cuts_and_sleeps, &mut |_| {});
        }
    }

    #[inline]
    fn charge_in_interval(&mut self, time_ns: i64, asleep: &SleepIntervals, charge: &mut impl FnMut(CpuInterval)) {
        if time_ns <= self.charged_until_ns {
            return;
        }
        let mut run = CpuInterval {
            interval: self.interval,
            processor: self.processor,
            tid: self.tid,
            owner: self.owner,
            life: self.life,
            priority: self.priority,
            address: 0,
            start_ns: self.charged_until_ns,
            ns: time_ns.saturating_sub(self.charged_until_ns),
            resumes_after_sleep: false,
        };
        self.charged_until_ns = time_ns;
        if asleep.is_empty() {
            return charge(run);
        }
        for (start_ns, end_ns) in asleep.awake(run.start_ns, time_ns) {
            charge(CpuInterval { start_ns, ns: end_ns.saturating_sub(start_ns), ..run });
            run.resumes_after_sleep = true;
        }
    }
}

fn charge_switches(trace: &Trace, owners: &mut Owners, cuts: &[i64], mut charge: impl FnMut(CpuInterval)) {
    let (Some(&first_cut), Some(&last_cut)) = (cuts.first(), cuts.last()) else { return };
    let Some((recorded_begin, recorded_end)) = recorded_interval(trace) else { return };
    let (begin, end) = (first_cut.max(recorded_begin), last_cut.min(recorded_end));
    let interval = cuts.partition_point(|&cut| cut <= begin).saturating_sub(1);
    let range = trace.switches_between(begin, end);
    let asleep = owners.asleep();
    let cuts_and_sleeps = (cuts, &*asleep);
    let mut running: Vec<Option<Running>> = Vec::new();
    for (processor, occupant) in range.threads_before() {
        let (owner, life) = owners.owner_at(occupant.tid, occupant.since_ns);
        let index = usize::from(processor);
        if index >= running.len() {
            running.resize(index + 1, None);
        }
        running[index] = Some(Running {
            tid: occupant.tid,
            owner,
            life,
            priority: clamp_priority(occupant.priority),
            processor,
            charged_until_ns: begin,
            interval,
            interval_end_ns: cuts.get(interval + 1).copied().unwrap_or(i64::MAX),
        });
    }
    for (chunk, rows) in range.rows(&trace.context_switches) {
        let threads = rows_of(&chunk.new_tid, &rows).iter().zip(rows_of(&chunk.old_tid, &rows));
        let changes = threads.zip(rows_of(&chunk.new_priority, &rows));
        for ((&time_ns, &cpu), ((&new_tid, &old_tid), &new_priority)) in
            rows_of(&chunk.time_ns, &rows).iter().zip(rows_of(&chunk.cpu, &rows)).zip(changes)
        {
            let Some(Some(running)) = running.get_mut(usize::from(cpu)) else { continue };
            running.switch_from(old_tid, time_ns.min(end), cuts_and_sleeps, &mut charge);
            running.tid = new_tid;
            (running.owner, running.life) = owners.owner_at(new_tid, time_ns);
            running.priority = clamp_priority(new_priority);
        }
    }
    for (processor, occupant) in range.threads_after() {
        let Some(Some(running)) = running.get_mut(usize::from(processor)) else { continue };
        running.switch_from(occupant.next_switched_out().unwrap_or(running.tid), end, cuts_and_sleeps, &mut charge);
    }
}

/// Returns the given rows of a column.
fn rows_of<'c, T>(column: &'c [T], rows: &Range<usize>) -> &'c [T] {
    column.get(rows.clone()).unwrap_or_default()
}

#[allow(clippy::cast_sign_loss, reason = "clamped to 0..=31")]
fn clamp_priority(priority: i8) -> u8 {
    priority.clamp(0, 31) as u8
}

/// Charges one sampling period per sample.
fn charge_samples(trace: &Trace, owners: &mut Owners, cuts: &[i64], mut charge: impl FnMut(CpuInterval)) {
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else { return };
    let period_ns = sampling_period(trace);
    let mut interval = 0;
    for (chunk, rows) in trace.samples_between(begin, end) {
        let rows = rows_of(&chunk.time_ns, &rows)
            .iter()
            .zip(rows_of(&chunk.cpu, &rows).iter().zip(rows_of(&chunk.tid, &rows)))
            .zip(rows_of(&chunk.count, &rows).iter().zip(rows_of(&chunk.source, &rows)))
            .zip(rows_of(&chunk.address, &rows));
        for (((&time_ns, (&processor, &tid)), (&count, &source)), &address) in rows {
            // Other sources count events such as cache misses, not time.
            if source != 0 || time_ns < begin || time_ns >= end {
                continue;
            }
            let (owner, life) = owners.owner_at(tid, time_ns);
            while cuts.get(interval + 1).is_some_and(|&cut| time_ns >= cut) {
                interval += 1;
            }
            charge(CpuInterval {
                interval,
                processor,
                tid,
                owner,
                life,
                priority: owners.base_priority(life),
                address,
                start_ns: time_ns,
                ns: period_ns.saturating_mul(i64::from(count.max(1))),
                resumes_after_sleep: false,
            });
        }
    }
}

/// Returns the interval between samples, in ns: the recorded one, unless the samples have another distance, as on some
/// virtual machines. Otherwise the median distance between consecutive samples of a CPU, from the first few thousand
/// samples. If there are too few, returns the Windows default of 1 ms.
pub fn sampling_period(trace: &Trace) -> i64 {
    const MAX_DISTANCES: usize = 8192;
    const DEFAULT_NS: i64 = 1_000_000;
    const TOLERANCE_PERCENT: i64 = 5;
    let mut last_times: Vec<Option<i64>> = Vec::new();
    let mut distances = Vec::new();
    for chunk in trace.samples.chunks() {
        for ((&time_ns, &cpu), &source) in chunk.time_ns.iter().zip(&chunk.cpu).zip(&chunk.source) {
            let cpu = usize::from(cpu);
            if source != 0 {
                continue;
            }
            if cpu >= last_times.len() {
                last_times.resize(cpu + 1, None);
            }
            if let Some(previous_ns) = last_times[cpu].replace(time_ns)
                && time_ns > previous_ns
            {
                distances.push(time_ns.saturating_sub(previous_ns));
            }
            if distances.len() >= MAX_DISTANCES {
                break;
            }
        }
    }
    distances.sort();
    let recorded_ns = trace.system.sampling_interval_ns;
    match (distances.get(distances.len() / 2).copied(), recorded_ns) {
        (Some(median_ns), Some(recorded_ns)) => {
            let difference_ns = median_ns.saturating_sub(recorded_ns).saturating_abs();
            let is_close = difference_ns.saturating_mul(100) <= recorded_ns.saturating_mul(TOLERANCE_PERCENT);
            if is_close { recorded_ns } else { median_ns }
        }
        (Some(ns), None) | (None, Some(ns)) => ns,
        (None, None) => DEFAULT_NS,
    }
}
