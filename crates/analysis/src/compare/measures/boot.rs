//! A boot as a run.

use onoff_trace::{DeviceOperationKind, DevicePhase, ServiceChange};

use super::collector::Collector;
use super::{Origin, losses};
use crate::compare::run::{Category, Run, SetApart, SetApartReason, TransitionName, Unit};
use crate::transition::boot::{BootKind, BootReport, PhaseName, ReadAhead, TrainingState};
use crate::transition::suspend::{PowerHalf, PowerTransition};

/// The measures of a boot.
#[must_use]
pub fn of_boot(origin: &Origin, report: &BootReport) -> Run {
    let mut measures = Collector::new(TransitionName::Boot);
    measures.total("total", report.total_ns);
    measures.total("main_path", report.main_path_boot.duration_ns);
    let earlier = &report.before_kernel;
    measures.total("firmware", earlier.firmware.duration_ns);
    measures.total("boot_manager", earlier.boot_manager.duration_ns);
    measures.total("os_loader", report.os_loader_ns);
    measures.total("to_desktop", to_desktop(report));
    measures.total("from_reset", report.total_from_reset_ns);
    measures.total("services", report.auto_start.duration_ns);
    for phase in &report.device_phases {
        let name = match phase.name {
            DevicePhase::BootStart => "boot_start",
            DevicePhase::SystemStart => "system_start",
            DevicePhase::Later => continue,
        };
        measures.total(name, phase.span.duration_ns);
    }
    let of_boot = || {
        report
            .phases
            .iter()
            .filter(|phase| phase.name != PhaseName::TraceTail)
    };
    for phase in of_boot() {
        measures.phase(phase.name.as_str(), phase.start_ns, phase.duration_ns);
        measures.usage(phase.cpu.as_ref(), phase.disk.as_ref());
    }
    numbers(report, &mut measures);
    let doubtful = !report.services_touched_by.is_empty();
    for service in &report.services {
        if service.kind == ServiceChange::Start {
            measures.thing(
                Category::Service,
                &service.name,
                service.start_ns,
                service.total_ns,
                doubtful,
            );
        }
    }
    devices(report, &mut measures);
    let touched_by: Vec<String> = of_boot()
        .flat_map(|phase| phase.touched_by.iter().cloned())
        .collect();
    Run {
        name: origin.name.clone(),
        transition: TransitionName::Boot,
        kind: kind(earlier.boot_kind).to_owned(),
        set_apart: [
            untrained(&report.read_ahead),
            losses(&report.losses, &touched_by),
            origin.set_apart(),
        ]
        .into_iter()
        .flatten()
        .collect(),
        measures: measures.finish(),
    }
}

/// The half of a fast startup that comes back, which is what a boot is on such a computer.
#[must_use]
pub fn of_fast_startup(
    origin: &Origin,
    transition: &PowerTransition,
    lost: &onoff_trace::Losses,
) -> Run {
    let mut measures = Collector::new(TransitionName::Boot);
    let resume_ns = transition.resume.measured.duration_ns;
    let parts = transition.resume_parts.as_ref();
    let settled_ns = transition
        .post_resume
        .end_ns
        .map(|_| transition.post_resume.busy_ns);
    measures.total(
        "total",
        resume_ns
            .zip(settled_ns)
            .map(|(resume, settling)| resume.saturating_add(settling)),
    );
    measures.total("main_path", resume_ns);
    if let Some(parts) = parts {
        measures.total("firmware", parts.firmware_ns);
        measures.total("boot_manager", parts.boot_manager_ns);
        measures.total("os_loader", parts.loader_ns);
    }
    let before_kernel = parts.and_then(|parts| {
        let ns = parts.firmware_ns?.saturating_add(parts.loader_ns?);
        Some(ns.saturating_add(parts.boot_manager_ns.unwrap_or(0)))
    });
    measures.total(
        "to_desktop",
        before_kernel
            .zip(resume_ns)
            .map(|(before, resume)| before.saturating_add(resume)),
    );
    for phase in &transition.phases {
        if matches!(phase.name.half(), PowerHalf::Resume | PowerHalf::After) {
            measures.phase(phase.name.as_str(), phase.start_ns, phase.duration_ns);
            measures.usage(phase.cpu.as_ref(), phase.disk.as_ref());
        }
    }
    Run {
        name: origin.name.clone(),
        transition: TransitionName::Boot,
        kind: kind(BootKind::FastStartup).to_owned(),
        set_apart: [losses(lost, &transition.touched_by), origin.set_apart()]
            .into_iter()
            .flatten()
            .collect(),
        measures: measures.finish(),
    }
}

