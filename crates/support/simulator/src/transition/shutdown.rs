//! A shutdown, from the request to the kernel's last step.

use super::applications::{self, PlannedApplication};
use super::{Planner, kernel, services};
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Step, TruthNote};
use crate::scenario::transition::{Application, Shutdown};
use crate::transition_truth::Notification;
use crate::units::{TICKS_PER_SECOND, TickDuration};
use onoff_testkit::events::service as policy;
use onoff_testkit::events::shutdown as events;
use onoff_testkit::events::{EventTemplate, logon};

/// Group Policy script types.
const LOGOFF_SCRIPT: u32 = 2;
const SHUTDOWN_SCRIPT: u32 = 4;

/// Plans the part of a fast startup's shutdown that ends the user session; returns the signal set at its end.
pub(super) fn user_session(planner: &mut Planner<'_>, shutdown: &Shutdown, planned: &[PlannedApplication]) -> String {
    let mut steps = request(planner, shutdown, None);
    let done = "only the system's session is left";
    let user = [planner.actors.explorer, planner.actors.winlogon, planner.actors.csrss_user];
    steps.extend(user.map(Step::End));
    steps.push(planner.set(done));
    steps.push(planner.wait("never"));
    let process = planner.actors.wininit;
    planner.plan.thread(process, BOOT_PRIORITY, steps);
    winlogon(planner, shutdown);
    notify_user_applications(planner, shutdown, planned);
    done.to_owned()
}

fn notify_user_applications(planner: &mut Planner<'_>, shutdown: &Shutdown, planned: &[PlannedApplication]) {
    let user = planner.actors.csrss_user;
    let (start_time, end_time) = (shutdown.user_session_at, shutdown.user_session_end_at);
    let mut notify_steps = broadcast(planner, shutdown);
    notify_steps.extend(notify_all(planner, shutdown, planned, 1));
    session(planner, user, "user session", start_time, notify_steps, end_time);
}

/// Number of the broadcast notification.
const BROADCAST: u32 = 1;

/// Broadcasts the notification, if the version records that.
fn broadcast(planner: &mut Planner<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let Some(time) = shutdown.broadcast.filter(|_| planner.version > 0) else {
        return Vec::new();
    };
    let row = planner.notification(Notification {
        kind: "broadcast",
        session: Some(1),
        flags: Some(BROADCAST),
        ..Notification::default()
    });
    vec![
        planner.emit(events::broadcast(true, BROADCAST), TruthNote::Notification(row, Edge::Begin)),
        Step::Sleep(time.0),
        planner.emit(events::broadcast(false, BROADCAST), TruthNote::Notification(row, Edge::End)),
    ]
}

/// Plans the threads of a shutdown, which waits for the signal `previous_done`.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    shutdown: &Shutdown,
    planned: &[PlannedApplication],
    previous_done: Option<&str>,
) {
    wininit(planner, shutdown, previous_done);
    winlogon(planner, shutdown);
    notify_user_applications(planner, shutdown, planned);
    let system = planner.actors.csrss_system;
    let (start_time, end_time) = (shutdown.system_session_at, shutdown.system_session_end_at);
    let mut notify_steps = notify_all(planner, shutdown, planned, 0);
    notify_steps.extend(notify_manager(planner, shutdown));
    session(planner, system, "system session", start_time, notify_steps, end_time);

    let mut steps = vec![planner.wait("kernel shutdown")];
    steps.extend(kernel::steps(planner, shutdown));
    steps.push(Step::Finish);
    steps.push(planner.wait("never"));
    planner.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
}

/// Steps in which Wininit receives the request and waits for the user session.
fn request(planner: &mut Planner<'_>, shutdown: &Shutdown, previous_done: Option<&str>) -> Vec<Step> {
    let flags = shutdown.flags;
    let request = planner.milestone("shutdown.request", Some(flags.into()), "1");
    let logoff = planner.milestone("shutdown.logoff_request", Some(flags.into()), "1");
    let mut steps = Vec::new();
    let mut begin: Vec<Step> = previous_done.map(|signal| planner.wait(signal)).into_iter().collect();
    begin.push(Step::Until(shutdown.at.0));
    if shutdown.by_winlogon {
        let row = planner.activity("shutdown_step", "initiate_shutdown", "");
        let wait = vec![planner.set("shutdown requested"), planner.wait("shutdown begins")];
        begin.extend(planner.wrap_in_activity(
            row,
            events::initiate_shutdown(true, flags),
            wait,
            events::initiate_shutdown(false, 0),
        ));
        begin.push(planner.wait("never"));
        let process = planner.actors.winlogon;
        planner.plan.thread(process, BOOT_PRIORITY, begin);
        steps.push(planner.wait("shutdown requested"));
    } else {
        steps.extend(begin);
    }
    steps.extend([
        Step::emit_noted(events::received_shutdown_request(1, flags, shutdown.reason, &shutdown.message), request),
        Step::emit_noted(events::sent_logoff_request(1, flags), logoff),
    ]);
    let wait = vec![planner.set("log off"), planner.wait("logged off")];
    steps.push(planner.set("shutdown begins"));
    steps.extend(wininit_step(planner, 1, "wait_for_session", wait));
    steps
}

