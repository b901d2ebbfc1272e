//! Measures CPU usage by process and priority; exact from context switches, otherwise estimated from samples.
//!
//! A CPU runs the thread that was switched in last until the next switch. Before the first switch it ran the thread
//! that was switched out; after the last switch, the thread that was switched in. If no CPU switches for more than
//! [`MAX_SILENCE_NS`] at the start or end of the recording, switches were not recorded there (the recorder started
//! later or stopped earlier than other recorders), and that time is unknown. Interrupts and deferred procedure calls
//! count for the interrupted thread. No thread runs while the machine is asleep, whatever the last switches were.

mod charge;
pub mod grid;
mod ready;
mod totals;

use onoff_trace::system::MAX_PROCESSORS;
use onoff_trace::{TableName, Trace};
use serde::Serialize;

use crate::owners::{IDLE, Owners, UNKNOWN, file_name};
use onoff_evidence::interval::Interval;
use onoff_evidence::{Certainty, affecting_losses};

pub use charge::{CpuInterval, charge, charge_from_samples, sampling_period};
pub use ready::{ReadyWait, ready_waits};
pub use totals::Capacity;
pub use totals::CpuTotals;

/// Source of CPU times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// Context switches: exact.
    ContextSwitches,
    /// Profile samples: an estimate in which a sample counts as one sampling period.
    Samples,
    /// Neither was recorded.
    #[default]
    None,
}

/// CPU time of a process in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessCpu {
    /// Process id; `None` for threads of unknown processes.
    pub pid: Option<u32>,
    /// Image file name; empty if unknown.
    pub image: String,
    /// CPU time, ns.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of CPUs.
    pub percent: f64,
}

/// CPU time at one thread priority in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityCpu {
    /// Thread priority, 0 to 31.
    pub priority: u8,
    /// CPU time, ns, without idle threads.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of CPUs.
    pub percent: f64,
}

/// CPU usage in an interval. `capacity_ns` = `busy_ns` + `idle_ns` + `asleep_ns` + `unknown_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUsage {
    pub source: CpuSource,
    pub certainty: Certainty,
    /// Number of logical processors.
    pub processors: u32,
    /// Length of the interval times the number of CPUs, ns.
    pub capacity_ns: i64,
    /// Time in which threads other than idle threads ran, ns.
    pub busy_ns: i64,
    /// Time in which idle threads ran, ns.
    pub idle_ns: i64,
    /// Time in which the machine was asleep and no thread ran, ns.
    pub asleep_ns: i64,
    /// Time that was not recorded, ns.
    pub unknown_ns: i64,
    /// By process, most CPU time first, without idle threads.
    pub by_process: Vec<ProcessCpu>,
    /// By priority, highest priority first.
    pub by_priority: Vec<PriorityCpu>,
    /// Names of the losses that can affect these values.
    pub affecting_losses: Vec<String>,
}

/// Number of thread priorities.
const PRIORITIES: usize = 32;

/// Returns the best recorded source of CPU times in `trace`.
#[must_use]
pub fn source(trace: &Trace) -> CpuSource {
    if !trace.context_switches.is_empty() {
        CpuSource::ContextSwitches
    } else if !trace.samples.is_empty() {
        CpuSource::Samples
    } else {
        CpuSource::None
    }
}

impl CpuSource {
    /// Returns the certainty of CPU times from this source.
    #[must_use]
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::ContextSwitches => Certainty::Measured,
            Self::Samples => Certainty::Inferred,
            Self::None => Certainty::Missing,
        }
    }

    /// Returns the tables whose losses can affect CPU times from this source.
    #[must_use]
    pub const fn tables(self) -> &'static [TableName] {
        match self {
            Self::ContextSwitches => &[TableName::ContextSwitches, TableName::Threads, TableName::Processes],
            Self::Samples => &[TableName::Samples, TableName::Threads, TableName::Processes],
            Self::None => &[],
        }
    }
}

/// Returns the number of logical processors: the configured number, or the number of active processors if that is
/// higher.
#[must_use]
pub fn processors(trace: &Trace) -> u32 {
    trace.recorded_processors().max(trace.system.processors).clamp(1, MAX_PROCESSORS)
}

/// Maximum time without any context switch or sample at the start or end of a recording, ns: 1 s. A longer silence
/// counts as not recorded, because even an idle Windows machine switches many times a second.
pub const MAX_SILENCE_NS: i64 = 1_000_000_000;

/// Returns the interval with CPU times, in ns: the whole recording, or less if switches or samples start late or end
/// early. `None` if neither was recorded.
#[must_use]
pub fn recorded_interval(trace: &Trace) -> Option<(i64, i64)> {
    recorded_by(trace, source(trace))
}

