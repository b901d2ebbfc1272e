//! Notifications of sleep to applications and services, one after another.

use super::Planner;
use super::applications::PlannedApplication;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Edge, Step, TruthNote};
use crate::scenario::power::{NotificationResponse, Power};
use crate::transition_truth::Notification;
use crate::units::TickDuration;
use onoff_testkit::events::power as events;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Query,
    Suspend,
    Resume,
}

impl Message {
    fn select_response(self, responses: [&Option<NotificationResponse>; 3]) -> Option<&NotificationResponse> {
        let [query, suspend, resume] = responses;
        match self {
            Self::Query => query.as_ref(),
            Self::Suspend => suspend.as_ref(),
            Self::Resume => resume.as_ref(),
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        }
    }
}

/// Returns the steps of the window server, which notifies applications one at a time.
pub(super) fn notify_applications(
    planner: &mut Planner<'_>,
    power: &Power,
    planned: &[PlannedApplication],
    number: usize,
    message: Message,
) -> Vec<Step> {
    let (id, kind) = match message {
        Message::Query => (12, "application_query_suspend"),
        Message::Suspend => (16, "application_suspend"),
        Message::Resume => (28, "application_resume"),
    };
    let scenario = planner.scenario;
    let mut steps = Vec::new();
    for (application, planned) in scenario.applications.iter().zip(planned) {
        let responses = [&application.query, &application.suspend, &application.resume];
        let Some(response) = message.select_response(responses) else {
            continue;
        };
        let pid = planner.plan.processes[planned.process].id;
        let label = format!("power {number} {} {pid}", message.text());
        let (notified, responded) = (format!("{label} notified"), format!("{label} responded"));
        let mut thread_steps = vec![planner.wait(&notified), Step::Begin];
        thread_steps.extend(planner.plan.steps(&response.work));
        thread_steps.push(Step::PadTo(response.time.0));
        thread_steps.push(planner.set(&responded));
        planner.plan.threads[planned.thread].steps.extend(thread_steps);

        if !planner.records_power() {
            steps.push(planner.set(&notified));
            steps.push(planner.wait(&responded));
            continue;
        }
        let row = planner.notification(Notification {
            kind,
            name: application.image.clone(),
            pid: Some(pid),
            session: Some(1),
            ..Notification::default()
        });
        let begin = events::application_start(id, pid, &application.image);
        steps.push(planner.emit(begin, TruthNote::Notification(row, Edge::Begin)));
        steps.push(planner.set(&notified));
        // Windows does not wait for the response to "resumed" and does not record it.
        if message != Message::Resume {
            let wait_step = wait_for_response(planner, response, &responded, power.application_timeout);
            steps.push(wait_step);
            let end = events::application_stop(id + 1, pid);
            steps.push(planner.emit(end, TruthNote::Notification(row, Edge::End)));
        }
    }
    let csrss = planner.actors.notifier;
    run_in(planner, csrss, number, &format!("{} apps", message.text()), steps)
}

/// Returns the steps of the service manager, which notifies services one at a time.
pub(super) fn notify_services(planner: &mut Planner<'_>, power: &Power, number: usize, message: Message) -> Vec<Step> {
    let (id, kind) = match message {
        Message::Query => (14, "service_query_suspend"),
        Message::Suspend => (18, "service_suspend"),
        Message::Resume => (29, "service_resume"),
    };
    let scenario = planner.scenario;
    let mut steps = Vec::new();
    for (index, service) in scenario.services.service.iter().enumerate() {
        let responses = [&service.query, &service.suspend, &service.resume];
        let Some(response) = message.select_response(responses) else {
            continue;
        };
        let name = &service.name;
        let label = format!("power {number} {} service {name}", message.text());
        let (notified, responded) = (format!("{label} notified"), format!("{label} responded"));
        let mut thread_steps = vec![planner.wait(&notified), Step::Begin];
        thread_steps.extend(planner.plan.steps(&response.work));
        thread_steps.push(Step::PadTo(response.time.0));
        thread_steps.push(planner.set(&responded));
        thread_steps.push(planner.wait("never"));
        let host = planner.plan.service_hosts[index];
        let thread = planner.plan.thread(host, service.priority, thread_steps);
        planner.plan.threads[thread].service_tag = index as u32 + 1;

        if !planner.records_power() {
            steps.push(planner.set(&notified));
            steps.push(planner.wait(&responded));
            continue;
        }
        let row = planner.notification(Notification {
            kind,
            name: name.clone(),
            session: Some(0),
            ..Notification::default()
        });
        let begin = events::service_start(id, name);
        steps.push(planner.emit(begin, TruthNote::Notification(row, Edge::Begin)));
        steps.push(planner.set(&notified));
        if message != Message::Resume {
            let wait_step = wait_for_response(planner, response, &responded, power.service_timeout);
            steps.push(wait_step);
            let end = events::service_stop(id + 1, name);
            steps.push(planner.emit(end, TruthNote::Notification(row, Edge::End)));
        }
    }
    let manager = planner.actors.manager;
    let name = format!("{} services", message.text());
    run_in(planner, manager, number, &name, steps)
}

fn wait_for_response(
    planner: &mut Planner<'_>,
    response: &NotificationResponse,
    responded: &str,
    timeout: TickDuration,
) -> Step {
    if response.hangs || response.time > timeout {
        let responded = planner.plan.signal(responded);
        Step::WaitAtMost(responded, timeout.0)
    } else {
        planner.wait(responded)
    }
}

/// Plans steps of a thread of `process`; returns the steps that start them and wait for them.
fn run_in(planner: &mut Planner<'_>, process: usize, number: usize, name: &str, notify: Vec<Step>) -> Vec<Step> {
    let start_signal = format!("power {number} {name}");
    let done = format!("{start_signal} done");
    let mut steps = vec![planner.wait(&start_signal)];
    steps.extend(notify);
    steps.push(planner.set(&done));
    steps.push(planner.wait("never"));
    planner.plan.thread(process, BOOT_PRIORITY, steps);
    vec![planner.set(&start_signal), planner.wait(&done)]
}
