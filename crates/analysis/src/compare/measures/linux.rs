//! Boots of Linux as runs. Units of systemd are services, so that one limit fits both systems.

use super::collector::Collector;
use super::{Origin, losses, operations};
use crate::compare::run::{Category, Run, TransitionName};
use crate::transition::linux::boot::{LinuxBootReport, LinuxPhaseName};

/// The measures of a boot of Linux.
#[must_use]
pub fn of_linux_boot(origin: &Origin, report: &LinuxBootReport) -> Run {
    let mut measures = Collector::new(TransitionName::Boot);
    measures.total("total", report.total_ns);
    measures.total("startup", report.startup_ns);
    let target = report.default_target.as_ref();
    measures.total("default_target", target.map(|target| target.reached_ns));
    measures.total("manager", report.manager.whole.duration_ns);
    let of_boot = || {
        report
            .phases
            .iter()
            .filter(|phase| phase.name != LinuxPhaseName::TraceTail)
    };
    for phase in of_boot() {
        measures.phase(phase.name.as_str(), phase.start_ns, phase.duration_ns);
        measures.usage(phase.cpu.as_ref(), phase.disk.as_ref());
    }
    let doubtful = !report.units_touched_by.is_empty();
    for unit in report.units.iter().filter(|unit| unit.automatic) {
        measures.thing(
            Category::Service,
            &unit.name,
            unit.start_ns,
            unit.total_ns,
            doubtful,
        );
    }
    let doubtful = !report.devices_touched_by.is_empty();
    operations(&report.devices, doubtful, &mut measures);
    let touched_by: Vec<String> = of_boot()
        .flat_map(|phase| phase.touched_by.iter().cloned())
        .collect();
    Run {
        name: origin.name.clone(),
        transition: TransitionName::Boot,
        kind: "linux".to_owned(),
        set_apart: losses(&report.losses, &touched_by).into_iter().collect(),
        measures: measures.finish(),
    }
}
