//! Who is who: processes and threads, from the trace and from the journal.
//!
//! The trace tells of tasks, which are threads; which of them form a process it does not say. A task that nothing else places
//! is its own process. Children of `kthreadd` (2) are kernel threads.

use hashbrown::HashMap;
use onoff_trace::{Process, Processes, StringId, StringPool, Thread, Threads};

/// The thread that makes all kernel threads.
const KTHREADD: u32 = 2;

/// One life of a task.
#[derive(Clone, Copy, Debug)]
struct Life {
    pid: u32,
    parent_pid: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    name: StringId,
}

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
            lives.push(Life {
                pid,
                parent_pid: None,
                start_ns: None,
                end_ns: None,
                name: StringId::EMPTY,
            });
            lives.len() - 1
        });
        &mut lives[at]
    }

    /// The task `pid` was there, called `name`.
    pub(super) fn seen(&mut self, pid: u32, name: StringId) {
        let life = self.life(pid);
        if life.name.is_empty() {
            life.name = name;
        }
    }

    /// `parent_pid` made the task `pid`.
    pub(super) fn fork(&mut self, time_ns: i64, parent_pid: u32, pid: u32, name: StringId) {
        self.current.insert(pid, self.lives.len());
        self.lives.push(Life {
            pid,
            parent_pid: Some(parent_pid),
            start_ns: Some(time_ns),
            end_ns: None,
            name,
        });
    }

    /// The task `pid` runs another program from now on.
    pub(super) fn exec(&mut self, pid: u32, name: StringId) {
        self.life(pid).name = name;
    }

    /// The task `pid` ended.
    pub(super) fn exit(&mut self, time_ns: i64, pid: u32, name: StringId) {
        let life = self.life(pid);
        life.end_ns = Some(time_ns);
        if life.name.is_empty() {
            life.name = name;
        }
    }

    /// What the journal or the service manager says of process `pid`; empty texts say nothing.
    pub(super) fn identify(
        &mut self,
        pid: u32,
        name: StringId,
        command_line: StringId,
        user: StringId,
    ) {
        let known = self.identities.entry(pid).or_default();
        for (slot, told) in [
            (&mut known.name, name),
            (&mut known.command_line, command_line),
            (&mut known.user, user),
        ] {
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
        told.sort_unstable();
        for pid in told {
            self.life(pid);
        }
        self.lives
            .sort_by_key(|life| (life.start_ns.unwrap_or(i64::MIN), life.pid));
        let mut processes = Processes::new();
        let mut threads = Threads::new();
        for life in &self.lives {
            let identity = self.identities.get(&life.pid).copied().unwrap_or_default();
            let name = if life.name.is_empty() {
                identity.name
            } else {
                life.name
            };
            processes.push(Process {
                parent_pid: life.parent_pid,
                start_ns: life.start_ns,
                end_ns: life.end_ns,
                image: name,
                command_line: identity.command_line,
                user: identity.user,
                ..Process::unknown(life.pid)
            });
            threads.push(Thread {
                start_ns: life.start_ns,
                end_ns: life.end_ns,
                name,
                ..Thread::unknown(life.pid, life.pid)
            });
        }
        (processes, threads)
    }
}

/// Whether a task is the kernel's own, by its parent.
#[must_use]
pub(super) const fn is_kernel_thread(pid: u32, parent_pid: Option<u32>) -> bool {
    pid == KTHREADD || matches!(parent_pid, Some(KTHREADD))
}
