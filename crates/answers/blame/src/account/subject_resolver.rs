//! Maps (thread, time) to the subject the thread was working for: a driver, a service, a script, or else its program.
//! Thread ids are reused, so every lookup takes a time.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use onoff_trace::{
    ActivityKind, Lifetimes, NotificationKind, PowerRequestScope, ServiceChange, StringId, SystemKind, ThreadKey,
    Trace, Upid, Utid, milestone,
};

use super::culprits::VIDEO_DRIVERS;
use super::ledger::{Subject, SubjectId, Subjects};
use crate::waits::driver_name;
use onoff_evidence::account_model::AccountSubjectKind;
use onoff_transitions::linux;
use onoff_usage::devices;
use onoff_usage::modules::Modules;
use onoff_usage::owners::file_name;
use onoff_usage::processes::Images;
use onoff_usage::units::declared_order::first_milestone;
use onoff_usage::units::services_by_process;
use onoff_usage::user_input::waited_for_user;

/// The Windows System process, whose threads work for drivers.
const SYSTEM_PID: u32 = 4;
const FIRST_PROCESS: u32 = 1;
/// Maximum number of nested requests of one thread examined for one moment.
const MAX_NESTING: usize = 64;
/// Maximum number of ancestors searched for a unit's process.
const MAX_UNIT_ANCESTORS: usize = 32;
/// Maximum number of ancestors searched for a script.
const MAX_SCRIPT_ANCESTORS: usize = 8;
/// Maximum number of services listed for a host process.
const MAX_NAMED_SERVICES: usize = 4;

/// A piece of work that a thread does for a subject.
#[derive(Clone, Copy, Debug)]
struct Task {
    start_ns: i64,
    end_ns: i64,
    /// Latest end of this task and all that started before it.
    max_end_ns: i64,
    kind: TaskKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TaskKind {
    Device {
        driver: StringId,
        device: StringId,
    },
    Activity {
        kind: AccountSubjectKind,
        name: StringId,
    },
    /// Waiting for the response to a notification (e.g. WM_QUERYENDSESSION): a program, by process id and time or by
    /// name.
    Notification {
        pid: Option<u32>,
        name: StringId,
        time_ns: i64,
    },
    /// The service manager waits for a service's state change.
    Service {
        name: StringId,
    },
    /// The service manager waits for a service's process to start, one service at a time.
    Container {
        name: StringId,
    },
}

impl TaskKind {
    /// True if a thread may wait for several such tasks at once.
    const fn can_overlap(&self) -> bool {
        matches!(self, Self::Service { .. } | Self::Notification { .. })
    }

    /// True if both wait for the same program or service: a program may receive several notifications, one inside the
    /// other.
    fn has_same_target(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Notification { pid: Some(pid), .. }, Self::Notification { pid: Some(other), .. }) => pid == other,
            (Self::Notification { pid: None, name, .. }, Self::Notification { pid: None, name: other, .. }) => {
                name == other
            }
            _ => self == other,
        }
    }
}

/// A state change of a service hosted by a process.
#[derive(Clone, Copy, Debug)]
struct ServiceChangeInterval {
    start_ns: i64,
    end_ns: i64,
    service: StringId,
}

/// The subject of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadSubject {
    pub(super) subject: SubjectId,
    /// True if the thread is working on a request, a service change or a script: whatever it does or waits for belongs
    /// to that.
    pub(super) on_task: bool,
    /// True for a kernel thread that works on behalf of others: the threads waiting for it give the subject.
    pub(super) is_kernel: bool,
}

/// Looks up subjects by thread and time.
#[derive(Debug)]
pub(super) struct SubjectResolver<'t> {
    trace: &'t Trace,
    images: Images<'t>,
    tasks: HashMap<ThreadKey, Vec<Task>>,
    /// Starts and ends of the tasks of a thread, sorted; filled on demand.
    task_edges: HashMap<ThreadKey, Vec<i64>>,
    /// Starts and ends of the service changes in a process, by its row, sorted; filled on demand.
    change_edges: HashMap<usize, Vec<i64>>,
    /// Times at which modules of the kernel were loaded or unloaded, sorted.
    module_edges: Vec<i64>,
    /// Services by thread tag.
    tags: HashMap<u32, String>,
    /// Services by the thread that entered their main function, with the time.
    main_threads: HashMap<ThreadKey, Vec<(i64, StringId)>>,
    /// Service state changes by the row of the host process.
    changes: HashMap<usize, Vec<ServiceChangeInterval>>,
    /// All services of each process, by process row.
    hosted: HashMap<usize, BTreeSet<String>>,
    /// Gaps from the start of csrss.exe to the start of the following process, with the session's video driver.
    video_gaps: Vec<(i64, i64, &'static str)>,
    /// Steps of the kernel shutdown, sorted by start.
    kernel_steps: Vec<(i64, i64, StringId)>,
    /// Linux: start of the first program, and of the first program of the root file system, ns.
    first_programs_ns: (i64, i64),
    task_ids: HashMap<TaskKind, SubjectId>,
    process_ids: HashMap<usize, SubjectId>,
    module_ids: HashMap<StringId, SubjectId>,
    service_ids: HashMap<(String, Option<u32>), SubjectId>,
    file_ids: HashMap<(StringId, u32), SubjectId>,
    pub(super) subjects: Subjects,
}