fn recorded_by(trace: &Trace, source: CpuSource) -> Option<(i64, i64)> {
    fn first_and_last<'a>(mut chunks: impl DoubleEndedIterator<Item = &'a [i64]>) -> Option<(i64, i64)> {
        let first_chunk = chunks.next()?;
        let last_chunk = chunks.next_back().unwrap_or(first_chunk);
        Some((*first_chunk.first()?, *last_chunk.last()?))
    }
    let (first_ns, last_ns) = match source {
        CpuSource::ContextSwitches => {
            let chunks = trace.context_switches.chunks().iter();
            first_and_last(chunks.map(|chunk| &*chunk.time_ns))
        }
        CpuSource::Samples => first_and_last(trace.samples.chunks().iter().map(|chunk| &*chunk.time_ns)),
        CpuSource::None => None,
    }?;
    let begin = if first_ns.saturating_sub(trace.start_ns) > MAX_SILENCE_NS { first_ns } else { trace.start_ns };
    let end = if trace.duration_ns.saturating_sub(last_ns) > MAX_SILENCE_NS { last_ns } else { trace.duration_ns };
    Some((begin, end))
}

/// Maximum number of sums per batch; there is one sum for each owner of threads in each interval.
const MAX_SUMS: usize = 1 << 22;

/// Measures the CPU usage in the intervals between consecutive `cuts`, which must be in ascending order.
#[must_use]
pub fn usage(trace: &Trace, cuts: &[i64]) -> Vec<CpuUsage> {
    usage_with_owners(trace, &mut Owners::from_trace(trace), cuts)
}

/// Like [`usage`], with given thread owners.
pub fn usage_with_owners(trace: &Trace, owners: &mut Owners, cuts: &[i64]) -> Vec<CpuUsage> {
    let batch_len = (MAX_SUMS / owners.list().len().max(1)).max(1);
    let mut usages = Vec::with_capacity(cuts.len());
    let mut remaining_cuts = cuts;
    while remaining_cuts.len() > 1 {
        let batch = &remaining_cuts[..remaining_cuts.len().min(batch_len + 1)];
        usages.append(&mut usage_of_batch(trace, owners, batch));
        remaining_cuts = &remaining_cuts[batch.len() - 1..];
    }
    usages
}

fn usage_of_batch(trace: &Trace, owners: &mut Owners, cuts: &[i64]) -> Vec<CpuUsage> {
    let interval_count = cuts.len().saturating_sub(1);
    let stride = owners.list().len();
    let mut by_owner = vec![0_i64; stride * interval_count];
    let mut by_priority = vec![[0_i64; PRIORITIES]; interval_count];
    let source = charge(trace, owners, cuts, |run| {
        if let Some(sum) = by_owner.get_mut(run.interval * stride + run.owner as usize) {
            *sum = sum.saturating_add(run.ns);
        }
        if run.owner != IDLE
            && let Some(sums) = by_priority.get_mut(run.interval)
        {
            let sum = &mut sums[usize::from(run.priority) % PRIORITIES];
            *sum = sum.saturating_add(run.ns);
        }
    });

    let capacity = Capacity::new(trace, owners);
    let affecting_losses = affecting_losses(trace, source.tables());
    cuts.windows(2)
        .enumerate()
        .map(|(interval, ends)| {
            let sums = &by_owner[interval * stride..][..stride];
            let busy_ns = sums.iter().skip(UNKNOWN as usize).fold(0_i64, |sum, &ns| sum.saturating_add(ns));
            let range = Interval::new(ends[0], ends[1]);
            let totals = capacity.totals(range, busy_ns, sums[IDLE as usize], sums[UNKNOWN as usize]);
            let mut by_process: Vec<ProcessCpu> = owners
                .list()
                .iter()
                .zip(sums)
                .skip(UNKNOWN as usize)
                .filter(|&(_, &ns)| ns > 0)
                .map(|(owner, &cpu_ns)| ProcessCpu {
                    pid: owner.pid,
                    image: file_name(trace.text(owner.image)).to_owned(),
                    cpu_ns,
                    percent: totals.percent(cpu_ns),
                })
                .collect();
            by_process.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then(a.pid.cmp(&b.pid)));
            let by_priority = (0..=31_u8)
                .rev()
                .zip(by_priority[interval].iter().rev())
                .filter(|&(_, &ns)| ns > 0)
                .map(|(priority, &cpu_ns)| PriorityCpu { priority, cpu_ns, percent: totals.percent(cpu_ns) })
                .collect();
            CpuUsage {
                source,
                certainty: totals.certainty,
                processors: totals.processors,
                capacity_ns: totals.capacity_ns,
                busy_ns,
                idle_ns: totals.idle_ns,
                asleep_ns: totals.asleep_ns,
                unknown_ns: totals.unknown_ns,
                by_process,
                by_priority,
                affecting_losses: affecting_losses.clone(),
            }
        })
        .collect()
}

/// Returns the busy time in each slice between consecutive `cuts`, in ns, summed over CPUs. Excludes idle threads and
/// threads with a priority below `lowest_priority`.
pub(crate) fn busy_times(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    lowest_priority: u8,
) -> (CpuSource, Vec<i64>) {
    let mut busy_ns = vec![0_i64; cuts.len().saturating_sub(1)];
    let source = charge(trace, owners, cuts, |run| {
        if run.owner != IDLE
            && run.priority >= lowest_priority
            && let Some(sum) = busy_ns.get_mut(run.interval)
        {
            *sum = sum.saturating_add(run.ns);
        }
    });
    (source, busy_ns)
}

/// Returns `part` as a percentage of `whole`; 0 if `whole` is not positive.
#[allow(clippy::cast_precision_loss, reason = "a percentage needs at most 52 bits")]
pub fn percent_of(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests;