/// Plans Wininit, which performs everything outside the user session.
fn wininit(planner: &mut Planner<'_>, shutdown: &Shutdown, previous_done: Option<&str>) {
    let flags = shutdown.flags;
    let kernel = planner.milestone("shutdown.kernel.begin", None, "");
    let mut steps = request(planner, shutdown, previous_done);
    steps.extend(script(planner, SHUTDOWN_SCRIPT, "shutdown", shutdown.shutdown_script));
    if let Some(start_time) = shutdown.pre_shutdown_at {
        steps.push(Step::Until(start_time.0));
    }
    let stop = services::stop_pre_shutdown(planner, shutdown);
    let wait = run_in_manager(planner, "pre-shutdown", stop).to_vec();
    steps.extend(wininit_step(planner, 3, "pre_shutdown_notification", wait));
    let row = planner.activity("shutdown_step", "shutdown_windows", "");
    let wait = vec![planner.set("system session"), planner.wait("system session done")];
    steps.extend(planner.wrap_in_activity(
        row,
        events::system_session(true, flags),
        wait,
        events::system_session(false, 0),
    ));
    let wait = vec![Step::Compute(2_000)];
    steps.extend(wininit_step(planner, 5, "wait_for_system_processes", wait));
    if let Some(time) = shutdown.system_restore {
        let wait = vec![Step::Sleep(time.0)];
        steps.extend(wininit_step(planner, 7, "system_restore", wait));
    }
    steps.push(Step::emit_noted(events::kernel_shutdown_requested(), kernel));
    steps.push(planner.set("kernel shutdown"));
    steps.push(planner.wait("never"));
    let process = planner.actors.wininit;
    planner.plan.thread(process, BOOT_PRIORITY, steps);
}

fn wininit_step(planner: &mut Planner<'_>, start_id: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    let row = planner.activity("shutdown_step", name, "");
    let event = |begin| -> EventTemplate { events::wininit_step(start_id, begin) };
    planner.wrap_in_activity(row, event(true), inner, event(false))
}

/// Plans steps of the service control manager; returns the steps that start them and wait for them.
fn run_in_manager(planner: &mut Planner<'_>, name: &str, work: Vec<Step>) -> [Step; 2] {
    let done = format!("{name} done");
    let mut steps = vec![planner.wait(name)];
    steps.extend(work);
    steps.push(planner.set(&done));
    steps.push(planner.wait("never"));
    let manager = planner.actors.manager;
    planner.plan.thread(manager, BOOT_PRIORITY, steps);
    [planner.set(name), planner.wait(&done)]
}

/// Plans Winlogon, which ends the user session.
fn winlogon(planner: &mut Planner<'_>, shutdown: &Shutdown) {
    let flags = shutdown.flags;
    let request = planner.milestone("shutdown.logoff_request", Some(flags.into()), "");
    let row = planner.activity("shutdown_step", "shutdown_windows", "");
    let mut steps = vec![planner.wait("log off"), Step::emit_noted(events::received_logoff_request(flags), request)];
    let wait = vec![planner.set("user session"), planner.wait("user session done")];
    steps.extend(planner.wrap_in_activity(
        row,
        events::shutdown_windows(true, flags),
        wait,
        events::shutdown_windows(false, 0),
    ));
    if !shutdown.subscriber.is_empty() {
        let number = shutdown.notification;
        let mut inner = Vec::new();
        for subscriber in &shutdown.subscriber {
            let row = planner.activity("notification_subscriber", &subscriber.name, &number.to_string());
            let event = |begin| logon::notify_subscriber(begin, number, &subscriber.name);
            let wait = vec![Step::Sleep(subscriber.time.0)];
            inner.extend(planner.wrap_in_activity(row, event(true), wait, event(false)));
        }
        let row = planner.activity("logon_notification", &number.to_string(), "");
        let event = |begin| events::notification(begin, number);
        steps.extend(planner.wrap_in_activity(row, event(true), inner, event(false)));
    }
    steps.extend(script(planner, LOGOFF_SCRIPT, "logoff", shutdown.logoff_script));
    steps.push(planner.set("logged off"));
    steps.push(planner.wait("never"));
    let process = planner.actors.winlogon;
    planner.plan.thread(process, BOOT_PRIORITY, steps);
}

