//! Boot: the kernel calls its initcalls one after another; the service manager starts each unit as soon as the units it
//! is ordered after are done.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Simulation;
use super::plan::{Initcall, LinuxUnit, StartOutcome, Work};
use super::records::UnitState;
use super::scheduler::ThreadId;
use super::truth::TrueInterval;

/// Start of the kernel's first thread, µs.
const FIRST_THREAD_START_US: i64 = 400_000;
/// CPU time of the manager for starting a unit and for handling its completion, µs.
const START_US: i64 = 500;
const DONE_US: i64 = 200;
/// Durations of running generators and loading units, µs.
const GENERATORS_US: i64 = 150_000;
const LOAD_US: i64 = 100_000;
/// Time from the start of the manager to the start of journald, µs.
const JOURNAL_US: i64 = 400_000;
/// Delay before a service is restarted, µs.
const RESTART_US: i64 = 5_000_000;
/// First process id of units; kernel threads have lower ids.
const FIRST_PID: u32 = 200;

/// Distance between the process ids of a unit's commands.
const COMMAND_PID_STEP: u32 = 1000;

// Message ids. Source: systemd's sd-messages.h.
const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";
const FINISHED: &str = "b07a249cd024414a82dd00cd181378ff";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Generators,
    Load,
    Start(usize),
    /// Start the next command of a unit that has loaded this many modules.
    Command(usize, usize),
    Done(usize),
}

/// Purpose of a thread.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// Process of a unit, with the number of modules it has loaded.
    Unit { unit: usize, loaded: usize, in_module: bool },
    /// Device that a unit waits for.
    Device(usize),
    /// Timer that starts a unit.
    Timer(usize),
}

/// State of the service manager and its children.
pub(super) struct ServiceManager {
    thread: ThreadId,
    queue: VecDeque<Action>,
    current: Option<Action>,
    roles: HashMap<ThreadId, Role>,
    queued: HashSet<usize>,
    /// Completion time of each finished unit, µs.
    ended_us: HashMap<usize, i64>,
    attempts: HashMap<usize, u32>,
    released_by: HashMap<usize, usize>,
}

pub(super) fn description(unit: &str) -> String {
    format!("What {unit} is for")
}

