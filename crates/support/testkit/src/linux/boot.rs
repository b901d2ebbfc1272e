//! How a machine boots: the kernel calls its functions one after the other, the service manager starts each unit as
//! soon as those before it are done.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Play;
use super::plan::{Ending, Initcall, LinuxUnit, Work};
use super::processors::ThreadId;
use super::records::UnitState;
use super::truth::TrueLife;

/// The kernel's first thread runs from here on, µs.
const FIRST_THREAD_US: i64 = 400_000;
/// What the manager needs to start a unit, and to take note that one is done, µs.
const START_US: i64 = 500;
const DONE_US: i64 = 200;
/// Its generators, and reading the units, µs.
const GENERATORS_US: i64 = 150_000;
const LOAD_US: i64 = 100_000;
/// journald is there so long after the manager, µs.
const JOURNAL_US: i64 = 400_000;
/// The pause before a service is started again, µs.
const RESTART_US: i64 = 5_000_000;
/// The process ids of units begin here; those of threads of the kernel below.
const FIRST_PID: u32 = 200;

/// A unit's further commands have process ids so far apart.
const COMMAND_PIDS: u32 = 1000;

// Ids of messages. Source: systemd's sd-messages.h.
const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
const FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";
const FINISHED: &str = "b07a249cd024414a82dd00cd181378ff";

/// What the manager does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Generators,
    Load,
    Start(usize),
    /// The next command of a unit that has loaded so many modules.
    Command(usize, usize),
    Done(usize),
}

/// What a thread is there for.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// The process of a unit; it has loaded so many modules, and is in the middle of one or not.
    Unit { unit: usize, loaded: usize, in_module: bool },
    /// What a unit waits for without a process of its own.
    Device(usize),
    /// It starts a unit when its time is over.
    Timer(usize),
}

/// The service manager and whom it started.
pub(super) struct Manager {
    thread: ThreadId,
    queue: VecDeque<Action>,
    current: Option<Action>,
    roles: HashMap<ThreadId, Role>,
    queued: HashSet<usize>,
    /// Of each unit that is done: when, µs.
    ended_us: HashMap<usize, i64>,
    attempts: HashMap<usize, u32>,
    released_by: HashMap<usize, usize>,
}

/// How units are described.
pub(super) fn description(unit: &str) -> String {
    format!("What {unit} is for")
}

