//! Finds the idle gaps of disks, in which they could have spun down or saved power.

use std::collections::BTreeMap;

use onoff_trace::Trace;
use serde::Serialize;

use super::grouping::Names;
use super::queue::issued_ns;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;

/// The intervals in which a disk had no outstanding request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskGaps {
    pub disk: u32,
    /// The gaps, ordered by start.
    pub gaps: Vec<Interval>,
}

/// Returns the idle gaps of every disk in the range of `scope`. Requests of other processes, and requests to files that
/// match `ignored`, do not count.
#[must_use]
pub fn gaps(trace: &Trace, scope: &Scope, ignored: &dyn Fn(&str) -> bool) -> Vec<DiskGaps> {
    let mut names = Names::new(trace, scope);
    let mut disks: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for io in trace.disk_ios.iter() {
        let busy = disks.entry(io.disk).or_default();
        match names.request_subject(&io) {
            Some(subject) if !ignored(names.path_of(subject)) => {
                busy.push((issued_ns(&io), io.complete_ns));
            }
            _ => {}
        }
    }
    disks.into_iter().map(|(disk, busy)| DiskGaps { disk, gaps: gaps_between(busy, scope.range) }).collect()
}

fn gaps_between(mut busy: Vec<(i64, i64)>, range: Interval) -> Vec<Interval> {
    busy.sort();
    let mut gaps = Vec::new();
    let mut idle_start_ns = range.start_ns;
    for (issued_ns, completed_ns) in busy {
        let idle_end_ns = issued_ns.min(range.end_ns);
        if idle_end_ns > idle_start_ns {
            gaps.push(Interval::new(idle_start_ns, idle_end_ns));
        }
        idle_start_ns = idle_start_ns.max(completed_ns);
    }
    if range.end_ns > idle_start_ns {
        gaps.push(Interval::new(idle_start_ns, range.end_ns));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, request};

    #[test]
    fn gaps_are_clipped_to_the_range() {
        let mut trace = Trace::default();
        for (disk, issued, completed) in [(0, 10, 20), (0, 5, 30), (0, 50, 60), (1, 0, 100)] {
            request(&mut trace, disk, issued * MS, completed * MS);
        }
        let scope = Scope { range: Interval::new(0, 90 * MS), ..Scope::default() };
        let starts_and_ends = |gaps: &DiskGaps| -> Vec<(i64, i64)> {
            let gaps = gaps.gaps.iter();
            gaps.map(|gap| (gap.start_ns / MS, gap.end_ns / MS)).collect()
        };
        let disk_gaps = gaps(&trace, &scope, &|_| false);
        assert_eq!(starts_and_ends(&disk_gaps[0]), [(0, 5), (30, 50), (60, 90)]);
        assert_eq!(starts_and_ends(&disk_gaps[1]), []);
        let disk_gaps = gaps(&trace, &scope, &|path| path.ends_with("a.dll"));
        assert_eq!(starts_and_ends(&disk_gaps[1]), [(0, 90)]);
    }
}
