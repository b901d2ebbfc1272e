//! What a recording says late about its earlier events: which threads, processes and modules were there all the time,
//! and what keys of stacks and files stand for at which time.

use hashbrown::HashSet;
use onoff_etl::Record;
use onoff_etw::kernel::{
    CounterConfiguration, FileName, Image, ImageEventKind, KernelPayload, Process, ProcessEventKind,
    StackKeyDefinition, Thread, ThreadEventKind,
};
use onoff_trace::{Directory, StackPool, StringId, StringPool};

use crate::file_names::FileNames;
use crate::kernel_events::Subject;
use crate::stack_keys::StackKeys;

/// Maximum number of return addresses kept for keys of stacks: 64 MB. References to later definitions have no stack.
const MAX_STACK_ADDRESSES: usize = 1 << 23;

/// Maximum number of definitions kept for keys of stacks.
const MAX_STACK_DEFINITIONS: usize = 1 << 22;

/// Maximum number of threads and processes, and of modules, that are looked up in events after theirs.
const MAX_FIRST: usize = 1 << 20;

/// What the whole recording says of keys: stacks and files by key and time.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    stack_keys: StackKeys,
    stacks: StackPool,
    stack_addresses: usize,
    stack_definitions: usize,
    files: FileNames,
    paths: StringPool,
}

impl Definitions {
    fn stack_key(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>) {
        // What comes first in time is kept, so that no definition is taken for an earlier one that was left out.
        if self.stack_addresses >= MAX_STACK_ADDRESSES || self.stack_definitions >= MAX_STACK_DEFINITIONS {
            return;
        }
        let known = self.stacks.len();
        self.stack_keys.define(time_ns, definition, &mut self.stacks);
        self.stack_definitions += 1;
        if self.stacks.len() > known {
            self.stack_addresses += definition.frames.len();
        }
    }

    fn file(&mut self, time_ns: i64, name: &FileName<'_>) {
        let path = self.paths.intern(&name.file_name.to_string());
        self.files.on_name(time_ns, name.file_key, name.kind, path);
    }

    /// Return addresses that `key` stood for in an event logged at `time_ns`.
    pub(super) fn stack(&self, key: u64, time_ns: i64) -> Option<&[u64]> {
        self.stack_keys.at(key, time_ns).map(|stack| self.stacks.get(stack))
    }

    /// The path that `key` stood for at `time_ns`.
    pub(super) fn path(&self, key: u64, time_ns: i64) -> Option<&str> {
        Some(self.files.at(key, time_ns)).filter(|&path| path != StringId::EMPTY).map(|path| self.paths.get(path))
    }

    /// Keys of files.
    pub(super) fn file_keys(&self) -> impl Iterator<Item = u64> {
        self.files.keys()
    }
}

/// Reads through a recording before its events are described.
#[derive(Debug, Default)]
pub(super) struct LookAhead {
    pub(super) definitions: Definitions,
    threads_and_processes: HashSet<(Subject, u32)>,
    modules: HashSet<(u32, u64)>,
}

impl LookAhead {
    /// Takes the next event; what it says of the time before the first event goes to `directory`: what did not start
    /// was there all the time, also where a rundown says so late.
    pub(super) fn take(&mut self, record: &Record<'_>, payload: KernelPayload<'_>, directory: &mut Directory) {
        match Subject::of(payload.hook) {
            Subject::Thread => {
                if let Some(thread) = Thread::read(payload)
                    && self.is_first(Subject::Thread, thread.thread_id)
                    && thread.kind != ThreadEventKind::Start
                {
                    set_thread(directory, &thread);
                }
            }
            Subject::Process => {
                if let Some(process) = Process::read(payload) {
                    let starts = process.kind == ProcessEventKind::Start;
                    self.process(process.process_id, starts, &process.image_file_name.to_str(), directory);
                }
            }
            Subject::Image => {
                if let Some(image) = Image::read(payload)
                    && self.modules.len() < MAX_FIRST
                    && self.modules.insert((image.process_id, image.image_base))
                    && image.kind != ImageEventKind::Load
                {
                    set_module(directory, &image);
                }
            }
            Subject::FileName => {
                if let Some(name) = FileName::read(payload) {
                    self.definitions.file(record.time_ns(), &name);
                }
            }
            Subject::StackKeyDefinition => {
                if let Some(definition) = StackKeyDefinition::read(payload) {
                    self.definitions.stack_key(record.time_ns(), &definition);
                }
            }
            _ => {}
        }
    }

    /// Takes an event about a process.
    pub(super) fn process(&mut self, pid: u32, starts: bool, image: &str, directory: &mut Directory) {
        if self.is_first(Subject::Process, pid) && !starts {
            directory.set_process(pid, image);
        }
    }

    fn is_first(&mut self, subject: Subject, id: u32) -> bool {
        self.threads_and_processes.len() < MAX_FIRST && self.threads_and_processes.insert((subject, id))
    }
}

/// Whether a look ahead needs every event of this hook.
pub(super) fn needs(hook: u16) -> bool {
    hook == CounterConfiguration::HOOK
        || matches!(
            Subject::of(hook),
            Subject::Thread | Subject::Process | Subject::Image | Subject::FileName | Subject::StackKeyDefinition
        )
}

pub(super) fn set_thread(directory: &mut Directory, thread: &Thread<'_>) {
    let start = match thread.win32_start_address {
        0 => thread.start_address,
        start => start,
    };
    directory.set_thread(thread.thread_id, thread.process_id, start);
}

pub(super) fn set_module(directory: &mut Directory, image: &Image<'_>) {
    directory.set_module(image.process_id, image.image_base, image.image_size, &image.file_name.to_string());
}
