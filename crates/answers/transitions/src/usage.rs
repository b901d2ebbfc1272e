//! CPU and disk usage of the phases of a transition.

use onoff_trace::Trace;

use crate::Phase;
use onoff_usage::cpu::{self, CpuSource, CpuUsage};
use onoff_usage::disk::{self, DiskUsage};
use onoff_usage::owners::Owners;

/// CPU and disk usage in one phase; `None` if not recorded or an end of the phase is unknown.
pub(crate) type PhaseUsage = (Option<CpuUsage>, Option<DiskUsage>);

/// Maximum number of layers of non-overlapping intervals; each layer reads the recording again. The phases of a
/// transition need fewer than ten layers, unless the recording is damaged.
const MAX_LAYERS: usize = 64;

/// Sets the CPU and disk usage of each phase, as far as recorded.
pub(crate) fn fill<'a>(trace: &Trace, phases: impl IntoIterator<Item = &'a mut Phase>) {
    let mut phases: Vec<&mut Phase> = phases.into_iter().collect();
    let intervals: Vec<Option<(i64, i64)>> = phases.iter().map(|phase| phase.recorded_interval()).collect();
    for (phase, (cpu, disk)) in phases.iter_mut().zip(in_intervals(trace, &intervals)) {
        phase.cpu = cpu;
        phase.disk = disk;
    }
}

/// Measures the usage in each interval (start and end, ns), in the given order. Intervals may overlap; those that do
/// not overlap share one pass over the recording. Intervals beyond the maximum number of layers get no usage.
pub(crate) fn in_intervals(trace: &Trace, intervals: &[Option<(i64, i64)>]) -> Vec<PhaseUsage> {
    let mut usages: Vec<PhaseUsage> = intervals.iter().map(|_| (None, None)).collect();
    let mut pending: Vec<(i64, i64, usize)> = intervals
        .iter()
        .enumerate()
        .filter_map(|(index, interval)| interval.map(|(start, end)| (start, end, index)))
        .filter(|(start, end, _)| start <= end)
        .collect();
    pending.sort();
    let mut owners = Owners::from_trace(trace);
    for _ in 0..MAX_LAYERS {
        if pending.is_empty() {
            break;
        }
        let mut layer: Vec<(i64, i64, usize)> = Vec::new();
        let mut next_pending = Vec::new();
        for interval in pending {
            match layer.last() {
                Some(&(_, end, _)) if interval.0 < end => next_pending.push(interval),
                // Two empty intervals at the same time need separate layers, because cuts are unique.
                Some(&(start, end, _)) if start == end && interval.0 == end => next_pending.push(interval),
                _ => layer.push(interval),
            }
        }
        measure_layer(trace, &mut owners, &layer, &mut usages);
        pending = next_pending;
    }
    usages
}

/// Measures the usage in consecutive, non-overlapping intervals.
fn measure_layer(trace: &Trace, owners: &mut Owners, layer: &[(i64, i64, usize)], usages: &mut [PhaseUsage]) {
    let mut cuts: Vec<i64> = layer.iter().flat_map(|&(start, end, _)| [start, end]).collect();
    cuts.dedup();
    let cpu = match cpu::source(trace) {
        CpuSource::None => Vec::new(),
        _ => cpu::usage_with_owners(trace, owners, &cuts),
    };
    let disk = if trace.disk_ios.is_empty() { Vec::new() } else { disk::usage(trace, &cuts) };
    for &(start, end, index) in layer {
        let cut_index = cuts.partition_point(|&cut| cut < start);
        if let Some(usage) = usages.get_mut(index).filter(|_| cuts.get(cut_index + 1) == Some(&end)) {
            *usage = (cpu.get(cut_index).cloned(), disk.get(cut_index).cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, disk};
    use onoff_trace::IoPriority;

    #[test]
    fn each_interval_has_its_own_usage_even_if_intervals_overlap() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        for end in [5, 15, 25, 35] {
            disk(&mut trace, end * MS, MS, IoPriority::Normal, "a");
        }
        let intervals = [
            Some((20 * MS, 40 * MS)),
            None,
            Some((0, 20 * MS)),
            Some((10 * MS, 30 * MS)),
            Some((12 * MS, 12 * MS)),
            Some((40 * MS, 20 * MS)),
        ];
        let reads: Vec<Option<u64>> = in_intervals(&trace, &intervals)
            .into_iter()
            .map(|(_, disk)| disk.map(|disk| disk.operations.read.operations))
            .collect();
        assert_eq!(reads, [Some(2), None, Some(2), Some(2), None, None]);
    }
}
