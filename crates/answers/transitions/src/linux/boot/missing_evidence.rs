//! Determines which evidence is missing for a complete boot report.

use onoff_trace::{ServiceChange, Trace};

use super::phases::BootBoundaries;
use onoff_evidence::missing_evidence::{MissingEvidence, UnknownFact};
use onoff_usage::cpu::CpuSource;
use onoff_usage::idle::Settling;
use onoff_usage::units::declared_order::UnitStarts;

/// Event label of unit properties. Their times are exact, whereas times in log messages are accurate only to a few
/// milliseconds.
const PROPERTIES: &str = "systemd unit properties";

pub(super) fn missing_evidence(
    trace: &Trace,
    boundaries: &BootBoundaries,
    starts: &UnitStarts<'_>,
    post_boot: &Settling,
) -> MissingEvidence {
    let mut facts = Vec::new();
    if boundaries.user_space.time_ns.is_none() || !boundaries.finished.unmatched_rules.is_empty() {
        facts.push(UnknownFact::LinuxStartParts);
    }
    let unit_starts = || trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    if unit_starts().next().is_none() {
        facts.push(UnknownFact::UnitStarts);
    } else if !unit_starts().any(|row| trace.text(row.event) == PROPERTIES) {
        // The output of systemd-analyze has the service manager's own times.
        let is_analyze_output = unit_starts().all(|row| trace.text(row.event).starts_with("systemd-analyze"));
        facts.push(if is_analyze_output { UnknownFact::OtherUnits } else { UnknownFact::ExactUnitTimes });
    }
    if unit_starts().next().is_some() && !starts.has_dependencies() {
        facts.push(UnknownFact::UnitStartOrder);
    }
    if boundaries.firmware.time_ns.is_none() {
        facts.push(UnknownFact::FirmwareAndLoader);
    }
    if post_boot.cpu_source == CpuSource::None {
        facts.push(UnknownFact::LinuxSettling);
    } else if !post_boot.disk_recorded {
        facts.push(UnknownFact::LinuxDisksAtStart);
    }
    if trace.device_operations.is_empty() {
        facts.push(UnknownFact::LinuxDrivers);
    }
    MissingEvidence::for_linux(facts)
}
