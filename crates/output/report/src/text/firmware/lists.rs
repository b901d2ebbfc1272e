//! Unmeasured gaps, drivers, devices and measured durations, longest first.

use onoff_firmware_times::{FirmwareGap, FirmwareReport};

use crate::text::quantity::{count, counted, duration};
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

pub(super) fn gaps(report: &FirmwareReport, top: usize) -> Section<'_> {
    let edge =
        |edge: &str, gap: &FirmwareGap, module: &str| Cell::text_only(QUIET, edge_name(edge, &gap.phase, module));
    Section::builder("gaps", "Unmeasured gaps", &report.gaps)
        .note("time in a phase that no measurement covers")
        .top(top)
        .quantity("duration_ns", "duration", |gap| Value::Duration(gap.duration_ns))
        .time("start_ns", "start", |gap| Cell::since(gap.start_ns, 0))
        .name("phase", "in", 10, |gap| Value::text(&gap.phase))
        .name("", "after the", 48, move |gap| edge(&gap.after, gap, &gap.module_before))
        .name("", "until the", 48, move |gap| edge(&gap.before, gap, &gap.module_after))
        .data("after", |gap| Value::text(&gap.after))
        .data("before", |gap| Value::text(&gap.before))
        .build()
}

/// Describes the edge of a gap. If the gap ends at the edge of a phase, adds the module on that side.
fn edge_name(edge: &str, phase: &str, module: &str) -> String {
    let is_phase_edge = !phase.is_empty() && edge.strip_suffix(phase).is_some_and(|start| start.ends_with(" of "));
    match (is_phase_edge, module.is_empty()) {
        (true, false) => format!("{edge} ({module})"),
        _ => edge.to_owned(),
    }
}

pub(super) fn drivers(report: &FirmwareReport, top: usize) -> Section<'_> {
    let calls = |ns: i64, calls: u64| match calls {
        0 => Cell::from(Value::Nothing),
        1 => Value::Duration(ns).into(),
        calls => Cell::with_display_text(Value::Duration(ns), format!("{}× {}", count(calls), duration(ns))),
    };
    let has_unnamed = report.drivers.iter().take(top).any(|driver| driver.name == driver.guid);
    let advice = "To name GUIDs, use --guids FILE with the Guid.xref, .inf, .dec or .fdf file of a build.";
    Section::builder("drivers", "Drivers and modules", &report.drivers)
        .note(format!("largest self time of {}", count(report.drivers.len() as u64)))
        .top(top)
        .name("name", "module", 50, |driver| Value::text(&driver.name))
        .data("guid", |driver| Value::text(&driver.guid))
        .quantity("self_ns", "self time", |driver| Value::Duration(driver.self_ns))
        .column(Heading::quantity("load_ns", "load").sparse(), |driver| Value::Duration(driver.load_ns))
        .column(Heading::quantity("entry_point_ns", "entry point").sparse(), |driver| {
            Value::Duration(driver.entry_point_ns)
        })
        .quantity("support_ns", "support checks", move |driver| calls(driver.support_ns, driver.support_calls))
        .quantity("driver_start_ns", "driver starts", move |driver| {
            calls(driver.driver_start_ns, driver.driver_start_calls)
        })
        .column(Heading::quantity("other_self_ns", "other").sparse(), |driver| Value::Duration(driver.other_self_ns))
        .time("start_ns", "first start", |driver| Cell::since(driver.start_ns, 0))
        .name("phase", "in", 10, |driver| Value::text(&driver.phase))
        .build()
        .line_if(QUIET, has_unnamed.then_some(advice))
}

pub(super) fn devices(report: &FirmwareReport, top: usize) -> Section<'_> {
    Section::builder("devices", "Devices", &report.devices)
        .note(format!("largest self time of {}, in driver starts", count(report.devices.len() as u64)))
        .top(top)
        .name("path", "device", 64, |device| Value::text(&device.path))
        .quantity("self_ns", "self time", |device| Value::Duration(device.self_ns))
        .quantity("starts", "starts", |device| {
            Value::Count(device.drivers.iter().fold(0, |sum, driver| driver.calls.saturating_add(sum)))
        })
        .name("driver", "slowest driver", 50, |device| match &device.drivers[..] {
            [] => Value::Nothing.into(),
            [only] => Cell::from(Value::text(&only.name)),
            [first, others @ ..] => {
                let driver_names = format!("{} and {}", first.name, counted(others.len() as u64, "other"));
                Cell::with_display_text(Value::text(&first.name), driver_names)
            }
        })
        .name("name", "", 40, |device| Value::text(&device.name).styled(QUIET))
        .build()
}

/// Durations without timestamps.
pub(super) fn lengths(report: &FirmwareReport, top: usize) -> Section<'_> {
    Section::builder("durations", "Measured durations", &report.durations)
        .note(format!("longest of {}; the input has no timestamps for them", count(report.durations.len() as u64)))
        .top(top)
        .name("module", "module", 50, |length| Value::text(&length.module))
        .name("work", "work", 40, |length| {
            let text = if length.text.is_empty() { length.work.as_str() } else { &length.text };
            Cell::with_display_text(Value::text(length.work.as_str()), text.replace('_', " "))
        })
        .quantity("duration_ns", "duration", |length| Value::Duration(length.duration_ns))
        .build()
}
