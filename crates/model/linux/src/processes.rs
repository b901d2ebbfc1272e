//! Who is who: processes and threads, from the trace and from the journal.
//!
//! The trace tells of tasks, which are threads; which of them form a process it does not say. A task that nothing else places
//! is its own process; the call stacks of processes place their threads. Children of `kthreadd` (2) are kernel threads.

use hashbrown::HashMap;
use onoff_trace::{Process, Processes, StringId, StringPool, Thread, Threads};

/// One life of a task.
#[derive(Clone, Copy, Debug)]
struct Life {
    pid: u32,
    /// The process of which the task is a thread; itself when nothing else is known.
    process: u32,
    parent_pid: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    name: StringId,
    /// Path of the program it runs, once it was seen to begin it.
    program: StringId,
    /// It was made and has not run.
    fresh: bool,
}

impl Life {
    const fn of(pid: u32) -> Self {
        Self {
            pid,
            process: pid,
            parent_pid: None,
            start_ns: None,
            end_ns: None,
            name: StringId::EMPTY,
            program: StringId::EMPTY,
            fresh: false,
        }
    }
}

/// The kernel keeps this many bytes of a task's name.
const NAME_BYTES: usize = 15;

/// What another source says of a process id.
#[derive(Clone, Copy, Debug, Default)]
struct Identity {
    name: StringId,
    command_line: StringId,
    user: StringId,
}

/// Tasks met so far.
#[derive(Debug, Default)]
pub(super) struct ProcessTracker {
    lives: Vec<Life>,
    /// The last life of each id.
    current: HashMap<u32, usize>,
    identities: HashMap<u32, Identity>,
}

impl ProcessTracker {
    fn life(&mut self, pid: u32) -> &mut Life {
        let Self { lives, current, .. } = self;
        let at = *current.entry(pid).or_insert_with(|| {
            lives.push(Life::of(pid));
            lives.len() - 1
        });
        &mut lives[at]
    }

    fn begin(&mut self, life: Life) {
        self.current.insert(life.pid, self.lives.len());
        self.lives.push(life);
    }

    /// The task `pid` was there, called `name`.
    pub(super) fn seen_as(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        let life = self.life(pid);
        if life.name.is_empty() {
            life.name = texts.intern(name);
        }
    }

    /// The task `pid` is called `name`, if it was met and nothing has named it.
    pub(super) fn name_if_known(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        if let Some(life) = self.current.get(&pid).and_then(|&at| self.lives.get_mut(at))
            && life.name.is_empty()
        {
            life.name = texts.intern(name);
        }
    }

    /// The task `pid` runs and is called `name` now.
    pub(super) fn runs_as(&mut self, pid: u32, name: &str, texts: &mut StringPool) {
        let life = self.life(pid);
        life.fresh = false;
        let known = texts.get(life.name);
        // The whole name is known from its program; the kernel cuts it.
        let cut = known.as_bytes().get(..NAME_BYTES).unwrap_or(known.as_bytes());
        if known != name && (life.program.is_empty() || cut != name.as_bytes()) {
            life.name = texts.intern(name);
        }
    }

    /// `parent_pid` made the task `pid`.
    pub(super) fn fork(&mut self, time_ns: i64, parent_pid: u32, pid: u32, name: StringId) {
        self.begin(Life { parent_pid: Some(parent_pid), start_ns: Some(time_ns), name, fresh: true, ..Life::of(pid) });
    }

    /// The task `pid` is woken for the first time, by the one that made it.
    pub(super) fn first_run(&mut self, time_ns: i64, parent_pid: u32, pid: u32, name: StringId) {
        let fresh = self.current.get(&pid).and_then(|&at| self.lives.get(at)).is_some_and(|life| life.fresh);
        if !fresh {
            self.fork(time_ns, parent_pid, pid, name);
        }
    }

    /// The task `pid` runs the program `path`, called `name`, from now on.
    pub(super) fn exec(&mut self, pid: u32, name: StringId, path: StringId) {
        let life = self.life(pid);
        life.name = name;
        life.program = path;
    }

    /// The task `pid` ended.
    pub(super) fn exit(&mut self, time_ns: i64, pid: u32, name: StringId) {
        let life = self.life(pid);
        life.end_ns = Some(time_ns);
        if life.name.is_empty() {
            life.name = name;
        }
    }

    /// The task `tid` is a thread of the process `pid`; of 0 nothing is known.
    pub(super) fn is_thread_of(&mut self, tid: u32, pid: u32) {
        if pid != 0 && tid != 0 {
            self.life(tid).process = pid;
            self.life(pid);
        }
    }

    /// The task `pid` stopped for good.
    pub(super) fn ended(&mut self, time_ns: i64, pid: u32) {
        let life = self.life(pid);
        life.end_ns = Some(life.end_ns.unwrap_or(time_ns));
    }

    /// What the journal or the service manager says of process `pid`; empty texts say nothing.
    pub(super) fn identify(&mut self, pid: u32, name: StringId, command_line: StringId, user: StringId) {
        let known = self.identities.entry(pid).or_default();
        for (slot, told) in [(&mut known.name, name), (&mut known.command_line, command_line), (&mut known.user, user)]
        {
            if slot.is_empty() {
                *slot = told;
            }
        }
    }

    /// The tables.
    pub(super) fn finish(mut self, texts: &mut StringPool) -> (Processes, Threads) {
        let idle = texts.intern("Idle");
        self.life(0).name = idle;
        let mut told: Vec<u32> = self.identities.keys().copied().collect();
        told.sort();
        for pid in told {
            self.life(pid);
        }
        self.lives.sort_by_key(|life| (life.start_ns.unwrap_or(i64::MIN), life.pid));
        let mut processes = Processes::new();
        let mut threads = Threads::new();
        for life in &self.lives {
            let identity = self.identities.get(&life.pid).copied().unwrap_or_default();
            let name = if life.name.is_empty() { identity.name } else { life.name };
            let thread = Thread {
                creator_tid: life.parent_pid,
                start_ns: life.start_ns,
                end_ns: life.end_ns,
                name,
                ..Thread::unknown(life.pid, life.process)
            };
            threads.push(thread);
            if life.process != life.pid {
                continue;
            }
            processes.push(Process {
                parent_pid: life.parent_pid,
                creator_tid: life.parent_pid,
                start_ns: life.start_ns,
                end_ns: life.end_ns,
                image: name,
                command_line: if identity.command_line.is_empty() { life.program } else { identity.command_line },
                user: identity.user,
                ..Process::unknown(life.pid)
            });
        }
        (processes, threads)
    }
}
