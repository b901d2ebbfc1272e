//! The slowest driver and device operations of a boot.

use onoff_usage::devices::Device;

use super::printable::printable;
use super::quantity::counted;
use super::style::{DOUBT, QUIET};
use onoff_sections::section::{Cell, Heading, Section};
use onoff_sections::table::Value;

/// Returns a section titled `title` with `devices` in the given order and `note_suffix` appended to its note; `None`
/// without devices.
pub fn section<'a>(
    title: &'static str,
    devices: Vec<&'a Device>,
    note_suffix: &str,
    top: usize,
) -> Option<Section<'a>> {
    let note = format!("slowest of {}{note_suffix}", counted(devices.len() as u64, "operation"));
    let has_pended =
        devices.iter().any(|device| device.details.kind.can_pend() && device.details.pre_pend_ns.is_some());
    Section::builder("devices", title, devices)
        .note(note)
        .top(top)
        .name("driver", "driver or device", 44, |device| {
            Cell::with_display_text(Value::text(&device.driver), name(device))
        })
        .data("device", |device| Value::text(&device.device))
        .data("friendly_name", |device| Value::text(&device.friendly_name))
        .data("description", |device| Value::text(&device.description))
        .name("kind", "operation", 12, |device| Value::text(device.details.kind.as_str()))
        .quantity("duration_ns", "duration", |device| Cell::duration_or_unfinished(device.duration_ns))
        .column(Heading::quantity("pre_pend_ns", "until pending").in_text_if(has_pended), |device| {
            let pre_pend = Value::from_option(device.details.pre_pend_ns, Value::Duration);
            match (device.details.pend_ns, device.details.pre_pend_ns) {
                (None, Some(_)) if device.details.kind.can_pend() => {
                    Cell::with_display_text(pre_pend, "blocked (did not pend)").with_style(DOUBT)
                }
                (_, ns) => Cell::duration_or_dash(ns),
            }
        })
        .time("start_ns", "start", |device| Cell::since(device.start_ns, 0))
        .data("end_ns", |device| Value::from_option(device.end_ns, Value::Time))
        .data("phase", |device| Value::text(device.details.phase.as_str()))
        .name("", "", 60, |device| Cell::text_only(QUIET, detail(device)))
        .build_if_any()
}

/// Returns the first known name: driver, friendly name, description, device.
#[must_use]
pub fn name(device: &Device) -> String {
    let names = [&device.driver, &device.friendly_name, &device.description, &device.device];
    let name = names.into_iter().find(|name| !name.is_empty());
    name.map_or_else(|| "unnamed".to_owned(), |name| printable(name).into_owned())
}

/// Returns the next name that differs from [`name`].
fn detail(device: &Device) -> String {
    let names = [&device.friendly_name, &device.description, &device.device];
    let detail = names.into_iter().find(|text| !text.is_empty() && **text != name(device));
    detail.cloned().unwrap_or_default()
}
