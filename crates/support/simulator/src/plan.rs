//! Turns a scenario into processes, threads and their steps.

use hashbrown::HashMap;

use super::disk::volume_path;
use super::program::{ProcessPlan, SYSTEM, Signal, Step, ThreadPlan, TruthNote};
use super::scenario::{Process, Scenario, Thread};
use super::transition_truth::Transitions;
use super::truth::{Device, Service};
use super::work::WorkStep;
use onoff_testkit::events::logon;
use onoff_testkit::events::storage::IoPriority;

/// The Winlogon step that requests credentials.
const REQUEST_CREDENTIALS: u16 = 203;
/// Priority of the threads every boot has.
pub(super) const BOOT_PRIORITY: u8 = 9;

/// Everything the machine executes, and the rows of the truth that notes fill in.
pub(super) struct Plan {
    pub(super) processes: Vec<ProcessPlan>,
    pub(super) threads: Vec<ThreadPlan>,
    signals: HashMap<String, Signal>,
    pub(super) services: Vec<Service>,
    pub(super) groups: Vec<String>,
    pub(super) devices: Vec<Device>,
    pub(super) startup: Vec<(String, u32)>,
    /// Process of each service of the scenario.
    pub(super) service_hosts: Vec<usize>,
    /// Services that were running before the recording.
    pub(super) running_services: Vec<Service>,
    pub(super) transitions: Transitions,
    next_id: u32,
    reserved_ids: Vec<u32>,
}

/// Indices of the processes that transitions need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actors {
    pub(super) session_manager: usize,
    pub(super) csrss_system: usize,
    pub(super) csrss_user: usize,
    pub(super) wininit: usize,
    pub(super) winlogon: usize,
    pub(super) manager: usize,
    pub(super) explorer: usize,
    /// The csrss that notifies applications of sleep.
    pub(super) notifier: usize,
}

