//! Determines which evidence is missing for a complete boot report.

use onoff_trace::{ServiceChange, Trace};

use super::phases::BootBoundaries;
use onoff_evidence::missing_evidence::{MissingEvidence, UnknownFact};
use onoff_usage::cpu::CpuSource;
use onoff_usage::idle::Settling;
use onoff_usage::units::declared_order::Starts;

/// Event label of unit properties; times in log messages are only accurate to a few milliseconds.
const PROPERTIES: &str = "systemd unit properties";

pub(super) fn missing_evidence(
    trace: &Trace,
    boundaries: &BootBoundaries,
    starts: &Starts<'_>,
    post_boot: &Settling,
) -> MissingEvidence {
    let mut missing = Vec::new();
    if boundaries.user_space.time_ns.is_none() || !boundaries.finished.unmatched_rules.is_empty() {
        missing.push(UnknownFact::LinuxStartParts);
    }
    let started = || trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    if started().next().is_none() {
        missing.push(UnknownFact::UnitStarts);
    } else if !started().any(|row| trace.text(row.event) == PROPERTIES) {
        // The output of systemd-analyze has the service manager's own times.
        let from_manager = started().all(|row| trace.text(row.event).starts_with("systemd-analyze"));
        missing.push(if from_manager { UnknownFact::OtherUnits } else { UnknownFact::ExactUnitTimes });
    }
    if started().next().is_some() && !starts.has_dependencies() {
        missing.push(UnknownFact::UnitStartOrder);
    }
    if boundaries.firmware.time_ns.is_none() {
        missing.push(UnknownFact::FirmwareAndLoader);
    }
    if post_boot.cpu_source == CpuSource::None {
        missing.push(UnknownFact::LinuxSettling);
    } else if !post_boot.disk_recorded {
        missing.push(UnknownFact::LinuxDisksAtStart);
    }
    if trace.device_operations.is_empty() {
        missing.push(UnknownFact::LinuxDrivers);
    }
    MissingEvidence::of_linux(missing)
}
