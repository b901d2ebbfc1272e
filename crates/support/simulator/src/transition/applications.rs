//! Applications, and the window server that asks them to end.

use super::Stage;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Edge, Note, Step};
use crate::scenario::transition::{Application, ApplicationShutdown, Shutdown};
use crate::span::TICKS_PER_SECOND;
use crate::transition_truth::Notification;
use onoff_testkit::events::shutdown as events;

/// Time for a window to answer "may the session end?" after a person has forced the shutdown.
const FORCED_QUERY: u64 = TICKS_PER_SECOND / 4;
/// Time for it to answer "the session ends" then.
const FORCED_END: u64 = TICKS_PER_SECOND / 2;
/// `STATUS_TIMEOUT`.
const TIMEOUT: u32 = 0x102;
/// Flag of a question that takes no refusal.
const FORCE: u32 = 0x1;

/// An application in the plan.
#[derive(Clone, Copy)]
pub(super) struct Planned {
    /// Its process, by index.
    pub(super) process: usize,
    /// The thread that answers, by index.
    pub(super) thread: usize,
}

/// Plans the processes of all applications, with a thread each that has nothing to answer yet.
pub(super) fn plan(stage: &mut Stage<'_>) -> Vec<Planned> {
    let mut all = Vec::new();
    for application in &stage.scenario.applications {
        let parent = if application.session == 0 { stage.cast.manager } else { stage.cast.explorer };
        let command = application.command.as_deref().unwrap_or(&application.image);
        let (session, image) = (application.session, &application.image);
        let process = match application.id {
            Some(id) => stage.plan.process_with_id(id, parent, session, image, command),
            None => stage.plan.process(parent, session, image, command),
        };
        let thread = stage.plan.thread(process, BOOT_PRIORITY, Vec::new());
        if let Some(id) = application.thread_id {
            stage.plan.threads[thread].id = id;
        }
        if !application.background.is_empty() {
            let steps = stage.plan.steps(&application.background);
            stage.plan.thread(process, 8, steps);
        }
        if stage.scenario.boots() {
            let ready = stage.wait("desktop_ready");
            stage.plan.thread(parent, 8, vec![ready, Step::Start(process, None)]);
        } else {
            stage.plan.processes[process].existing = true;
        }
        all.push(Planned { process, thread });
    }
    all
}

/// What one application is asked and answers; the steps of the thread that asks.
pub(super) fn ask(
    stage: &mut Stage<'_>,
    shutdown: &Shutdown,
    application: &Application,
    how: &ApplicationShutdown,
    planned: Planned,
) -> Vec<Step> {
    let process = planned.process;
    let pid = stage.plan.processes[process].id;
    let thread = stage.plan.threads[planned.thread].id;
    let told = format!("{pid} told to end");
    let answered = format!("{pid} answered");
    answers(stage, how, planned, &told, &answered);

    let status = if how.hangs { TIMEOUT } else { 0 };
    let row = stage.notification(Notification {
        kind: "application_shutdown",
        pid: Some(pid),
        session: Some(application.session),
        level: Some(how.level),
        flags: Some(how.flags),
        status: Some(status),
        ..Notification::default()
    });
    let mut steps = vec![
        Step::Begin,
        stage.tell(events::process_start(pid, how.level, how.flags), Note::Notification(row, Edge::Begin)),
    ];
    let windows = (stage.version > 0).then(|| {
        let windows = stage.notification(Notification {
            kind: "windows_shutdown",
            pid: Some(pid),
            session: Some(application.session),
            flags: Some(how.flags),
            status: Some(status),
            ..Notification::default()
        });
        let begin = events::windows_start(pid, how.flags);
        steps.push(stage.tell(begin, Note::Notification(windows, Edge::Begin)));
        windows
    });
    let handshake = if how.hangs {
        give_up(stage, shutdown, &told, &answered)
    } else {
        let mut steps = vec![stage.set(&told), stage.wait(&answered)];
        steps.push(Step::Pad(how.time.0));
        steps
    };
    if application.console {
        steps.extend(handshake);
    } else {
        steps.extend(ask_thread(stage, application, (pid, thread), how.flags, handshake));
        if how.hangs && !shutdown.forced {
            // A person looked at the dialog and forced the shutdown.
            steps.push(Step::Sleep(shutdown.dialog.0));
            let never = stage.plan.signal(&answered);
            let short = vec![Step::WaitAtMost(never, FORCED_QUERY + FORCED_END)];
            let flags = how.flags | FORCE;
            steps.extend(ask_thread(stage, application, (pid, thread), flags, short));
        }
    }
    if let Some(windows) = windows {
        let end = events::windows_stop(pid, status);
        steps.push(stage.tell(end, Note::Notification(windows, Edge::End)));
    }
    if how.hangs {
        steps.extend(terminate(stage, application.session, process));
    }
    steps.push(stage.tell(events::process_stop(stage.version, pid, status), Note::Notification(row, Edge::End)));
    steps
}