impl Plan {
    /// Creates an empty plan.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut plan = Self {
            processes: Vec::new(),
            threads: Vec::new(),
            signals: HashMap::new(),
            services: Vec::new(),
            groups: Vec::new(),
            devices: Vec::new(),
            startup: Vec::new(),
            service_hosts: vec![SYSTEM; scenario.services.service.len()],
            running_services: Vec::new(),
            transitions: Transitions::default(),
            next_id: 0x104,
            reserved_ids: scenario
                .services
                .service
                .iter()
                .filter_map(|service| service.host_id)
                .chain(scenario.processes.iter().flat_map(|process| {
                    process.id.into_iter().chain(process.thread.iter().filter_map(|thread| thread.id))
                }))
                .chain(
                    scenario
                        .applications
                        .iter()
                        .flat_map(|application| application.id.into_iter().chain(application.thread_id)),
                )
                .collect(),
        };
        plan.processes.push(ProcessPlan {
            id: 4,
            parent: 0,
            session: 0,
            image: "System".to_owned(),
            path: String::new(),
            command: String::new(),
            existing: true,
            symbols: None,
            stack: Vec::new(),
        });
        plan
    }

    pub(super) fn signal_count(&self) -> usize {
        self.signals.len()
    }

    /// Returns an unused process or thread id.
    fn unused_id(&mut self) -> u32 {
        loop {
            let id = self.next_id;
            self.next_id += 4;
            if !self.reserved_ids.contains(&id) {
                return id;
            }
        }
    }

    /// Returns the signal with this name, which is created on first use.
    pub(super) fn signal(&mut self, name: &str) -> Signal {
        let next = Signal(self.signals.len());
        *self.signals.entry_ref(name).or_insert(next)
    }

    /// Adds a process, to be started by a step of another process.
    pub(super) fn process(&mut self, parent: usize, session: u32, image: &str, command: &str) -> usize {
        let id = self.unused_id();
        self.process_with_id(id, parent, session, image, command)
    }

    /// Adds a process with an id that a document gives.
    pub(super) fn process_with_id(
        &mut self,
        id: u32,
        parent: usize,
        session: u32,
        image: &str,
        command: &str,
    ) -> usize {
        let file = image.rsplit('\\').next().unwrap_or(image);
        let path = if image.contains('\\') {
            volume_path(image)
        } else {
            volume_path(&format!("\\Windows\\System32\\{image}"))
        };
        self.processes.push(ProcessPlan {
            id,
            parent: self.processes[parent].id,
            session,
            image: file.to_owned(),
            path,
            command: command.to_owned(),
            existing: false,
            symbols: None,
            stack: Vec::new(),
        });
        self.processes.len() - 1
    }

    /// Adds a thread.
    pub(super) fn thread(&mut self, process: usize, priority: u8, steps: Vec<Step>) -> usize {
        let id = self.unused_id();
        self.threads.push(ThreadPlan {
            id,
            process,
            priority: priority.min(31),
            io_priority: IoPriority::Normal,
            service_tag: 0,
            first_cpu: 0,
            steps,
        });
        self.threads.len() - 1
    }

    /// Adds a thread that waits forever, which keeps its process alive.
    pub(super) fn resident(&mut self, process: usize) {
        let never = self.signal("never");
        self.thread(process, 8, vec![Step::Compute(2_000), Step::Wait(never)]);
    }

    /// Translates work into steps.
    pub(super) fn steps(&mut self, work: &[WorkStep]) -> Vec<Step> {
        let mut steps = Vec::new();
        for work in work {
            match work {
                WorkStep::Cpu(duration) => steps.push(Step::Compute(duration.0)),
                WorkStep::Sleep(duration) => steps.push(Step::Sleep(duration.0)),
                WorkStep::Until(duration) => steps.push(Step::Until(duration.0)),
                WorkStep::Disk { transfer, count, size, path } => {
                    for _ in 0..*count {
                        steps.push(Step::Disk { transfer: *transfer, size: *size, path: path.clone() });
                    }
                }
                WorkStep::Flush => steps.push(Step::Flush),
                WorkStep::Signal(name) => steps.push(Step::Set(self.signal(name))),
                WorkStep::Wait(name) => steps.push(Step::Wait(self.signal(name))),
                WorkStep::WaitAtMost(name, time) => {
                    steps.push(Step::WaitAtMost(self.signal(name), time.0));
                }
                WorkStep::Device { time, driver, open } => {
                    steps.extend(open.clone().map(Step::Open));
                    steps.push(Step::Device(time.0, driver.clone()));
                    steps.extend(open.as_ref().map(|_| Step::Opened));
                }
                WorkStep::Dpc { time, driver } => {
                    steps.push(Step::DpcBegin(time.0));
                    steps.push(Step::DpcEnd(driver.clone()));
                }
                WorkStep::RequestCredentials(time) => {
                    steps.push(Step::emit(logon::winlogon_step(REQUEST_CREDENTIALS, true)));
                    steps.push(Step::Sleep(time.0));
                    steps.push(Step::emit(logon::winlogon_step(REQUEST_CREDENTIALS, false)));
                }
                WorkStep::Repeat(count, work) => {
                    let repeated_steps = self.steps(work);
                    for _ in 0..*count {
                        steps.extend_from_slice(&repeated_steps);
                    }
                }
                WorkStep::SetClockBack(time) => steps.push(Step::SetClockBack(time.0)),
                WorkStep::Mark(text) => steps.push(Step::Mark(text.clone())),
                WorkStep::Send { size, destination: to } => steps.push(Step::Send { size: *size, destination: *to }),
                WorkStep::Loop { burst, pause, until } => {
                    steps.push(Step::Loop { burst: burst.0, pause: pause.0, until: until.map(|until| until.0) })
                }
            }
        }
        steps
    }

    /// Adds the threads that a scenario gives a process; each starts with `initial_steps`.
    pub(super) fn scenario_threads(&mut self, process: usize, threads: &[Thread], initial_steps: &[Step]) {
        for thread in threads {
            for copy in 0..thread.count {
                let mut steps = initial_steps.to_vec();
                steps.extend(self.steps(&thread.work));
                let index = self.thread(process, thread.priority, steps);
                self.threads[index].io_priority = thread.io_priority;
                self.threads[index].id = thread.id.unwrap_or(self.threads[index].id);
                self.threads[index].first_cpu = copy as usize;
            }
        }
    }

    /// Adds the processes of the scenario. The service manager creates processes in session 0, the shell processes in
    /// the console session, and the session manager, which exists earlier, processes in remote sessions.
    pub(super) fn scenario_processes(&mut self, processes: &[Process], [services, shell, session_manager]: [usize; 3]) {
        for process in processes {
            if process.at.is_none() && process.on.is_none() {
                self.scenario_threads(SYSTEM, &process.thread, &[]);
                continue;
            }
            let parent = match process.session {
                0 => services,
                1 => shell,
                _ => session_manager,
            };
            let command = process.command.as_deref().unwrap_or(&process.image);
            let index = match process.id {
                Some(id) => self.process_with_id(id, parent, process.session, &process.image, command),
                None => self.process(parent, process.session, &process.image, command),
            };
            self.processes[index].symbols = process.symbols;
            self.processes[index].stack.clone_from(&process.stack);
            self.scenario_threads(index, &process.thread, &[]);
            let mut launch = Vec::new();
            if let Some(signal_name) = &process.on {
                launch.push(Step::Wait(self.signal(signal_name)));
            }
            if let Some(time) = process.at {
                launch.push(Step::Until(time.0));
            }
            launch.push(Step::Start(index, None));
            self.thread(parent, 8, launch);
        }
    }

    pub(super) fn start(process: usize, note: TruthNote) -> Step {
        Step::Start(process, Some(note))
    }

    /// Adds some kernel work on every processor, as real machines have.
    pub(super) fn housekeeping(&mut self, scenario: &Scenario) {
        for cpu in 0..scenario.machine.processors {
            let steps = vec![Step::Loop { burst: 200, pause: 150_000, until: None }];
            let index = self.thread(SYSTEM, 12, steps);
            self.threads[index].first_cpu = cpu as usize;
        }
    }
}
