//! Processes that every boot has: the kernel's first thread, the session manager, Winlogon, Explorer.

use uuid::Uuid;

use super::devices;
use super::event_logs::base_build;
use super::plan::{Actors, BOOT_PRIORITY, Plan};
use super::program::SYSTEM;
use super::program::{Edge, Step, TruthNote};
use super::scenario::{Firmware, Scenario, ScenarioError};
use super::services;
use super::units::{TICKS_PER_SECOND, TickDuration};
use super::work::Transfer;
use onoff_testkit::events::{device, logon, service};

const NEVER: &str = "never";
/// Time to check a user's credentials: 38 ms.
const AUTHENTICATION: u64 = 380_000;
/// CPU time Explorer needs to create a process: 1.6 ms.
const CREATE_PROCESS: u64 = 16_000;
/// Bytes of a page-fault read.
const FAULT_SIZE: u32 = 16 << 10;
const COMPUTER_POLICY: Uuid = Uuid::from_u128(0x0c0ffee0_0000_4000_8000_000000000001);
const USER_POLICY: Uuid = Uuid::from_u128(0x0c0ffee0_0000_4000_8000_000000000002);

/// Plans every process of the boot; returns those that transitions need.
pub(super) fn plan(plan: &mut Plan, scenario: &Scenario) -> Result<Actors, ScenarioError> {
    let session_manager = plan.process(SYSTEM, 0, "smss.exe", "\\SystemRoot\\System32\\smss.exe");
    let csrss_system = plan.process(session_manager, 0, "csrss.exe", "csrss.exe ObjectDirectory=\\Windows");
    let wininit = plan.process(session_manager, 0, "wininit.exe", "wininit.exe");
    let csrss_user = plan.process(session_manager, 1, "csrss.exe", "csrss.exe ObjectDirectory=\\Windows");
    let winlogon = plan.process(session_manager, 1, "winlogon.exe", "winlogon.exe");
    let manager = plan.process(wininit, 0, "services.exe", "C:\\Windows\\system32\\services.exe");
    let lsass = plan.process(wininit, 0, "lsass.exe", "C:\\Windows\\system32\\lsass.exe");
    let userinit = plan.process(winlogon, 1, "userinit.exe", "C:\\Windows\\system32\\userinit.exe");
    let explorer = plan.process(userinit, 1, "\\Windows\\explorer.exe", "C:\\Windows\\Explorer.EXE");
    plan.processes[explorer].symbols = Some(Uuid::from_u128(0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF00));

    kernel(plan, scenario, session_manager);
    let session = Sessions { csrss_system, wininit, csrss_user, winlogon };
    session.plan(plan, scenario, session_manager);
    for process in [csrss_system, csrss_user, lsass] {
        plan.resident(process);
    }
    let never = plan.signal(NEVER);
    plan.thread(
        wininit,
        BOOT_PRIORITY,
        vec![Step::Compute(20_000), Step::Start(manager, None), Step::Start(lsass, None), Step::Wait(never)],
    );
    services::plan(plan, scenario, manager)?;
    winlogon_threads(plan, scenario, winlogon, userinit);
    let mut start_shell = vec![Step::Compute(1_000)];
    if let Some(time) = scenario.logon.explorer_at {
        start_shell.push(Step::Until(time.0));
    }
    start_shell.push(Plan::start(explorer, TruthNote::Phase));
    start_shell.push(Step::Sleep(2 * TICKS_PER_SECOND));
    plan.thread(userinit, BOOT_PRIORITY, start_shell);
    shell(plan, scenario, explorer);
    plan.scenario_processes(&scenario.processes, [manager, explorer, session_manager]);
    Ok(Actors { session_manager, csrss_system, csrss_user, wininit, winlogon, manager, explorer, notifier: csrss_user })
}

/// Returns the steps that record the kernel's events about the firmware. Boot services last until the loader has run.
fn firmware(firmware: &Firmware, loader: Option<TickDuration>) -> Vec<Step> {
    let mut steps = Vec::new();
    if firmware.table.is_none() {
        let milliseconds = |ticks: u64| ticks * 1000 / TICKS_PER_SECOND;
        steps.push(Step::emit(device::pre_boot(milliseconds(firmware.pre_boot.0))));
        steps.push(Step::emit(device::boot_manager(milliseconds(firmware.boot_manager.0))));
    }
    steps.push(Step::emit(device::boot_type(firmware.boot_type)));
    steps.push(Step::emit(device::firmware_boot_data(firmware.kernel_table(loader))));
    steps
}

