//! Who used the processors: by process, by priority, idle; exact from context switches, else estimated from samples.
//!
//! A processor runs the thread that its last context switch put on it until the next one takes it off. Before a
//! processor's first switch it ran the thread that this switch took off; after its last one, the thread that it put on.
//! But where no processor switches for more than [`QUIET_NS`] at the recording's begin or end, switches were not recorded
//! there (a recorder that started later or stopped earlier than another), and nothing is said about that time.
//! Interrupts and deferred procedure calls count for the thread they interrupted. While the machine is asleep no thread runs, whichever one
//! the last switch had put on a processor.

mod charge;
pub mod grid;
mod ready;
mod totals;

use onoff_trace::system::MAX_PROCESSORS;
use onoff_trace::{TableName, Trace};
use serde::Serialize;

use crate::owners::{IDLE, Owners, UNKNOWN, file_name};
use onoff_evidence::interval::Interval;
use onoff_evidence::{Certainty, touched_by};

pub use charge::{Stretch, charge, charge_samples_of, sampling_period};
pub use ready::{ReadyWait, ready_waits};
pub use totals::Capacity;
pub use totals::CpuTotals;

/// What processor times were taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// Context switches: exact.
    ContextSwitches,
    /// Profile samples: each counts as the time to the next one; an estimate.
    Samples,
    /// Neither was recorded.
    #[default]
    None,
}

/// Processor time of one process in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessCpu {
    /// Process id; `None` for threads whose process is not known.
    pub pid: Option<u32>,
    /// Image file name; empty when not known.
    pub image: String,
    /// Processor time, ns.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Processor time at one thread priority in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityCpu {
    /// Priority, 0–31.
    pub priority: u8,
    /// Processor time, ns; the idle thread's left out.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Who used the processors in an interval. `capacity_ns` = `busy_ns` + `idle_ns` + `asleep_ns` + `unknown_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUsage {
    /// What it was taken from.
    pub source: CpuSource,
    /// How certain it is.
    pub certainty: Certainty,
    /// Logical processors.
    pub processors: u32,
    /// The interval's length times the number of processors, ns.
    pub capacity_ns: i64,
    /// Time in which threads ran, ns.
    pub busy_ns: i64,
    /// Time in which idle threads ran, ns.
    pub idle_ns: i64,
    /// Time in which the machine was asleep, ns: no thread ran.
    pub asleep_ns: i64,
    /// Time about which the recording says nothing, ns.
    pub unknown_ns: i64,
    /// By process, most first; the idle thread's time is `idle_ns` only.
    pub by_process: Vec<ProcessCpu>,
    /// By priority, highest priority first.
    pub by_priority: Vec<PriorityCpu>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

/// Thread priorities are 0–31.
const PRIORITIES: usize = 32;

/// What processor time can be taken from in `trace`: the best that was recorded.
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
    /// How certain processor times from this source are.
    #[must_use]
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::ContextSwitches => Certainty::Measured,
            Self::Samples => Certainty::Inferred,
            Self::None => Certainty::Missing,
        }
    }

    /// The tables whose losses touch processor times from this source.
    #[must_use]
    pub const fn tables(self) -> &'static [TableName] {
        match self {
            Self::ContextSwitches => &[TableName::ContextSwitches, TableName::Threads, TableName::Processes],
            Self::Samples => &[TableName::Samples, TableName::Threads, TableName::Processes],
            Self::None => &[],
        }
    }
}

/// Logical processors of the recorded machine: as configured, or as many as are seen to work.
#[must_use]
pub fn processors(trace: &Trace) -> u32 {
    trace.processors_seen().max(trace.system.processors).clamp(1, MAX_PROCESSORS)
}

/// A machine that goes without any context switch or sample for longer than this, ns, at the recording's begin or end was
/// not recorded there: 1 s. Even an idle Windows switches many times a second.
pub const QUIET_NS: i64 = 1_000_000_000;

