//! Converts the firmware's own measurements of a boot to a run: stages, phases, drivers and devices.

use super::Origin;
use super::collector::Collector;
use crate::run::{Category, Exclusion, ExclusionReason, Run, RunSubject};
use onoff_firmware_times::FirmwareReport;
use onoff_trace::firmware::FirmwareProblemKind;

/// Converts a firmware report. Drivers and devices count with their self time.
#[must_use]
pub fn firmware_run(origin: &Origin, report: &FirmwareReport) -> Run {
    let mut measures = Collector::new(RunSubject::Firmware);
    let intervals = &report.intervals;
    measures.total("total", intervals.total_ns);
    measures.total("time1", intervals.time1_ns);
    measures.total("time2", intervals.time2_ns);
    for stage in &report.stages {
        measures.stage(stage.name.as_str(), stage.start_ns, stage.duration_ns);
    }
    for phase in &report.phases {
        measures.stage(&phase.name, phase.start_ns, phase.duration_ns);
    }
    for driver in report.drivers.iter().filter(|driver| driver.self_ns > 0) {
        measures.item(Category::Driver, &driver.name, driver.start_ns, Some(driver.self_ns), false);
    }
    for device in report.devices.iter().filter(|device| device.self_ns > 0) {
        measures.item(
            Category::Device,
            &device.path,
            intervals.firmware_init_ns.unwrap_or(0),
            Some(device.self_ns),
            false,
        );
    }
    let invalidates = |kind| {
        matches!(
            kind,
            FirmwareProblemKind::ClockNotReset
                | FirmwareProblemKind::NotMonotonic
                | FirmwareProblemKind::ResetEndInTicks
        )
    };
    let fault = report.faults.iter().find(|fault| invalidates(fault.kind));
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Firmware,
        kind: String::new(),
        exclusions: fault
            .map(|fault| Exclusion { reason: ExclusionReason::Losses, text: fault.kind.as_str().to_owned() })
            .into_iter()
            .collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}
