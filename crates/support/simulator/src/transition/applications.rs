//! Applications, and the window server that asks them to end.

use super::Planner;
use crate::plan::BOOT_PRIORITY;
use crate::program::{Edge, Step, TruthNote};
use crate::scenario::transition::{Application, ApplicationShutdown, Shutdown};
use crate::transition_truth::Notification;
use crate::units::TICKS_PER_SECOND;
use onoff_testkit::events::shutdown as events;

/// Time for a window to respond to WM_QUERYENDSESSION after the user has forced the shutdown.
const FORCED_QUERY: u64 = TICKS_PER_SECOND / 4;
/// Time for it to respond to WM_ENDSESSION then.
const FORCED_END: u64 = TICKS_PER_SECOND / 2;
/// `STATUS_TIMEOUT`.
const TIMEOUT: u32 = 0x102;
/// Flag of a query that cannot be refused.
const FORCE: u32 = 0x1;

/// Indices of an application in the plan.
#[derive(Clone, Copy)]
pub(super) struct PlannedApplication {
    pub(super) process: usize,
    /// The responding thread.
    pub(super) thread: usize,
}

/// Plans the process of each application, with a thread that has nothing to respond to yet.
pub(super) fn plan(planner: &mut Planner<'_>) -> Vec<PlannedApplication> {
    let mut all = Vec::new();
    for application in &planner.scenario.applications {
        let parent = if application.session == 0 { planner.actors.manager } else { planner.actors.explorer };
        let command = application.command.as_deref().unwrap_or(&application.image);
        let (session, image) = (application.session, &application.image);
        let process = match application.id {
            Some(id) => planner.plan.process_with_id(id, parent, session, image, command),
            None => planner.plan.process(parent, session, image, command),
        };
        let thread = planner.plan.thread(process, BOOT_PRIORITY, Vec::new());
        if let Some(id) = application.thread_id {
            planner.plan.threads[thread].id = id;
        }
        if !application.background.is_empty() {
            let steps = planner.plan.steps(&application.background);
            planner.plan.thread(process, 8, steps);
        }
        if planner.scenario.is_boot() {
            let ready = planner.wait("desktop_ready");
            planner.plan.thread(parent, 8, vec![ready, Step::Start(process, None)]);
        } else {
            planner.plan.processes[process].existing = true;
        }
        all.push(PlannedApplication { process, thread });
    }
    all
}

