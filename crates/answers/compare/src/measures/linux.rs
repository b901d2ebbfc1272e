//! Converts boots, shutdowns and sleeps of Linux to runs. systemd units become services, so that the same limits work
//! for both systems.

use std::collections::{BTreeMap, BTreeSet};

use crate::RunSubject;
use onoff_transitions::PhaseName;

use super::collector::Collector;
use super::{Origin, losses, operations, variant};
use crate::run::{Category, MeasureUnit, Run};
use onoff_transitions::linux::boot::LinuxBootReport;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

#[must_use]
pub fn linux_boot_run(origin: &Origin, report: &LinuxBootReport) -> Run {
    let mut measures = Collector::case_sensitive(RunSubject::Boot);
    measures.total("total", report.total_ns);
    measures.total("startup", report.details.startup_ns);
    let target = report.details.default_target.as_ref();
    measures.total("default_target", target.map(|target| target.reached_ns));
    measures.total("manager", report.details.manager.whole.duration_ns);
    let boot_phases = || report.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail);
    for phase in boot_phases() {
        measures.phase(phase);
    }
    let doubtful = !report.details.losses_affecting_units.is_empty();
    for unit in report.units.iter().filter(|unit| unit.automatic) {
        measures.item(Category::Service, &unit.name, unit.start_ns, unit.duration_ns, doubtful);
    }
    let doubtful = !report.details.losses_affecting_devices.is_empty();
    operations(&report.details.devices, doubtful, &mut measures);
    let affecting_losses: Vec<String> =
        boot_phases().flat_map(|phase| phase.affecting_losses.iter().cloned()).collect();
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Boot,
        kind: "linux".to_owned(),
        exclusions: losses(&report.losses, &affecting_losses).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}

#[must_use]
pub fn linux_shutdown_run(origin: &Origin, report: &LinuxShutdownReport) -> Run {
    let mut measures = Collector::case_sensitive(RunSubject::Shutdown);
    measures.total("total", report.total_ns);
    let killed = i64::try_from(report.details.killed.len()).unwrap_or(i64::MAX);
    measures.number("killed_processes", MeasureUnit::Count, killed);
    for phase in &report.phases {
        measures.phase(phase);
    }
    for unit in &report.units {
        measures.item(Category::Service, &unit.name, unit.start_ns, unit.duration_ns, false);
    }
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Shutdown,
        kind: variant(report.variant),
        exclusions: losses(&report.losses, &report.affecting_losses).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}

#[must_use]
pub fn linux_sleep_run(origin: &Origin, sleep: &LinuxSleep) -> Run {
    let mut measures = Collector::case_sensitive(RunSubject::Suspend);
    measures.total("total", sleep.total_ns);
    measures.total("suspend", sleep.details.suspend.duration_ns);
    measures.total("resume", sleep.details.resume.duration_ns);
    measures.total("post_resume", sleep.settled().map(|settling| settling.busy_ns));
    for phase in &sleep.phases {
        measures.phase(phase);
    }
    // A callback counts for its device. It also counts for its driver if the driver has several devices, because only
    // then do the sums differ.
    let mut devices_by_driver: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for callback in &sleep.details.callbacks {
        if let Some(phase) = callback.details.phase {
            devices_by_driver.entry((&callback.driver, phase.as_str())).or_default().insert(&callback.device);
        }
    }
    for callback in &sleep.details.callbacks {
        let Some(phase) = callback.details.phase else { continue };
        let driver_devices =
            devices_by_driver.get(&(callback.driver.as_str(), phase.as_str())).map_or(0, BTreeSet::len);
        for (category, name) in [(Category::Driver, &callback.driver), (Category::Device, &callback.device)] {
            let is_distinct = category == Category::Device || driver_devices > 1 || callback.device.is_empty();
            if !name.is_empty() && is_distinct {
                measures.item(
                    category,
                    &format!("{name}.{}", phase.as_str()),
                    callback.start_ns,
                    callback.duration_ns,
                    false,
                );
            }
        }
    }
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Suspend,
        // An aborted suspend did not sleep, whatever was requested.
        kind: match sleep.details.outcome {
            SleepOutcome::Aborted => "aborted".to_owned(),
            SleepOutcome::Crashed => "crashed".to_owned(),
            _ => variant(sleep.variant),
        },
        exclusions: losses(&sleep.losses, &sleep.affecting_losses).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}
