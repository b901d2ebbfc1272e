//! Builds unit rows for several readers.

use onoff_trace::{ServiceChange, ServiceOutcome, ServiceTransition, milestone};

use super::assembly::Assembly;

/// Adds a completed start for which only the times are known. If the unit is a target that no other part has, also adds
/// a milestone for reaching it.
pub(super) fn add_start(unit: &str, start_ns: i64, end_ns: i64, event: &str, assembly: &mut Assembly) {
    let row = ServiceTransition {
        service: assembly.intern(unit),
        kind: ServiceChange::Start,
        start_ns,
        end_ns: Some(end_ns),
        outcome: ServiceOutcome::Completed,
        event: assembly.intern(event),
        ..ServiceTransition::UNKNOWN
    };
    let is_known = || assembly.milestones.iter().any(|milestone| milestone.detail == row.service);
    if unit.ends_with(".target") && !is_known() {
        assembly.add_milestone(end_ns, milestone::TARGET_REACHED, unit, None, event);
    }
    assembly.extend_to(end_ns);
    assembly.service_transitions.push(row);
}
