//! Windows services and systemd units: start and stop times, their parts, and waits.
//!
//! Windows starts load-order groups in sequence; recordings do not contain service dependencies, so waits are inferred
//! from the order of events (`load_order`). systemd units have a declared order: a unit waited for
//! the last unit to finish among the units ordered before it (`declared_order`). If that order was not recorded, waits are
//! inferred from times (`observed_order`).

pub mod declared_order;
mod hosts;
mod load_order;
pub mod observed_order;
mod unit;
pub mod waits;

use onoff_trace::{ServiceChange, ServiceTransition, SystemKind, Trace};

pub use hosts::services_by_process;
pub use load_order::{CONTAINER_GAP_NS, WAIT_GAP_NS, delays_later_groups, groups};
pub use unit::{
    ServiceGroup, ServiceNotification, StillStarting, TimeOut, TimeOutKind, Unit, UnitProcess, UnitWait, WaitKind,
};

use crate::processes::Images;
use onoff_evidence::significance::NOISE_NS;

/// Returns the starts and stops in a recording, ordered by start, with their waits.
#[must_use]
pub fn units(trace: &Trace) -> Vec<Unit> {
    let images = Images::new(trace);
    let mut units: Vec<Unit> = trace.service_transitions.iter().map(|row| unit(trace, &images, &row)).collect();
    units.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    let waits = match trace.system.kind {
        SystemKind::Linux => declared_order::waits(trace, &units),
        _ => load_order::waits(trace, &units),
    };
    // A unit starts after the unit it waits for. In reverse order, each total is complete before it is added to an
    // earlier unit.
    for (index, wait) in waits.into_iter().enumerate().rev() {
        let Some((earlier, wait)) = wait else { continue };
        // A short wait until the manager has created the earlier service's process is not a wait for that service.
        let is_held_up =
            |earlier: &Unit| wait.kind != WaitKind::Container || earlier.container_ns.is_some_and(|ns| ns >= NOISE_NS);
        units[index].is_brief_wait = earlier.and_then(|earlier| units.get(earlier)).is_some_and(|row| !is_held_up(row));
        if let Some(earlier) = earlier.filter(|&earlier| units.get(earlier).is_some_and(is_held_up)) {
            let name = units[index].name.clone();
            let held_up_count = units[index].held_up_total.saturating_add(1);
            units[earlier].held_up.push(name);
            units[earlier].held_up_total = units[earlier].held_up_total.saturating_add(held_up_count);
        }
        units[index].waited_for = Some(wait);
    }
    for unit in &mut units {
        unit.held_up.reverse();
    }
    units
}

/// Converts a row, except for what the unit waited for.
pub fn unit(trace: &Trace, images: &Images<'_>, row: &ServiceTransition) -> Unit {
    let duration_ns =
        |start: Option<i64>, end: Option<i64>| start.zip(end).map(|(start, end)| end.saturating_sub(start).max(0));
    // Unrecorded parts count toward the next part. Without an image load, initialization starts when the process
    // exists; without a process either, initialization is the whole start.
    let start = Some(row.start_ns);
    let load_start = row.checkpoint_ns.or(start);
    let initialization_start = row.load_ns.or(load_start);
    // A starting unit has a process at the end of the interval, a stopping unit at the start.
    let process_time_ns = match row.kind {
        ServiceChange::Start => row.end_ns.unwrap_or(trace.duration_ns),
        ServiceChange::Stop => row.start_ns,
    };
    let process = row
        .container_pid
        .and_then(|pid| images.row_at(pid, process_time_ns))
        .and_then(|index| trace.processes.get(index));
    Unit {
        name: trace.text(row.service).to_owned(),
        group: trace.text(row.group).to_owned(),
        kind: row.kind,
        start_ns: row.start_ns,
        checkpoint_ns: row.checkpoint_ns,
        load_done_ns: row.load_ns,
        end_ns: row.end_ns,
        duration_ns: duration_ns(start, row.end_ns),
        container_ns: duration_ns(start, row.checkpoint_ns),
        image_load_ns: duration_ns(load_start, row.load_ns),
        initialization_ns: duration_ns(initialization_start, row.end_ns),
        command: trace.text(row.container).to_owned(),
        pid: row.container_pid,
        image: row.container_pid.and_then(|pid| images.image_at(pid, process_time_ns)).unwrap_or_default().to_owned(),
        process_end_ns: process.and_then(|process| process.end_ns),
        outcome: row.outcome,
        result: trace.text(row.result).to_owned(),
        limit_ns: row.timeout_ns,
        time_out: None,
        notification: ServiceNotification::Unknown,
        automatic: row.automatic,
        start_type: row.start_type,
        on_path: false,
        waited_for: None,
        is_brief_wait: false,
        held_up: Vec::new(),
        held_up_total: 0,
        processes: Vec::new(),
        event: trace.text(row.event).to_owned(),
    }
}
