//! A shutdown, from the request to the kernel's last step.

use super::applications::{self, Planned};
use super::{Stage, kernel, services};
use crate::plan::BOOT_PRIORITY;
use crate::program::SYSTEM;
use crate::program::{Edge, Note, Step};
use crate::scenario::transition::{Application, Shutdown};
use crate::span::{Span, TICKS_PER_SECOND};
use crate::transition_truth::Notification;
use onoff_testkit::events::service as policy;
use onoff_testkit::events::shutdown as events;
use onoff_testkit::events::{Occurrence, logon};

/// Policy's types of scripts.
const LOGOFF_SCRIPT: u32 = 2;
const SHUTDOWN_SCRIPT: u32 = 4;

/// Plans the part of a fast startup's shutdown that ends the user's session; returns the event
/// that says it is over.
pub(super) fn user_session(stage: &mut Stage<'_>, shutdown: &Shutdown, planned: &[Planned]) -> String {
    let mut steps = request(stage, shutdown, None);
    let over = "only the system's session is left";
    let user = [stage.cast.explorer, stage.cast.winlogon, stage.cast.csrss_user];
    steps.extend(user.map(Step::End));
    steps.push(stage.set(over));
    steps.push(stage.wait("never"));
    let process = stage.cast.wininit;
    stage.plan.thread(process, BOOT_PRIORITY, steps);
    winlogon(stage, shutdown);
    ask_users(stage, shutdown, planned);
    over.to_owned()
}

fn ask_users(stage: &mut Stage<'_>, shutdown: &Shutdown, planned: &[Planned]) {
    let user = stage.cast.csrss_user;
    let (at, end_at) = (shutdown.user_session_at, shutdown.user_session_end_at);
    let mut asked = broadcast(stage, shutdown);
    asked.extend(ask_all(stage, shutdown, planned, 1));
    session(stage, user, "user session", at, asked, end_at);
}

/// Number of the notification to all.
const EVERYBODY: u32 = 1;

/// All are notified, where the version records that.
fn broadcast(stage: &mut Stage<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let Some(time) = shutdown.broadcast.filter(|_| stage.version > 0) else {
        return Vec::new();
    };
    let row = stage.notification(Notification {
        kind: "broadcast",
        session: Some(1),
        flags: Some(EVERYBODY),
        ..Notification::default()
    });
    vec![
        stage.tell(events::broadcast(true, EVERYBODY), Note::Notification(row, Edge::Begin)),
        Step::Sleep(time.0),
        stage.tell(events::broadcast(false, EVERYBODY), Note::Notification(row, Edge::End)),
    ]
}

/// Plans the threads of a shutdown, which waits for what came before.
pub(super) fn plan(stage: &mut Stage<'_>, shutdown: &Shutdown, planned: &[Planned], before: Option<&str>) {
    wininit(stage, shutdown, before);
    winlogon(stage, shutdown);
    ask_users(stage, shutdown, planned);
    let system = stage.cast.csrss_system;
    let (at, end_at) = (shutdown.system_session_at, shutdown.system_session_end_at);
    let mut asked = ask_all(stage, shutdown, planned, 0);
    asked.extend(ask_manager(stage, shutdown));
    session(stage, system, "system session", at, asked, end_at);

    let mut steps = vec![stage.wait("kernel shutdown")];
    steps.extend(kernel::steps(stage, shutdown));
    steps.push(Step::Finish);
    steps.push(stage.wait("never"));
    stage.plan.thread(SYSTEM, BOOT_PRIORITY, steps);
}

/// Wininit takes the request and waits for the user's session.
fn request(stage: &mut Stage<'_>, shutdown: &Shutdown, before: Option<&str>) -> Vec<Step> {
    let flags = shutdown.flags;
    let request = stage.milestone("shutdown.request", Some(flags.into()), "1");
    let logoff = stage.milestone("shutdown.logoff_request", Some(flags.into()), "1");
    let mut steps = Vec::new();
    let mut begin: Vec<Step> = before.map(|before| stage.wait(before)).into_iter().collect();
    begin.push(Step::Until(shutdown.at.0));
    if shutdown.by_winlogon {
        let row = stage.activity("shutdown_step", "initiate_shutdown", "");
        let wait = vec![stage.set("shutdown asked for"), stage.wait("shutdown begins")];
        begin.extend(stage.within(
            row,
            events::initiate_shutdown(true, flags),
            wait,
            events::initiate_shutdown(false, 0),
        ));
        begin.push(stage.wait("never"));
        let process = stage.cast.winlogon;
        stage.plan.thread(process, BOOT_PRIORITY, begin);
        steps.push(stage.wait("shutdown asked for"));
    } else {
        steps.extend(begin);
    }
    steps.extend([
        Step::tell_note(events::received_shutdown_request(1, flags, shutdown.reason, &shutdown.message), request),
        Step::tell_note(events::sent_logoff_request(1, flags), logoff),
    ]);
    let wait = vec![stage.set("log off"), stage.wait("logged off")];
    steps.push(stage.set("shutdown begins"));
    steps.extend(wininit_step(stage, 1, "wait_for_session", wait));
    steps
}

