//! Converts a boot to a run.

use crate::RunSubject;
use onoff_trace::{DevicePhase, ServiceChange};
use onoff_transitions::Variant;
use onoff_transitions::{PhaseName, SuspendStage};

use hashbrown::HashMap;

use super::collector::Collector;
use super::{OWN_INITIALIZATION, Origin, losses, operations, variant};
use crate::run::{Category, Exclusion, ExclusionReason, MeasureUnit, Run};
use onoff_transitions::boot::{BootReport, ReadAhead, TrainingState};
use onoff_transitions::suspend::PowerTransition;
use onoff_usage::cpu::ProcessCpu;
use onoff_usage::processes::ProcessLifetime;
use onoff_usage::user_input::without_user_input;

#[must_use]
pub fn boot_run(origin: &Origin, report: &BootReport) -> Run {
    let mut measures = Collector::new(RunSubject::Boot);
    measures.total("total", report.total_ns);
    measures.total("total_with_idle", report.details.total_with_idle_ns);
    measures.total("main_path", report.main_path_ns());
    let before_kernel = &report.details.before_kernel;
    measures.total("firmware", before_kernel.firmware.duration_ns);
    measures.total("boot_manager", before_kernel.boot_manager.duration_ns);
    measures.total("os_loader", report.details.os_loader_ns);
    measures.total("to_desktop", to_desktop(report));
    measures.total("from_reset", report.details.total_from_reset_ns);
    measures.total("logon_to_desktop", report.details.logon.to_desktop_ns);
    measures.total("services", report.details.auto_start.duration_ns);
    for phase in &report.details.device_phases {
        let name = match phase.name {
            DevicePhase::BootStart => "boot_start",
            DevicePhase::SystemStart => "system_start",
            DevicePhase::Later => continue,
        };
        measures.total(name, phase.interval.duration_ns);
    }
    let labels = Labels::new(&report.details.processes);
    let boot_phases = || report.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail);
    for phase in boot_phases() {
        measures.phase_with_labels(phase, |process| labels.name(process));
    }
    add_numbers(report, &mut measures);
    let doubtful = !report.details.losses_affecting_units.is_empty();
    for service in &report.units {
        if service.kind == ServiceChange::Start {
            measures.item(Category::Service, &service.name, service.start_ns, service.duration_ns, doubtful);
            let part = format!("{}.{OWN_INITIALIZATION}", service.name);
            measures.part(Category::Service, &part, service.initialization_ns, doubtful);
        }
    }
    let doubtful = !report.details.losses_affecting_devices.is_empty();
    operations(&report.details.devices, doubtful, &mut measures);
    let affecting_losses: Vec<String> =
        boot_phases().flat_map(|phase| phase.affecting_losses.iter().cloned()).collect();
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Boot,
        kind: variant(report.variant),
        exclusions: [
            untrained_exclusion(&report.details.read_ahead),
            losses(&report.losses, &affecting_losses),
            origin.exclusion(),
        ]
        .into_iter()
        .flatten()
        .collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: report.user_input_ns,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}

/// Converts the boot half of a fast startup, which replaces a full boot on computers with fast startup.
#[must_use]
pub fn fast_startup_run(origin: &Origin, transition: &PowerTransition) -> Run {
    let mut measures = Collector::new(RunSubject::Boot);
    // The desktop appears at the end of the shell's phase.
    let desktop_ns =
        transition.phases.iter().find(|phase| phase.name == PhaseName::ExplorerInit).and_then(|phase| phase.end_ns);
    let resumed_ns = desktop_ns.zip(transition.details.resume.measured.start_ns).map(|(end, start)| {
        let session_phases = transition.phases.iter().filter(|phase| phase.half == Some(SuspendStage::After));
        let user_input_ns = session_phases.fold(0_i64, |sum, phase| sum.saturating_add(phase.user_input_ns));
        without_user_input(end.saturating_sub(start), user_input_ns)
    });
    let resume_ns = transition.details.resume.whole_ns;
    let settled = transition.settled().zip(resume_ns);
    measures.total("total", settled.map(|(settling, ns)| ns.saturating_add(settling.busy_ns)));
    measures.total(
        "total_with_idle",
        settled.map(|(settling, ns)| ns.saturating_add(settling.busy_ns).saturating_add(settling.idle_ns)),
    );
    measures.total("main_path", resumed_ns);
    if let Some(parts) = &transition.details.resume_parts {
        measures.total("firmware", parts.firmware_ns);
        measures.total("boot_manager", parts.boot_manager_ns);
        measures.total("os_loader", parts.loader_ns);
        measures.total("to_desktop", resume_ns);
    }
    for phase in &transition.phases {
        if matches!(phase.half, Some(SuspendStage::Resume | SuspendStage::After)) {
            measures.phase(phase);
        }
    }
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Boot,
        kind: variant(Variant::FastStartup),
        exclusions: [losses(&transition.losses, &transition.affecting_losses), origin.exclusion()]
            .into_iter()
            .flatten()
            .collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: transition.user_input_ns,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}

