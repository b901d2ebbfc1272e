//! Groups of requests, one row each, for a spreadsheet.

use onoff_analysis::io::{IoComparison, IoReport};

use crate::section::{Heading, Section};
use crate::table::Value;

/// The groups of all levels and directions. What a row does not have is empty.
#[must_use]
pub fn groups(report: &IoReport) -> Section<'_> {
    let rows = report.views.iter().flat_map(|view| view.groups.iter().map(move |group| (view, group)));
    let (data, count) = (Heading::data, Value::Count);
    Section::of("groups", "Groups", rows)
        .column(data("level"), |row| Value::text(row.0.level))
        .column(data("direction"), |row| Value::text(row.0.direction))
        .column(data("pid"), |row| Value::of(row.1.pid, |pid| Value::Id(pid.into())))
        .column(data("process"), |row| Value::text(&row.1.process))
        .column(data("file"), |row| Value::text(&row.1.file))
        .column(data("extension"), |row| Value::text(&row.1.extension))
        .column(data("folder"), |row| Value::text(&row.1.folder))
        .column(data("handle"), |row| Value::of(row.1.handle, Value::Count))
        .column(data("slice_start_ns"), |row| Value::of(row.1.slice_start_ns, Value::Time))
        .column(data("requests"), move |row| count(row.1.table.requests))
        .column(data("bytes"), |row| Value::Bytes(row.1.table.bytes))
        .column(data("average_bytes"), |row| Value::Real { value: row.1.table.average_bytes, decimals: 3 })
        .column(data("largest_bytes"), |row| Value::Bytes(row.1.table.largest_bytes))
        .column(data("files"), move |row| count(row.1.table.files))
        .column(data("unique_pages"), move |row| count(row.1.table.unique_pages))
        .column(data("one_operation_pages"), move |row| count(row.1.table.one_operation_pages))
        .column(data("minimum_pages"), move |row| count(row.1.table.minimum_pages))
        .column(data("optimistic_pages"), move |row| count(row.1.table.optimistic_pages))
        .column(data("exact_pages"), move |row| count(row.1.table.exact_pages))
        .column(data("amplification"), |row| Value::Real { value: row.1.table.amplification, decimals: 3 })
        .column(data("ideal_pages"), move |row| count(row.1.table.ideal_pages))
        .column(data("small_requests"), move |row| count(row.1.table.small_requests))
        .column(data("misaligned_requests"), move |row| count(row.1.table.misaligned_requests))
        .column(data("consecutive"), move |row| count(row.1.patterns.consecutive))
        .column(data("strided"), move |row| count(row.1.patterns.strided))
        .column(data("forward"), move |row| count(row.1.patterns.forward))
        .column(data("backward"), move |row| count(row.1.patterns.backward))
        .column(data("overlapping"), move |row| count(row.1.patterns.overlapping))
        .column(data("merged_requests"), move |row| count(row.1.patterns.merged_requests))
        .column(data("buffered_requests"), move |row| count(row.1.patterns.buffered_requests))
        .column(data("timed_requests"), move |row| count(row.1.table.timed_requests))
        .column(data("time_ns"), |row| Value::Duration(row.1.table.time_ns))
        .column(data("pages_for_90_percent"), |row| {
            Value::of(row.1.cache.as_ref().and_then(|curve| curve.pages_for_90_percent), Value::Count)
        })
        .done()
}

/// What changed between two recordings.
#[must_use]
pub fn changes(comparison: &IoComparison) -> Section<'_> {
    let number = |value: Option<f64>| Value::of(value, |value| Value::Text(value.to_string().into()));
    let data = Heading::data;
    Section::of("changes", "Changes", &comparison.changes)
        .column(data("level"), |change| Value::text(change.level))
        .column(data("direction"), |change| Value::text(change.direction))
        .column(data("measure"), |change| Value::text(change.measure))
        .column(data("was"), move |change| number(change.was))
        .column(data("is"), move |change| number(change.is))
        .done()
}