impl Firmware {
    /// Returns the times that the kernel reads from the firmware (Kernel-Boot 30), ms.
    pub(super) fn kernel_table(&self, loader: Option<TickDuration>) -> [u64; 5] {
        /// Time the firmware needs to load the boot loader.
        const LOADER_LOADED_MS: u64 = 12;
        let milliseconds = |ticks: u64| ticks * 1000 / TICKS_PER_SECOND;
        self.table.unwrap_or_else(|| {
            let start_ms = milliseconds(self.pre_boot.0);
            let loader = loader.map_or(0, |loader| loader.0);
            let exit_ms = milliseconds(self.pre_boot.0 + self.boot_manager.0 + loader);
            [start_ms / 10, start_ms.saturating_sub(LOADER_LOADED_MS), start_ms, exit_ms, exit_ms + 2]
        })
    }
}

/// Plans the kernel's first thread: loader times, devices, then the session manager.
fn kernel(plan: &mut Plan, scenario: &Scenario, session_manager: usize) {
    let kernel = &scenario.kernel;
    let mut steps = Vec::new();
    if let Some(firmware_scenario) = &scenario.firmware {
        steps.extend(firmware(firmware_scenario, kernel.loader));
    }
    let start_time = scenario.kernel_start_time();
    steps.push(Step::emit(device::system_started(base_build(scenario.machine.build), 0, start_time)));
    steps.push(Step::emit(device::system_boot_start()));
    if let Some(loader) = kernel.loader {
        // Time-stamp counter values: cycles since the processor was reset.
        let cycles = |ticks: u64| (u128::from(ticks) * u128::from(scenario.machine.mhz) / 10) as u64;
        let begin = cycles(3 * TICKS_PER_SECOND);
        steps.push(Step::emit(device::os_loader(begin, begin + cycles(loader.0))));
    }
    steps.push(Step::Until(kernel.boot_start_at.0));
    steps.push(Step::emit_noted(device::boot_start(true), TruthNote::BootStart(Edge::Begin)));
    steps.extend(devices::steps(plan, &kernel.boot_start, true));
    if let Some(time) = kernel.boot_start_end_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Step::emit_noted(device::boot_start(false), TruthNote::BootStart(Edge::End)));
    if let Some(time) = kernel.system_start_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Step::emit_noted(device::system_start(true), TruthNote::SystemStart(Edge::Begin)));
    steps.extend(devices::steps(plan, &kernel.system_start, false));
    if let Some(time) = kernel.system_start_end_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Step::emit_noted(device::system_start(false), TruthNote::SystemStart(Edge::End)));
    steps.extend(plan.steps(&kernel.work));
    if let Some(time) = kernel.session_manager_at {
        steps.push(Step::Until(time.0));
    }
    steps.push(Plan::start(session_manager, TruthNote::Phase));
    steps.extend(devices::steps(plan, &kernel.later, false));
    steps.push(Step::Wait(plan.signal(NEVER)));
    plan.thread(SYSTEM, BOOT_PRIORITY, steps);
}

struct Sessions {
    csrss_system: usize,
    wininit: usize,
    csrss_user: usize,
    winlogon: usize,
}

/// Steps with which the session manager creates a process.
pub(super) fn execute(
    plan: &Plan,
    process: usize,
    start: Step,
    begin: Option<TruthNote>,
    end: Option<TruthNote>,
) -> [Step; 3] {
    let image = format!("\\SystemRoot\\System32\\{}", plan.processes[process].image);
    let created = logon::execute_image_stop(plan.processes[process].id);
    [
        Step::Emit(Box::new(logon::execute_image_start(&image)), Vec::from_iter(begin)),
        start,
        Step::Emit(Box::new(created), Vec::from_iter(end)),
    ]
}