/// From power-on to the desktop, when all parts were recorded, ns.
fn to_desktop(report: &BootReport) -> Option<i64> {
    let earlier = &report.before_kernel;
    let before_kernel = earlier
        .firmware
        .duration_ns?
        .saturating_add(earlier.boot_manager.duration_ns.unwrap_or(0))
        .saturating_add(report.os_loader_ns?);
    Some(before_kernel.saturating_add(report.main_path_boot.duration_ns?))
}

fn numbers(report: &BootReport, measures: &mut Collector) {
    let disks = || {
        report
            .phases
            .iter()
            .filter(|phase| phase.name != PhaseName::TraceTail)
            .filter_map(|phase| phase.disk.as_ref())
    };
    if disks().next().is_some() {
        let bytes = |of: fn(&crate::disk::DiskOperations) -> u64| {
            let sum = disks().fold(0_u64, |sum, disk| sum.saturating_add(of(&disk.operations)));
            i64::try_from(sum).unwrap_or(i64::MAX)
        };
        measures.number("disk_read", Unit::Bytes, bytes(|disk| disk.read.bytes));
        measures.number("disk_written", Unit::Bytes, bytes(|disk| disk.write.bytes));
    }
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let started = |process: &&crate::processes::ProcessLife| process.start_ns.is_some();
    measures.number(
        "processes",
        Unit::Count,
        count(report.processes.iter().filter(started).count()),
    );
}

fn devices(report: &BootReport, measures: &mut Collector) {
    let doubtful = !report.devices_touched_by.is_empty();
    let mut operations: Vec<_> = report.devices.iter().collect();
    operations.sort_by_key(|operation| operation.start_ns);
    for operation in operations {
        let what = match operation.kind {
            DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit => "init",
            DeviceOperationKind::DriverLoad | DeviceOperationKind::ModuleLoad => "load",
            DeviceOperationKind::DeviceStart => "start",
            DeviceOperationKind::DeviceEnum => "enumerate",
            DeviceOperationKind::Initcall => "initcall",
            DeviceOperationKind::Probe => "probe",
        };
        for (category, name) in [
            (Category::Driver, &operation.driver),
            (Category::Device, &operation.device),
        ] {
            if !name.is_empty() {
                measures.thing(
                    category,
                    &format!("{name}.{what}"),
                    operation.start_ns,
                    operation.duration_ns,
                    doubtful,
                );
            }
        }
    }
}

fn untrained(read_ahead: &ReadAhead) -> Option<SetApart> {
    let text = match (read_ahead.state, read_ahead.training_count) {
        (TrainingState::Untrained, _) => "the boot read-ahead had learnt from no boot".to_owned(),
        (TrainingState::Training, Some(count)) => format!(
            "the boot read-ahead had learnt from {count} of {} boots",
            ReadAhead::TRAINED_BOOTS
        ),
        _ => return None,
    };
    Some(SetApart {
        reason: SetApartReason::Untrained,
        text,
    })
}

const fn kind(kind: BootKind) -> &'static str {
    match kind {
        BootKind::Cold => "cold",
        BootKind::FastStartup => "fast_startup",
        BootKind::Resume => "resume",
        BootKind::Unknown => "",
    }
}
