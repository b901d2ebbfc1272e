//! Converts a sleep, hibernation or modern standby to a run: both halves, without the time asleep.

use crate::RunSubject;
use onoff_transitions::SuspendStage;

use super::collector::Collector;
use super::{Origin, losses, variant};
use crate::run::{Category, MeasureUnit, Run};
use onoff_transitions::suspend::{PowerDevice, PowerTransition};

#[must_use]
pub fn suspend_run(origin: &Origin, transition: &PowerTransition) -> Run {
    let mut measures = Collector::new(RunSubject::Suspend);
    measures.total("total", transition.total_ns);
    measures.total("suspend", transition.details.suspend.whole_ns);
    measures.total("resume", transition.details.resume.whole_ns);
    measures.total("post_resume", transition.settled().map(|settling| settling.busy_ns));
    if let Some(bytes) = transition.details.hibernate_file_bytes {
        measures.number("hibernate_file", MeasureUnit::Bytes, bytes);
    }
    for phase in &transition.phases {
        if phase.half != Some(SuspendStage::Asleep) {
            measures.phase(phase);
        }
    }
    for notification in &transition.details.notifications {
        let category = if notification.details.phase.as_str().contains("Services") {
            Category::Service
        } else {
            Category::Application
        };
        let name = format!("{}.{}", notification.details.phase.as_str(), notification.name);
        if !notification.name.is_empty() {
            measures.item(category, &name, notification.start_ns, notification.duration_ns, false);
        }
    }
    for device in &transition.details.devices {
        add_device(device, &mut measures);
    }
    for driver in &transition.details.drivers {
        if !driver.driver.is_empty() {
            let name = format!("{}.{}", driver.driver, driver.phase.as_str());
            let phase_start_ns = transition
                .phases
                .iter()
                .find(|phase| phase.name == driver.phase)
                .and_then(|phase| phase.start_ns)
                .or(transition.start_ns)
                .unwrap_or(0);
            measures.item(Category::Driver, &name, phase_start_ns, Some(driver.total_ns), false);
        }
    }
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Suspend,
        kind: variant(transition.variant),
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

fn add_device(device: &PowerDevice, measures: &mut Collector) {
    let phase = device.details.phase.map_or("", |phase| phase.as_str());
    if !device.device.is_empty() && !phase.is_empty() {
        let name = format!("{}.{phase}", device.device);
        measures.item(Category::Device, &name, device.start_ns, device.duration_ns, false);
    }
}