impl Sessions {
    fn plan(&self, plan: &mut Plan, scenario: &Scenario, session_manager: usize) {
        let session = &scenario.session;
        let win32k = "\\SystemRoot\\System32\\win32k.sys";
        let mut steps = vec![Step::emit(logon::initialize_registry(true))];
        steps.extend(plan.steps(&session.registry));
        steps.push(Step::emit(logon::initialize_registry(false)));
        steps.push(Step::emit(logon::boot_execute_list(true)));
        if let Some(time) = session.autochk {
            let done = plan.signal("autochk done");
            let autochk = plan.process(session_manager, 0, "autochk.exe", "autochk *");
            plan.thread(autochk, 8, vec![Step::Begin, Step::PadTo(time.0), Step::Set(done)]);
            steps.extend(execute(plan, autochk, Step::Start(autochk, None), None, None));
            steps.push(Step::Wait(done));
        }
        steps.push(Step::emit(logon::boot_execute_list(false)));
        steps.push(Step::emit(logon::load_subsystem_start(0, win32k)));
        steps.extend(execute(
            plan,
            self.csrss_system,
            Step::Start(self.csrss_system, None),
            None,
            Some(TruthNote::SystemVideo(Edge::Begin)),
        ));
        steps.extend(plan.steps(&session.system_video_work));
        steps.push(Step::Sleep(session.system_video.0));
        steps.extend(execute(
            plan,
            self.wininit,
            Step::Start(self.wininit, None),
            Some(TruthNote::SystemVideo(Edge::End)),
            None,
        ));
        steps.push(Step::emit(logon::load_subsystem_stop()));
        steps.extend(plan.steps(&session.work));
        if let Some(time) = session.winlogon_at {
            steps.push(Step::Until(time.0.saturating_sub(session.user_video.0)));
        }
        steps.push(Step::emit(logon::load_subsystem_start(1, win32k)));
        steps.extend(execute(
            plan,
            self.csrss_user,
            Step::Start(self.csrss_user, None),
            None,
            Some(TruthNote::UserVideo(Edge::Begin)),
        ));
        steps.push(Step::emit(logon::load_subsystem_stop()));
        steps.push(Step::Sleep(session.user_video.0));
        steps.extend(execute(
            plan,
            self.winlogon,
            Plan::start(self.winlogon, TruthNote::Phase),
            Some(TruthNote::UserVideo(Edge::End)),
            None,
        ));
        steps.push(Step::Wait(plan.signal(NEVER)));
        plan.thread(session_manager, BOOT_PRIORITY, steps);
    }
}

/// Plans the threads of Winlogon: one for the logon, and one for computer policy.
pub(super) fn winlogon_threads(plan: &mut Plan, scenario: &Scenario, winlogon: usize, userinit: usize) {
    let logon_scenario = &scenario.logon;
    let machine = format!("{}$", scenario.machine.computer);
    let user = format!("{}\\user", scenario.machine.computer);
    let desktop = plan.signal("desktop_ready");
    let policy_done = plan.signal("computer policy applied");
    let mut policy = Vec::new();
    if let Some(time) = logon_scenario.computer_policy {
        policy.push(Step::emit_noted(
            service::policy_start(true, &machine, COMPUTER_POLICY),
            TruthNote::ComputerPolicy(Edge::Begin),
        ));
        policy.push(Step::Begin);
        for extension in &logon_scenario.policy_extension {
            let id = Uuid::from_u128(0x35378eac_683f_11d2_a89a_00c04fbbcfa2);
            let elapsed = (extension.time.0 * 1000 / TICKS_PER_SECOND) as u32;
            policy.push(Step::emit(service::policy_extension_start(id, &extension.name, COMPUTER_POLICY)));
            policy.push(Step::Sleep(extension.time.0));
            policy.push(Step::emit(service::policy_extension_stop(id, &extension.name, COMPUTER_POLICY, elapsed)));
        }
        policy.push(Step::PadTo(time.0));
        let elapsed = (time.0 / TICKS_PER_SECOND) as u32;
        policy.push(Step::emit_noted(
            service::policy_stop(true, &machine, COMPUTER_POLICY, elapsed),
            TruthNote::ComputerPolicy(Edge::End),
        ));
    }
    policy.push(Step::Set(policy_done));
    policy.push(Step::Wait(plan.signal(NEVER)));
    plan.thread(winlogon, BOOT_PRIORITY, policy);

    let screen = plan.process(winlogon, 1, "LogonUI.exe", "\"LogonUI.exe\" /flags:0x0");
    plan.thread(screen, 13, vec![Step::Compute(100_000), Step::Wait(desktop)]);
    let mut steps = vec![
        Step::emit(logon::winlogon_step(101, true)),
        Step::emit(logon::winlogon_step(101, false)),
        Step::emit(logon::winlogon_step(103, true)),
        Step::Start(screen, None),
        Step::emit(logon::winlogon_step(103, false)),
        Step::emit(logon::winlogon_step(201, true)),
    ];
    steps.extend(plan.steps(&logon_scenario.work));
    steps.push(Step::Wait(plan.signal("logon services")));
    steps.push(Step::Wait(policy_done));
    steps.push(Step::emit(logon::winlogon_step(201, false)));
    if let Some(time) = logon_scenario.credentials {
        steps.push(Step::emit_noted(logon::winlogon_step(203, true), TruthNote::Credentials(Edge::Begin)));
        steps.push(Step::Device(time.0, "kbdclass.sys".to_owned()));
        steps.push(Step::emit_noted(logon::winlogon_step(203, false), TruthNote::Credentials(Edge::End)));
    }
    steps.push(Step::emit_noted(logon::authenticate_start(), TruthNote::Authentication(Edge::Begin)));
    steps.push(Step::Compute(5_000));
    steps.push(Step::Sleep(AUTHENTICATION));
    steps.push(Step::emit_noted(logon::authenticate_stop(), TruthNote::Authentication(Edge::End)));
    steps.push(Step::emit(logon::user_boot_start(1)));
    for (index, subscriber) in logon_scenario.subscriber.iter().enumerate() {
        let start = logon::notify_subscriber(true, 2, &subscriber.name);
        steps.push(Step::emit_noted(start, TruthNote::Subscriber(index, Edge::Begin)));
        steps.push(Step::Sleep(subscriber.time.0));
        let end = logon::notify_subscriber(false, 2, &subscriber.name);
        steps.push(Step::emit_noted(end, TruthNote::Subscriber(index, Edge::End)));
    }
    if let Some(time) = logon_scenario.user_policy {
        steps.push(Step::emit_noted(
            service::policy_start(false, &user, USER_POLICY),
            TruthNote::UserPolicy(Edge::Begin),
        ));
        steps.push(Step::Sleep(time.0));
        steps.push(Step::emit_noted(
            service::policy_stop(false, &user, USER_POLICY, (time.0 / TICKS_PER_SECOND) as u32),
            TruthNote::UserPolicy(Edge::End),
        ));
    }
    if let Some(time) = logon_scenario.script {
        let done = plan.signal("logon script done");
        let script = plan.process(winlogon, 1, "cmd.exe", "cmd.exe /c logon.cmd");
        plan.thread(script, 8, vec![Step::Begin, Step::PadTo(time.0), Step::Set(done)]);
        steps.push(Step::emit_noted(service::policy_script_start(&user, 1, 1), TruthNote::Script(Edge::Begin)));
        steps.push(Step::Start(script, None));
        steps.push(Step::Wait(done));
        steps.push(Step::emit_noted(
            service::policy_script_stop(&user, 1, (time.0 / TICKS_PER_SECOND) as u32),
            TruthNote::Script(Edge::End),
        ));
    }
    steps.push(Step::emit(logon::user_shell_launch()));
    steps.push(Step::Start(userinit, None));
    steps.push(Step::Wait(desktop));
    steps.push(Step::emit(logon::user_boot_stop()));
    if let Some(count) = logon_scenario.training_count {
        steps.push(Step::emit(logon::ready_boot_history(count, 1)));
        steps.push(Step::emit(logon::system_boot_stop(1, count)));
    }
    steps.push(Step::emit(logon::idle_detection_start()));
    steps.push(Step::Sleep(3 * TICKS_PER_SECOND));
    steps.push(Step::emit(logon::idle_detection_status(0)));
    steps.push(Step::Wait(plan.signal(NEVER)));
    plan.thread(winlogon, BOOT_PRIORITY, steps);
}