impl Play<'_> {
    /// From the kernel's start until every job is done and every process has come to rest.
    pub(super) fn boot(&mut self) {
        self.records.journal_from_us = i64::MAX;
        let first = self.kernel();
        self.user_space(first);
    }

    /// `thread` does that. Gives the others that had nothing left to do meanwhile; they rest.
    pub(super) fn works(&mut self, thread: ThreadId, work: &[Work]) -> Vec<ThreadId> {
        self.processors.give(thread, work, None);
        let mut others = Vec::new();
        while let Some(done) = self.processors.next(i64::MAX).filter(|&done| done != thread) {
            self.processors.rests(done);
            others.push(done);
        }
        others
    }

    /// The kernel's own part.
    fn kernel(&mut self) -> ThreadId {
        let plan = self.plan;
        // What the kernel says before journald runs reaches it then; the time of that is not known yet.
        let mut said: Vec<(i64, String)> = vec![
            (0, "Linux version 6.1.0-50-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP".to_owned()),
            (0, "Command line: root=/dev/sda1 ro quiet initcall_debug trace_clock=mono".to_owned()),
        ];
        self.processors.pass(FIRST_THREAD_US);
        let first = self.processors.thread(1, "swapper/0", true);
        self.works(first, &[Work::Runs(50_000)]);
        for initcall in &plan.initcalls {
            self.initcall(first, initcall, &mut said);
        }
        if let Some(file_system) = plan.initial_file_system {
            said.push((self.processors.now_us(), "Trying to unpack rootfs image as initramfs...".to_owned()));
            let unpacks = Initcall::new("populate_rootfs").runs(file_system.unpack_ms);
            self.initcall(first, &unpacks, &mut said);
            said.push((self.processors.now_us(), format!("Freeing initrd memory: {}K", file_system.size_kib)));
        }
        self.works(first, &[Work::Runs(20_000)]);
        let now_us = self.processors.now_us();
        said.push((now_us, "Freeing unused kernel image (initmem) memory: 2792K".to_owned()));
        let (program, name) = match plan.initial_file_system {
            None => ("/sbin/init", "systemd"),
            Some(file_system) if file_system.has_service_manager => ("/init", "systemd"),
            Some(_) => ("/init", "init"),
        };
        said.push((now_us + 10, format!("Run {program} as init process")));
        for (time_us, text) in said {
            self.records.kernel_before_journal(time_us, &text);
        }
        self.works(first, &[Work::Runs(2_000)]);
        self.processors.rename(first, name, program);
        if let Some(file_system) = plan.initial_file_system {
            let begin_us = self.processors.now_us();
            if file_system.has_service_manager {
                self.records.property("InitRDTimestampMonotonic", begin_us);
                self.truth.initrd_us = Some(begin_us);
                self.manager_begins(begin_us, true);
            }
            self.works(first, &[Work::Sleeps(file_system.program_ms * 1_000)]);
            self.processors.rename(first, "systemd", "/usr/lib/systemd/systemd");
        }
        first
    }

    /// What the manager says when it begins.
    fn manager_begins(&mut self, time_us: i64, in_initial_file_system: bool) {
        self.records.manager_says(
            time_us,
            "systemd 252.39-1~deb12u2 running in system mode (+PAM +AUDIT default-hierarchy=unified)",
            &[],
        );
        self.records.manager_says(time_us + 10, "Detected architecture x86-64.", &[]);
        if in_initial_file_system {
            self.records.manager_says(time_us + 20, "Running in initrd.", &[]);
        }
        self.records.manager_says(time_us + 30, "Hostname set to <machine>.", &[]);
    }

    /// One function, called by `thread`.
    fn initcall(&mut self, thread: ThreadId, initcall: &Initcall, said: &mut Vec<(i64, String)>) {
        let start_us = self.processors.now_us();
        let call = format!("{}+0x0/0x10", initcall.function);
        self.processors.says(thread, &format!("initcall_start: func={call}"));
        said.push((start_us, format!("calling  {call} @ 1")));
        self.works(thread, &initcall.work);
        let end_us = self.processors.now_us();
        self.processors.says(thread, &format!("initcall_finish: func={call} ret=0"));
        said.push((end_us, format!("initcall {call} returned 0 after {} usecs", end_us - start_us)));
        let life = TrueLife { start_us, end_us: Some(end_us) };
        self.truth.drivers.insert(initcall.function.clone(), life);
    }

    /// The service manager's part.
    fn user_space(&mut self, first: ThreadId) {
        let plan = self.plan;
        let begin_us = self.processors.now_us();
        self.truth.user_space_us = begin_us;
        self.manager_begins(begin_us, false);
        self.records.journal_is_there(begin_us + JOURNAL_US);
        self.records.units = vec![None; plan.units.len()];
        let mut manager = Manager {
            thread: first,
            queue: VecDeque::from([Action::Generators, Action::Load]),
            current: None,
            roles: HashMap::new(),
            queued: HashSet::new(),
            ended_us: HashMap::new(),
            attempts: HashMap::new(),
            released_by: HashMap::new(),
        };
        let hangs = plan.units.iter().any(|unit| unit.ending == Ending::Hangs);
        let until_us = if hangs { plan.hung_ms * 1_000 } else { i64::MAX };
        self.go_on(&mut manager);
        while let Some(done) = self.processors.next(until_us) {
            if done == first {
                let action = manager.current.take();
                self.did(&mut manager, action);
                self.go_on(&mut manager);
            } else {
                self.thread_is_done(&mut manager, done);
            }
        }
        if hangs {
            self.sign_of_life();
        }
        self.truth.path = way(plan.units.as_slice(), &manager, &plan.default_target);
        self.manager_properties(begin_us);
    }

    fn manager_properties(&mut self, begin_us: i64) {
        let plan = self.plan;
        let finished_us = self.truth.finished_us;
        let records = &mut self.records;
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
        let before_us = plan.firmware_ms.map_or(0, |ms| (ms + plan.loader_ms) * 1_000);
        text += &format!("{} (userspace) = {}.", seconds(finished_us - begin_us), seconds(finished_us + before_us));
        let (kernel, initrd) = (kernel_us.to_string(), (begin_us - kernel_us).to_string());
        let user_space = (finished_us - begin_us).to_string();
        let mut about = vec![("MESSAGE_ID", FINISHED), ("KERNEL_USEC", &*kernel), ("USERSPACE_USEC", &*user_space)];
        if self.truth.initrd_us.is_some() {
            about.push(("INITRD_USEC", &*initrd));
        }
        self.records.manager_says(finished_us + 50, &text, &about);
    }

    /// The manager takes up what comes next, or rests.
    fn go_on(&mut self, manager: &mut Manager) {
        manager.current = manager.queue.pop_front();
        let us = match manager.current {
            None => return self.processors.rests(manager.thread),
            Some(Action::Generators) => GENERATORS_US,
            Some(Action::Load) => LOAD_US,
            Some(Action::Start(_) | Action::Command(..)) => START_US,
            Some(Action::Done(_)) => DONE_US,
        };
        self.processors.give(manager.thread, &[Work::Runs(us)], None);
    }

    /// It is given more to do; `by` wakes it.
    fn ask(&mut self, manager: &mut Manager, action: Action, by: Option<ThreadId>) {
        manager.queue.push_back(action);
        if manager.current.is_none() {
            manager.current = manager.queue.pop_front();
            let us = if matches!(manager.current, Some(Action::Start(_))) { START_US } else { DONE_US };
            self.processors.give(manager.thread, &[Work::Runs(us)], by);
        }
    }

    fn did(&mut self, manager: &mut Manager, action: Option<Action>) {
        match action {
            None | Some(Action::Generators) => {}
            Some(Action::Load) => self.start_what_can(manager),
            Some(Action::Start(unit)) => self.starts(manager, unit),
            Some(Action::Command(unit, loaded)) => self.runs_command(manager, unit, loaded),
            Some(Action::Done(unit)) => self.is_done(manager, unit),
        }
    }

    /// Units whose turn it is are queued.
    fn start_what_can(&mut self, manager: &mut Manager) {
        let units = &self.plan.units;
        let place = |name: &String| units.iter().position(|unit| unit.name == *name);
        for (at, unit) in units.iter().enumerate() {
            if unit.with.is_some() || manager.queued.contains(&at) {
                continue;
            }
            let before: Vec<usize> = unit.after.iter().filter_map(place).collect();
            if before.iter().all(|before| manager.ended_us.contains_key(before)) {
                if let Some(&last) = before.iter().max_by_key(|before| manager.ended_us.get(before)) {
                    manager.released_by.insert(at, last);
                }
                manager.queued.insert(at);
                manager.queue.push_back(Action::Start(at));
            }
        }
    }

    fn starts(&mut self, manager: &mut Manager, at: usize) {
        let plan = self.plan;
        let unit = &plan.units[at];
        let now_us = self.processors.now_us();
        let attempt = manager.attempts.entry(at).or_default();
        *attempt += 1;
        let pid = FIRST_PID + u32::try_from(at).unwrap_or(0) + 100 * (*attempt - 1);
        let is_first = *attempt == 1;
        let state = self.records.units[at].get_or_insert_with(UnitState::default);
        *state = UnitState { start_us: now_us, pid, ..UnitState::default() };
        if is_first {
            self.truth.starts.insert(unit.name.clone(), TrueLife { start_us: now_us, end_us: None });
        }
        for (waiting, other) in plan.units.iter().enumerate() {
            if let Some((_, ms)) = other.with.as_ref().filter(|(name, _)| is_first && *name == unit.name) {
                let timer = self.processors.thread(20 + u32::try_from(waiting).unwrap_or(0), "kworker/u4:1", true);
                self.processors.give(timer, &[Work::Sleeps(ms * 1_000)], None);
                manager.roles.insert(timer, Role::Timer(waiting));
            }
        }
        if unit.work.is_empty() && unit.modules.is_empty() && unit.ending == Ending::Up {
            self.is_done(manager, at);
            return;
        }
        let (begins, id) = match unit.name.rsplit_once('.').map(|(_, kind)| kind) {
            Some("device") => ("Expecting device", STARTING),
            Some("mount") => ("Mounting", STARTING),
            _ => ("Starting", STARTING),
        };
        let text = format!("{begins} {} - {}...", unit.name, description(&unit.name));
        self.records.manager_says(now_us, &text, &[("MESSAGE_ID", id), ("UNIT", &unit.name), ("JOB_TYPE", "start")]);
        let mut work: Vec<Work> = if unit.modules.is_empty() { unit.work.clone() } else { Vec::new() };
        let is_last = unit.modules.is_empty();
        if unit.ending == Ending::Hangs && is_last {
            work.push(Work::Sleeps(i64::MAX / 4));
        }
        if unit.name.ends_with(".device") {
            let device = self.processors.thread(20 + u32::try_from(at).unwrap_or(0), "kworker/u4:0", true);
            self.processors.give(device, &work, None);
            manager.roles.insert(device, Role::Device(at));
        } else {
            let program = unit.name.split(['.', '@']).next().unwrap_or("unit");
            // The kernel keeps 15 characters.
            let program = &program[..program.len().min(15)];
            let process = self.processors.process(pid, program, &work, manager.thread);
            manager.roles.insert(process, Role::Unit { unit: at, loaded: 0, in_module: false });
            if unit.by_commands
                && let Some(state) = &mut self.records.units[at]
            {
                state.commands.push(pid);
            }
        }
    }

    fn runs_command(&mut self, manager: &mut Manager, at: usize, loaded: usize) {
        let Some(state) = &mut self.records.units[at] else { return };
        state.pid += COMMAND_PIDS;
        state.commands.push(state.pid);
        let process = self.processors.process(state.pid, "load", &[Work::Runs(START_US)], manager.thread);
        manager.roles.insert(process, Role::Unit { unit: at, loaded, in_module: false });
    }

    fn thread_is_done(&mut self, manager: &mut Manager, thread: ThreadId) {
        let role = manager.roles.get(&thread).copied();
        match role {
            None => self.processors.rests(thread),
            Some(Role::Timer(unit)) => {
                self.ask(manager, Action::Start(unit), Some(thread));
                self.processors.exits(thread);
            }
            Some(Role::Device(unit)) => {
                self.ask(manager, Action::Done(unit), Some(thread));
                self.processors.exits(thread);
            }
            Some(Role::Unit { unit: at, loaded, in_module }) => {
                let unit = &self.plan.units[at];
                if let Some(module) = unit.modules.get(loaded) {
                    self.module(thread, module, in_module, self.records_pid(at));
                    let (loaded, begins) = if in_module { (loaded + 1, false) } else { (loaded, true) };
                    if in_module && unit.by_commands && loaded < unit.modules.len() {
                        self.ask(manager, Action::Command(at, loaded), Some(thread));
                        self.processors.exits(thread);
                        return;
                    }
                    manager.roles.insert(thread, Role::Unit { unit: at, loaded, in_module: begins });
                    if in_module && loaded == unit.modules.len() {
                        // The unit's own work comes last.
                        let mut work = unit.work.clone();
                        if unit.ending == Ending::Hangs {
                            work.push(Work::Sleeps(i64::MAX / 4));
                        }
                        self.processors.give(thread, &work, None);
                    }
                    return;
                }
                self.ask(manager, Action::Done(at), Some(thread));
                self.processors.exits(thread);
            }
        }
    }

    fn records_pid(&self, unit: usize) -> u32 {
        self.records.units[unit].as_ref().map_or(0, |state| state.pid)
    }

    /// A module's function begins or ends.
    fn module(&mut self, thread: ThreadId, module: &Initcall, ends: bool, pid: u32) {
        let now_us = self.processors.now_us();
        let call = format!("{}+0x0/0x1000 [{}]", module.function, module.module);
        if ends {
            self.processors.says(thread, &format!("initcall_finish: func={call} ret=0"));
            if let Some(life) = self.truth.drivers.get_mut(&module.module) {
                life.end_us = Some(now_us);
                let length_us = life.length_us();
                self.records.kernel(now_us, &format!("initcall {call} returned 0 after {length_us} usecs"));
            }
        } else {
            self.processors.says(thread, &format!("module_load: {} ", module.module));
            self.processors.says(thread, &format!("initcall_start: func={call}"));
            self.records.kernel(now_us, &format!("calling  {call} @ {pid}"));
            self.truth.drivers.insert(module.module.clone(), TrueLife { start_us: now_us, end_us: None });
            self.processors.give(thread, &module.work, None);
        }
    }

    /// A unit is up, or failed.
    fn is_done(&mut self, manager: &mut Manager, at: usize) {
        let plan = self.plan;
        let unit = &plan.units[at];
        let now_us = self.processors.now_us();
        let attempt = manager.attempts.get(&at).copied().unwrap_or(1);
        let failed = match unit.ending {
            Ending::Failed(result) => Some(result),
            Ending::UpAtSecondAttempt(result) if attempt == 1 => Some(result),
            _ => None,
        };
        if let Some(state) = &mut self.records.units[at] {
            match failed {
                Some(result) => {
                    (state.inactive_us, state.result, state.has_failed) = (now_us, result, true);
                }
                None => state.active_us = now_us,
            }
        }
        let first = self.truth.starts.get_mut(&unit.name);
        if let Some(first) = first.filter(|life| life.end_us.is_none()) {
            first.end_us = Some(now_us);
        }
        self.says_done(unit, failed, now_us);
        if matches!(unit.ending, Ending::UpAtSecondAttempt(_)) && failed.is_some() {
            let text = format!("{}: Scheduled restart job, restart counter is at 1.", unit.name);
            self.records.manager_says(now_us + RESTART_US, &text, &[("UNIT", &unit.name)]);
            let timer = self.processors.thread(20 + u32::try_from(at).unwrap_or(0), "kworker/u4:2", true);
            self.processors.give(timer, &[Work::Sleeps(RESTART_US)], None);
            manager.roles.insert(timer, Role::Timer(at));
        }
        manager.ended_us.entry(at).or_insert(now_us);
        self.start_what_can(manager);
        let wanted = plan.units.iter().enumerate().filter(|(_, unit)| unit.with.is_none());
        if self.truth.finished_us.is_none() && wanted.clone().all(|(at, _)| manager.ended_us.contains_key(&at)) {
            self.truth.finished_us = Some(now_us);
        }
    }

    fn says_done(&mut self, unit: &LinuxUnit, failed: Option<&'static str>, now_us: i64) {
        let (name, what) = (unit.name.as_str(), description(&unit.name));
        if let Some(result) = failed {
            if result == "timeout" {
                let text = format!("{name}: start operation timed out. Terminating.");
                self.records.manager_says(now_us - 30, &text, &[("UNIT", name)]);
            }
            let text = format!("{name}: Failed with result '{result}'.");
            self.records.manager_says(now_us - 20, &text, &[("UNIT", name)]);
            let job = if result == "timeout" { "timeout" } else { "failed" };
            let about = [("MESSAGE_ID", FAILED), ("UNIT", name), ("JOB_TYPE", "start"), ("JOB_RESULT", job)];
            self.records.manager_says(now_us, &format!("Failed to start {name} - {what}."), &about);
            return;
        }
        let done = match name.rsplit_once('.').map(|(_, kind)| kind) {
            Some("target") => "Reached target",
            Some("device") => "Found device",
            Some("mount") => "Mounted",
            _ if unit.stop.is_empty() => "Finished",
            _ => "Started",
        };
        let about = [("MESSAGE_ID", STARTED), ("UNIT", name), ("JOB_TYPE", "start"), ("JOB_RESULT", "done")];
        self.records.manager_says(now_us, &format!("{done} {name} - {what}."), &about);
    }
}

/// The units that the target waited for, one after the other.
fn way(units: &[LinuxUnit], manager: &Manager, target: &str) -> Vec<String> {
    let mut way = Vec::new();
    let mut at = units.iter().position(|unit| unit.name == target).filter(|at| manager.ended_us.contains_key(at));
    while let Some(unit) = at {
        way.push(units[unit].name.clone());
        at = manager.released_by.get(&unit).copied();
    }
    way.reverse();
    way
}
