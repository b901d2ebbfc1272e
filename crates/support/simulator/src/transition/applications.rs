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
/// Time for a window to respond to WM_ENDSESSION after the user has forced the shutdown.
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
    let mut planned = Vec::new();
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
        planned.push(PlannedApplication { process, thread });
    }
    planned
}

/// Plans an application's response; returns the steps of the notifying thread.
pub(super) fn notify_application(
    planner: &mut Planner<'_>,
    shutdown: &Shutdown,
    application: &Application,
    behavior: &ApplicationShutdown,
    planned: PlannedApplication,
) -> Vec<Step> {
    let process = planned.process;
    let pid = planner.plan.processes[process].id;
    let thread = planner.plan.threads[planned.thread].id;
    let notified = format!("{pid} notified to end");
    let responded = format!("{pid} responded");
    plan_response(planner, behavior, planned, &notified, &responded);

    let status = if behavior.hangs { TIMEOUT } else { 0 };
    let row = planner.notification(Notification {
        kind: "application_shutdown",
        pid: Some(pid),
        session: Some(application.session),
        level: Some(behavior.level),
        flags: Some(behavior.flags),
        status: Some(status),
        ..Notification::default()
    });
    let mut steps = vec![
        Step::Begin,
        planner.emit(
            events::process_start(pid, behavior.level, behavior.flags),
            TruthNote::Notification(row, Edge::Begin),
        ),
    ];
    let windows = (planner.version > 0).then(|| {
        let windows = planner.notification(Notification {
            kind: "windows_shutdown",
            pid: Some(pid),
            session: Some(application.session),
            flags: Some(behavior.flags),
            status: Some(status),
            ..Notification::default()
        });
        let begin = events::windows_start(pid, behavior.flags);
        steps.push(planner.emit(begin, TruthNote::Notification(windows, Edge::Begin)));
        windows
    });
    let handshake = if behavior.hangs {
        wait_for_timeout(planner, shutdown, &notified, &responded)
    } else {
        let mut steps = vec![planner.set(&notified), planner.wait(&responded)];
        steps.push(Step::PadTo(behavior.time.0));
        steps
    };
    if application.console {
        steps.extend(handshake);
    } else {
        steps.extend(notify_thread(planner, application, (pid, thread), behavior.flags, handshake));
        if behavior.hangs && !shutdown.forced {
            // The user answered the dialog and forced the shutdown.
            steps.push(Step::Sleep(shutdown.dialog.0));
            let never = planner.plan.signal(&responded);
            let forced_handshake = vec![Step::WaitAtMost(never, FORCED_QUERY + FORCED_END)];
            let flags = behavior.flags | FORCE;
            steps.extend(notify_thread(planner, application, (pid, thread), flags, forced_handshake));
        }
    }
    if let Some(windows) = windows {
        let end = events::windows_stop(pid, status);
        steps.push(planner.emit(end, TruthNote::Notification(windows, Edge::End)));
    }
    if behavior.hangs {
        steps.extend(terminate(planner, application.session, process));
    }
    steps.push(
        planner.emit(events::process_stop(planner.version, pid, status), TruthNote::Notification(row, Edge::End)),
    );
    steps
}

/// Plans the thread with which the application responds.
fn plan_response(
    planner: &mut Planner<'_>,
    behavior: &ApplicationShutdown,
    planned: PlannedApplication,
    notified: &str,
    responded: &str,
) {
    let mut steps = vec![planner.wait(notified), Step::Begin];
    steps.extend(planner.plan.steps(&behavior.work));
    if behavior.hangs {
        steps.push(planner.wait("never"));
    } else {
        // A process that ends before the handshake has responded by ending.
        let response_time = behavior.gone.map_or(behavior.time.0, |gone| gone.0.min(behavior.time.0));
        steps.push(Step::PadTo(response_time));
        steps.push(planner.set(responded));
        match behavior.gone {
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
fn wait_for_timeout(planner: &mut Planner<'_>, shutdown: &Shutdown, notified: &str, responded: &str) -> Vec<Step> {
    let responded = planner.plan.signal(responded);
    vec![planner.set(notified), Step::WaitAtMost(responded, shutdown.application_timeout.0)]
}

/// Notifies one thread with windows.
fn notify_thread(
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
    let recorded_pid = (version > 0).then_some(pid);
    let row = |kind, status| Notification {
        kind,
        pid: recorded_pid,
        session: Some(session),
        status,
        ..Notification::default()
    };
    let terminated = planner.notification(row("termination", recorded_pid.map(|_| 0)));
    let waited = planner.notification(row("process_wait", Some(0)));
    vec![
        planner.emit(events::terminate_start(version, pid), TruthNote::Notification(terminated, Edge::Begin)),
        Step::End(process),
        planner.emit(events::terminate_stop(version, pid, 0), TruthNote::Notification(terminated, Edge::End)),
        planner.emit(events::process_wait_start(version, pid), TruthNote::Notification(waited, Edge::Begin)),
        planner.emit(events::process_wait_stop(version, 0, pid), TruthNote::Notification(waited, Edge::End)),
    ]
}
