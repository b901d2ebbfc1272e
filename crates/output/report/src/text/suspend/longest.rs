//! The slowest applications, services, devices and drivers.

use onoff_trace::NotificationKind;
use onoff_transitions::PhaseName;
use onoff_transitions::suspend::{PowerDevice, PowerNotification, PowerTransition};

use super::headline::{device_name, notified_name};
use crate::text::quantity::{count, counted, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET, WORST};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Lists the notified applications and services.
pub(super) fn notified(transition: &PowerTransition, top: usize) -> Vec<Section<'_>> {
    let is_service = |row: &PowerNotification| {
        matches!(
            row.details.kind,
            NotificationKind::ServiceQuerySuspend | NotificationKind::ServiceSuspend | NotificationKind::ServiceResume
        )
    };
    [("applications", "Applications", false), ("services", "Services", true)]
        .into_iter()
        .filter_map(|(name, title, services)| {
            let rows = transition.details.notifications.iter();
            let rows: Vec<_> = rows.filter(|row| is_service(row) == services && row.details.has_end).collect();
            (!rows.is_empty()).then(|| notified_section(name, title, rows, top))
        })
        .collect()
}

fn notified_section<'a>(
    name: &'static str,
    title: &'static str,
    mut rows: Vec<&'a PowerNotification>,
    top: usize,
) -> Section<'a> {
    rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    let style = |row: &PowerNotification| match (row.duration_ns, &row.details.time_out) {
        (Some(_), Some(_)) => WORST,
        (Some(_), None) => anstyle::Style::new(),
        (None, _) => DOUBT,
    };
    let note = format!("slowest of {}", count(rows.len() as u64));
    Section::builder(name, title, rows)
        .note(note)
        .top(top)
        .name("name", "name", 50, |row| Cell::with_display_text(Value::text(&row.name), notified_name(row)))
        .id("pid", "pid", |row| Value::id(row.pid))
        .name("phase", "phase", 18, |row| Value::text(row.details.phase.as_str()))
        .data("kind", |row| Value::text(row.details.kind.as_str()))
        .quantity("duration_ns", "duration", |row| Cell::duration_or_unfinished(row.duration_ns).with_style(style(row)))
        .time("start_ns", "start", |row| Cell::since(row.start_ns, 0))
        .data("time_out_ns", |row| {
            Value::from_option(row.details.time_out.as_ref().and_then(|limit| limit.limit_ns), Value::Duration)
        })
        .name("", "", 80, |row| {
            let limit = row.details.time_out.as_ref().map(|limit| duration_or_dash(limit.limit_ns));
            let note = limit.map(|limit| format!("did not respond within {limit}"));
            Cell::text_only(style(row), note.unwrap_or_default())
        })
        .build()
}

pub(super) fn devices(transition: &PowerTransition, top: usize) -> Option<Section<'_>> {
    let mut rows: Vec<&PowerDevice> =
        transition.details.devices.iter().filter(|row| row.details.phase.is_some()).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    let note = format!("slowest of {}; alone: no other device was busy", counted(rows.len() as u64, "request"));
    Section::builder("devices", "Devices", rows)
        .note(note)
        .top(top)
        .name("driver", "driver (device)", 60, |row| {
            Cell::with_display_text(Value::text(&row.driver), device_name(row))
        })
        .data("device", |row| Value::text(row.name()))
        .name("phase", "phase", 18, |row| Value::text(row.details.phase.map_or("", PhaseName::as_str)))
        .quantity("duration_ns", "duration", |row| Cell::duration_or_unfinished(row.duration_ns))
        .quantity("exclusive_ns", "alone", |row| Cell::duration_or_dash(row.details.exclusive_ns))
        .time("start_ns", "start", |row| Cell::since(row.start_ns, 0))
        .name("", "", 80, |row| Cell::text_only(QUIET, device_note(row)))
        .build_if_any()
}

fn device_note(row: &PowerDevice) -> String {
    let mut parts = Vec::new();
    if row.details.ends_phase {
        parts.push("ended the phase".to_owned());
    }
    if let Some(nested) = row.details.nested.iter().filter_map(|nested| nested.duration_ns).max() {
        parts.push(format!("device power transition {}", duration(nested)));
    }
    // The slowest driver of the stack says more than the function driver.
    let nested_drivers = row.details.nested.iter().flat_map(|nested| &nested.details.drivers);
    let slowest = row
        .details
        .drivers
        .iter()
        .chain(nested_drivers)
        .filter_map(|part| Some((part.duration_ns?, part)))
        .max_by_key(|&(ns, _)| ns);
    if let Some((ns, part)) = slowest.filter(|(_, part)| part.driver != row.driver) {
        parts.push(format!("{} {}", part.driver, duration(ns)));
    }
    if !row.details.failed_driver.is_empty() {
        parts.push(format!("{} failed the request", row.details.failed_driver));
    }
    parts.join("; ")
}

pub(super) fn drivers(transition: &PowerTransition, top: usize) -> Option<Section<'_>> {
    let drivers = &transition.details.drivers;
    let note = match drivers.first()?.is_own_part {
        true => "time in each driver, summed over requests",
        false => "requests to the devices of each function driver, summed",
    };
    Section::builder("drivers", "Drivers", drivers)
        .note(note)
        .top(top)
        .name("driver", "driver", 44, |row| Value::text(&row.driver))
        .name("phase", "phase", 18, |row| Value::text(row.phase.as_str()))
        .quantity("total_ns", "duration", |row| Value::Duration(row.total_ns))
        .quantity("longest_ns", "longest", |row| Value::Duration(row.longest_ns))
        .quantity("requests", "requests", |row| Value::Count(row.requests))
        .build_if_any()
}