impl<'t> SubjectResolver<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        let images = Images::new(trace);
        let mut changes: HashMap<usize, Vec<ServiceChangeInterval>> = HashMap::new();
        let mut hosted = services_by_process(trace, &images);
        let mut main_threads: HashMap<ThreadKey, Vec<(i64, StringId)>> = HashMap::new();
        for row in trace.service_transitions.iter() {
            let end_ns = row.end_ns.unwrap_or(i64::MAX);
            let seen_ns = row.checkpoint_ns.or(row.end_ns).unwrap_or(row.start_ns);
            let host = row.container_pid.filter(|&pid| pid != 0).and_then(|pid| images.row_at(pid, seen_ns));
            if let Some(host) = host {
                changes.entry(host).or_default().push(ServiceChangeInterval {
                    start_ns: row.start_ns,
                    end_ns,
                    service: row.service,
                });
            }
            if let (Some(tid), Some(load_ns)) = (row.main_tid, row.load_ns) {
                main_threads.entry(images.lifetimes().key(tid, load_ns)).or_default().push((load_ns, row.service));
            }
        }
        for list in main_threads.values_mut() {
            list.sort_by_key(|&(time, _)| time);
        }
        if trace.system.kind == SystemKind::Linux {
            // The process that stops a unit works for it.
            for ((unit, stop_ns), pid) in linux::shutdown::stop_processes(trace) {
                let mut processes = trace.processes.iter().enumerate().filter(|(_, process)| process.pid == pid);
                let stop_process =
                    processes.find(|(_, process)| process.start_ns.is_some_and(|start| start >= stop_ns));
                if let Some((row, _)) = stop_process {
                    hosted.entry(row).or_default().insert(trace.text(unit).to_owned());
                }
            }
        }
        let mut tags = HashMap::new();
        for service in &trace.system.services {
            if service.tag != 0 {
                tags.insert(service.tag, service.name.clone());
            }
        }
        let mut resolver = Self {
            trace,
            video_gaps: video_gaps(trace),
            kernel_steps: kernel_steps(trace),
            first_programs_ns: first_programs(trace),
            tasks: tasks(trace, images.lifetimes()),
            task_edges: HashMap::new(),
            change_edges: HashMap::new(),
            module_edges: module_edges(trace),
            images,
            tags,
            main_threads,
            changes,
            hosted,
            task_ids: HashMap::new(),
            process_ids: HashMap::new(),
            module_ids: HashMap::new(),
            service_ids: HashMap::new(),
            file_ids: HashMap::new(),
            subjects: Subjects::default(),
        };
        resolver.register_all();
        resolver
    }

    /// Registers drivers and services in recording order, so that the spelling of a driver and the choice of its device
    /// do not depend on which phase is examined first.
    fn register_all(&mut self) {
        let trace = self.trace;
        let operations = trace.device_operations.iter().map(|row| (devices::owner(&row), row.device));
        let requests = trace.power_requests.iter().map(|row| (row.driver, row.device));
        for (driver, device) in operations.chain(requests).filter(|&(driver, _)| driver != StringId::EMPTY) {
            self.request_id(driver, device);
        }
        for row in trace.service_transitions.iter().filter(|row| row.service != StringId::EMPTY) {
            self.service_id(trace.text(row.service).to_owned(), row.container_pid);
        }
        for row in trace.images.iter().filter(|row| row.pid == 0 || row.pid == SYSTEM_PID) {
            self.driver(row.path);
        }
    }

    fn life(&self, tid: u32, time_ns: i64) -> Option<Utid> {
        self.images.lifetimes().thread(tid, time_ns)
    }

    /// Returns the subject of thread `tid` at `time_ns`; `None` for the idle thread and for unrecorded threads.
    pub(super) fn thread(&mut self, tid: u32, time_ns: i64, modules: &Modules) -> Option<ThreadSubject> {
        if tid == 0 {
            return None;
        }
        if let Some(kind) = self.task(tid, time_ns) {
            return Some(ThreadSubject { subject: self.task_id(kind), on_task: true, is_kernel: false });
        }
        let life = self.life(tid, time_ns)?;
        let thread = self.trace.threads.get(life.row())?;
        let process = self.images.lifetimes().process_of(life).map(Upid::row);
        if let Some(service) = self.service_of(Some(life), time_ns, thread.service_tag, process) {
            let on_task = process.and_then(|row| self.changes.get(&row)).is_some_and(|changes| {
                changes.iter().any(|change| {
                    change.start_ns <= time_ns
                        && time_ns < change.end_ns
                        && self.trace.text(change.service).eq_ignore_ascii_case(&service)
                })
            });
            let subject = self.service_id(service, Some(thread.pid));
            return Some(ThreadSubject { subject, on_task, is_kernel: false });
        }
        if thread.pid == SYSTEM_PID && self.trace.system.kind != SystemKind::Linux {
            let module =
                modules.path_at(0, thread.start_address, time_ns).filter(|&path| !is_kernel(self.trace.text(path)));
            if let Some(path) = module {
                return Some(ThreadSubject { subject: self.driver(path), on_task: false, is_kernel: false });
            }
            return Some(ThreadSubject {
                subject: self.process_id(process?, thread.pid),
                on_task: false,
                is_kernel: true,
            });
        }
        let process = process?;
        let is_linux = self.trace.system.kind == SystemKind::Linux;
        if is_linux && thread.pid == FIRST_PROCESS {
            return Some(self.first_process(process, time_ns));
        }
        let is_kernel = is_linux && self.is_linux_kernel(process);
        Some(ThreadSubject { subject: self.process_id(process, thread.pid), on_task: false, is_kernel })
    }

    /// Returns an interval around `time_ns`, without its end, in which [`Self::thread`] and [`Self::waited_for`] return
    /// the same for thread `tid`.
    pub(super) fn steady_interval(&mut self, tid: u32, time_ns: i64) -> (i64, i64) {
        // Processes of units are looked up by time.
        if self.trace.system.kind == SystemKind::Linux {
            return (time_ns, time_ns.saturating_add(1));
        }
        let life = self.life(tid, time_ns);
        let thread = life.and_then(|life| self.trace.threads.get(life.row()));
        let mut interval = self.images.lifetimes().thread_interval(tid, time_ns);
        let key = life.map_or(ThreadKey::Unlisted(tid), ThreadKey::Listed);
        if let Some(tasks) = self.tasks.get(&key) {
            let edges = self.task_edges.entry(key);
            let edges = edges.or_insert_with(|| sorted(tasks.iter().flat_map(|task| [task.start_ns, task.end_ns])));
            narrow(&mut interval, edges, time_ns);
        }
        let process = life.and_then(|life| self.images.lifetimes().process_of(life)).map(Upid::row);
        if let Some((process, changes)) = process.and_then(|row| Some((row, self.changes.get(&row)?))) {
            let edges = self.change_edges.entry(process);
            let edges =
                edges.or_insert_with(|| sorted(changes.iter().flat_map(|change| [change.start_ns, change.end_ns])));
            narrow(&mut interval, edges, time_ns);
        }
        for &(load_ns, _) in self.main_threads.get(&key).into_iter().flatten() {
            narrow(&mut interval, &[load_ns], time_ns);
        }
        if thread.is_some_and(|thread| thread.pid == SYSTEM_PID) {
            narrow(&mut interval, &self.module_edges, time_ns);
        }
        interval
    }

    /// True if a Linux process is a kernel thread, or a program run by one on behalf of whatever waits for it. Kernel
    /// threads are children of kthreadd (process 2).
    fn is_linux_kernel(&self, process: usize) -> bool {
        const KTHREADD: u32 = 2;
        let is_thread = |row: usize| {
            self.trace.processes.get(row).is_some_and(|row| row.parent_pid == Some(KTHREADD) || row.pid == KTHREADD)
        };
        let parent = || {
            let life = self.trace.processes.get(process)?;
            self.images.row_at(life.parent_pid?, life.start_ns?)
        };
        is_thread(process) || parent().is_some_and(is_thread)
    }

    /// Linux process 1 is the kernel, then the init program of the initramfs, then the service manager.
    fn first_process(&mut self, process: usize, time_ns: i64) -> ThreadSubject {
        let (first_ns, root_ns) = self.first_programs_ns;
        let is_kernel = time_ns < first_ns;
        let subject = if is_kernel {
            self.subjects.id(Subject::new(AccountSubjectKind::Kernel, "kernel"))
        } else if time_ns < root_ns {
            self.subjects.id(Subject {
                pid: Some(FIRST_PROCESS),
                ..Subject::new(AccountSubjectKind::Process, "init (initramfs)")
            })
        } else {
            self.process_id(process, FIRST_PROCESS)
        };
        ThreadSubject { subject, on_task: false, is_kernel }
    }

    /// Returns the innermost task that the thread works on.
    fn task(&self, tid: u32, time_ns: i64) -> Option<TaskKind> {
        let tasks = self.tasks.get(&self.images.lifetimes().key(tid, time_ns))?;
        let end_index = tasks.partition_point(|task| task.start_ns <= time_ns);
        let started_tasks = tasks.get(..end_index)?.iter().rev().take(MAX_NESTING);
        let mut open_tasks = started_tasks.filter(|task| task.end_ns > time_ns);
        let innermost = open_tasks.next()?;
        if !innermost.kind.can_overlap() {
            return Some(innermost.kind);
        }
        // A thread that waits for several responses at once continues with the last of them.
        let mut last_task = innermost;
        for task in open_tasks.filter(|task| task.kind.can_overlap() && !task.kind.has_same_target(&last_task.kind)) {
            if task.end_ns == last_task.end_ns {
                return None;
            }
            if task.end_ns > last_task.end_ns {
                last_task = task;
            }
        }
        Some(last_task.kind)
    }

    /// Returns the subjects for which the thread waits at `time_ns`, all at once.
    pub(super) fn waited_for(&mut self, tid: u32, time_ns: i64) -> Vec<SubjectId> {
        let Some(tasks) = self.tasks.get(&self.images.lifetimes().key(tid, time_ns)) else { return Vec::new() };
        let end_index = tasks.partition_point(|task| task.start_ns <= time_ns);
        let started_tasks = tasks.get(..end_index).unwrap_or_default().iter().rev().take(MAX_NESTING);
        let open_tasks = started_tasks.filter(|task| task.end_ns > time_ns);
        let kinds: Vec<TaskKind> = open_tasks.map(|task| task.kind).take_while(TaskKind::can_overlap).collect();
        kinds.into_iter().map(|kind| self.task_id(kind)).collect()
    }

    /// Returns the subject that all work of the process in `row` belongs to; `None` if it hosts several services.
    pub(super) fn sole_subject(&mut self, row: usize) -> Option<SubjectId> {
        let process = self.trace.processes.get(row)?;
        if self.trace.system.kind == SystemKind::Linux
            && let Some(unit) = self.unit_of(row, process.start_ns.unwrap_or(0))
        {
            return Some(self.service_id(unit, Some(process.pid)));
        }
        let only_service = match self.hosted.get(&row) {
            Some(hosted) if hosted.len() > 1 => return None,
            Some(hosted) => hosted.iter().next().cloned(),
            None => None,
        };
        Some(match only_service {
            Some(service) => self.service_id(service, Some(process.pid)),
            None => self.process_id(row, process.pid),
        })
    }

    pub(super) fn session(&self, tid: u32, time_ns: i64) -> Option<u32> {
        let process = self.images.lifetimes().process_of(self.life(tid, time_ns)?)?;
        self.trace.processes.get(process.row())?.session
    }

    pub(super) fn file(&mut self, file: StringId, disk: u32) -> SubjectId {
        if let Some(&id) = self.file_ids.get(&(file, disk)) {
            return id;
        }
        let disks = &self.trace.system.disks;
        let model = disks.iter().find(|row| row.number == disk).map_or("", |row| row.model.as_str());
        let device = if model.is_empty() { format!("disk {disk}") } else { model.to_owned() };
        let subject = Subject {
            device,
            ..Subject::new(AccountSubjectKind::File, self.trace.system.drive_paths.readable(self.trace.text(file)))
        };
        let id = self.subjects.id(subject);
        self.file_ids.insert((file, disk), id);
        id
    }

    pub(super) fn kernel_step(&mut self, time_ns: i64) -> Option<SubjectId> {
        let end_index = self.kernel_steps.partition_point(|&(start, ..)| start <= time_ns);
        let started_steps = self.kernel_steps.get(..end_index)?.iter().rev().take(MAX_NESTING);
        let &(_, _, name) = started_steps.into_iter().find(|&&(_, end_ns, _)| end_ns > time_ns)?;
        Some(self.subjects.id(Subject::new(AccountSubjectKind::Kernel, self.trace.text(name))))
    }

    fn task_id(&mut self, kind: TaskKind) -> SubjectId {
        if let Some(&id) = self.task_ids.get(&kind) {
            return id;
        }
        let subject = match kind {
            TaskKind::Device { driver, device } => self.device_subject(driver, device),
            TaskKind::Activity { kind: AccountSubjectKind::Kernel, .. } => {
                Subject::new(AccountSubjectKind::Kernel, "kernel")
            }
            TaskKind::Activity { kind: AccountSubjectKind::UserInput, .. } => {
                Subject::new(AccountSubjectKind::UserInput, "credentials")
            }
            TaskKind::Activity { kind: AccountSubjectKind::Policy, name }
                if matches!(self.trace.text(name), "computer" | "user") =>
            {
                Subject::new(AccountSubjectKind::Policy, format!("{} policy", self.trace.text(name)))
            }
            TaskKind::Activity { kind: AccountSubjectKind::Script, name } => {
                Subject::new(AccountSubjectKind::Script, format!("{} script", self.trace.text(name)))
            }
            TaskKind::Activity { kind: AccountSubjectKind::Process, name } => {
                Subject::new(AccountSubjectKind::Process, file_name(self.trace.text(name)))
            }
            TaskKind::Activity { kind, name } => Subject::new(kind, self.trace.text(name)),
            TaskKind::Service { name } | TaskKind::Container { name } => {
                let id = self.service_id(self.trace.text(name).to_owned(), None);
                self.task_ids.insert(kind, id);
                return id;
            }
            TaskKind::Notification { pid, name, time_ns } => {
                let process_subject = pid.and_then(|pid| self.process(pid, time_ns));
                if let Some(id) = process_subject {
                    self.task_ids.insert(kind, id);
                    return id;
                }
                Subject::new(AccountSubjectKind::Process, file_name(self.trace.text(name)))
            }
        };
        let id = self.subjects.id(subject);
        self.task_ids.insert(kind, id);
        id
    }

    pub(super) fn request_id(&mut self, driver: StringId, device: StringId) -> SubjectId {
        self.task_id(TaskKind::Device { driver, device })
    }

    /// Adds at most `max` starts and ends of the tasks of thread `tid`, and of service changes in its process, between
    /// two times.
    pub(super) fn boundaries(&self, tid: u32, start_ns: i64, end_ns: i64, max: usize, edges: &mut Vec<i64>) {
        let mut remaining = max;
        let mut add = |time_ns: i64| {
            if time_ns > start_ns && time_ns < end_ns && remaining > 0 {
                edges.push(time_ns);
                remaining -= 1;
            }
        };
        let life = self.life(tid, start_ns);
        if let Some(tasks) = self.tasks.get(&self.images.lifetimes().key(tid, start_ns)) {
            let end_index = tasks.partition_point(|task| task.start_ns < end_ns);
            for task in tasks.get(..end_index).unwrap_or(&[]).iter().rev() {
                add(task.start_ns);
                add(task.end_ns);
                if task.max_end_ns <= start_ns {
                    break;
                }
            }
        }
        let process = life.and_then(|life| self.images.lifetimes().process_of(life)).map(Upid::row);
        for change in process.and_then(|row| self.changes.get(&row)).into_iter().flatten() {
            add(change.start_ns);
            add(change.end_ns);
        }
        let end_index = self.video_gaps.partition_point(|&(start, ..)| start < end_ns);
        if let Some(&(start, end, _)) = end_index.checked_sub(1).and_then(|index| self.video_gaps.get(index)) {
            add(start);
            add(end);
        }
    }

    fn device_subject(&self, driver: StringId, device: StringId) -> Subject {
        let device = self.trace.text(device);
        let mut name = driver_name(self.trace.text(driver));
        if name.is_empty() {
            name = self.driver_of_device(device).unwrap_or(device);
        }
        Subject { device: device.to_owned(), ..Subject::new(AccountSubjectKind::Driver, name) }
    }

    /// Returns the driver named by other requests to the device.
    fn driver_of_device(&self, device: &str) -> Option<&'t str> {
        if device.is_empty() {
            return None;
        }
        let operations = self.trace.device_operations.iter().map(|row| (row.device, row.driver));
        let requests = self.trace.power_requests.iter().map(|row| (row.device, row.driver));
        operations
            .chain(requests)
            .find(|&(id, driver)| driver != StringId::EMPTY && self.trace.text(id).eq_ignore_ascii_case(device))
            .map(|(_, driver)| driver_name(self.trace.text(driver)))
    }

    /// Returns the driver of a file, for interrupts and for threads that start in it.
    pub(super) fn driver(&mut self, path: StringId) -> SubjectId {
        if let Some(&id) = self.module_ids.get(&path) {
            return id;
        }
        let id = self.subjects.id(Subject::new(AccountSubjectKind::Driver, driver_name(self.trace.text(path))));
        self.module_ids.insert(path, id);
        id
    }

    /// Returns the service that a thread works for: by its tag, by the main function it entered, by the only service of
    /// its process that is changing state, or by the only service the process hosts.
    fn service_of(&self, thread: Option<Utid>, time_ns: i64, tag: u32, process: Option<usize>) -> Option<String> {
        if self.trace.system.kind == SystemKind::Linux {
            return self.unit_of(process?, time_ns);
        }
        if tag != 0
            && let Some(name) = self.tags.get(&tag)
        {
            return Some(name.clone());
        }
        if let Some(main_threads) = thread.and_then(|thread| self.main_threads.get(&ThreadKey::Listed(thread))) {
            let end_index = main_threads.partition_point(|&(time, _)| time <= time_ns);
            if let Some(&(_, service)) = end_index.checked_sub(1).and_then(|index| main_threads.get(index)) {
                return Some(self.trace.text(service).to_owned());
            }
        }
        let process = process?;
        let is_in_progress = |change: &&ServiceChangeInterval| change.start_ns <= time_ns && time_ns < change.end_ns;
        let mut changes = self.changes.get(&process).into_iter().flatten().filter(is_in_progress);
        if let (Some(change), None) = (changes.next(), changes.next()) {
            return Some(self.trace.text(change.service).to_owned());
        }
        let hosted = self.hosted.get(&process)?;
        hosted.iter().next().filter(|_| hosted.len() == 1).cloned()
    }

    /// Returns the unit of a Linux process: its own, or the unit of the nearest ancestor that is a main process.
    fn unit_of(&self, process: usize, time_ns: i64) -> Option<String> {
        let mut row = process;
        for _ in 0..MAX_UNIT_ANCESTORS {
            let life = self.trace.processes.get(row)?;
            if life.pid <= 2 {
                return None;
            }
            if let Some(hosted) = self.hosted.get(&row)
                && let Some(name) = hosted.iter().next()
            {
                return Some(name.clone());
            }
            let start_ns = life.start_ns.unwrap_or(time_ns);
            row = self.images.row_at(life.parent_pid?, start_ns)?;
        }
        None
    }

    pub(super) fn service_id(&mut self, name: String, pid: Option<u32>) -> SubjectId {
        let kind = if self.trace.system.kind == SystemKind::Linux {
            AccountSubjectKind::Unit
        } else {
            AccountSubjectKind::Service
        };
        let key = (name, pid);
        if let Some(&id) = self.service_ids.get(&key) {
            return id;
        }
        // A service is one subject even if several processes work for it.
        let id = self.subjects.id(Subject::new(kind, key.0.clone()));
        self.service_ids.insert(key, id);
        id
    }

    fn process_id(&mut self, row: usize, pid: u32) -> SubjectId {
        if let Some(&id) = self.process_ids.get(&row) {
            return id;
        }
        if let Some(script) = self.script_of(row) {
            let id = self.subjects.id(Subject::new(AccountSubjectKind::Script, script));
            self.process_ids.insert(row, id);
            return id;
        }
        let image = self.trace.processes.image.get(row).map_or("", |&image| file_name(self.trace.text(image)));
        let mut name = if image.is_empty() { format!("process {pid}") } else { image.to_owned() };
        if let Some(hosted) = self.hosted.get(&row).filter(|hosted| hosted.len() > 1) {
            let mut names: Vec<&str> = hosted.iter().take(MAX_NAMED_SERVICES).map(String::as_str).collect();
            if hosted.len() > MAX_NAMED_SERVICES {
                names.push("…");
            }
            name = format!("{name} ({})", names.join(", "));
        }
        let id = self.subjects.id(Subject { pid: Some(pid), ..Subject::new(AccountSubjectKind::Process, name) });
        self.process_ids.insert(row, id);
        id
    }

    /// Returns the script that a process runs, if it or an ancestor was started by a thread working on a policy script.
    fn script_of(&self, row: usize) -> Option<String> {
        let mut row = row;
        for _ in 0..MAX_SCRIPT_ANCESTORS {
            let life = self.trace.processes.get(row)?;
            let start_ns = life.start_ns?;
            if let Some(TaskKind::Activity { kind: AccountSubjectKind::Script, name }) =
                life.creator_tid.and_then(|tid| self.task(tid, start_ns))
            {
                let command = self.trace.text(life.command_line);
                return Some(match script_file(command) {
                    Some(file) => file.to_owned(),
                    None if command.is_empty() => format!("{} script", self.trace.text(name)),
                    None => command.to_owned(),
                });
            }
            row = self.images.row_at(life.parent_pid?, start_ns)?;
        }
        None
    }

    /// Returns the video driver if a session waits for its graphics at `time_ns`: inferred (as in the paper) from the
    /// gap between csrss.exe and the following process. Applies only to otherwise unexplained waits of the session
    /// manager.
    pub(super) fn video_driver(&mut self, tid: u32, time_ns: i64) -> Option<SubjectId> {
        let end_index = self.video_gaps.partition_point(|&(start, ..)| start <= time_ns);
        let &(_, end, name) = self.video_gaps.get(end_index.checked_sub(1)?)?;
        let thread = self.trace.threads.get(self.life(tid, time_ns)?.row())?;
        let image = self.images.image_at(thread.pid, time_ns)?;
        if time_ns >= end || !image.eq_ignore_ascii_case("smss.exe") {
            return None;
        }
        Some(self.subjects.id(Subject::new(AccountSubjectKind::Driver, name)))
    }

    /// Returns the subject of a thread that used a processor or a disk; `None` for the idle thread.
    pub(super) fn user(&mut self, tid: u32, time_ns: i64, modules: &Modules) -> Option<SubjectId> {
        self.thread(tid, time_ns, modules).map(|actor| actor.subject)
    }

    /// Returns the subject of the process with id `pid` at `time_ns`.
    pub(super) fn process(&mut self, pid: u32, time_ns: i64) -> Option<SubjectId> {
        let row = self.images.row_at(pid, time_ns)?;
        let service = self.service_of(None, time_ns, 0, Some(row));
        Some(match service {
            Some(service) => self.service_id(service, Some(pid)),
            None => self.process_id(row, pid),
        })
    }
}

