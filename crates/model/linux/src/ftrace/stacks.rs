//! Call stacks: `kernel_stack` and `user_stack`, records that follow the event they are of.

use hashbrown::{HashMap, HashSet};
use onoff_ftrace::{Context, DataFile, Event, Kind, StackAddresses};
use onoff_trace::{Image, Method, Stack, StackId, StringId, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_EVENT = "stacks_without_event", Notice, [Stacks],
        "call stacks whose event is not recorded before them, on their processor and of their thread, are in no table";
    HIDDEN = "kernel_addresses_hidden", Warning, [Methods],
        "the trace lists the kernel's functions without their addresses (kernel.kptr_restrict), so that functions of call stacks have no names; \
         record as root";
    UNLISTED = "kernel_addresses_unlisted", Notice, [Methods],
        "addresses of the kernel's call stacks that are in none of the functions the trace lists, such as those of a module that was \
         taken out before the list was made";
}

/// What the kernel itself is called, where a module is called `[ext4]`.
const KERNEL: &str = "[kernel]";

/// How the names of functions begin with which the tracer records an event: they are innermost in each stack, and say nothing of who called.
const OWN: &[&str] = &[
    "__traceiter_",
    "trace_event_raw_event_",
    "trace_event_buffer_",
    "__trace_stack",
    "__ftrace_trace_stack",
    "ftrace_trace_stack",
    "stacktrace_trigger",
    "event_triggers_",
    "ftrace_syscall_",
];

/// The last event of a processor in one context.
#[derive(Clone, Copy, Debug)]
struct Last {
    time_ns: i64,
    pid: u32,
    /// Whether the thread left the processor with it.
    leaves: bool,
    /// What is known of its stack.
    kernel: bool,
    user: bool,
}

/// The stack with which a thread left its processor.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    time_ns: i64,
    kernel: StackId,
    user: StackId,
}

/// Stacks so far.
#[derive(Debug)]
pub(super) struct StackTracker<'f> {
    data: &'f DataFile<'f>,
    last: HashMap<(u16, Level), Last>,
    left: HashMap<u32, Left>,
    /// The process of a thread, where a stack said it.
    processes: HashMap<u32, u32>,
    /// Whether a function is the tracer's own.
    own: HashMap<u64, bool>,
    kernel_addresses: HashSet<u64>,
    frames: Vec<u64>,
}

/// An event of a deeper level comes between one of a higher and its stack.
type Level = u8;

const fn level(context: Option<Context>) -> Level {
    match context {
        None | Some(Context::Thread) => 0,
        Some(Context::SoftInterrupt) => 1,
        Some(Context::Interrupt) => 2,
    }
}

impl<'f> StackTracker<'f> {
    pub(super) fn new(data: &'f DataFile<'f>) -> Self {
        Self {
            data,
            last: HashMap::new(),
            left: HashMap::new(),
            processes: HashMap::new(),
            own: HashMap::new(),
            kernel_addresses: HashSet::new(),
            frames: Vec::new(),
        }
    }

    /// Takes any other event than a stack.
    pub(super) fn on_event(&mut self, time_ns: i64, event: &Event<'_>, kind: &Kind<'_>, assembly: &mut Assembly) {
        let mut last = Last { time_ns, pid: event.pid, leaves: false, kernel: false, user: false };
        if let &Kind::Switch { previous_pid, next_pid, .. } = kind {
            last.leaves = previous_pid == event.pid && previous_pid != 0;
            // A thread is where it was when it left. Analyses look for its stack at the end of a wait, where Windows records it.
            if let Some(left) = self.left.remove(&next_pid) {
                self.push((time_ns, next_pid), [left.kernel, left.user], assembly);
            }
            self.left.remove(&previous_pid).into_iter().for_each(|left| {
                self.push((left.time_ns, previous_pid), [left.kernel, left.user], assembly);
            });
        }
        self.last.insert((event.cpu, level(event.context)), last);
    }

    /// Takes a stack of the kernel.
    pub(super) fn on_kernel(&mut self, event: &Event<'_>, addresses: StackAddresses<'_>, assembly: &mut Assembly) {
        self.frames.clear();
        for address in addresses.iter() {
            if !self.frames.is_empty() || !self.is_own(address) {
                self.frames.push(address);
                self.kernel_addresses.insert(address);
            }
        }
        self.keep(event, false, assembly);
    }