/// Wininit leads through everything outside the user's session.
fn wininit(stage: &mut Stage<'_>, shutdown: &Shutdown, before: Option<&str>) {
    let flags = shutdown.flags;
    let kernel = stage.milestone("shutdown.kernel.begin", None, "");
    let mut steps = request(stage, shutdown, before);
    steps.extend(script(stage, SHUTDOWN_SCRIPT, "shutdown", shutdown.shutdown_script));
    if let Some(at) = shutdown.pre_shutdown_at {
        steps.push(Step::Until(at.0));
    }
    let told = services::before_all_others(stage, shutdown);
    let wait = by_manager(stage, "pre-shutdown", told).to_vec();
    steps.extend(wininit_step(stage, 3, "pre_shutdown_notification", wait));
    let row = stage.activity("shutdown_step", "shutdown_windows", "");
    let wait = vec![stage.set("system session"), stage.wait("system session over")];
    steps.extend(stage.within(row, events::system_session(true, flags), wait, events::system_session(false, 0)));
    let wait = vec![Step::Compute(2_000)];
    steps.extend(wininit_step(stage, 5, "wait_for_system_processes", wait));
    if let Some(time) = shutdown.system_restore {
        let wait = vec![Step::Sleep(time.0)];
        steps.extend(wininit_step(stage, 7, "system_restore", wait));
    }
    steps.push(Step::tell_note(events::kernel_asked(), kernel));
    steps.push(stage.set("kernel shutdown"));
    steps.push(stage.wait("never"));
    let process = stage.cast.wininit;
    stage.plan.thread(process, BOOT_PRIORITY, steps);
}

fn wininit_step(stage: &mut Stage<'_>, first: u16, name: &str, inner: Vec<Step>) -> Vec<Step> {
    let row = stage.activity("shutdown_step", name, "");
    let event = |begin| -> Occurrence { events::wininit_step(first, begin) };
    stage.within(row, event(true), inner, event(false))
}

/// Steps that the service control manager takes when it is asked, and waiting for them.
fn by_manager(stage: &mut Stage<'_>, name: &str, told: Vec<Step>) -> [Step; 2] {
    let over = format!("{name} over");
    let mut steps = vec![stage.wait(name)];
    steps.extend(told);
    steps.push(stage.set(&over));
    steps.push(stage.wait("never"));
    let manager = stage.cast.manager;
    stage.plan.thread(manager, BOOT_PRIORITY, steps);
    [stage.set(name), stage.wait(&over)]
}

/// Winlogon ends the user's session.
fn winlogon(stage: &mut Stage<'_>, shutdown: &Shutdown) {
    let flags = shutdown.flags;
    let request = stage.milestone("shutdown.logoff_request", Some(flags.into()), "");
    let row = stage.activity("shutdown_step", "shutdown_windows", "");
    let mut steps = vec![stage.wait("log off"), Step::tell_note(events::received_logoff_request(flags), request)];
    let wait = vec![stage.set("user session"), stage.wait("user session over")];
    steps.extend(stage.within(row, events::shutdown_windows(true, flags), wait, events::shutdown_windows(false, 0)));
    if !shutdown.subscriber.is_empty() {
        let number = shutdown.notification;
        let mut inner = Vec::new();
        for subscriber in &shutdown.subscriber {
            let row = stage.activity("notification_subscriber", &subscriber.name, &number.to_string());
            let event = |begin| logon::notify_subscriber(begin, number, &subscriber.name);
            let wait = vec![Step::Sleep(subscriber.time.0)];
            inner.extend(stage.within(row, event(true), wait, event(false)));
        }
        let row = stage.activity("logon_notification", &number.to_string(), "");
        let event = |begin| events::notification(begin, number);
        steps.extend(stage.within(row, event(true), inner, event(false)));
    }
    steps.extend(script(stage, LOGOFF_SCRIPT, "logoff", shutdown.logoff_script));
    steps.push(stage.set("logged off"));
    steps.push(stage.wait("never"));
    let process = stage.cast.winlogon;
    stage.plan.thread(process, BOOT_PRIORITY, steps);
}

