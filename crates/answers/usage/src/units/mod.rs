//! Windows services and systemd units: start and stop times, their parts, and waits.
//!
//! Windows starts load-order groups in sequence; recordings do not contain service dependencies, so waits are inferred
//! from the order of events (`load_order`). systemd units have a declared order, so a unit waited for the last to
//! finish among the units it is ordered after (`declared_order`).

pub mod declared_order;
mod hosts;
mod load_order;
mod unit;

use onoff_trace::{ServiceChange, ServiceTransition, SystemKind, Trace};

pub use hosts::hosted;
pub use load_order::{CONTAINER_GAP_NS, WAIT_GAP_NS, groups, holds_up_its_group};
pub use unit::{
    ServiceGroup, ServiceNotification, StillStarting, TimeOut, TimeOutKind, Unit, UnitProcess, UnitWait, WaitKind,
};

use crate::processes::Images;

/// The starts and stops in a recording, ordered by start, with their waits.
#[must_use]
pub fn units(trace: &Trace) -> Vec<Unit> {
    let images = Images::of(trace);
    let mut units: Vec<Unit> = trace.service_transitions.iter().map(|row| unit(trace, &images, &row)).collect();
    units.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    let waits = match trace.system.kind {
        SystemKind::Linux => declared_order::waits(trace, &units),
        _ => load_order::waits(trace, &units),
    };
    // A waiting unit starts after the one it waits for. Going from the last start to the first, every count is complete
    // before it is passed on.
    for (at, (earlier, wait)) in waits.into_iter().enumerate().rev().filter_map(|(at, wait)| Some((at, wait?))) {
        if let Some(earlier) = earlier {
            let name = units[at].name.clone();
            let in_turn = units[at].held_up_total.saturating_add(1);
            units[earlier].held_up.push(name);
            units[earlier].held_up_total = units[earlier].held_up_total.saturating_add(in_turn);
        }
        units[at].waited_for = Some(wait);
    }
    for unit in &mut units {
        unit.held_up.reverse();
    }
    units
}

/// Converts a row, without what the unit waited for.
pub fn unit(trace: &Trace, images: &Images<'_>, row: &ServiceTransition) -> Unit {
    let since = |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(from, to)| to.saturating_sub(from).max(0));
    // Time of unrecorded parts counts toward the next part: without an image load, initialization starts when the
    // process exists; without either, it is the whole start.
    let start = Some(row.start_ns);
    let loaded_from = row.checkpoint_ns.or(start);
    let initialized_from = row.load_ns.or(loaded_from);
    // A starting unit has its process at the end, a stopping one at the start.
    let process_time_ns = match row.kind {
        ServiceChange::Start => row.end_ns.unwrap_or(trace.duration_ns),
        ServiceChange::Stop => row.start_ns,
    };
    let process =
        row.container_pid.and_then(|pid| images.row_at(pid, process_time_ns)).and_then(|at| trace.processes.get(at));
    Unit {
        name: trace.text(row.service).to_owned(),
        group: trace.text(row.group).to_owned(),
        kind: row.kind,
        start_ns: row.start_ns,
        checkpoint_ns: row.checkpoint_ns,
        load_done_ns: row.load_ns,
        end_ns: row.end_ns,
        duration_ns: since(start, row.end_ns),
        container_ns: since(start, row.checkpoint_ns),
        image_load_ns: since(loaded_from, row.load_ns),
        initialization_ns: since(initialized_from, row.end_ns),
        command: trace.text(row.container).to_owned(),
        pid: row.container_pid,
        image: row.container_pid.and_then(|pid| images.at(pid, process_time_ns)).unwrap_or_default().to_owned(),
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
        held_up: Vec::new(),
        held_up_total: 0,
        processes: Vec::new(),
        event: trace.text(row.event).to_owned(),
    }
}