/// Returns when modules of the kernel were loaded or unloaded, sorted.
fn module_edges(trace: &Trace) -> Vec<i64> {
    let kernel_start = if trace.system.pointer_bits == 32 { 0x8000_0000 } else { 0x8000_0000_0000_0000 };
    let is_kernel = |pid: u32, base: u64| base >= kernel_start || pid == 0 || pid == SYSTEM_PID;
    let images = trace.images.iter().filter(|image| is_kernel(image.pid, image.base));
    sorted(images.flat_map(|image| [image.load_ns, image.unload_ns]).flatten())
}

fn sorted(times: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut times: Vec<i64> = times.collect();
    times.sort_unstable();
    times
}

/// Narrows an interval to the two edges around `time_ns`.
fn narrow(interval: &mut (i64, i64), edges: &[i64], time_ns: i64) {
    let index = edges.partition_point(|&edge_ns| edge_ns <= time_ns);
    let before_ns = index.checked_sub(1).and_then(|index| edges.get(index)).copied();
    let after_ns = edges.get(index).copied();
    *interval =
        (before_ns.map_or(interval.0, |ns| ns.max(interval.0)), after_ns.map_or(interval.1, |ns| ns.min(interval.1)));
}

/// True for the kernel image and the HAL.
pub(super) fn is_kernel(path: &str) -> bool {
    let name = file_name(path);
    ["ntoskrnl.exe", "ntkrnlmp.exe", "ntkrnlpa.exe", "ntkrpamp.exe", "hal.dll"]
        .iter()
        .any(|kernel| name.eq_ignore_ascii_case(kernel))
}

