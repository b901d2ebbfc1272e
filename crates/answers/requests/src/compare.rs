//! Compares two recordings, e.g. with and without a filter, or before and after a change.

use serde::Serialize;

use super::{IoReport, IoView};

/// Differences between two recordings.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoComparison {
    /// Measures of both, by level and direction.
    pub changes: Vec<IoChange>,
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
    IoComparison { changes: changes.filter(|change| change.was.is_some() || change.is.is_some()).collect() }
}