/// Plans an application's response; returns the steps of the thread that asks.
pub(super) fn ask(
    planner: &mut Planner<'_>,
    shutdown: &Shutdown,
    application: &Application,
    how: &ApplicationShutdown,
    planned: PlannedApplication,
) -> Vec<Step> {
    let process = planned.process;
    let pid = planner.plan.processes[process].id;
    let thread = planner.plan.threads[planned.thread].id;
    let notified = format!("{pid} notified to end");
    let responded = format!("{pid} responded");
    plan_response(planner, how, planned, &notified, &responded);

    let status = if how.hangs { TIMEOUT } else { 0 };
    let row = planner.notification(Notification {
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
        planner.emit(events::process_start(pid, how.level, how.flags), TruthNote::Notification(row, Edge::Begin)),
    ];
    let windows = (planner.version > 0).then(|| {
        let windows = planner.notification(Notification {
            kind: "windows_shutdown",
            pid: Some(pid),
            session: Some(application.session),
            flags: Some(how.flags),
            status: Some(status),
            ..Notification::default()
        });
        let begin = events::windows_start(pid, how.flags);
        steps.push(planner.emit(begin, TruthNote::Notification(windows, Edge::Begin)));
        windows
    });
    let handshake = if how.hangs {
        give_up(planner, shutdown, &notified, &responded)
    } else {
        let mut steps = vec![planner.set(&notified), planner.wait(&responded)];
        steps.push(Step::PadTo(how.time.0));
        steps
    };
    if application.console {
        steps.extend(handshake);
    } else {
        steps.extend(ask_thread(planner, application, (pid, thread), how.flags, handshake));
        if how.hangs && !shutdown.forced {
            // The user answered the dialog and forced the shutdown.
            steps.push(Step::Sleep(shutdown.dialog.0));
            let never = planner.plan.signal(&responded);
            let short = vec![Step::WaitAtMost(never, FORCED_QUERY + FORCED_END)];
            let flags = how.flags | FORCE;
            steps.extend(ask_thread(planner, application, (pid, thread), flags, short));
        }
    }
    if let Some(windows) = windows {
        let end = events::windows_stop(pid, status);
        steps.push(planner.emit(end, TruthNote::Notification(windows, Edge::End)));
    }
    if how.hangs {
        steps.extend(terminate(planner, application.session, process));
    }
    steps.push(
        planner.emit(events::process_stop(planner.version, pid, status), TruthNote::Notification(row, Edge::End)),
    );
    steps
}

/// Plans the application's own thread.
fn plan_response(
    planner: &mut Planner<'_>,
    how: &ApplicationShutdown,
    planned: PlannedApplication,
    notified: &str,
    responded: &str,
) {
    let mut steps = vec![planner.wait(notified), Step::Begin];
    steps.extend(planner.plan.steps(&how.work));
    if how.hangs {
        steps.push(planner.wait("never"));
    } else {
        // A process that ends before the handshake has responded by ending.
        let answer = how.gone.map_or(how.time.0, |gone| gone.0.min(how.time.0));
        steps.push(Step::PadTo(answer));
        steps.push(planner.set(responded));
        match how.gone {
            Some(gone) => {
                steps.push(Step::PadTo(gone.0));
                steps.push(Step::End(planned.process));
            }
            None => steps.push(planner.wait("never")),
        }
    }
    planner.plan.threads[planned.thread].steps.extend(steps);
}

/// Waits for a response that does not come.
fn give_up(planner: &mut Planner<'_>, shutdown: &Shutdown, notified: &str, responded: &str) -> Vec<Step> {
    let responded = planner.plan.signal(responded);
    vec![planner.set(notified), Step::WaitAtMost(responded, shutdown.application_timeout.0)]
}

/// Asks one thread with windows.
fn ask_thread(
    planner: &mut Planner<'_>,
    application: &Application,
    (pid, thread): (u32, u32),
    flags: u32,
    handshake: Vec<Step>,
) -> Vec<Step> {
    let version = planner.version;
    let row = planner.notification(Notification {
        kind: "thread_shutdown",
        pid: (version > 0).then_some(pid),
        tid: Some(thread),
        session: Some(application.session),
        flags: Some(flags),
        status: Some(0),
        ..Notification::default()
    });
    let mut steps = vec![
        planner.emit(events::thread_start(version, thread, flags, pid), TruthNote::Notification(row, Edge::Begin)),
        Step::emit(events::thread_message(version, events::WM_QUERYENDSESSION, flags, thread)),
    ];
    steps.extend(handshake);
    steps.push(Step::emit(events::thread_message(version, events::WM_ENDSESSION, flags, thread)));
    steps.push(planner.emit(events::thread_stop(version, 0, thread), TruthNote::Notification(row, Edge::End)));
    steps
}

/// Terminates a process that did not respond, and waits for it.
fn terminate(planner: &mut Planner<'_>, session: u32, process: usize) -> Vec<Step> {
    let version = planner.version;
    let pid = planner.plan.processes[process].id;
    // Older versions do not record which process.
    let named = (version > 0).then_some(pid);
    let row =
        |kind, status| Notification { kind, pid: named, session: Some(session), status, ..Notification::default() };
    let terminated = planner.notification(row("termination", named.map(|_| 0)));
    let waited = planner.notification(row("process_wait", Some(0)));
    vec![
        planner.emit(events::terminate_start(version, pid), TruthNote::Notification(terminated, Edge::Begin)),
        Step::End(process),
        planner.emit(events::terminate_stop(version, pid, 0), TruthNote::Notification(terminated, Edge::End)),
        planner.emit(events::process_wait_start(version, pid), TruthNote::Notification(waited, Edge::Begin)),
        planner.emit(events::process_wait_stop(version, 0, pid), TruthNote::Notification(waited, Edge::End)),
    ]
}
