//! Boots, shutdowns and sleeps of Linux as runs. Units of systemd are services, so that one limit fits both systems.

use crate::compare::RunSubject;
use crate::transition::PhaseName;
use onoff_trace::Losses;

use super::collector::Collector;
use super::{Origin, losses, operations};
use crate::compare::run::{Category, MeasureUnit, Run};
use crate::transition::linux::boot::LinuxBootReport;
use crate::transition::linux::shutdown::LinuxShutdownReport;
use crate::transition::linux::suspend::{LinuxSleep, SleepOutcome};

/// The measures of a boot of Linux.
#[must_use]
pub fn of_linux_boot(origin: &Origin, report: &LinuxBootReport) -> Run {
    let mut measures = Collector::keeping_case(RunSubject::Boot);
    measures.total("total", report.total_ns);
    measures.total("startup", report.startup_ns);
    let target = report.default_target.as_ref();
    measures.total("default_target", target.map(|target| target.reached_ns));
    measures.total("manager", report.manager.whole.duration_ns);
    let of_boot = || report.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail);
    for phase in of_boot() {
        measures.phase(phase);
    }
    let doubtful = !report.units_touched_by.is_empty();
    for unit in report.units.iter().filter(|unit| unit.automatic) {
        measures.thing(Category::Service, &unit.name, unit.start_ns, unit.duration_ns, doubtful);
    }
    let doubtful = !report.devices_touched_by.is_empty();
    operations(&report.devices, doubtful, &mut measures);
    let touched_by: Vec<String> = of_boot().flat_map(|phase| phase.touched_by.iter().cloned()).collect();
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Boot,
        kind: "linux".to_owned(),
        set_apart: losses(&report.losses, &touched_by).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        person_ns: 0,
        measures: measures.finish(),
    }
}

/// The measures of a shutdown of Linux.
#[must_use]
pub fn of_linux_shutdown(origin: &Origin, report: &LinuxShutdownReport) -> Run {
    let mut measures = Collector::keeping_case(RunSubject::Shutdown);
    measures.total("total", report.total_ns);
    let killed = i64::try_from(report.killed.len()).unwrap_or(i64::MAX);
    measures.number("killed_processes", MeasureUnit::Count, killed);
    for phase in &report.phases {
        measures.phase(phase);
    }
    for unit in &report.units {
        measures.thing(Category::Service, &unit.name, unit.start_ns, unit.duration_ns, false);
    }
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Shutdown,
        kind: report.kind.as_str().to_owned(),
        set_apart: losses(&report.losses, &report.touched_by).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        person_ns: 0,
        measures: measures.finish(),
    }
}

/// The measures of a sleep of Linux, of a recording that lost `lost`.
#[must_use]
pub fn of_linux_sleep(origin: &Origin, sleep: &LinuxSleep, lost: &Losses) -> Run {
    let mut measures = Collector::keeping_case(RunSubject::Suspend);
    measures.total("total", sleep.work_ns);
    measures.total("suspend", sleep.suspend.duration_ns);
    measures.total("resume", sleep.resume.duration_ns);
    let settling = &sleep.post_resume;
    measures.total("post_resume", settling.end_ns.map(|_| settling.busy_ns));
    for phase in &sleep.phases {
        measures.phase(phase);
    }
    for callback in &sleep.callbacks {
        let Some(phase) = callback.phase else {
            continue;
        };
        for (category, name) in [(Category::Driver, &callback.driver), (Category::Device, &callback.device)] {
            if !name.is_empty() {
                measures.thing(
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
        // What was given up did not sleep, whatever it was asked for.
        kind: match sleep.outcome {
            SleepOutcome::GivenUp => "given_up",
            _ => sleep.state.as_str(),
        }
        .to_owned(),
        set_apart: losses(lost, &sleep.touched_by).into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        person_ns: 0,
        measures: measures.finish(),
    }
}
