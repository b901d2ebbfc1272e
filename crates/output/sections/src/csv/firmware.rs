//! The rows of a firmware report: stages, phases and measurements.

use onoff_firmware_times::{FirmwareComparison, FirmwareReport};

use crate::section::Section;
use crate::table::Value;

/// A row; unknown values are empty.
#[derive(Clone, Copy, Default)]
struct Row<'a> {
    kind: &'a str,
    text: &'a str,
    module: &'a str,
    guid: &'a str,
    phase: &'a str,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_ns: Option<i64>,
    self_ns: Option<i64>,
    depth: Option<i64>,
    caller: &'a str,
    handle: &'a str,
    apic: Option<i64>,
}

/// Lists all stages, phases and measurements.
#[must_use]
pub fn measurements(report: &FirmwareReport) -> Section<'_> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    rows.extend(report.stages.iter().map(|stage| Row {
        kind: "stage",
        text: stage.name.as_str(),
        start_ns: Some(stage.start_ns),
        end_ns: Some(stage.end_ns),
        duration_ns: Some(stage.duration_ns),
        ..Row::default()
    }));
    rows.extend(report.phases.iter().map(|phase| Row {
        kind: "phase",
        text: &phase.name,
        phase: &phase.parent,
        start_ns: Some(phase.start_ns),
        end_ns: Some(phase.end_ns),
        duration_ns: Some(phase.duration_ns),
        self_ns: Some(phase.self_ns),
        ..Row::default()
    }));
    rows.extend(report.work.iter().map(|work| Row {
        kind: work.work.as_str(),
        text: &work.text,
        module: &work.module,
        guid: &work.guid,
        phase: &work.phase,
        start_ns: Some(work.start_ns),
        end_ns: Some(work.end_ns),
        duration_ns: Some(work.duration_ns),
        self_ns: Some(work.self_ns),
        depth: Some(work.depth.into()),
        caller: &work.caller,
        handle: &work.handle,
        apic: Some(work.apic.into()),
    }));
    rows.extend(report.durations.iter().map(|length| Row {
        kind: length.work.as_str(),
        text: &length.text,
        module: &length.module,
        duration_ns: Some(length.duration_ns),
        ..Row::default()
    }));
    for (marks, has_end) in [(&report.marks, true), (&report.unfinished, false)] {
        rows.extend(marks.iter().map(|mark| Row {
            kind: mark.work.as_str(),
            text: &mark.text,
            module: &mark.module,
            guid: &mark.guid,
            start_ns: Some(mark.time_ns),
            end_ns: Some(mark.time_ns).filter(|_| has_end),
            ..Row::default()
        }));
    }
    Section::builder("measured", "Measured", rows)
        .data("kind", |row| Value::text(row.kind))
        .data("text", |row| Value::text(row.text))
        .data("module", |row| Value::text(row.module))
        .data("guid", |row| Value::text(row.guid))
        .data("phase", |row| Value::text(row.phase))
        .data("start_ns", |row| Value::from_option(row.start_ns, Value::Time))
        .data("end_ns", |row| Value::from_option(row.end_ns, Value::Time))
        .data("duration_ns", |row| Value::from_option(row.duration_ns, Value::Duration))
        .data("self_ns", |row| Value::from_option(row.self_ns, Value::Duration))
        .data("depth", |row| Value::from_option(row.depth, Value::Id))
        .data("caller", |row| Value::text(row.caller))
        .data("handle", |row| Value::text(row.handle))
        .data("apic", |row| Value::from_option(row.apic, Value::Id))
        .build()
}

/// Lists the changes between two boots.
#[must_use]
pub fn changes(comparison: &FirmwareComparison) -> Section<'_> {
    let kinds = [
        ("interval", &comparison.intervals),
        ("phase", &comparison.phases),
        ("driver", &comparison.drivers),
        ("device", &comparison.devices),
    ];
    let rows = kinds.into_iter().flat_map(|(kind, changes)| changes.iter().map(move |change| (kind, change)));
    Section::builder("changes", "Changes", rows)
        .data("kind", |row| Value::text(row.0))
        .data("name", |row| Value::text(&row.1.name))
        .data("guid", |row| Value::text(&row.1.guid))
        .data("before_ns", |row| Value::from_option(row.1.before_ns, Value::Duration))
        .data("after_ns", |row| Value::from_option(row.1.after_ns, Value::Duration))
        .data("change_ns", |row| Value::from_option(row.1.change_ns, Value::Duration))
        .build()
}
