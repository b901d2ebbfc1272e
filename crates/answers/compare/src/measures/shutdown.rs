//! Converts a shutdown to a run.

use super::collector::Collector;
use super::{Origin, losses, variant};
use crate::RunSubject;
use crate::run::{Category, Run};
use onoff_transitions::shutdown::ShutdownReport;

#[must_use]
pub fn shutdown_run(origin: &Origin, report: &ShutdownReport) -> Run {
    let mut measures = Collector::new(RunSubject::Shutdown);
    measures.total("total", report.total_ns);
    measures.total("pre_shutdown", report.details.pre_shutdown.duration_ns);
    measures.total("services", report.details.service_shutdown.duration_ns);
    for phase in &report.phases {
        measures.phase(phase);
    }
    let doubtful = !report.details.losses_affecting_units.is_empty();
    for service in &report.units {
        measures.item(Category::Service, &service.name, service.start_ns, service.duration_ns, doubtful);
    }
    let doubtful = !report.details.losses_affecting_sessions.is_empty();
    for application in report.details.sessions.iter().flat_map(|session| &session.applications) {
        measures.item(
            Category::Application,
            &application.name,
            application.start_ns,
            application.duration_ns,
            doubtful,
        );
    }
    for activity in report.details.kernel_steps.iter().chain(&report.details.subscribers).chain(&report.details.scripts)
    {
        measures.item(Category::Step, &activity.name, activity.start_ns, activity.duration_ns, false);
    }
    for device in &report.details.devices {
        measures.item(Category::Device, &device.device, device.start_ns, device.duration_ns, false);
    }
    let affecting_losses: Vec<String> =
        report.phases.iter().flat_map(|phase| phase.affecting_losses.iter().cloned()).collect();
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Shutdown,
        kind: variant(report.variant),
        exclusions: [losses(&report.losses, &affecting_losses), origin.exclusion()].into_iter().flatten().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures: measures.finish(),
    }
}
