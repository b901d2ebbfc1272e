//! Compares two recordings, e.g. with and without a filter, or before and after a change.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{GroupKey, IoReport, IoView};

/// Differences between two recordings.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoComparison {
    /// Measures of both, by level and direction.
    pub changes: Vec<IoChange>,
    /// Requests of programs by file, largest change first; empty if the requests are not grouped by file.
    pub files: Vec<IoFileChange>,
}

/// Requests to a file in two recordings. Values of a recording without requests to the file are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoFileChange {
    /// `read` or `write`.
    pub direction: &'static str,
    /// File; empty if unknown.
    pub file: String,
    /// Number of requests in the baseline recording.
    pub was_requests: u64,
    /// Number of requests in this recording.
    pub is_requests: u64,
    /// Bytes transferred in the baseline recording.
    pub was_bytes: u64,
    /// Bytes transferred in this recording.
    pub is_bytes: u64,
    /// Sum of the durations in the baseline recording, ns; `None` if some are unknown.
    pub was_time_ns: Option<i64>,
    /// Sum of the durations in this recording, ns; `None` if some are unknown.
    pub is_time_ns: Option<i64>,
}

/// A measure in two recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoChange {
    /// Level of the requests: `application`, `paging` or `device`.
    pub level: &'static str,
    /// `read` or `write`.
    pub direction: &'static str,
    /// Measure, named as in the request table.
    pub measure: &'static str,
    /// Value in the baseline recording; `None` if it has no such requests.
    pub was: Option<f64>,
    /// Value in this recording; `None` if it has no such requests.
    pub is: Option<f64>,
}

/// Name of a measure, and the function that returns its value in a view.
type Measure = (&'static str, fn(&IoView) -> Option<f64>);

const MEASURES: [Measure; 9] = [
    ("requests", |view| Some(view.table.requests as f64)),
    ("bytes", |view| Some(view.table.bytes as f64)),
    ("average_bytes", |view| Some(view.table.average_bytes)),
    ("largest_bytes", |view| Some(view.table.largest_bytes as f64)),
    ("files", |view| Some(view.table.files as f64)),
    ("unique_pages", |view| Some(view.table.unique_pages as f64)),
    ("exact_pages", |view| Some(view.table.exact_pages as f64)),
    ("amplification", |view| Some(view.table.amplification)),
    ("time_ns", |view| (view.table.timed_requests == view.table.requests).then_some(view.table.time_ns as f64)),
];

/// Returns the changes from `was` to `is`, without measures that both lack.
#[must_use]
pub fn compare(was: &IoReport, is: &IoReport) -> IoComparison {
    let mut kinds: Vec<(&'static str, &'static str)> =
        is.views.iter().chain(&was.views).map(|view| (view.level, view.direction)).collect();
    let order = |level: &str| ["application", "paging", "device"].iter().position(|&name| name == level);
    kinds.sort_by_key(|&(level, direction)| (order(level), direction));
    kinds.dedup();
    let value = |report: &IoReport, kind: (&str, &str), measure: fn(&IoView) -> Option<f64>| {
        report.views.iter().find(|view| (view.level, view.direction) == kind).and_then(measure)
    };
    let changes = kinds.into_iter().flat_map(|kind| {
        MEASURES.iter().map(move |&(name, measure)| (kind, name, measure)).map(|(kind, name, measure)| IoChange {
            level: kind.0,
            direction: kind.1,
            measure: name,
            was: value(was, kind, measure),
            is: value(is, kind, measure),
        })
    });
    IoComparison {
        changes: changes.filter(|change| change.was.is_some() || change.is.is_some()).collect(),
        files: compare_files(was, is),
    }
}

/// Requests, bytes and time of a file. The time is `None` if a duration is unknown.
type FileTotals = (u64, u64, Option<i64>);

/// Sums the requests of programs by direction and file.
fn by_file(report: &IoReport) -> BTreeMap<(&'static str, &str), FileTotals> {
    let mut files: BTreeMap<(&'static str, &str), FileTotals> = BTreeMap::new();
    for view in report.views.iter().filter(|view| view.level == "application") {
        for group in &view.groups {
            let table = &group.table;
            let totals = files.entry((view.direction, group.file.as_str())).or_insert((0, 0, Some(0)));
            totals.0 += table.requests;
            totals.1 = totals.1.saturating_add(table.bytes);
            let is_timed = table.timed_requests == table.requests;
            totals.2 = totals.2.filter(|_| is_timed).map(|ns| ns.saturating_add(table.time_ns));
        }
    }
    files
}

fn compare_files(was: &IoReport, is: &IoReport) -> Vec<IoFileChange> {
    if !was.by.contains(&GroupKey::File) || !is.by.contains(&GroupKey::File) {
        return Vec::new();
    }
    let (was, is) = (by_file(was), by_file(is));
    let keys: BTreeSet<(&'static str, &str)> = was.keys().chain(is.keys()).copied().collect();
    let none: FileTotals = (0, 0, Some(0));
    let mut changes: Vec<IoFileChange> = keys
        .into_iter()
        .map(|key| {
            let (was, is) = (was.get(&key).copied().unwrap_or(none), is.get(&key).copied().unwrap_or(none));
            IoFileChange {
                direction: key.0,
                file: key.1.to_owned(),
                was_requests: was.0,
                is_requests: is.0,
                was_bytes: was.1,
                is_bytes: is.1,
                was_time_ns: was.2,
                is_time_ns: is.2,
            }
        })
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.was_requests.abs_diff(change.is_requests)));
    changes
}
