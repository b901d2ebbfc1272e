//! Measures the utilization of each disk per interval, and the time at each queue depth.

use std::collections::{BTreeMap, BTreeSet};

use onoff_trace::Trace;
use serde::Serialize;

use super::queue::issued_ns;
use onoff_evidence::interval::Interval;

/// Maximum number of intervals, summed over disks. Intervals become longer if there would be more.
const MAX_INTERVALS: usize = 1 << 20;

/// Utilization of the disks per interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Utilization {
    /// Disk numbers.
    pub disks: Vec<u32>,
    pub intervals: Vec<BusyInterval>,
}

/// Utilization of the disks in one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BusyInterval {
    pub range: Interval,
    /// Time that each disk was busy, ns, in the order of [`Utilization::disks`].
    pub busy_ns: Vec<i64>,
    /// Time that each disk was busy with requests of low or very low priority, ns, in the same order.
    #[serde(skip)]
    pub low_ns: Vec<i64>,
}

/// Measures the utilization of each disk in `range`, in intervals of `interval_ns`. The last interval may be shorter.
#[must_use]
pub fn utilization(trace: &Trace, range: Interval, interval_ns: i64) -> Utilization {
    let disks: BTreeSet<u32> = trace.disk_ios.iter().map(|io| io.disk).collect();
    let max_intervals = i64::try_from((MAX_INTERVALS / disks.len().max(1)).max(1)).unwrap_or(1);
    let interval_ns = interval_ns.max(1).max(range.duration_ns() / max_intervals + 1);
    let index_by_disk: BTreeMap<u32, usize> = disks.iter().copied().zip(0..).collect();
    let mut intervals = Vec::new();
    let mut start_ns = range.start_ns;
    while start_ns < range.end_ns {
        let end_ns = start_ns.saturating_add(interval_ns).min(range.end_ns);
        let zeros = vec![0; disks.len()];
        intervals.push(BusyInterval { range: Interval::new(start_ns, end_ns), busy_ns: zeros.clone(), low_ns: zeros });
        start_ns = end_ns;
    }
    // Overlapping requests on a disk count once: a request adds only the time after earlier requests. This also bounds
    // the total number of steps by requests plus intervals.
    let mut busy_until = vec![i64::MIN; disks.len()];
    for io in trace.disk_ios.iter() {
        let Some(&disk_index) = index_by_disk.get(&io.disk) else { continue };
        let Some(busy_until_ns) = busy_until.get_mut(disk_index) else { continue };
        let service_start_ns = io.complete_ns.saturating_sub(io.service_ns.max(0));
        let start_ns = service_start_ns.max(*busy_until_ns);
        *busy_until_ns = io.complete_ns.max(*busy_until_ns);
        let first_interval = intervals.partition_point(|interval| interval.range.end_ns <= start_ns);
        for interval in intervals.iter_mut().skip(first_interval) {
            if interval.range.start_ns >= io.complete_ns {
                break;
            }
            let part_ns = interval.range.overlap_ns(start_ns, io.complete_ns);
            if let Some(busy_ns) = interval.busy_ns.get_mut(disk_index) {
                *busy_ns = busy_ns.saturating_add(part_ns);
            }
            if let Some(low_ns) = interval.low_ns.get_mut(disk_index).filter(|_| io.priority.is_low()) {
                *low_ns = low_ns.saturating_add(part_ns);
            }
        }
    }
    Utilization { disks: disks.into_iter().collect(), intervals }
}

/// Time during which a disk had a certain number of outstanding requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueDepth {
    pub disk: u32,
    /// Number of outstanding requests.
    pub outstanding: u64,
    /// Time in the range at this depth, ns.
    pub time_ns: i64,
    /// Number of requests issued at this depth.
    pub issued: u64,
}

/// Measures the time at each queue depth in `range`, by disk and depth.
#[must_use]
pub fn queue_depths(trace: &Trace, range: Interval) -> Vec<QueueDepth> {
    // A completion comes before an issue at the same time.
    let mut disks: BTreeMap<u32, Vec<(i64, bool)>> = BTreeMap::new();
    for io in trace.disk_ios.iter() {
        let steps = disks.entry(io.disk).or_default();
        if issued_ns(&io) < io.complete_ns {
            steps.push((issued_ns(&io), true));
            steps.push((io.complete_ns, false));
        }
    }
    let mut depths = Vec::new();
    for (disk, mut steps) in disks {
        steps.sort();
        let mut by_depth: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        let mut outstanding: u64 = 0;
        let mut previous_ns = range.start_ns;
        for (time_ns, is_issue) in steps {
            let (depth_ns, issued) = by_depth.entry(outstanding).or_default();
            *depth_ns += range.overlap_ns(previous_ns, time_ns);
            *issued += u64::from(is_issue && range.contains(time_ns));
            previous_ns = previous_ns.max(time_ns);
            outstanding = if is_issue { outstanding + 1 } else { outstanding.saturating_sub(1) };
        }
        let (last_depth_ns, _) = by_depth.entry(outstanding).or_default();
        *last_depth_ns += range.overlap_ns(previous_ns, range.end_ns);
        depths.extend(
            by_depth
                .into_iter()
                .filter(|&(_, (time_ns, issued))| time_ns > 0 || issued > 0)
                .map(|(outstanding, (time_ns, issued))| QueueDepth { disk, outstanding, time_ns, issued }),
        );
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, request};

    const RANGE: Interval = Interval::new(0, 25 * MS);

    #[test]
    fn busy_time_is_split_at_interval_boundaries() {
        let mut trace = Trace::default();
        request(&mut trace, 0, 2 * MS, 12 * MS);
        request(&mut trace, 3, 0, 30 * MS);
        let utilization = utilization(&trace, RANGE, 10 * MS);
        assert_eq!(utilization.disks, [0, 3]);
        let busy: Vec<_> =
            utilization.intervals.iter().map(|interval| (interval.busy_ns[0] / MS, interval.busy_ns[1] / MS)).collect();
        assert_eq!(busy, [(8, 10), (2, 10), (0, 5)]);
        assert_eq!(utilization.intervals[2].range.duration_ns(), 5 * MS);
    }

    #[test]
    fn a_huge_range_has_a_bounded_number_of_intervals() {
        let range = Interval::new(0, i64::MAX);
        let utilization = utilization(&Trace::default(), range, 1);
        assert!(utilization.intervals.len() <= MAX_INTERVALS + 1);
    }

    #[test]
    fn depth_times_add_up_to_the_range() {
        let mut trace = Trace::default();
        request(&mut trace, 0, 2 * MS, 12 * MS);
        request(&mut trace, 0, 4 * MS, 8 * MS);
        request(&mut trace, 0, 12 * MS, 13 * MS);
        let depths: Vec<_> = queue_depths(&trace, RANGE)
            .iter()
            .map(|depth| (depth.outstanding, depth.time_ns / MS, depth.issued))
            .collect();
        assert_eq!(depths, [(0, 14, 2), (1, 7, 1), (2, 4, 0)]);
    }
}
