//! Collects what event logs record between two boots of Windows.

use onoff_trace::SystemChangeKind;
use onoff_transitions::boot::changes::{NamedChange, UncoveredChanges};

use super::{BootSample, SystemUpdate, UpdateKind};

/// Returns the changes after boot `last_before` and before boot `first_after`, in chronological order.
pub(super) fn between_boots(samples: &[BootSample], last_before: usize, first_after: usize) -> Vec<SystemUpdate> {
    let mut updates: Vec<SystemUpdate> = samples
        .get(last_before + 1..=first_after)
        .unwrap_or_default()
        .iter()
        .filter_map(|sample| sample.changes.as_ref())
        .flat_map(|before| &before.changes)
        .filter_map(update)
        .collect();
    updates.sort_by_key(|update| update.unix_ns);
    updates
}

/// Returns the changes that the logs do not cover for the whole time between two boots.
pub(super) fn not_covered(samples: &[BootSample], last_before: usize, first_after: usize) -> Vec<UncoveredChanges> {
    let mut uncovered: Vec<UncoveredChanges> = Vec::new();
    let intervals = samples.get(last_before + 1..=first_after).unwrap_or_default();
    for item in intervals.iter().filter_map(|sample| sample.changes.as_ref()).flat_map(|before| &before.not_covered) {
        match uncovered.iter_mut().find(|known| known.channel == item.channel) {
            Some(known) => {
                known.first_unix_ns = known.first_unix_ns.or(item.first_unix_ns);
                known.last_unix_ns = known.last_unix_ns.or(item.last_unix_ns);
            }
            None => uncovered.push(item.clone()),
        }
    }
    uncovered
}

/// Converts a change; `None` for the build, which each boot has, and for updates that were not installed.
fn update(change: &NamedChange) -> Option<SystemUpdate> {
    let kind = match change.kind {
        SystemChangeKind::Build | SystemChangeKind::UpdateFailed => return None,
        SystemChangeKind::Update => UpdateKind::Update,
        SystemChangeKind::UpdateStarted => UpdateKind::UpdateStarted,
        SystemChangeKind::Package => UpdateKind::Package,
        SystemChangeKind::Driver => UpdateKind::Driver,
        SystemChangeKind::DeviceFailed => UpdateKind::DeviceFailed,
        SystemChangeKind::Service => UpdateKind::Service,
        SystemChangeKind::StartType => UpdateKind::StartType,
        SystemChangeKind::Program => UpdateKind::Program,
        SystemChangeKind::ProgramRemoved => UpdateKind::ProgramRemoved,
    };
    Some(SystemUpdate {
        unix_ns: Some(change.last_unix_ns),
        kind,
        name: change.name.clone(),
        was: change.was.clone(),
        is: change.is.clone(),
        is_routine: change.is_routine,
    })
}
