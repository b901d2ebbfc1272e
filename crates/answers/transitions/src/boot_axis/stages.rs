//! The stages of a boot on its axis, and their parts.

use super::joins::PlacedBoot;
use super::report::{AxisPart, AxisSource, AxisStage};
use super::{AxisFirmware, AxisRecording};
use onoff_evidence::phase_name::PhaseName;
use onoff_firmware_times::stages as firmware_stages;
use onoff_network::report::{NetworkBoot, StageKind};

/// Returns the stages, ordered by start: firmware, recording, and any earlier part that only packets show.
pub(super) fn stages(
    recording: Option<&AxisRecording<'_>>,
    firmware: Option<(&AxisFirmware<'_>, i64)>,
    packets: Option<PlacedBoot<'_>>,
) -> Vec<AxisStage> {
    let mut stages: Vec<AxisStage> = Vec::new();
    let mut stage = |name: &str, source, start_ns: i64, end_ns: i64| {
        if end_ns >= start_ns {
            let duration_ns = end_ns.saturating_sub(start_ns);
            stages.push(AxisStage {
                name: name.to_owned(),
                source,
                start_ns,
                end_ns,
                duration_ns,
                parts: Vec::new(),
                off_network_ns: None,
            });
        }
    };
    if let Some((firmware, shift)) = firmware {
        for part in firmware_stages(&firmware.checkpoints) {
            let (start, end) = (part.start_ns.saturating_add(shift), part.end_ns.saturating_add(shift));
            stage(part.name.as_str(), AxisSource::Firmware, start, end);
        }
    }
    // The service manager's times of firmware and loader cover the same interval as the firmware's own.
    let is_duplicate = |name| firmware.is_some() && matches!(name, PhaseName::Firmware | PhaseName::Loader);
    for &(name, start_ns, end_ns) in recording.map_or(&[][..], |recording| recording.phases) {
        if name == PhaseName::TraceTail || is_duplicate(name) {
            continue;
        }
        if let (Some(start), Some(end)) = (start_ns, end_ns) {
            // PostBoot ends with required idle time, which does not count.
            let settled_ns =
                recording.and_then(|recording| recording.settled_ns).filter(|_| name == PhaseName::PostBoot);
            stage(name.as_str(), AxisSource::Recording, start, settled_ns.unwrap_or(end).min(end));
        }
    }
    if let Some((boot, shift)) = packets {
        let start = boot.start_ns.saturating_add(shift);
        let end = boot.end_ns.saturating_add(shift);
        let first_stage_ns = first_start_ns(&stages);
        if first_stage_ns.is_none_or(|first| start < first) {
            stages.push(AxisStage {
                name: "network_boot".to_owned(),
                source: AxisSource::Capture,
                start_ns: start,
                end_ns: first_stage_ns.unwrap_or(end),
                duration_ns: first_stage_ns.unwrap_or(end).saturating_sub(start),
                parts: Vec::new(),
                off_network_ns: None,
            });
        }
    }
    stages.sort_by_key(|stage| (stage.start_ns, stage.end_ns));
    for stage in &mut stages {
        if let Some((firmware, shift)) = firmware {
            firmware_parts(stage, firmware, shift);
        }
        if let Some(packets) = packets {
            network_parts(stage, packets);
        }
        stage.parts.sort_by_key(|part| (part.start_ns, part.end_ns));
    }
    stages
}

fn first_start_ns(stages: &[AxisStage]) -> Option<i64> {
    stages.iter().map(|stage| stage.start_ns).min()
}

/// Adds the firmware's outer phases to the firmware stages.
fn firmware_parts(stage: &mut AxisStage, firmware: &AxisFirmware<'_>, shift_ns: i64) {
    if stage.source != AxisSource::Firmware {
        return;
    }
    for phase in firmware.phases.iter().filter(|phase| phase.parent.is_empty()) {
        let ends = (phase.start_ns.saturating_add(shift_ns), phase.end_ns.saturating_add(shift_ns));
        add_part(stage, (&phase.name, AxisSource::Firmware, ""), ends);
    }
}

/// Adds the network boot stages to a stage, and computes its time off the network.
fn network_parts(stage: &mut AxisStage, (boot, shift_ns): (&NetworkBoot, i64)) {
    let start_ns = stage.start_ns.max(boot.start_ns.saturating_add(shift_ns));
    let end_ns = stage.end_ns.min(boot.end_ns.saturating_add(shift_ns));
    if end_ns <= start_ns {
        return;
    }
    let mut on_network_ns = 0_i64;
    for part in &boot.stages {
        if part.kind == StageKind::Client {
            continue;
        }
        let ends = (part.start_ns.saturating_add(shift_ns), part.end_ns.saturating_add(shift_ns));
        // The stages of a network boot do not overlap, so their durations add up.
        let name = part.kind.as_str();
        on_network_ns = on_network_ns.saturating_add(add_part(stage, (name, AxisSource::Capture, &part.detail), ends));
    }
    // Time in the operating system does not count as off-network time.
    let is_before_system = stage.source != AxisSource::Recording
        || [PhaseName::Firmware, PhaseName::Loader].iter().any(|phase| phase.as_str() == stage.name);
    stage.off_network_ns =
        is_before_system.then(|| end_ns.saturating_sub(start_ns).saturating_sub(on_network_ns).max(0));
}

/// Adds the part, clipped to the stage, and returns its duration in ns.
fn add_part(stage: &mut AxisStage, (name, source, detail): (&str, AxisSource, &str), (start, end): (i64, i64)) -> i64 {
    let (start_ns, end_ns) = (start.max(stage.start_ns), end.min(stage.end_ns));
    if end_ns <= start_ns {
        return 0;
    }
    let duration_ns = end_ns.saturating_sub(start_ns);
    stage.parts.push(AxisPart {
        name: name.to_owned(),
        source,
        detail: detail.to_owned(),
        start_ns,
        end_ns,
        duration_ns,
    });
    duration_ns
}
