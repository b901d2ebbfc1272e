//! Measures the utilization of each CPU per interval.

use onoff_trace::Trace;

use super::charge::{charge_from_samples, charge_switches_of};
use super::{CpuSource, processors};
use crate::interruptions::Interruptions;
use crate::owners::{IDLE, NORMAL_PRIORITY, Owners};

/// Utilization of each CPU in consecutive intervals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorGrid {
    /// Source of the data; [`CpuSource::None`] if the requested source was not recorded.
    pub source: CpuSource,
    /// Number of logical processors.
    pub processors: u32,
    /// Start and end of each interval, ns.
    pub intervals: Vec<(i64, i64)>,
    /// Busy time, ns: all CPUs in the first interval, then all CPUs in the next interval, and so on.
    pub busy_ns: Vec<i64>,
    /// Busy time at a priority below normal, ns, in the same order.
    pub low_ns: Vec<i64>,
}

impl ProcessorGrid {
    /// Returns the busy time of each CPU in the interval at `index`, in ns.
    #[must_use]
    pub fn busy(&self, index: usize) -> &[i64] {
        let width = self.processors as usize;
        self.busy_ns.get(index * width..(index + 1) * width).unwrap_or_default()
    }

    /// Returns the busy time of each CPU at a priority below normal in the interval at `index`, in ns.
    #[must_use]
    pub fn low_priority_busy(&self, index: usize) -> &[i64] {
        let width = self.processors as usize;
        self.low_ns.get(index * width..(index + 1) * width).unwrap_or_default()
    }
}

/// Maximum number of intervals in a grid, to bound its memory.
pub const MAX_INTERVALS: usize = 100_000;

/// Returns the boundaries of intervals of `step_ns` from `start_ns` to `end_ns`. The last interval may be shorter.
/// `None` if there would be no interval or more than [`MAX_INTERVALS`].
#[must_use]
pub fn interval_bounds(start_ns: i64, end_ns: i64, step_ns: i64) -> Option<Vec<i64>> {
    let length_ns = end_ns.checked_sub(start_ns).filter(|&length| length > 0)?;
    let count = usize::try_from(length_ns.checked_sub(1)? / step_ns.max(1)).ok()? + 1;
    if step_ns <= 0 || count > MAX_INTERVALS {
        return None;
    }
    let mut cuts: Vec<i64> =
        (0..).map_while(|index: i64| start_ns.checked_add(index.checked_mul(step_ns)?)).take(count).collect();
    cuts.push(end_ns);
    Some(cuts)
}

/// Measures the utilization of each CPU between consecutive `cuts`, which must be in ascending order, from `source`.
/// Optionally excludes the time of interrupts and deferred procedure calls.
#[must_use]
pub fn grid(trace: &Trace, cuts: &[i64], source: CpuSource, without_interrupts: bool) -> ProcessorGrid {
    let processors = processors(trace);
    let width = processors as usize;
    let intervals: Vec<(i64, i64)> = cuts.windows(2).map(|ends| (ends[0], ends[1])).collect();
    let mut busy_ns = vec![0_i64; intervals.len() * width];
    let mut low_ns = busy_ns.clone();
    let mut interruptions = without_interrupts.then(|| Interruptions::from_trace(trace));
    let mut owners = Owners::from_trace(trace);
    let add = |run: super::CpuInterval| {
        if run.owner == IDLE {
            return;
        }
        let end_ns = run.start_ns.saturating_add(run.ns);
        let interrupted_ns = interruptions
            .as_mut()
            .map_or(0, |interruptions| interruptions.total_ns(run.processor, run.start_ns, end_ns));
        let index = run.interval * width + usize::from(run.processor);
        if let Some(sum) = busy_ns.get_mut(index) {
            *sum = sum.saturating_add(run.ns).saturating_sub(interrupted_ns);
        }
        if let Some(sum) = low_ns.get_mut(index).filter(|_| run.priority < NORMAL_PRIORITY) {
            *sum = sum.saturating_add(run.ns).saturating_sub(interrupted_ns);
        }
    };
    let source = match source {
        CpuSource::ContextSwitches => charge_switches_of(trace, &mut owners, cuts, add),
        CpuSource::Samples => charge_from_samples(trace, &mut owners, cuts, add),
        CpuSource::None => CpuSource::None,
    };
    ProcessorGrid { source, processors, intervals, busy_ns, low_ns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, interrupts, process, switches, thread};
    use onoff_trace::InterruptKind;

    #[test]
    fn steps_cover_the_range_with_a_shorter_last_step() {
        assert_eq!(interval_bounds(5, 30, 10), Some(vec![5, 15, 25, 30]));
        assert_eq!(interval_bounds(0, 20, 10), Some(vec![0, 10, 20]));
        assert_eq!(interval_bounds(0, 20, 0), None);
        assert_eq!(interval_bounds(20, 20, 5), None);
        assert_eq!(interval_bounds(0, i64::MAX, 1), None);
    }

    #[test]
    fn busy_time_per_cpu_with_and_without_interrupts() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        trace.system.processors = 2;
        process(&mut trace, 100, "busy.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        switches(&mut trace, &[(10 * MS, 0, 0, 8, 9), (70 * MS, 0, 8, 0, 0), (80 * MS, 1, 8, 0, 0)]);
        interrupts(&mut trace, &[(20 * MS, 25 * MS, 0, InterruptKind::Dpc, 1)]);
        let cuts = [0, 50 * MS, 100 * MS];
        let with_interrupts = grid(&trace, &cuts, CpuSource::ContextSwitches, false);
        assert_eq!(with_interrupts.busy(0), [40 * MS, 50 * MS]);
        assert_eq!(with_interrupts.busy(1), [20 * MS, 30 * MS]);
        let without_interrupts = grid(&trace, &cuts, CpuSource::ContextSwitches, true);
        assert_eq!(without_interrupts.busy(0), [35 * MS, 50 * MS]);
        let samples = grid(&trace, &cuts, CpuSource::Samples, false);
        assert_eq!(samples.source, CpuSource::None);
    }
}
