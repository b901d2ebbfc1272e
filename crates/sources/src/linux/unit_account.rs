//! What several parts say of the same units, as one account: the service manager's own times before those of messages, each
//! change once.

use std::cmp::Reverse;

use onoff_order::InOrder;
use onoff_trace::{Milestone, ServiceChange, ServiceOutcome, ServiceTransition, StringId, milestone};

use super::assembly::Assembly;
use super::{blame, critical_chain, start_chart, units};

/// How far a message about a change can be from the change itself, ns: 1 s. Messages wait for journald while it starts, and
/// the clock of the kernel's log is only known to some milliseconds.
const NEAR_NS: i64 = 1_000_000_000;

/// Brings the rows of all parts together; called when all parts were read.
pub(super) fn settle(assembly: &mut Assembly) {
    critical_chain::settle(assembly);
    let properties = assembly.text(units::EVENT);
    let chart = assembly.text(start_chart::EVENT);
    settle_transitions(&mut assembly.service_transitions, properties, chart);
    blame::settle(assembly, properties);
    settle_milestones(assembly, properties);
    settle_start(assembly);
}

/// The trace of what tests have read.
#[cfg(test)]
pub(super) fn settled(mut assembly: Assembly) -> onoff_trace::Trace {
    settle(&mut assembly);
    let mut trace = onoff_trace::Trace::default();
    assembly.finish(&mut trace);
    trace
}

fn settle_transitions(rows: &mut Vec<ServiceTransition>, properties: StringId, chart: StringId) {
    // The picture of the start has the same times as the properties, rounded.
    let rank = |row: &ServiceTransition| match row.event {
        event if event == properties => 0,
        event if event == chart => 1,
        _ => 2,
    };
    rows.order_by_key(|row| (row.service, row.kind as u8, rank(row), row.start_ns, Reverse(row.end_ns)));
    let mut kept: Vec<ServiceTransition> = Vec::with_capacity(rows.len());
    // Of the manager's own rows of one unit and change: begins, and the latest end so far.
    let mut known: Vec<(i64, i64)> = Vec::new();
    for row in rows.drain(..) {
        let same_change = |kept: &&ServiceTransition| (kept.service, kept.kind) == (row.service, row.kind);
        let before = kept.last().filter(same_change);
        if before.is_none() {
            known.clear();
        }
        if before.is_some_and(|before| before.start_ns == row.start_ns) {
            continue;
        }
        let end_ns = row.end_ns.unwrap_or(row.start_ns);
        if row.event == properties {
            let latest = known.last().map_or(end_ns, |&(_, latest)| latest.max(end_ns));
            known.push((row.start_ns, latest));
        } else {
            let until = end_ns.saturating_add(NEAR_NS);
            let begun = known.partition_point(|&(start, _)| start <= until);
            let met = begun
                .checked_sub(1)
                .and_then(|at| known.get(at))
                .is_some_and(|&(_, latest)| latest >= row.start_ns.saturating_sub(NEAR_NS));
            if met {
                continue;
            }
            if row.event == chart {
                known.push((row.start_ns, known.last().map_or(end_ns, |&(_, latest)| latest.max(end_ns))));
                known.order();
            }
        }
        kept.push(row);
    }
    *rows = kept;
}

/// Leaves each milestone of the service manager once.
fn settle_milestones(assembly: &mut Assembly, properties: StringId) {
    let [reached, stopped] = [milestone::TARGET_REACHED, milestone::TARGET_STOPPED].map(|name| assembly.text(name));
    let mut rows = std::mem::take(&mut assembly.milestones);
    rows.order_by_key(|row| (row.name, row.detail, row.event != properties, row.time_ns));
    let mut kept: Vec<Milestone> = Vec::with_capacity(rows.len());
    for row in rows {
        let same = kept.last().filter(|kept| (kept.name, kept.detail) == (row.name, row.detail));
        let again = same.is_some_and(|kept| {
            let of_target = row.name == reached || row.name == stopped;
            kept.time_ns == row.time_ns && kept.value == row.value
                || of_target && kept.event == properties && kept.time_ns.abs_diff(row.time_ns) <= NEAR_NS.unsigned_abs()
        });
        if !again {
            kept.push(row);
        }
    }
    assembly.milestones = kept;
}

/// Names the default target where the start is finished, and marks what was started until then.
fn settle_start(assembly: &mut Assembly) {
    let finished = assembly.text(milestone::STARTUP_FINISHED);
    let target = assembly.default_target.clone();
    let target = assembly.text(&target);
    let mut finished_ns = None;
    for row in &mut assembly.milestones {
        if row.name == finished {
            row.detail = target;
            finished_ns = finished_ns.max(Some(row.time_ns));
        }
    }
    // Without the manager's word the usual targets stand in; where none was reached either, everything was started by the boot.
    let usual = ["graphical.target", "multi-user.target"].map(|unit| assembly.texts.find(unit));
    let reached = assembly.texts.find(milestone::TARGET_REACHED);
    let until_ns = finished_ns.or_else(|| {
        let rows = assembly.milestones.iter().filter(|row| Some(row.name) == reached);
        rows.filter(|row| usual.contains(&Some(row.detail))).map(|row| row.time_ns).min()
    });
    for row in &mut assembly.service_transitions {
        row.automatic = row.kind == ServiceChange::Start
            && row.outcome != ServiceOutcome::Unfinished
            && until_ns.is_none_or(|until| row.start_ns <= until);
    }
}