/// Steps of a policy script, if there is one.
fn script(planner: &mut Planner<'_>, kind: u32, name: &str, time: Option<TickDuration>) -> Vec<Step> {
    let Some(time) = time else {
        return Vec::new();
    };
    let computer = &planner.scenario.machine.computer;
    let principal = if kind == LOGOFF_SCRIPT { format!("{computer}\\user") } else { format!("{computer}$") };
    let row = planner.activity("group_policy_script", name, &principal);
    let session = u32::from(kind == LOGOFF_SCRIPT);
    planner.wrap_in_activity(
        row,
        policy::policy_script_start(&principal, kind, session),
        vec![Step::Sleep(time.0)],
        policy::policy_script_stop(&principal, kind, (time.0 / TICKS_PER_SECOND) as u32),
    )
}

/// Plans a session's csrss, which notifies its applications to end.
fn session(
    planner: &mut Planner<'_>,
    csrss: usize,
    name: &str,
    start_time: Option<TickDuration>,
    notify_steps: Vec<Step>,
    end_time: Option<TickDuration>,
) {
    let mut steps = vec![planner.wait(name)];
    steps.extend(start_time.map(|start_time| Step::Until(start_time.0)));
    let mut inner = notify_steps;
    inner.extend(end_time.map(|start_time| Step::Until(start_time.0)));
    let row = planner.activity("session_shutdown", "", "");
    steps.extend(planner.wrap_in_activity(
        row,
        events::session_processes(true),
        inner,
        events::session_processes(false),
    ));
    steps.push(planner.set(&format!("{name} done")));
    steps.push(planner.wait("never"));
    planner.plan.thread(csrss, BOOT_PRIORITY, steps);
}

/// Notifies all applications of a session to end, by level; in parallel if the Windows version does so.
fn notify_all(
    planner: &mut Planner<'_>,
    shutdown: &Shutdown,
    planned: &[PlannedApplication],
    session: u32,
) -> Vec<Step> {
    let scenario = planner.scenario;
    let mut applications: Vec<(&Application, PlannedApplication)> = scenario
        .applications
        .iter()
        .zip(planned.iter().copied())
        .filter(|(application, _)| application.session == session)
        .collect();
    applications.sort_by_key(|(application, _)| {
        std::cmp::Reverse(application.shutdown.as_ref().map(|behavior| behavior.level))
    });
    let mut steps = Vec::new();
    let mut waits = Vec::new();
    for (application, planned) in applications {
        let Some(behavior) = &application.shutdown else {
            continue;
        };
        let application_steps = applications::notify_application(planner, shutdown, application, behavior, planned);
        if shutdown.parallel {
            let csrss = if session == 0 { planner.actors.csrss_system } else { planner.actors.csrss_user };
            let pid = planner.plan.processes[planned.process].id;
            let (start_signal, done) = (format!("{pid} shutdown"), format!("{pid} done"));
            let mut thread_steps = vec![planner.wait(&start_signal)];
            thread_steps.extend(application_steps);
            thread_steps.push(planner.set(&done));
            thread_steps.push(planner.wait("never"));
            planner.plan.thread(csrss, BOOT_PRIORITY, thread_steps);
            steps.push(planner.set(&start_signal));
            waits.push(planner.wait(&done));
        } else {
            steps.extend(application_steps);
        }
    }
    steps.extend(waits);
    steps
}

/// Notifies the service control manager, which is notified as a console program and responds when all services have
/// stopped.
fn notify_manager(planner: &mut Planner<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let pid = planner.plan.processes[planner.actors.manager].id;
    let (level, flags) = (shutdown.manager_level, shutdown.manager_flags);
    let row = planner.notification(Notification {
        kind: "application_shutdown",
        pid: Some(pid),
        session: Some(0),
        level: Some(level),
        flags: Some(flags),
        status: Some(0),
        ..Notification::default()
    });
    let stop = services::stop_all_others(planner, shutdown);
    let wait = run_in_manager(planner, "services", stop);
    let mut steps =
        vec![planner.emit(events::process_start(pid, level, flags), TruthNote::Notification(row, Edge::Begin))];
    steps.extend(wait);
    steps.push(planner.emit(events::process_stop(planner.version, pid, 0), TruthNote::Notification(row, Edge::End)));
    steps
}