/// Returns the script file in a command line.
fn script_file(command: &str) -> Option<&str> {
    const ENDINGS: [&str; 8] = [".cmd", ".bat", ".vbs", ".vbe", ".ps1", ".js", ".wsf", ".kix"];
    command.split(['"', ' ', '\t']).map(file_name).find(|word| {
        let last_four = word.len().checked_sub(4).and_then(|position| word.get(position..)).unwrap_or_default();
        let last_three = word.len().checked_sub(3).and_then(|position| word.get(position..)).unwrap_or_default();
        ENDINGS
            .iter()
            .any(|extension| last_four.eq_ignore_ascii_case(extension) || last_three.eq_ignore_ascii_case(extension))
    })
}

/// Returns the tasks of every thread, ordered by start. A task without a recorded end lasts as long as its thread.
fn tasks(trace: &Trace, lives: &Lifetimes) -> HashMap<ThreadKey, Vec<Task>> {
    let effective_end = |end: Option<i64>| end.unwrap_or(i64::MAX);
    let operations = trace.device_operations.iter().filter_map(|row| {
        let kind = TaskKind::Device { driver: devices::owner(&row), device: row.device };
        Some((row.tid?, task(row.start_ns, effective_end(row.pend_ns.or(row.end_ns)), kind)))
    });
    // The thread that sent a power request waits for it even if it is pended.
    let requests = trace.power_requests.iter().filter(|row| row.scope == PowerRequestScope::Device).filter_map(|row| {
        let kind = TaskKind::Device { driver: row.driver, device: row.device };
        Some((row.tid?, task(row.start_ns, effective_end(row.end_ns), kind)))
    });
    // The sender of a notification waits for the response.
    let notifications = trace.notifications.iter().filter_map(|row| {
        let pid = row.pid.filter(|&pid| pid != 0);
        let kind = match is_service_notification(row.kind) && row.name != StringId::EMPTY {
            true => TaskKind::Service { name: row.name },
            false => TaskKind::Notification { pid, name: row.name, time_ns: row.start_ns },
        };
        Some((row.sender_tid?, task(row.start_ns, effective_end(row.end_ns), kind)))
    });
    let services = trace.service_transitions.iter().flat_map(|row| {
        let transition = task(row.start_ns, effective_end(row.end_ns), TaskKind::Service { name: row.service });
        let is_start = row.kind == ServiceChange::Start;
        let container = row.checkpoint_ns.filter(|_| is_start);
        let container = container.map(|time_ns| task(row.start_ns, time_ns, TaskKind::Container { name: row.service }));
        let tasks = [Some(transition), container].into_iter().flatten();
        tasks.filter_map(move |task| Some((row.tid?, task)))
    });
    let is_linux = trace.system.kind == SystemKind::Linux;
    let activities = trace.activities.iter().filter_map(|row| {
        let kind = match row.kind {
            // The thread that wrote to /sys/power/state runs kernel code from then on.
            ActivityKind::PowerPhase if is_linux => AccountSubjectKind::Kernel,
            ActivityKind::GroupPolicyScript => AccountSubjectKind::Script,
            ActivityKind::GroupPolicy | ActivityKind::GroupPolicyExtension => AccountSubjectKind::Policy,
            ActivityKind::NotificationSubscriber => AccountSubjectKind::Subscriber,
            ActivityKind::SessionProgram => AccountSubjectKind::Process,
            ActivityKind::CredentialRequest if waited_for_user(row.start_ns, row.end_ns) => {
                AccountSubjectKind::UserInput
            }
            _ => return None,
        };
        let kind = TaskKind::Activity { kind, name: row.name };
        Some((row.tid?, task(row.start_ns, effective_end(row.end_ns), kind)))
    });
    let mut tasks: HashMap<ThreadKey, Vec<Task>> = HashMap::new();
    for (tid, task) in operations.chain(requests).chain(notifications).chain(services).chain(activities) {
        let is_named = match task.kind {
            TaskKind::Device { driver, device } => driver != StringId::EMPTY || device != StringId::EMPTY,
            TaskKind::Activity { kind, name } => name != StringId::EMPTY || kind == AccountSubjectKind::UserInput,
            TaskKind::Notification { pid, name, .. } => pid.is_some() || name != StringId::EMPTY,
            TaskKind::Service { name } | TaskKind::Container { name } => name != StringId::EMPTY,
        };
        if is_named && task.end_ns > task.start_ns {
            tasks.entry(lives.key(tid, task.start_ns)).or_default().push(task);
        }
    }
    for list in tasks.values_mut() {
        list.sort_by_key(|task| task.start_ns);
        let mut max_end_ns = i64::MIN;
        for task in list {
            max_end_ns = max_end_ns.max(task.end_ns);
            task.max_end_ns = max_end_ns;
        }
    }
    tasks
}