    /// Takes the stack of a process.
    pub(super) fn on_user(
        &mut self,
        event: &Event<'_>,
        process: u32,
        addresses: StackAddresses<'_>,
        assembly: &mut Assembly,
    ) {
        if process != 0 {
            self.processes.insert(event.pid, process);
        }
        self.frames.clear();
        self.frames.extend(addresses.iter());
        self.keep(event, true, assembly);
    }

    fn is_own(&mut self, address: u64) -> bool {
        let data = self.data;
        *self.own.entry(address).or_insert_with(|| {
            let function = data.kernel_function(address);
            function.is_some_and(|function| OWN.iter().any(|own| function.name.starts_with(own)))
        })
    }

    /// Gives the frames to the event that they are of.
    fn keep(&mut self, event: &Event<'_>, of_user: bool, assembly: &mut Assembly) {
        let last = self.last.get_mut(&(event.cpu, level(event.context))).filter(|last| last.pid == event.pid);
        let Some(last) = last.filter(|last| !(last.user || (last.kernel && !of_user))) else {
            assembly.losses.add(&WITHOUT_EVENT, 1);
            return;
        };
        if of_user {
            last.user = true;
        } else {
            last.kernel = true;
        }
        let last = *last;
        let stack = assembly.stack_pool.intern(&self.frames);
        if !last.leaves {
            self.push((last.time_ns, last.pid), [stack, StackId::EMPTY], assembly);
            return;
        }
        let left = self.left.entry(last.pid).or_insert(Left { time_ns: last.time_ns, ..Left::default() });
        if of_user {
            left.user = stack;
        } else {
            left.kernel = stack;
        }
    }

    fn push(&self, (time_ns, tid): (i64, u32), stacks: [StackId; 2], assembly: &mut Assembly) {
        let pid = self.processes.get(&tid).copied().unwrap_or(tid);
        let stacks = stacks.into_iter().filter(|&stack| stack != StackId::EMPTY);
        assembly.stacks.extend(stacks.map(|stack| Stack { time_ns, pid, tid, stack }));
    }

    /// What is still open at the trace's end, and the names of what the stacks hold.
    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        let left: Vec<(u32, Left)> = self.left.drain().collect();
        for (tid, left) in left {
            self.push((left.time_ns, tid), [left.kernel, left.user], assembly);
        }
        if !self.kernel_addresses.is_empty() {
            self.name_kernel(assembly);
        }
        if !assembly.stacks.is_empty() {
            self.map_processes(assembly);
        }
    }

    /// Names the kernel's functions: those that stacks hold, and the modules that they are in.
    fn name_kernel(&self, assembly: &mut Assembly) {
        if self.data.kernel_addresses_are_hidden() {
            assembly.losses.add(&HIDDEN, 1);
            return;
        }
        let mut addresses: Vec<u64> = self.kernel_addresses.iter().copied().collect();
        addresses.sort_unstable();
        let mut unlisted = 0;
        let mut modules: HashSet<&str> = HashSet::new();
        let mut last_begin = None;
        for address in addresses {
            let Some(function) = self.data.kernel_function(address) else {
                unlisted += 1;
                continue;
            };
            if last_begin.replace(function.addresses.start) == Some(function.addresses.start) {
                continue;
            }
            modules.insert(function.module);
            let method = Method {
                address: function.addresses.start,
                size: function.addresses.end - function.addresses.start,
                name: assembly.text(function.name),
                module: assembly.text(&module_name(function.module)),
                ..Method::UNKNOWN
            };
            assembly.methods.push(method);
        }
        assembly.losses.add(&UNLISTED, unlisted);
        for code in self.data.kernel_code() {
            if modules.contains(code.module) {
                let path = assembly.text(&module_name(code.module));
                let (base, size) = (code.addresses.start, code.addresses.end - code.addresses.start);
                assembly.images.push(image(0, base, size, path));
            }
        }
    }

    /// Adds what processes had mapped.
    fn map_processes(&self, assembly: &mut Assembly) {
        for map in self.data.process_maps() {
            // Of what is no file, only the kernel's gift to processes is code.
            let code = map.files.iter().filter(|file| !file.path.starts_with('[') || file.path == "[vdso]");
            for file in code {
                let path = assembly.text(&file.path);
                assembly.images.push(image(map.pid, file.begin, file.end - file.begin, path));
            }
        }
    }
}

fn module_name(module: &str) -> String {
    if module.is_empty() { KERNEL.to_owned() } else { format!("[{module}]") }
}

const fn image(pid: u32, base: u64, size: u64, path: StringId) -> Image {
    Image { pid, base, size, path, ..Image::UNKNOWN }
}
