//! Counts, for each disk request, the other requests in the queue of the disk.
//!
//! Two requests are outstanding together if each was issued before the other completed. Each disk has its own queue.
//! Counting uses completion ranks and one Fenwick tree per disk, in O(n log n).

use std::collections::BTreeMap;

use onoff_trace::{DiskIo, Trace};
use serde::Serialize;

/// Numbers of other requests on the same disk, relative to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbors {
    /// Outstanding when it was issued.
    pub at_issue: u32,
    /// Outstanding when it completed.
    pub at_completion: u32,
    /// Issued before it, outstanding when it was issued, and completed before it.
    pub before_and_completed: u32,
    /// Issued before it and completed after it: this request overtook them.
    pub before_and_outlived: u32,
    /// Issued after it and completed before it: they overtook this request.
    pub after_and_completed: u32,
}

/// Returns when a request was issued, in ns; its completion time if the issue was not recorded.
#[must_use]
pub fn issued_ns(io: &DiskIo) -> i64 {
    io.issue_ns.unwrap_or(io.complete_ns)
}

/// Returns the neighbors of each request, in the order of [`Trace::disk_ios`].
#[must_use]
pub fn neighbors(trace: &Trace) -> Vec<Neighbors> {
    let mut disks: BTreeMap<u32, Vec<Request>> = BTreeMap::new();
    for (row, io) in trace.disk_ios.iter().enumerate() {
        disks.entry(io.disk).or_default().push(Request {
            row,
            issued_ns: issued_ns(&io),
            completed_ns: io.complete_ns,
        });
    }
    let mut neighbors = vec![Neighbors::default(); trace.disk_ios.len()];
    for requests in disks.values_mut() {
        count_on_disk(requests, &mut neighbors);
    }
    neighbors
}

#[derive(Clone, Copy, Debug)]
struct Request {
    row: usize,
    issued_ns: i64,
    completed_ns: i64,
}

/// Sets the neighbors of the requests of one disk.
fn count_on_disk(requests: &mut [Request], neighbors: &mut [Neighbors]) {
    // From here on, the index of a request is its completion rank.
    requests.sort_by_key(|request| (request.completed_ns, request.row));
    let mut by_issue: Vec<usize> = (0..requests.len()).collect();
    by_issue.sort_by_key(|&rank| (requests[rank].issued_ns, rank));
    let issues: Vec<i64> = by_issue.iter().map(|&rank| requests[rank].issued_ns).collect();
    let mut issued_so_far = Counts::new(requests.len());
    for (issued_before, &rank) in by_issue.iter().enumerate() {
        let request = requests[rank];
        let completed_at_issue = requests.partition_point(|other| other.completed_ns <= request.issued_ns);
        let outstanding = issued_before.saturating_sub(completed_at_issue);
        let outlived = issued_before - issued_so_far.count_below(rank);
        let issued_at_completion = issues.partition_point(|&issue| issue < request.completed_ns);
        // The request itself counts as issued by then, unless it has no duration.
        let others_issued = issued_at_completion.saturating_sub(usize::from(request.issued_ns < request.completed_ns));
        issued_so_far.add(rank);
        if let Some(neighbors) = neighbors.get_mut(request.row) {
            *neighbors = Neighbors {
                at_issue: saturate(outstanding),
                at_completion: saturate(others_issued.saturating_sub(rank)),
                before_and_completed: saturate(outstanding.saturating_sub(outlived)),
                before_and_outlived: saturate(outlived),
                after_and_completed: saturate(rank.saturating_sub(issued_before - outlived)),
            };
        }
    }
}

fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A Fenwick tree that counts the members of a set below a rank.
#[derive(Debug)]
struct Counts {
    sums: Vec<u32>,
}

impl Counts {
    fn new(ranks: usize) -> Self {
        Self { sums: vec![0; ranks + 1] }
    }

    fn add(&mut self, rank: usize) {
        let mut index = rank + 1;
        while let Some(sum) = self.sums.get_mut(index) {
            *sum += 1;
            index += index & index.wrapping_neg();
        }
    }

    fn count_below(&self, rank: usize) -> usize {
        let mut index = rank;
        let mut count = 0;
        while index > 0 {
            count += self.sums.get(index).map_or(0, |&sum| sum as usize);
            index &= index - 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, request};

    /// Counts the expected numbers directly by their definitions.
    fn expected_neighbors(rows: &[(u32, i64, i64)], index: usize) -> Neighbors {
        let (disk, issued, completed) = rows[index];
        let others = || {
            let rows = rows.iter().enumerate();
            rows.filter(move |&(other, row)| other != index && row.0 == disk)
        };
        let count = |is_counted: &dyn Fn(i64, i64) -> bool| {
            u32::try_from(others().filter(|(_, row)| is_counted(row.1, row.2)).count()).unwrap()
        };
        Neighbors {
            at_issue: count(&|start, end| start < issued && end > issued),
            at_completion: count(&|start, end| start < completed && end > completed),
            before_and_completed: count(&|start, end| start < issued && end > issued && end < completed),
            before_and_outlived: count(&|start, end| start < issued && end > completed),
            after_and_completed: count(&|start, end| start > issued && end < completed),
        }
    }

    #[test]
    fn counts_match_the_definitions() {
        // Distinct times avoid ties. The multiplications produce a pseudo-random order.
        let mut rows: Vec<(u32, i64, i64)> = (0..300_i64)
            .map(|number| {
                let issued = number * 7_919 % 300 * 2 * MS;
                let length = (number * 104_729 % 61 * 20 + 1) * MS;
                (u32::try_from(number % 2).unwrap(), issued, issued + length + number)
            })
            .collect();
        rows.sort_by_key(|row| row.2);
        let mut trace = Trace::default();
        for &(disk, issued, completed) in &rows {
            request(&mut trace, disk, issued, completed);
        }
        let neighbors = neighbors(&trace);
        for (index, neighbors) in neighbors.iter().enumerate() {
            assert_eq!(*neighbors, expected_neighbors(&rows, index), "request {index}: {:?}", rows[index]);
        }
        assert!(neighbors.iter().any(|neighbors| neighbors.after_and_completed > 3));
    }

    #[test]
    fn sequential_requests_have_no_neighbors() {
        let mut trace = Trace::default();
        for number in 0..5 {
            request(&mut trace, 0, number * MS, (number + 1) * MS);
        }
        assert_eq!(neighbors(&trace), vec![Neighbors::default(); 5]);
    }

    #[test]
    fn requests_without_duration_do_not_wrap() {
        let mut trace = Trace::default();
        for _ in 0..4 {
            request(&mut trace, 0, MS, MS);
        }
        assert!(neighbors(&trace).iter().all(|neighbors| neighbors.at_issue <= 3));
    }
}