/// A policy script, when there is one.
fn script(stage: &mut Stage<'_>, kind: u32, name: &str, time: Option<Span>) -> Vec<Step> {
    let Some(time) = time else {
        return Vec::new();
    };
    let computer = &stage.scenario.machine.computer;
    let principal = if kind == LOGOFF_SCRIPT { format!("{computer}\\user") } else { format!("{computer}$") };
    let row = stage.activity("group_policy_script", name, &principal);
    let session = u32::from(kind == LOGOFF_SCRIPT);
    stage.within(
        row,
        policy::policy_script_start(&principal, kind, session),
        vec![Step::Sleep(time.0)],
        policy::policy_script_stop(&principal, kind, (time.0 / TICKS_PER_SECOND) as u32),
    )
}

/// A session's csrss asks its applications when it is told to.
fn session(stage: &mut Stage<'_>, csrss: usize, name: &str, at: Option<Span>, asked: Vec<Step>, end_at: Option<Span>) {
    let mut steps = vec![stage.wait(name)];
    steps.extend(at.map(|at| Step::Until(at.0)));
    let mut inner = asked;
    inner.extend(end_at.map(|at| Step::Until(at.0)));
    let row = stage.activity("session_shutdown", "", "");
    steps.extend(stage.within(row, events::session_processes(true), inner, events::session_processes(false)));
    steps.push(stage.set(&format!("{name} over")));
    steps.push(stage.wait("never"));
    stage.plan.thread(csrss, BOOT_PRIORITY, steps);
}

/// All applications of a session, by level; side by side where the version does so.
fn ask_all(stage: &mut Stage<'_>, shutdown: &Shutdown, planned: &[Planned], session: u32) -> Vec<Step> {
    let scenario = stage.scenario;
    let mut asked: Vec<(&Application, Planned)> = scenario
        .applications
        .iter()
        .zip(planned.iter().copied())
        .filter(|(application, _)| application.session == session)
        .collect();
    asked.sort_by_key(|(application, _)| std::cmp::Reverse(application.shutdown.as_ref().map(|how| how.level)));
    let mut steps = Vec::new();
    let mut waits = Vec::new();
    for (application, planned) in asked {
        let Some(how) = &application.shutdown else {
            continue;
        };
        let one = applications::ask(stage, shutdown, application, how, planned);
        if shutdown.parallel {
            let csrss = if session == 0 { stage.cast.csrss_system } else { stage.cast.csrss_user };
            let pid = stage.plan.processes[planned.process].id;
            let (go, over) = (format!("{pid} asked"), format!("{pid} asked over"));
            let mut own = vec![stage.wait(&go)];
            own.extend(one);
            own.push(stage.set(&over));
            own.push(stage.wait("never"));
            stage.plan.thread(csrss, BOOT_PRIORITY, own);
            steps.push(stage.set(&go));
            waits.push(stage.wait(&over));
        } else {
            steps.extend(one);
        }
    }
    steps.extend(waits);
    steps
}

/// The service control manager is asked as a console program: its answer is that all services
/// have stopped.
fn ask_manager(stage: &mut Stage<'_>, shutdown: &Shutdown) -> Vec<Step> {
    let pid = stage.plan.processes[stage.cast.manager].id;
    let (level, flags) = (shutdown.manager_level, shutdown.manager_flags);
    let row = stage.notification(Notification {
        kind: "application_shutdown",
        pid: Some(pid),
        session: Some(0),
        level: Some(level),
        flags: Some(flags),
        status: Some(0),
        ..Notification::default()
    });
    let told = services::side_by_side(stage, shutdown);
    let wait = by_manager(stage, "services", told);
    let mut steps = vec![stage.tell(events::process_start(pid, level, flags), Note::Notification(row, Edge::Begin))];
    steps.extend(wait);
    steps.push(stage.tell(events::process_stop(stage.version, pid, 0), Note::Notification(row, Edge::End)));
    steps
}
