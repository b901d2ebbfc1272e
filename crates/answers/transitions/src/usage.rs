//! What processors and disks did in the phases of a transition.

use onoff_trace::Trace;

use crate::Phase;
use onoff_usage::cpu::{self, CpuSource, CpuUsage};
use onoff_usage::disk::{self, DiskUsage};
use onoff_usage::owners::Owners;

/// What the machine did in one phase; `None` where it was not recorded or the phase has no ends.
pub(crate) type PhaseUsage = (Option<CpuUsage>, Option<DiskUsage>);

/// Layers of spans that do not overlap, at most: each walks the recording again, or the part of it in which spans overlap so often. Phases of
/// transitions are in fewer than ten; only a spoilt recording has more.
const MAX_LAYERS: usize = 64;

/// Fills in what the machine did in each of `phases`, as far as each is recorded.
pub(crate) fn fill<'a>(trace: &Trace, phases: impl IntoIterator<Item = &'a mut Phase>) {
    let mut phases: Vec<&mut Phase> = phases.into_iter().collect();
    let spans: Vec<Option<(i64, i64)>> = phases.iter().map(|phase| phase.recorded()).collect();
    for (phase, (cpu, disk)) in phases.iter_mut().zip(of_spans(trace, &spans)) {
        phase.cpu = cpu;
        phase.disk = disk;
    }
}

/// What the machine did in each of `spans`, from begin to end, ns, in their order. They may overlap: those that do not
/// share one pass over the recording, and what overlaps too many others is left without.
pub(crate) fn of_spans(trace: &Trace, spans: &[Option<(i64, i64)>]) -> Vec<PhaseUsage> {
    let mut usages: Vec<PhaseUsage> = spans.iter().map(|_| (None, None)).collect();
    let mut order: Vec<(i64, i64, usize)> = spans
        .iter()
        .enumerate()
        .filter_map(|(at, span)| span.map(|(start, end)| (start, end, at)))
        .filter(|(start, end, _)| start <= end)
        .collect();
    order.sort();
    let mut owners = Owners::of(trace);
    for _ in 0..MAX_LAYERS {
        if order.is_empty() {
            break;
        }
        let mut layer: Vec<(i64, i64, usize)> = Vec::new();
        let mut later = Vec::new();
        for span in order {
            match layer.last() {
                Some(&(_, end, _)) if span.0 < end => later.push(span),
                // What has no length has no place of its own among the cuts.
                Some(&(start, end, _)) if start == end && span.0 == end => later.push(span),
                _ => layer.push(span),
            }
        }
        look(trace, &mut owners, &layer, &mut usages);
        order = later;
    }
    usages
}

/// What the machine did in spans that follow one another.
fn look(trace: &Trace, owners: &mut Owners, layer: &[(i64, i64, usize)], usages: &mut [PhaseUsage]) {
    let mut cuts: Vec<i64> = layer.iter().flat_map(|&(start, end, _)| [start, end]).collect();
    cuts.dedup();
    let cpu = match cpu::source(trace) {
        CpuSource::None => Vec::new(),
        _ => cpu::usage_by(trace, owners, &cuts),
    };
    let disk = if trace.disk_ios.is_empty() { Vec::new() } else { disk::usage(trace, &cuts) };
    for &(start, end, at) in layer {
        let interval = cuts.partition_point(|&cut| cut < start);
        if let Some(usage) = usages.get_mut(at).filter(|_| cuts.get(interval + 1) == Some(&end)) {
            *usage = (cpu.get(interval).cloned(), disk.get(interval).cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, disk};
    use onoff_trace::IoPriority;

    #[test]
    fn each_span_has_its_own_work_whether_they_overlap_or_not() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        for end in [5, 15, 25, 35] {
            disk(&mut trace, end * MS, MS, IoPriority::Normal, "a");
        }
        let spans = [
            Some((20 * MS, 40 * MS)),
            None,
            Some((0, 20 * MS)),
            Some((10 * MS, 30 * MS)),
            Some((12 * MS, 12 * MS)),
            Some((40 * MS, 20 * MS)),
        ];
        let reads: Vec<Option<u64>> = of_spans(&trace, &spans)
            .into_iter()
            .map(|(_, disk)| disk.map(|disk| disk.operations.read.operations))
            .collect();
        assert_eq!(reads, [Some(2), None, Some(2), Some(2), None, None]);
    }
}
