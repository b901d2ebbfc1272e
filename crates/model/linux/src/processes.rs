//! Tracks processes and threads from traces and journals.
//!
//! A trace has tasks, which are threads, but does not say which tasks form a process. A task without further
//! information counts as a process; user call stacks assign threads to processes. Children of `kthreadd` (2) are kernel
//! threads.

use hashbrown::HashMap;
use onoff_trace::{Process, Processes, StringId, StringPool, Thread, Threads};

/// A task, from its creation to its exit. Ids are reused.
#[derive(Clone, Copy, Debug)]
struct Task {
    pid: u32,
    /// Process to which the thread belongs; the task itself if unknown.
    process: u32,
    parent_pid: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    name: StringId,
    /// Path of the executed program, if recorded.
    program: StringId,
    /// True if the task was created and has not run yet.
    is_new: bool,
}

impl Task {
    const fn new(pid: u32) -> Self {
        Self {
            pid,
            process: pid,
            parent_pid: None,
            start_ns: None,
            end_ns: None,
            name: StringId::EMPTY,
            program: StringId::EMPTY,
            is_new: false,
        }
    }
}

/// Maximum length of a task name in the kernel.
const MAX_TASK_NAME_LEN: usize = 15;

/// Information on a process id from other sources.
#[derive(Clone, Copy, Debug, Default)]
struct Identity {
    name: StringId,
    command_line: StringId,
    user: StringId,
}

#[derive(Debug, Default)]
pub(super) struct ProcessTracker {
    tasks: Vec<Task>,
    /// Index of the latest task of each id.
    current: HashMap<u32, usize>,
    identities: HashMap<u32, Identity>,
}

impl ProcessTracker {
    fn task(&mut self, pid: u32) -> &mut Task {
        let Self { tasks, current, .. } = self;
        let index = *current.entry(pid).or_insert_with(|| {
            tasks.push(Task::new(pid));
            tasks.len() - 1
        });
        &mut tasks[index]
    }

    fn begin(&mut self, task: Task) {
        self.current.insert(task.pid, self.tasks.len());
        self.tasks.push(task);
    }

    /// Records that the task `pid` exists and has the name `name`.
    pub(super) fn observe(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        let task = self.task(pid);
        if task.name.is_empty() {
            task.name = texts.intern(name);
        }
    }

    /// Names the task `pid` if it exists and has no name.
    pub(super) fn name_if_known(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        if let Some(task) = self.current.get(&pid).and_then(|&index| self.tasks.get_mut(index))
            && task.name.is_empty()
        {
            task.name = texts.intern(name);
        }
    }

    /// Records that the task `pid` runs and now has the name `name`.
    pub(super) fn observe_running(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        let task = self.task(pid);
        task.is_new = false;
        let full_name = texts.get(task.name);
        // The full name comes from the program; the kernel truncates it.
        let truncated_name = full_name.as_bytes().get(..MAX_TASK_NAME_LEN).unwrap_or(full_name.as_bytes());
        if full_name != name && (task.program.is_empty() || truncated_name != name.as_bytes()) {
            task.name = texts.intern(name);
        }
    }

    /// Records that `parent_pid` created the task `pid`.
    pub(super) fn fork(&mut self, time_ns: i64, parent_pid: u32, pid: u32, name: StringId) {
        self.begin(Task {
            parent_pid: Some(parent_pid),
            start_ns: Some(time_ns),
            name,
            is_new: true,
            ..Task::new(pid)
        });
    }

    /// Records the first wakeup of the task `pid` by its creator.
    pub(super) fn first_run(&mut self, time_ns: i64, parent_pid: u32, pid: u32, name: StringId) {
        let is_new = self.current.get(&pid).and_then(|&index| self.tasks.get(index)).is_some_and(|task| task.is_new);
        if !is_new {
            self.fork(time_ns, parent_pid, pid, name);
        }
    }

    /// Records that the task `pid` executed the program `path`.
    pub(super) fn exec(&mut self, pid: u32, name: StringId, path: StringId) {
        let task = self.task(pid);
        task.name = name;
        task.program = path;
    }

    /// Records the exit of the task `pid`.
    pub(super) fn exit(&mut self, time_ns: i64, pid: u32, name: StringId) {
        let task = self.task(pid);
        task.end_ns = Some(time_ns);
        if task.name.is_empty() {
            task.name = name;
        }
    }

    /// Records that the task `tid` is a thread of the process `pid`, unless that is 0.
    pub(super) fn set_process(&mut self, tid: u32, pid: u32) {
        if pid != 0 && tid != 0 {
            self.task(tid).process = pid;
            self.task(pid);
        }
    }

    /// Sets the end of the task `pid` unless it has one.
    pub(super) fn end_if_open(&mut self, time_ns: i64, pid: u32) {
        let task = self.task(pid);
        task.end_ns = Some(task.end_ns.unwrap_or(time_ns));
    }

    /// Records what the journal or the service manager knows about process `pid`. Empty strings are ignored.
    pub(super) fn identify(&mut self, pid: u32, name: StringId, command_line: StringId, user: StringId) {
        let identity = self.identities.entry(pid).or_default();
        for (slot, value) in
            [(&mut identity.name, name), (&mut identity.command_line, command_line), (&mut identity.user, user)]
        {
            if slot.is_empty() {
                *slot = value;
            }
        }
    }

    pub(super) fn finish(mut self, texts: &mut StringPool) -> (Processes, Threads) {
        let idle = texts.intern("Idle");
        self.task(0).name = idle;
        let mut identified_pids: Vec<u32> = self.identities.keys().copied().collect();
        identified_pids.sort();
        for pid in identified_pids {
            self.task(pid);
        }
        self.tasks.sort_by_key(|task| (task.start_ns.unwrap_or(i64::MIN), task.pid));
        let mut processes = Processes::new();
        let mut threads = Threads::new();
        for task in &self.tasks {
            let identity = self.identities.get(&task.pid).copied().unwrap_or_default();
            let name = if task.name.is_empty() { identity.name } else { task.name };
            let thread = Thread {
                creator_tid: task.parent_pid,
                start_ns: task.start_ns,
                end_ns: task.end_ns,
                name,
                ..Thread::unknown(task.pid, task.process)
            };
            threads.push(thread);
            if task.process != task.pid {
                continue;
            }
            processes.push(Process {
                parent_pid: task.parent_pid,
                creator_tid: task.parent_pid,
                start_ns: task.start_ns,
                end_ns: task.end_ns,
                image: name,
                command_line: if identity.command_line.is_empty() { task.program } else { identity.command_line },
                user: identity.user,
                ..Process::unknown(task.pid)
            });
        }
        (processes, threads)
    }
}
