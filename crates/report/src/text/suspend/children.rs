//! The applications, services, devices and drivers that took longest.

use std::io::{self, Write};

use onoff_analysis::transition::suspend::{PowerDevice, PowerNotification, PowerTransition};
use onoff_trace::NotificationKind;

use super::headline::{device_name, told_name};
use super::title;
use crate::text::quantity::{count, duration, duration_or_dash};
use crate::text::style::{DOUBT, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write_told(transition: &PowerTransition, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let is_service = |row: &PowerNotification| {
        matches!(
            row.kind,
            NotificationKind::ServiceQuerySuspend | NotificationKind::ServiceSuspend | NotificationKind::ServiceResume
        )
    };
    for (name, services) in [("Applications", false), ("Services", true)] {
        let rows: Vec<&PowerNotification> =
            transition.details.notifications.iter().filter(|row| is_service(row) == services && row.has_end).collect();
        if rows.is_empty() {
            continue;
        }
        write_rows(name, rows, top, out)?;
    }
    Ok(())
}

fn write_rows(name: &str, mut rows: Vec<&PowerNotification>, top: usize, out: &mut dyn Write) -> io::Result<()> {
    title(name, &format!("slowest of {}", count(rows.len() as u64)), out)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    let mut table =
        Table::new().left("name", 50).right("pid").left("phase", 18).right("took").right("begins").left("", 80);
    for row in rows.into_iter().take(top) {
        let (style, took) = match (row.duration_ns, &row.time_out) {
            (Some(ns), Some(_)) => (WORST, duration(ns)),
            (Some(ns), None) => (anstyle::Style::new(), duration(ns)),
            (None, _) => (DOUBT, "unfinished".to_owned()),
        };
        let note = row
            .time_out
            .as_ref()
            .map(|limit| format!("did not answer within its time-out of {}", duration_or_dash(limit.limit_ns)));
        table.row([
            cell(told_name(row)),
            cell(row.pid.map(|pid| pid.to_string()).unwrap_or_default()),
            cell(row.phase.as_str()),
            styled_cell(style, took),
            cell(duration(row.start_ns)),
            styled_cell(style, note.unwrap_or_default()),
        ]);
    }
    table.write(out)
}

pub(super) fn write_devices(transition: &PowerTransition, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<&PowerDevice> = transition.details.devices.iter().filter(|row| row.phase.is_some()).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let note = format!("slowest of {} requests; alone: with no other device under way", count(rows.len() as u64));
    title("Devices", &note, out)?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
    let mut table = Table::new()
        .left("driver (device)", 60)
        .left("phase", 18)
        .right("took")
        .right("alone")
        .right("begins")
        .left("", 80);
    for row in rows.into_iter().take(top) {
        let took = match row.duration_ns {
            Some(ns) => cell(duration(ns)),
            None => styled_cell(DOUBT, "unfinished"),
        };
        table.row([
            cell(device_name(row)),
            cell(row.phase.map_or("", |phase| phase.as_str())),
            took,
            cell(duration_or_dash(row.alone_ns)),
            cell(duration(row.start_ns)),
            styled_cell(QUIET, device_note(row)),
        ]);
    }
    table.write(out)?;
    write_drivers(transition, top, out)
}

fn device_note(row: &PowerDevice) -> String {
    let mut parts = Vec::new();
    if row.ends_phase {
        parts.push("ended the phase".to_owned());
    }
    if let Some(nested) = row.nested.iter().filter_map(|nested| nested.duration_ns).max() {
        parts.push(format!("its own state took {}", duration(nested)));
    }
    // The driver that held it longest tells more than the function driver.
    let inside = row.nested.iter().flat_map(|nested| &nested.drivers);
    let slowest =
        row.drivers.iter().chain(inside).filter_map(|part| Some((part.duration_ns?, part))).max_by_key(|&(ns, _)| ns);
    if let Some((ns, part)) = slowest.filter(|(_, part)| part.driver != row.driver) {
        parts.push(format!("{} held it {}", part.driver, duration(ns)));
    }
    if !row.failed_driver.is_empty() {
        parts.push(format!("{} failed it", row.failed_driver));
    }
    parts.join("; ")
}

fn write_drivers(transition: &PowerTransition, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = transition.details.drivers.first() else {
        return Ok(());
    };
    let what = if first.own_part {
        "each driver's own part of requests, added up"
    } else {
        "requests to the devices of each function driver, added up"
    };
    title("Drivers", what, out)?;
    let mut table = Table::new().left("driver", 44).left("phase", 18).right("took").right("longest").right("requests");
    for row in transition.details.drivers.iter().take(top) {
        table.row([
            cell(&*row.driver),
            cell(row.phase.as_str()),
            cell(duration(row.total_ns)),
            cell(duration(row.longest_ns)),
            cell(count(row.requests)),
        ]);
    }
    table.write(out)
}
