//! Applications and services that are asked and told of sleep, one after the other.

use super::Stage;
use super::applications::Planned;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Edge, Note, Step};
use crate::scenario::power::{Answer, Power};
use crate::span::Span;
use crate::transition_truth::Notification;
use onoff_testkit::events::power as events;

/// What is said to those who run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Query,
    Suspend,
    Resume,
}

impl Message {
    fn of(self, answers: [&Option<Answer>; 3]) -> Option<&Answer> {
        let [query, suspend, resume] = answers;
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

/// The window server tells applications one after the other.
pub(super) fn tell_applications(
    stage: &mut Stage<'_>,
    power: &Power,
    planned: &[Planned],
    number: usize,
    message: Message,
) -> Vec<Step> {
    let (id, kind) = match message {
        Message::Query => (12, "application_query_suspend"),
        Message::Suspend => (16, "application_suspend"),
        Message::Resume => (28, "application_resume"),
    };
    let scenario = stage.scenario;
    let mut steps = Vec::new();
    for (application, planned) in scenario.applications.iter().zip(planned) {
        let answers = [&application.query, &application.suspend, &application.resume];
        let Some(answer) = message.of(answers) else {
            continue;
        };
        let pid = stage.plan.processes[planned.process].id;
        let what = format!("power {number} {} {pid}", message.text());
        let (told, answered) = (format!("{what} told"), format!("{what} answered"));
        let mut own = vec![stage.wait(&told), Step::Begin];
        own.extend(stage.plan.steps(&answer.work));
        own.push(Step::Pad(answer.time.0));
        own.push(stage.set(&answered));
        stage.plan.threads[planned.thread].steps.extend(own);

        if !stage.records_power() {
            steps.push(stage.set(&told));
            steps.push(stage.wait(&answered));
            continue;
        }
        let row = stage.notification(Notification {
            kind,
            name: application.image.clone(),
            pid: Some(pid),
            session: Some(1),
            ..Notification::default()
        });
        let begin = events::application_start(id, pid, &application.image);
        steps.push(stage.tell(begin, Note::Notification(row, Edge::Begin)));
        steps.push(stage.set(&told));
        // Nobody waits for the answer to "resumed", and there is no record of it.
        if message != Message::Resume {
            let waits = wait(stage, answer, &answered, power.application_timeout);
            steps.push(waits);
            let end = events::application_stop(id + 1, pid);
            steps.push(stage.tell(end, Note::Notification(row, Edge::End)));
        }
    }
    let csrss = stage.cast.teller;
    by(stage, csrss, number, &format!("{} apps", message.text()), steps)
}

/// The manager tells services one after the other.
pub(super) fn tell_services(stage: &mut Stage<'_>, power: &Power, number: usize, message: Message) -> Vec<Step> {
    let (id, kind) = match message {
        Message::Query => (14, "service_query_suspend"),
        Message::Suspend => (18, "service_suspend"),
        Message::Resume => (29, "service_resume"),
    };
    let scenario = stage.scenario;
    let mut steps = Vec::new();
    for (index, service) in scenario.services.service.iter().enumerate() {
        let answers = [&service.query, &service.suspend, &service.resume];
        let Some(answer) = message.of(answers) else {
            continue;
        };
        let name = &service.name;
        let what = format!("power {number} {} service {name}", message.text());
        let (told, answered) = (format!("{what} told"), format!("{what} answered"));
        let mut own = vec![stage.wait(&told), Step::Begin];
        own.extend(stage.plan.steps(&answer.work));
        own.push(Step::Pad(answer.time.0));
        own.push(stage.set(&answered));
        own.push(stage.wait("never"));
        let host = stage.plan.service_hosts[index];
        let thread = stage.plan.thread(host, service.priority, own);
        stage.plan.threads[thread].service_tag = index as u32 + 1;

        if !stage.records_power() {
            steps.push(stage.set(&told));
            steps.push(stage.wait(&answered));
            continue;
        }
        let row =
            stage.notification(Notification { kind, name: name.clone(), session: Some(0), ..Notification::default() });
        let begin = events::service_start(id, name);
        steps.push(stage.tell(begin, Note::Notification(row, Edge::Begin)));
        steps.push(stage.set(&told));
        if message != Message::Resume {
            let waits = wait(stage, answer, &answered, power.service_timeout);
            steps.push(waits);
            let end = events::service_stop(id + 1, name);
            steps.push(stage.tell(end, Note::Notification(row, Edge::End)));
        }
    }
    let manager = stage.cast.manager;
    let name = format!("{} services", message.text());
    by(stage, manager, number, &name, steps)
}

fn wait(stage: &mut Stage<'_>, answer: &Answer, answered: &str, timeout: Span) -> Step {
    if answer.hangs || answer.time > timeout {
        let answered = stage.plan.signal(answered);
        Step::WaitAtMost(answered, timeout.0)
    } else {
        stage.wait(answered)
    }
}

/// Steps that a thread of a process takes when it is asked, and waiting for them.
fn by(stage: &mut Stage<'_>, process: usize, number: usize, name: &str, told: Vec<Step>) -> Vec<Step> {
    let go = format!("power {number} {name}");
    let over = format!("{go} over");
    let mut steps = vec![stage.wait(&go)];
    steps.extend(told);
    steps.push(stage.set(&over));
    steps.push(stage.wait("never"));
    stage.plan.thread(process, BOOT_PRIORITY, steps);
    vec![stage.set(&go), stage.wait(&over)]
}
