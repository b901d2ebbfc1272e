//! Services of Windows and units of systemd: how long each took to start or stop, in which part, and which other it waited for.
//!
//! Windows starts load-order groups one after the other; which services depend on which is not in a recording, so waits are inferred
//! from the order of events (`load_order`). systemd declares its order, so a unit waited for whichever of those that it is declared to
//! start after was done last (`declared_order`).

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

/// The starts and stops of a recording, by start, with their waits.
#[must_use]
pub fn units(trace: &Trace) -> Vec<Unit> {
    let images = Images::of(trace);
    let mut units: Vec<Unit> = trace.service_transitions.iter().map(|row| unit(trace, &images, &row)).collect();
    units.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    let waits = match trace.system.kind {
        SystemKind::Linux => declared_order::waits(trace, &units),
        _ => load_order::waits(trace, &units),
    };
    // Who waits starts after the one it waits for, so from the last start to the first every count is complete when it
    // is passed on.
    for (at, (earlier, wait)) in waits.into_iter().enumerate().rev().filter_map(|(at, wait)| Some((at, wait?))) {
        if let Some(earlier) = earlier {
            let name = units[at].name.clone();
            let in_turn = units[at].held_up_in_turn.saturating_add(1);
            units[earlier].held_up.push(name);
            units[earlier].held_up_in_turn = units[earlier].held_up_in_turn.saturating_add(in_turn);
        }
        units[at].waited_for = Some(wait);
    }
    for unit in &mut units {
        unit.held_up.reverse();
    }
    units
}

/// A row, without what the unit waited for.
pub fn unit(trace: &Trace, images: &Images<'_>, row: &ServiceTransition) -> Unit {
    let since = |from: Option<i64>, to: Option<i64>| from.zip(to).map(|(from, to)| to.saturating_sub(from).max(0));
    // Parts that were not recorded count for the next one: without an image load, initialization begins when the
    // process is there; without either, it is the whole start.
    let start = Some(row.start_ns);
    let loaded_from = row.checkpoint_ns.or(start);
    let initialized_from = row.load_ns.or(loaded_from);
    // What starts has its process at the end, what stops at the start.
    let lives_at = match row.kind {
        ServiceChange::Start => row.end_ns.unwrap_or(trace.duration_ns),
        ServiceChange::Stop => row.start_ns,
    };
    let process = row.container_pid.and_then(|pid| images.row_at(pid, lives_at)).and_then(|at| trace.processes.get(at));
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
        image: row.container_pid.and_then(|pid| images.at(pid, lives_at)).unwrap_or_default().to_owned(),
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
        held_up_in_turn: 0,
        processes: Vec::new(),
        event: trace.text(row.event).to_owned(),
    }
}