impl Simulation<'_> {
    /// Simulates from the kernel's start until every job is done and every process is idle.
    pub(super) fn boot(&mut self) {
        self.recorder.journal_from_us = i64::MAX;
        let init_thread = self.kernel();
        self.user_space(init_thread);
    }

    /// Runs `work` on `thread`. Blocks the other threads that finish meanwhile, and returns them.
    pub(super) fn run_work(&mut self, thread: ThreadId, work: &[Work]) -> Vec<ThreadId> {
        self.scheduler.add_work(thread, work, None);
        let mut finished_threads = Vec::new();
        while let Some(finished) = self.scheduler.next(i64::MAX).filter(|&finished| finished != thread) {
            self.scheduler.block(finished);
            finished_threads.push(finished);
        }
        finished_threads
    }

    /// Simulates the kernel's part; returns the init thread.
    fn kernel(&mut self) -> ThreadId {
        let plan = self.plan;
        // journald receives messages from before its start when it starts, at a time not known yet.
        let mut log: Vec<(i64, String)> = vec![
            (0, "Linux version 6.1.0-50-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP".to_owned()),
            (0, "Command line: root=/dev/sda1 ro quiet initcall_debug trace_clock=mono".to_owned()),
        ];
        self.scheduler.advance(FIRST_THREAD_START_US);
        let init_thread = self.scheduler.thread(1, "swapper/0", true);
        self.run_work(init_thread, &[Work::Cpu(50_000)]);
        for initcall in &plan.initcalls {
            self.initcall(init_thread, initcall, &mut log);
        }
        if let Some(file_system) = plan.initramfs {
            log.push((self.scheduler.now_us(), "Trying to unpack rootfs image as initramfs...".to_owned()));
            let unpack_call = Initcall::new("populate_rootfs").cpu_ms(file_system.unpack_ms);
            self.initcall(init_thread, &unpack_call, &mut log);
            log.push((self.scheduler.now_us(), format!("Freeing initrd memory: {}K", file_system.size_kib)));
        }
        self.run_work(init_thread, &[Work::Cpu(20_000)]);
        let now_us = self.scheduler.now_us();
        log.push((now_us, "Freeing unused kernel image (initmem) memory: 2792K".to_owned()));
        let (program, name) = match plan.initramfs {
            None => ("/sbin/init", "systemd"),
            Some(file_system) if file_system.has_systemd => ("/init", "systemd"),
            Some(_) => ("/init", "init"),
        };
        log.push((now_us + 10, format!("Run {program} as init process")));
        for (time_us, text) in log {
            self.recorder.log_early_kernel(time_us, &text);
        }
        self.run_work(init_thread, &[Work::Cpu(2_000)]);
        self.scheduler.rename(init_thread, name, program);
        if let Some(file_system) = plan.initramfs {
            let begin_us = self.scheduler.now_us();
            if file_system.has_systemd {
                self.recorder.property("InitRDTimestampMonotonic", begin_us);
                self.truth.initrd_us = Some(begin_us);
                self.log_manager_start(begin_us, true);
            }
            self.run_work(init_thread, &[Work::Sleep(file_system.init_ms * 1_000)]);
            self.scheduler.rename(init_thread, "systemd", "/usr/lib/systemd/systemd");
        }
        init_thread
    }

    /// Logs the start of the service manager.
    fn log_manager_start(&mut self, time_us: i64, in_initramfs: bool) {
        self.recorder.log_manager(
            time_us,
            "systemd 252.39-1~deb12u2 running in system mode (+PAM +AUDIT default-hierarchy=unified)",
            &[],
        );
        self.recorder.log_manager(time_us + 10, "Detected architecture x86-64.", &[]);
        if in_initramfs {
            self.recorder.log_manager(time_us + 20, "Running in initrd.", &[]);
        }
        self.recorder.log_manager(time_us + 30, "Hostname set to <machine>.", &[]);
    }

    /// Runs an initcall on `thread`.
    fn initcall(&mut self, thread: ThreadId, initcall: &Initcall, log: &mut Vec<(i64, String)>) {
        let start_us = self.scheduler.now_us();
        let call = format!("{}+0x0/0x10", initcall.function);
        self.scheduler.trace(thread, &format!("initcall_start: func={call}"));
        log.push((start_us, format!("calling  {call} @ 1")));
        self.run_work(thread, &initcall.work);
        let end_us = self.scheduler.now_us();
        self.scheduler.trace(thread, &format!("initcall_finish: func={call} ret=0"));
        log.push((end_us, format!("initcall {call} returned 0 after {} usecs", end_us - start_us)));
        let interval = TrueInterval { start_us, end_us: Some(end_us) };
        self.truth.drivers.insert(initcall.function.clone(), interval);
    }

    /// Simulates the service manager's part.
    fn user_space(&mut self, init_thread: ThreadId) {
        let plan = self.plan;
        let begin_us = self.scheduler.now_us();
        self.truth.user_space_us = begin_us;
        self.log_manager_start(begin_us, false);
        self.recorder.start_journald(begin_us + JOURNAL_US);
        self.recorder.units = vec![None; plan.units.len()];
        let mut manager = ServiceManager {
            thread: init_thread,
            queue: VecDeque::from([Action::Generators, Action::Load]),
            current: None,
            roles: HashMap::new(),
            queued: HashSet::new(),
            ended_us: HashMap::new(),
            attempts: HashMap::new(),
            released_by: HashMap::new(),
        };
        let has_hung_unit = plan.units.iter().any(|unit| unit.outcome == StartOutcome::Hangs);
        let until_us = if has_hung_unit { plan.hung_recording_ms * 1_000 } else { i64::MAX };
        self.next_action(&mut manager);
        while let Some(finished) = self.scheduler.next(until_us) {
            if finished == init_thread {
                let action = manager.current.take();
                self.complete_action(&mut manager, action);
                self.next_action(&mut manager);
            } else {
                self.thread_done(&mut manager, finished);
            }
        }
        if has_hung_unit {
            self.log_activity();
        }
        self.truth.critical_path = critical_path(plan.units.as_slice(), &manager, &plan.default_target);
        self.manager_properties(begin_us);
    }

    fn manager_properties(&mut self, begin_us: i64) {
        let plan = self.plan;
        let finished_us = self.truth.finished_us;
        let records = &mut self.recorder;
        if let Some(firmware_ms) = plan.firmware_ms {
            records.property("FirmwareTimestampMonotonic", (firmware_ms + plan.loader_ms) * 1_000);
            records.property("LoaderTimestampMonotonic", plan.loader_ms * 1_000);
        }
        records.property("UserspaceTimestampMonotonic", begin_us);
        records.property("GeneratorsStartTimestampMonotonic", begin_us);
        records.property("GeneratorsFinishTimestampMonotonic", begin_us + GENERATORS_US);
        records.property("UnitsLoadStartTimestampMonotonic", begin_us + GENERATORS_US);
        records.property("UnitsLoadFinishTimestampMonotonic", begin_us + GENERATORS_US + LOAD_US);
        records.property("FinishTimestampMonotonic", finished_us.unwrap_or(0));
        let Some(finished_us) = finished_us else { return };
        let seconds = |us: i64| format!("{}.{:03}s", us / 1_000_000, us / 1_000 % 1_000);
        let kernel_us = self.truth.initrd_us.unwrap_or(begin_us);
        let mut text = "Startup finished in ".to_owned();
        if let Some(firmware_ms) = plan.firmware_ms {
            text += &format!(
                "{} (firmware) + {} (loader) + ",
                seconds(firmware_ms * 1_000),
                seconds(plan.loader_ms * 1_000)
            );
        }
        text += &format!("{} (kernel) + ", seconds(kernel_us));
        if self.truth.initrd_us.is_some() {
            text += &format!("{} (initrd) + ", seconds(begin_us - kernel_us));
        }
        let pre_kernel_us = plan.firmware_ms.map_or(0, |ms| (ms + plan.loader_ms) * 1_000);
        text += &format!("{} (userspace) = {}.", seconds(finished_us - begin_us), seconds(finished_us + pre_kernel_us));
        let (kernel, initrd) = (kernel_us.to_string(), (begin_us - kernel_us).to_string());
        let user_space = (finished_us - begin_us).to_string();
        let mut fields = vec![("MESSAGE_ID", FINISHED), ("KERNEL_USEC", &*kernel), ("USERSPACE_USEC", &*user_space)];
        if self.truth.initrd_us.is_some() {
            fields.push(("INITRD_USEC", &*initrd));
        }
        self.recorder.log_manager(finished_us + 50, &text, &fields);
    }

    /// Starts the manager's next action, or blocks it.
    fn next_action(&mut self, manager: &mut ServiceManager) {
        manager.current = manager.queue.pop_front();
        let us = match manager.current {
            None => return self.scheduler.block(manager.thread),
            Some(Action::Generators) => GENERATORS_US,
            Some(Action::Load) => LOAD_US,
            Some(Action::Start(_) | Action::Command(..)) => START_US,
            Some(Action::Done(_)) => DONE_US,
        };
        self.scheduler.add_work(manager.thread, &[Work::Cpu(us)], None);
    }

    /// Queues an action; `waker` is the thread that wakes the manager.
    fn enqueue(&mut self, manager: &mut ServiceManager, action: Action, waker: Option<ThreadId>) {
        manager.queue.push_back(action);
        if manager.current.is_none() {
            manager.current = manager.queue.pop_front();
            let us = if matches!(manager.current, Some(Action::Start(_))) { START_US } else { DONE_US };
            self.scheduler.add_work(manager.thread, &[Work::Cpu(us)], waker);
        }
    }

    fn complete_action(&mut self, manager: &mut ServiceManager, action: Option<Action>) {
        match action {
            None | Some(Action::Generators) => {}
            Some(Action::Load) => self.queue_ready_units(manager),
            Some(Action::Start(unit)) => self.start_unit(manager, unit),
            Some(Action::Command(unit, loaded)) => self.run_command(manager, unit, loaded),
            Some(Action::Done(unit)) => self.unit_done(manager, unit),
        }
    }

    /// Queues the units that can start.
    fn queue_ready_units(&mut self, manager: &mut ServiceManager) {
        let units = &self.plan.units;
        let index_of = |name: &String| units.iter().position(|unit| unit.name == *name);
        for (index, unit) in units.iter().enumerate() {
            if unit.triggered_by.is_some() || manager.queued.contains(&index) {
                continue;
            }
            let predecessors: Vec<usize> = unit.after.iter().filter_map(index_of).collect();
            if predecessors.iter().all(|predecessor| manager.ended_us.contains_key(predecessor)) {
                if let Some(&last_finished) =
                    predecessors.iter().max_by_key(|predecessor| manager.ended_us.get(predecessor))
                {
                    manager.released_by.insert(index, last_finished);
                }
                manager.queued.insert(index);
                manager.queue.push_back(Action::Start(index));
            }
        }
    }

    fn start_unit(&mut self, manager: &mut ServiceManager, index: usize) {
        let plan = self.plan;
        let unit = &plan.units[index];
        let now_us = self.scheduler.now_us();
        let attempt = manager.attempts.entry(index).or_default();
        *attempt += 1;
        let pid = FIRST_PID + u32::try_from(index).unwrap_or(0) + 100 * (*attempt - 1);
        let is_first = *attempt == 1;
        let state = self.recorder.units[index].get_or_insert_with(UnitState::default);
        *state = UnitState { start_us: now_us, pid, ..UnitState::default() };
        if is_first {
            self.truth.starts.insert(unit.name.clone(), TrueInterval { start_us: now_us, end_us: None });
        }
        for (triggered_index, triggered) in plan.units.iter().enumerate() {
            if let Some((_, ms)) = triggered.triggered_by.as_ref().filter(|(name, _)| is_first && *name == unit.name) {
                let timer =
                    self.scheduler.thread(20 + u32::try_from(triggered_index).unwrap_or(0), "kworker/u4:1", true);
                self.scheduler.add_work(timer, &[Work::Sleep(ms * 1_000)], None);
                manager.roles.insert(timer, Role::Timer(triggered_index));
            }
        }
        if unit.work.is_empty() && unit.modules.is_empty() && unit.outcome == StartOutcome::Up {
            self.unit_done(manager, index);
            return;
        }
        let (verb, id) = match unit.name.rsplit_once('.').map(|(_, kind)| kind) {
            Some("device") => ("Expecting device", STARTING),
            Some("mount") => ("Mounting", STARTING),
            _ => ("Starting", STARTING),
        };
        let text = format!("{verb} {} - {}...", unit.name, description(&unit.name));
        self.recorder.log_manager(now_us, &text, &[("MESSAGE_ID", id), ("UNIT", &unit.name), ("JOB_TYPE", "start")]);
        let mut work: Vec<Work> = if unit.modules.is_empty() { unit.work.clone() } else { Vec::new() };
        let is_last = unit.modules.is_empty();
        if unit.outcome == StartOutcome::Hangs && is_last {
            work.push(Work::Sleep(i64::MAX / 4));
        }
        if unit.name.ends_with(".device") {
            let device = self.scheduler.thread(20 + u32::try_from(index).unwrap_or(0), "kworker/u4:0", true);
            self.scheduler.add_work(device, &work, None);
            manager.roles.insert(device, Role::Device(index));
        } else {
            let program = unit.name.split(['.', '@']).next().unwrap_or("unit");
            // The kernel truncates names to 15 characters.
            let program = &program[..program.len().min(15)];
            let process = self.scheduler.process(pid, program, &work, manager.thread);
            manager.roles.insert(process, Role::Unit { unit: index, loaded: 0, in_module: false });
            if unit.has_command_per_module
                && let Some(state) = &mut self.recorder.units[index]
            {
                state.commands.push(pid);
            }
        }
    }

    fn run_command(&mut self, manager: &mut ServiceManager, index: usize, loaded: usize) {
        let Some(state) = &mut self.recorder.units[index] else { return };
        state.pid += COMMAND_PID_STEP;
        state.commands.push(state.pid);
        let process = self.scheduler.process(state.pid, "load", &[Work::Cpu(START_US)], manager.thread);
        manager.roles.insert(process, Role::Unit { unit: index, loaded, in_module: false });
    }

    fn thread_done(&mut self, manager: &mut ServiceManager, thread: ThreadId) {
        let role = manager.roles.get(&thread).copied();
        match role {
            None => self.scheduler.block(thread),
            Some(Role::Timer(unit)) => {
                self.enqueue(manager, Action::Start(unit), Some(thread));
                self.scheduler.exit(thread);
            }
            Some(Role::Device(unit)) => {
                self.enqueue(manager, Action::Done(unit), Some(thread));
                self.scheduler.exit(thread);
            }
            Some(Role::Unit { unit: index, loaded, in_module }) => {
                let unit = &self.plan.units[index];
                if let Some(module) = unit.modules.get(loaded) {
                    self.module_initcall(thread, module, in_module, self.unit_pid(index));
                    let (loaded, in_next_module) = if in_module { (loaded + 1, false) } else { (loaded, true) };
                    if in_module && unit.has_command_per_module && loaded < unit.modules.len() {
                        self.enqueue(manager, Action::Command(index, loaded), Some(thread));
                        self.scheduler.exit(thread);
                        return;
                    }
                    manager.roles.insert(thread, Role::Unit { unit: index, loaded, in_module: in_next_module });
                    if in_module && loaded == unit.modules.len() {
                        let mut work = unit.work.clone();
                        if unit.outcome == StartOutcome::Hangs {
                            work.push(Work::Sleep(i64::MAX / 4));
                        }
                        self.scheduler.add_work(thread, &work, None);
                    }
                    return;
                }
                self.enqueue(manager, Action::Done(index), Some(thread));
                self.scheduler.exit(thread);
            }
        }
    }

    fn unit_pid(&self, unit: usize) -> u32 {
        self.recorder.units[unit].as_ref().map_or(0, |state| state.pid)
    }

    /// Starts or ends a module's initcall.
    fn module_initcall(&mut self, thread: ThreadId, module: &Initcall, is_end: bool, pid: u32) {
        let now_us = self.scheduler.now_us();
        let call = format!("{}+0x0/0x1000 [{}]", module.function, module.module);
        if is_end {
            self.scheduler.trace(thread, &format!("initcall_finish: func={call} ret=0"));
            if let Some(interval) = self.truth.drivers.get_mut(&module.module) {
                interval.end_us = Some(now_us);
                let duration_us = interval.duration_us();
                self.recorder.log_kernel(now_us, &format!("initcall {call} returned 0 after {duration_us} usecs"));
            }
        } else {
            self.scheduler.trace(thread, &format!("module_load: {} ", module.module));
            self.scheduler.trace(thread, &format!("initcall_start: func={call}"));
            self.recorder.log_kernel(now_us, &format!("calling  {call} @ {pid}"));
            self.truth.drivers.insert(module.module.clone(), TrueInterval { start_us: now_us, end_us: None });
            self.scheduler.add_work(thread, &module.work, None);
        }
    }

    /// Handles a unit that is up or has failed.
    fn unit_done(&mut self, manager: &mut ServiceManager, index: usize) {
        let plan = self.plan;
        let unit = &plan.units[index];
        let now_us = self.scheduler.now_us();
        let attempt = manager.attempts.get(&index).copied().unwrap_or(1);
        let failure = match unit.outcome {
            StartOutcome::Failed(result) => Some(result),
            StartOutcome::UpAfterRetry(result) if attempt == 1 => Some(result),
            _ => None,
        };
        if let Some(state) = &mut self.recorder.units[index] {
            match failure {
                Some(result) => {
                    (state.inactive_us, state.result, state.has_failed) = (now_us, result, true);
                }
                None => state.active_us = now_us,
            }
        }
        let start = self.truth.starts.get_mut(&unit.name);
        if let Some(start) = start.filter(|interval| interval.end_us.is_none()) {
            start.end_us = Some(now_us);
        }
        self.log_unit_done(unit, failure, now_us);
        if matches!(unit.outcome, StartOutcome::UpAfterRetry(_)) && failure.is_some() {
            let text = format!("{}: Scheduled restart job, restart counter is at 1.", unit.name);
            self.recorder.log_manager(now_us + RESTART_US, &text, &[("UNIT", &unit.name)]);
            let timer = self.scheduler.thread(20 + u32::try_from(index).unwrap_or(0), "kworker/u4:2", true);
            self.scheduler.add_work(timer, &[Work::Sleep(RESTART_US)], None);
            manager.roles.insert(timer, Role::Timer(index));
        }
        manager.ended_us.entry(index).or_insert(now_us);
        self.queue_ready_units(manager);
        let initial_units = plan.units.iter().enumerate().filter(|(_, unit)| unit.triggered_by.is_none());
        if self.truth.finished_us.is_none()
            && initial_units.clone().all(|(index, _)| manager.ended_us.contains_key(&index))
        {
            self.truth.finished_us = Some(now_us);
        }
    }

    fn log_unit_done(&mut self, unit: &LinuxUnit, failure: Option<&'static str>, now_us: i64) {
        let (name, unit_description) = (unit.name.as_str(), description(&unit.name));
        if let Some(result) = failure {
            if result == "timeout" {
                let text = format!("{name}: start operation timed out. Terminating.");
                self.recorder.log_manager(now_us - 30, &text, &[("UNIT", name)]);
            }
            let text = format!("{name}: Failed with result '{result}'.");
            self.recorder.log_manager(now_us - 20, &text, &[("UNIT", name)]);
            let job = if result == "timeout" { "timeout" } else { "failed" };
            let fields = [("MESSAGE_ID", FAILED), ("UNIT", name), ("JOB_TYPE", "start"), ("JOB_RESULT", job)];
            self.recorder.log_manager(now_us, &format!("Failed to start {name} - {unit_description}."), &fields);
            return;
        }
        let verb = match name.rsplit_once('.').map(|(_, kind)| kind) {
            Some("target") => "Reached target",
            Some("device") => "Found device",
            Some("mount") => "Mounted",
            _ if unit.stop.is_empty() => "Finished",
            _ => "Started",
        };
        let fields = [("MESSAGE_ID", STARTED), ("UNIT", name), ("JOB_TYPE", "start"), ("JOB_RESULT", "done")];
        self.recorder.log_manager(now_us, &format!("{verb} {name} - {unit_description}."), &fields);
    }
}

/// Returns the chain of units that the target waited for.
fn critical_path(units: &[LinuxUnit], manager: &ServiceManager, target: &str) -> Vec<String> {
    let mut path = Vec::new();
    let mut current =
        units.iter().position(|unit| unit.name == target).filter(|index| manager.ended_us.contains_key(index));
    while let Some(unit) = current {
        path.push(units[unit].name.clone());
        current = manager.released_by.get(&unit).copied();
    }
    path.reverse();
    path
}
