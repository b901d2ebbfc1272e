//! Reads information that a recording contains late about earlier events: threads, processes and modules that existed
//! from the beginning, and the meaning of stack and file keys over time.

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

/// Maximum number of return addresses for stack keys (64 MB). References to further definitions have no stack.
const MAX_STACK_ADDRESSES: usize = 1 << 23;

/// Maximum number of stack key definitions.
const MAX_STACK_DEFINITIONS: usize = 1 << 22;

/// Maximum number of threads and processes, and maximum number of modules, that are collected.
const MAX_COLLECTED: usize = 1 << 20;

/// Stack and file key definitions of the whole recording, by key and time.
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
    fn add_stack_key(&mut self, time_ns: i64, definition: &StackKeyDefinition<'_>) {
        // Keep the earliest definitions, so that no later definition takes the place of a dropped one.
        if self.stack_addresses >= MAX_STACK_ADDRESSES || self.stack_definitions >= MAX_STACK_DEFINITIONS {
            return;
        }
        let count = self.stacks.len();
        self.stack_keys.define(time_ns, definition, &mut self.stacks);
        self.stack_definitions += 1;
        if self.stacks.len() > count {
            self.stack_addresses += definition.frames.len();
        }
    }

    fn add_file(&mut self, time_ns: i64, name: &FileName<'_>) {
        let path = self.paths.intern(&name.file_name.to_string());
        self.files.on_name(time_ns, name.file_key, name.kind, path);
    }

    /// Returns the return addresses to which `key` referred in an event logged at `time_ns`.
    pub(super) fn stack(&self, key: u64, time_ns: i64) -> Option<&[u64]> {
        self.stack_keys.stack_at(key, time_ns).map(|stack| self.stacks.get(stack))
    }

    /// Returns the path to which `key` referred at `time_ns`.
    pub(super) fn path(&self, key: u64, time_ns: i64) -> Option<&str> {
        Some(self.files.name_at(key, time_ns)).filter(|&path| path != StringId::EMPTY).map(|path| self.paths.get(path))
    }

    pub(super) fn file_keys(&self) -> impl Iterator<Item = u64> {
        self.files.keys()
    }
}

/// State of the first pass over a recording.
#[derive(Debug, Default)]
pub(super) struct LookAhead {
    pub(super) definitions: Definitions,
    threads_and_processes: HashSet<(Subject, u32)>,
    modules: HashSet<(u32, u64)>,
}

impl LookAhead {
    /// Processes the next event. Updates `directory` to the state before the first event: a process, thread or module
    /// without a recorded start existed from the beginning, even if a rundown lists it late.
    pub(super) fn on_event(&mut self, record: &Record<'_>, payload: KernelPayload<'_>, directory: &mut Directory) {
        match Subject::from_hook(payload.hook) {
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
                    let is_start = process.kind == ProcessEventKind::Start;
                    self.on_process(process.process_id, is_start, &process.image_file_name.to_str(), directory);
                }
            }
            Subject::Image => {
                if let Some(image) = Image::read(payload)
                    && self.modules.len() < MAX_COLLECTED
                    && self.modules.insert((image.process_id, image.image_base))
                    && image.kind != ImageEventKind::Load
                {
                    set_module(directory, &image);
                }
            }
            Subject::FileName => {
                if let Some(name) = FileName::read(payload) {
                    self.definitions.add_file(record.time_ns(), &name);
                }
            }
            Subject::StackKeyDefinition => {
                if let Some(definition) = StackKeyDefinition::read(payload) {
                    self.definitions.add_stack_key(record.time_ns(), &definition);
                }
            }
            _ => {}
        }
    }

    /// Processes an event about a process.
    pub(super) fn on_process(&mut self, pid: u32, is_start: bool, image: &str, directory: &mut Directory) {
        if self.is_first(Subject::Process, pid) && !is_start {
            directory.set_process(pid, image);
        }
    }

    fn is_first(&mut self, subject: Subject, id: u32) -> bool {
        self.threads_and_processes.len() < MAX_COLLECTED && self.threads_and_processes.insert((subject, id))
    }
}

/// True if the first pass needs all events with this hook.
pub(super) fn needs(hook: u16) -> bool {
    hook == CounterConfiguration::HOOK
        || matches!(
            Subject::from_hook(hook),
            Subject::Thread | Subject::Process | Subject::Image | Subject::FileName | Subject::StackKeyDefinition
        )
}

pub(super) fn set_thread(directory: &mut Directory, thread: &Thread<'_>) {
    let address = match thread.win32_start_address {
        0 => thread.start_address,
        address => address,
    };
    directory.set_thread(thread.thread_id, thread.process_id, address);
}

pub(super) fn set_module(directory: &mut Directory, image: &Image<'_>) {
    directory.set_module(image.process_id, image.image_base, image.image_size, &image.file_name.to_string());
}