/// Plans Explorer until the desktop is ready, then the programs of the Run key.
pub(super) fn shell(plan: &mut Plan, scenario: &Scenario, explorer: usize) {
    const RUN_KEY: &str = "Software\\Microsoft\\Windows\\CurrentVersion\\Run";
    let shell = &scenario.shell;
    let mut steps = vec![Step::emit(logon::initializing_explorer(true)), Step::emit(logon::desktop_ready(true))];
    steps.extend(plan.steps(&shell.work));
    if let Some(time) = shell.ready_at {
        steps.push(Step::Until(time.0));
    }
    if scenario.recording.desktop_ready {
        steps.push(Step::emit(logon::initializing_explorer(false)));
        steps.push(Step::emit_noted(logon::desktop_ready(false), TruthNote::DesktopReady));
    } else {
        steps.push(Step::emit_noted(logon::initializing_explorer(false), TruthNote::DesktopReady));
    }
    steps.push(Step::Set(plan.signal("desktop_ready")));
    steps.push(Step::emit(logon::enumerating_run_key(true, RUN_KEY)));
    for startup in &shell.startup {
        let index = plan.startup.len();
        let process = plan.process(explorer, 1, &startup.image, &startup.command);
        plan.startup.push((startup.command.clone(), plan.processes[process].id));
        plan.scenario_threads(process, &startup.thread, &[]);
        steps.push(Step::emit_noted(
            logon::run_key_command_start(&startup.command),
            TruthNote::StartupApplication(index),
        ));
        // Windows reads an image's first pages before it creates the process.
        for _ in 0..3 {
            steps.push(Step::Disk { transfer: Transfer::Fault, size: FAULT_SIZE, path: startup.image.clone() });
        }
        steps.push(Step::Compute(CREATE_PROCESS));
        steps.push(Step::Start(process, None));
        let id = plan.processes[process].id;
        steps.push(Step::emit(logon::run_key_command_stop(id, &startup.command)));
    }
    steps.push(Step::emit(logon::enumerating_run_key(false, RUN_KEY)));
    steps.push(Step::Wait(plan.signal(NEVER)));
    plan.thread(explorer, BOOT_PRIORITY, steps);
}