/// The application's own thread.
fn answers(stage: &mut Stage<'_>, how: &ApplicationShutdown, planned: Planned, told: &str, answered: &str) {
    let mut steps = vec![stage.wait(told), Step::Begin];
    steps.extend(stage.plan.steps(&how.work));
    if how.hangs {
        steps.push(stage.wait("never"));
    } else {
        // Who is gone before the handshake ends has answered by going.
        let answer = how.gone.map_or(how.time.0, |gone| gone.0.min(how.time.0));
        steps.push(Step::Pad(answer));
        steps.push(stage.set(answered));
        match how.gone {
            Some(gone) => {
                steps.push(Step::Pad(gone.0));
                steps.push(Step::End(planned.process));
            }
            None => steps.push(stage.wait("never")),
        }
    }
    stage.plan.threads[planned.thread].steps.extend(steps);
}

/// Waiting for an answer that does not come.
fn give_up(stage: &mut Stage<'_>, shutdown: &Shutdown, told: &str, answered: &str) -> Vec<Step> {
    let answered = stage.plan.signal(answered);
    vec![stage.set(told), Step::WaitAtMost(answered, shutdown.application_timeout.0)]
}

/// One thread with windows is asked.
fn ask_thread(
    stage: &mut Stage<'_>,
    application: &Application,
    (pid, thread): (u32, u32),
    flags: u32,
    handshake: Vec<Step>,
) -> Vec<Step> {
    let version = stage.version;
    let row = stage.notification(Notification {
        kind: "thread_shutdown",
        pid: (version > 0).then_some(pid),
        tid: Some(thread),
        session: Some(application.session),
        flags: Some(flags),
        status: Some(0),
        ..Notification::default()
    });
    let mut steps = vec![
        stage.tell(events::thread_start(version, thread, flags, pid), Note::Notification(row, Edge::Begin)),
        Step::tell(events::thread_message(version, events::WM_QUERYENDSESSION, flags, thread)),
    ];
    steps.extend(handshake);
    steps.push(Step::tell(events::thread_message(version, events::WM_ENDSESSION, flags, thread)));
    steps.push(stage.tell(events::thread_stop(version, 0, thread), Note::Notification(row, Edge::End)));
    steps
}

/// A process that did not answer is terminated and waited for.
fn terminate(stage: &mut Stage<'_>, session: u32, process: usize) -> Vec<Step> {
    let version = stage.version;
    let pid = stage.plan.processes[process].id;
    // Older versions do not say which process.
    let named = (version > 0).then_some(pid);
    let row =
        |kind, status| Notification { kind, pid: named, session: Some(session), status, ..Notification::default() };
    let terminated = stage.notification(row("termination", named.map(|_| 0)));
    let waited = stage.notification(row("process_wait", Some(0)));
    vec![
        stage.tell(events::terminate_start(version, pid), Note::Notification(terminated, Edge::Begin)),
        Step::End(process),
        stage.tell(events::terminate_stop(version, pid, 0), Note::Notification(terminated, Edge::End)),
        stage.tell(events::process_wait_start(version, pid), Note::Notification(waited, Edge::Begin)),
        stage.tell(events::process_wait_stop(version, 0, pid), Note::Notification(waited, Edge::End)),
    ]
}
