//! The stages from reset to the operating system on one axis, and the phases of the firmware.

use anstyle::Style;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_firmware_times::{FirmwareReport, FirmwareStageName};

use super::headline::stage;
use crate::text::bar::Axis;
use crate::text::quantity::{duration, duration_or_dash, percent, share};
use crate::text::style::{BAR, DOUBT, QUIET, WORST};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Width of the axis, in characters.
const AXIS_CELLS: usize = 32;

pub(super) fn stages(report: &FirmwareReport) -> Option<Section<'_>> {
    let end_ns = report.stages.iter().map(|stage| stage.end_ns).max()?;
    let axis = Axis::new(0, end_ns, AXIS_CELLS);
    let longest = report.stages.iter().map(|stage| stage.duration_ns).max();
    let style = |ns: i64| if longest == Some(ns) { WORST } else { Style::new() };
    let intervals = &report.intervals;
    let times = format!(
        "Time1 {}, Time2 {} ({}).",
        duration_or_dash(intervals.time1_ns),
        duration_or_dash(intervals.time2_ns),
        intervals.definition
    );
    let ready_to_boot = (intervals.ready_to_boot_rule != Rule::None).then(|| {
        format!(
            "Using ready-to-boot: Time1 {}, Time2 {} ({}).",
            duration_or_dash(intervals.ready_to_boot_time1_ns),
            duration_or_dash(intervals.ready_to_boot_time2_ns),
            intervals.ready_to_boot_rule
        )
    });
    let section = Section::builder("stages", "From reset to the operating system", &report.stages)
        .name("name", "stage", 20, |row| {
            Cell::with_display_text(Value::text(row.name.as_str()), stage(row.name)).with_style(style(row.duration_ns))
        })
        .time("start_ns", "start", |row| Cell::since(row.start_ns, 0))
        .time("end_ns", "end", |row| Cell::since(row.end_ns, 0))
        .quantity("duration_ns", "duration", |row| Value::Duration(row.duration_ns).styled(style(row.duration_ns)))
        .quantity("share_percent", "share", |row| Value::Percent(share(row.duration_ns, end_ns)))
        .name("", "", AXIS_CELLS, |row| Cell::text_only(BAR, axis.bar(row.start_ns, row.end_ns)))
        .name("ended_by", "ended by", 60, |row| {
            let is_boot_sector = intervals.legacy_boot && row.name == FirmwareStageName::Firmware;
            let ended_by = if is_boot_sector { "the start of the boot sector (INT 19h)" } else { row.name.end_event() };
            Value::text(ended_by).styled(QUIET)
        })
        .build();
    Some(section.line(QUIET, times).line_if(QUIET, ready_to_boot))
}

pub(super) fn phases(report: &FirmwareReport) -> Option<Section<'_>> {
    if report.measurements == 0 {
        let text = "This input has no measurements of firmware modules, so there are no phases, drivers or devices.";
        return report.checkpoints.map(|_| Section::without_table("phases", "Phases").line(QUIET, text));
    }
    let note = report.coverage.map_or_else(String::new, |coverage| {
        let (share, measured) = (percent(coverage.measured_percent), duration(coverage.measured_ns));
        format!("measurements cover {share} of Time1 ({measured})")
    });
    let end_ns = report.phases.iter().map(|phase| phase.end_ns).max().unwrap_or(0);
    let axis = Axis::new(0, end_ns, AXIS_CELLS);
    let section = Section::builder("phases", "Phases", &report.phases)
        .note(note)
        .name("name", "phase", 16, |phase| {
            let indent = if phase.parent.is_empty() { "" } else { "  " };
            Cell::with_display_text(Value::text(&phase.name), format!("{indent}{}", phase.name))
        })
        .time("start_ns", "start", |phase| Cell::since(phase.start_ns, 0))
        .time("end_ns", "end", |phase| Cell::since(phase.end_ns, 0))
        .quantity("duration_ns", "duration", |phase| Value::Duration(phase.duration_ns))
        .quantity("share_percent", "share", |phase| {
            Value::from_option(report.intervals.time1_ns, |time1| Value::Percent(share(phase.duration_ns, time1)))
        })
        .quantity("self_ns", "unmeasured", |phase| Value::Duration(phase.self_ns))
        .name("", "", AXIS_CELLS, |phase| Cell::text_only(BAR, axis.bar(phase.start_ns, phase.end_ns)))
        .name("", "", 90, |phase| match phase.certainty {
            Certainty::Measured => Value::Nothing.into(),
            _ => Cell::text_only(DOUBT, format!("inferred: {}", phase.rule)),
        })
        .build();
    let empty_note = report.phases.is_empty().then_some("No phase was measured.");
    Some(section.line_if(QUIET, empty_note))
}