pub(super) const fn is_service_notification(kind: NotificationKind) -> bool {
    matches!(
        kind,
        NotificationKind::ServiceQuerySuspend | NotificationKind::ServiceSuspend | NotificationKind::ServiceResume
    )
}

const fn task(start_ns: i64, end_ns: i64, kind: TaskKind) -> Task {
    Task { start_ns, end_ns, max_end_ns: end_ns, kind }
}

fn kernel_steps(trace: &Trace) -> Vec<(i64, i64, StringId)> {
    let steps = trace.activities.iter().filter(|row| row.kind == ActivityKind::KernelShutdownStep);
    let mut steps: Vec<(i64, i64, StringId)> = steps
        .filter(|row| row.name != StringId::EMPTY)
        .map(|row| (row.start_ns, row.end_ns.unwrap_or(i64::MAX), row.name))
        .collect();
    steps.sort_by_key(|&(start, ..)| start);
    steps
}

/// Linux: returns the start of the first program, and of the first program of the root file system, ns. If neither is
/// known, process 1 is a program throughout.
fn first_programs(trace: &Trace) -> (i64, i64) {
    let time_of = |name: &str| first_milestone(trace, name).map(|row| row.time_ns);
    let root_ns = time_of(milestone::USER_SPACE_BEGIN);
    let first_ns = time_of(milestone::INITRD_BEGIN).or(root_ns).unwrap_or(i64::MIN);
    (first_ns, root_ns.unwrap_or(first_ns))
}

/// Returns the gaps from the start of csrss.exe to the following start of wininit.exe or winlogon.exe, in which a
/// session waits for its graphics, with the name of the video driver.
fn video_gaps(trace: &Trace) -> Vec<(i64, i64, &'static str)> {
    let mut starts: Vec<(i64, Option<&'static str>)> = trace
        .processes
        .iter()
        .filter_map(|row| {
            let image = file_name(trace.text(row.image));
            let is_csrss = image.eq_ignore_ascii_case("csrss.exe");
            let video_driver = match image.to_ascii_lowercase().as_str() {
                "wininit.exe" => Some(VIDEO_DRIVERS[0]),
                "winlogon.exe" => Some(VIDEO_DRIVERS[1]),
                _ => None,
            };
            (is_csrss || video_driver.is_some()).then_some((row.start_ns?, video_driver))
        })
        .collect();
    starts.sort();
    let gap = |pair: &[(i64, Option<&'static str>)]| match pair {
        &[(start, None), (end, Some(name))] => Some((start, end, name)),
        _ => None,
    };
    starts.windows(2).filter_map(gap).collect()
}
