//! The second half of a fast startup: the system session is restored from the memory image, and a new user session
//! starts.

use super::Planner;
use crate::boot;
use crate::plan::BOOT_PRIORITY;
use crate::program::Step;
use crate::units::TICKS_PER_SECOND;
use onoff_testkit::events::logon;

/// Plans the new user session, which starts when `resumed` is set.
pub(super) fn plan(planner: &mut Planner<'_>, resumed: &str) {
    let session_manager = planner.actors.session_manager;
    let plan = &mut *planner.plan;
    let csrss = plan.process(session_manager, 1, "csrss.exe", "csrss.exe ObjectDirectory=\\Windows");
    let winlogon = plan.process(session_manager, 1, "winlogon.exe", "winlogon.exe");
    let userinit = plan.process(winlogon, 1, "userinit.exe", "C:\\Windows\\system32\\userinit.exe");
    let explorer = plan.process(userinit, 1, "\\Windows\\explorer.exe", "C:\\Windows\\Explorer.EXE");
    plan.resident(csrss);
    let scenario = planner.scenario;
    let mut steps = vec![planner.wait(resumed), planner.set("logon services")];
    let plan = &mut *planner.plan;
    steps.push(Step::emit(logon::load_subsystem_start(1, "\\SystemRoot\\System32\\win32k.sys")));
    steps.extend(boot::execute(plan, csrss, Step::Start(csrss, None), None, None));
    steps.push(Step::Sleep(scenario.session.user_video.0));
    steps.push(Step::emit(logon::load_subsystem_stop()));
    if let Some(time) = scenario.session.winlogon_at {
        steps.push(Step::Until(time.0));
    }
    let start = Step::Start(winlogon, None);
    steps.extend(boot::execute(plan, winlogon, start, None, None));
    steps.push(Step::Wait(plan.signal("never")));
    plan.thread(session_manager, BOOT_PRIORITY, steps);

    boot::winlogon_threads(plan, scenario, winlogon, userinit);
    let mut start_shell = vec![Step::Compute(1_000)];
    if let Some(time) = scenario.logon.explorer_at {
        start_shell.push(Step::Until(time.0));
    }
    start_shell.push(Step::Start(explorer, None));
    start_shell.push(Step::Sleep(2 * TICKS_PER_SECOND));
    plan.thread(userinit, BOOT_PRIORITY, start_shell);
    boot::shell(plan, scenario, explorer);
}