/// The time for which the recording has processor times, ns: from begin to end, or less where switches or samples begin
/// late or end early. `None` when neither was recorded.
#[must_use]
pub fn recorded(trace: &Trace) -> Option<(i64, i64)> {
    recorded_by(trace, source(trace))
}

fn recorded_by(trace: &Trace, source: CpuSource) -> Option<(i64, i64)> {
    fn ends<'a>(mut pieces: impl DoubleEndedIterator<Item = &'a [i64]>) -> Option<(i64, i64)> {
        let first = pieces.next()?;
        let last = pieces.next_back().unwrap_or(first);
        Some((*first.first()?, *last.last()?))
    }
    let (first, last) = match source {
        CpuSource::ContextSwitches => {
            let pieces = trace.context_switches.pieces().iter();
            ends(pieces.map(|piece| &*piece.time_ns))
        }
        CpuSource::Samples => ends(trace.samples.pieces().iter().map(|piece| &*piece.time_ns)),
        CpuSource::None => None,
    }?;
    let begin = if first.saturating_sub(trace.start_ns) > QUIET_NS { first } else { trace.start_ns };
    let end = if trace.duration_ns.saturating_sub(last) > QUIET_NS { last } else { trace.duration_ns };
    Some((begin, end))
}

/// Sums of one call at most: what each owner of threads used in each interval.
const MAX_SUMS: usize = 1 << 22;

/// Who used the processors in each of the intervals between consecutive `cuts`, which ascend.
#[must_use]
pub fn usage(trace: &Trace, cuts: &[i64]) -> Vec<CpuUsage> {
    usage_by(trace, &mut Owners::of(trace), cuts)
}

/// The same, where the owners of threads are known already.
pub fn usage_by(trace: &Trace, owners: &mut Owners, cuts: &[i64]) -> Vec<CpuUsage> {
    let at_once = (MAX_SUMS / owners.list().len().max(1)).max(1);
    let mut usages = Vec::with_capacity(cuts.len());
    let mut rest = cuts;
    while rest.len() > 1 {
        let some = &rest[..rest.len().min(at_once + 1)];
        usages.append(&mut usage_at_once(trace, owners, some));
        rest = &rest[some.len() - 1..];
    }
    usages
}

fn usage_at_once(trace: &Trace, owners: &mut Owners, cuts: &[i64]) -> Vec<CpuUsage> {
    let intervals = cuts.len().saturating_sub(1);
    let stride = owners.list().len();
    let mut by_owner = vec![0_i64; stride * intervals];
    let mut by_priority = vec![[0_i64; PRIORITIES]; intervals];
    let source = charge(trace, owners, cuts, |ran| {
        if let Some(sum) = by_owner.get_mut(ran.interval * stride + ran.owner as usize) {
            *sum = sum.saturating_add(ran.ns);
        }
        if ran.owner != IDLE
            && let Some(sums) = by_priority.get_mut(ran.interval)
        {
            let sum = &mut sums[usize::from(ran.priority) % PRIORITIES];
            *sum = sum.saturating_add(ran.ns);
        }
    });

    let capacity = Capacity::of(trace, owners);
    let touched_by = touched_by(trace, source.tables());
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
                touched_by: touched_by.clone(),
            }
        })
        .collect()
}

/// Time of normal priority in each of the slices between consecutive `cuts`, ns, summed over processors: neither idle
/// nor of a thread whose priority is below `lowest_priority`.
pub(crate) fn busy(trace: &Trace, owners: &mut Owners, cuts: &[i64], lowest_priority: u8) -> (CpuSource, Vec<i64>) {
    let mut busy = vec![0_i64; cuts.len().saturating_sub(1)];
    let source = charge(trace, owners, cuts, |ran| {
        if ran.owner != IDLE
            && ran.priority >= lowest_priority
            && let Some(sum) = busy.get_mut(ran.interval)
        {
            *sum = sum.saturating_add(ran.ns);
        }
    });
    (source, busy)
}

/// `part` as a percentage of `whole`; 0 of nothing.
#[allow(clippy::cast_precision_loss, reason = "a percentage needs no more than 52 bits")]
pub fn percent_of(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests;