/// Returns the time from power-on to the desktop, in ns; `None` unless all parts were recorded.
fn to_desktop(report: &BootReport) -> Option<i64> {
    let before_kernel = &report.details.before_kernel;
    let before_kernel_ns = before_kernel
        .firmware
        .duration_ns?
        .saturating_add(before_kernel.boot_manager.duration_ns.unwrap_or(0))
        .saturating_add(report.details.os_loader_ns?);
    let user_input_ns = before_kernel.user_input.duration_ns.unwrap_or(0);
    Some(without_user_input(before_kernel_ns, user_input_ns).saturating_add(report.main_path_ns()?))
}

fn add_numbers(report: &BootReport, measures: &mut Collector) {
    let disks = || {
        report.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail).filter_map(|phase| phase.disk.as_ref())
    };
    if disks().next().is_some() {
        let bytes = |bytes_of: fn(&onoff_usage::disk::DiskOperations) -> u64| {
            let sum = disks().fold(0_u64, |sum, disk| sum.saturating_add(bytes_of(&disk.operations)));
            i64::try_from(sum).unwrap_or(i64::MAX)
        };
        measures.number("disk_read", MeasureUnit::Bytes, bytes(|disk| disk.read.bytes));
        measures.number("disk_written", MeasureUnit::Bytes, bytes(|disk| disk.write.bytes));
    }
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let is_started = |process: &&onoff_usage::processes::ProcessLifetime| process.start_ns.is_some();
    measures.number("processes", MeasureUnit::Count, count(report.details.processes.iter().filter(is_started).count()));
}

/// Process names for measures. Names of service hosts include the group and service, because there are many service
/// hosts.
struct Labels<'a>(HashMap<(u32, &'a str), String>);

impl<'a> Labels<'a> {
    fn new(processes: &'a [ProcessLifetime]) -> Self {
        let hosts = processes.iter().filter(|process| process.image.eq_ignore_ascii_case("svchost.exe"));
        Self(
            hosts
                .filter_map(|process| {
                    let (_, arguments) = process.command_line.split_once(" -k ")?;
                    let mut words = arguments.split_whitespace();
                    let mut label = format!("{} -k {}", process.image, words.next()?);
                    while let Some(word) = words.next() {
                        if let ("-s", Some(service)) = (word, words.next()) {
                            label = format!("{label} -s {service}");
                        }
                    }
                    Some(((process.pid, process.image.as_str()), label))
                })
                .collect(),
        )
    }

    fn name<'l>(&'l self, process: &'l ProcessCpu) -> &'l str {
        process
            .pid
            .and_then(|pid| self.0.get(&(pid, process.image.as_str())))
            .map_or(process.image.as_str(), String::as_str)
    }
}

fn untrained_exclusion(read_ahead: &ReadAhead) -> Option<Exclusion> {
    let text = match (read_ahead.state, read_ahead.training_count) {
        (TrainingState::Untrained, _) => format!("ReadyBoot was untrained (0 of {} boots)", ReadAhead::TRAINED_BOOTS),
        (TrainingState::Training, Some(count)) => {
            format!("ReadyBoot was trained on {count} of {} boots", ReadAhead::TRAINED_BOOTS)
        }
        _ => return None,
    };
    Some(Exclusion { reason: ExclusionReason::Untrained, text })
}
