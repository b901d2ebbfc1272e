//! Reads call stacks from `kernel_stack` and `user_stack` records, which follow the event they belong to.

use hashbrown::{HashMap, HashSet};
use onoff_ftrace::{Context, DataFile, Event, Kind, StackAddresses};
use onoff_trace::{Image, Method, Stack, StackId, StringId, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_EVENT = "stacks_without_event", Notice, [Stacks],
        "Call stacks were skipped because no earlier event of the same processor and thread was recorded.";
    HIDDEN = "kernel_addresses_hidden", Warning, [Methods],
        "the trace lists kernel functions without addresses (kernel.kptr_restrict), so call stacks have no kernel function names; \
         record as root";
    UNLISTED = "kernel_addresses_unlisted", Notice, [Methods],
        "addresses in kernel call stacks match no function listed in the trace, for example in a module that was \
         unloaded before the list was written";
}

/// Name of the kernel image; a module is `[ext4]`.
const KERNEL: &str = "[kernel]";

/// Name prefixes of the functions that record an event. They are the innermost frames of every stack and are removed.
const TRACER_FUNCTION_PREFIXES: &[&str] = &[
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
struct LastEvent {
    time_ns: i64,
    pid: u32,
    /// True if the thread switched out with this event.
    switches_out: bool,
    has_kernel_stack: bool,
    has_user_stack: bool,
}

/// The stacks at which a thread switched out.
#[derive(Clone, Copy, Debug, Default)]
struct SwitchOutStacks {
    time_ns: i64,
    kernel: StackId,
    user: StackId,
}

/// Assigns stacks to events.
#[derive(Debug)]
pub(super) struct StackTracker<'f> {
    data: &'f DataFile<'f>,
    last_events: HashMap<(u16, Level), LastEvent>,
    switched_out: HashMap<u32, SwitchOutStacks>,
    /// Process by thread, as given by user stacks.
    processes: HashMap<u32, u32>,
    /// Caches by address whether a function belongs to the tracer.
    is_tracer_function: HashMap<u64, bool>,
    kernel_addresses: HashSet<u64>,
    frames: Vec<u64>,
}

/// Nesting level of a context. An event of a deeper level may come between an event and its stack.
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
            last_events: HashMap::new(),
            switched_out: HashMap::new(),
            processes: HashMap::new(),
            is_tracer_function: HashMap::new(),
            kernel_addresses: HashSet::new(),
            frames: Vec::new(),
        }
    }

    /// Processes an event that is not a stack.
    pub(super) fn on_event(&mut self, time_ns: i64, event: &Event<'_>, kind: &Kind<'_>, assembly: &mut Assembly) {
        let mut last_event =
            LastEvent { time_ns, pid: event.pid, switches_out: false, has_kernel_stack: false, has_user_stack: false };
        if let &Kind::Switch { previous_pid, next_pid, .. } = kind {
            last_event.switches_out = previous_pid == event.pid && previous_pid != 0;
            // A thread resumes where it switched out. Analyses look for its stack at the end of the wait, where Windows
            // records it.
            if let Some(switched_out) = self.switched_out.remove(&next_pid) {
                self.push((time_ns, next_pid), [switched_out.kernel, switched_out.user], assembly);
            }
            self.switched_out.remove(&previous_pid).into_iter().for_each(|switched_out| {
                self.push((switched_out.time_ns, previous_pid), [switched_out.kernel, switched_out.user], assembly);
            });
        }
        self.last_events.insert((event.cpu, level(event.context)), last_event);
    }

    /// Processes a kernel stack.
    pub(super) fn on_kernel(&mut self, event: &Event<'_>, addresses: StackAddresses<'_>, assembly: &mut Assembly) {
        self.frames.clear();
        for address in addresses.iter() {
            if !self.frames.is_empty() || !self.check_tracer_function(address) {
                self.frames.push(address);
                self.kernel_addresses.insert(address);
            }
        }
        self.assign(event, false, assembly);
    }

    /// Processes a user stack.
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
        self.assign(event, true, assembly);
    }

    fn check_tracer_function(&mut self, address: u64) -> bool {
        let data = self.data;
        *self.is_tracer_function.entry(address).or_insert_with(|| {
            let function = data.kernel_function(address);
            function
                .is_some_and(|function| TRACER_FUNCTION_PREFIXES.iter().any(|prefix| function.name.starts_with(prefix)))
        })
    }

    /// Assigns the frames to the event they belong to.
    fn assign(&mut self, event: &Event<'_>, is_user: bool, assembly: &mut Assembly) {
        let last_event = self
            .last_events
            .get_mut(&(event.cpu, level(event.context)))
            .filter(|last_event| last_event.pid == event.pid);
        let Some(last_event) =
            last_event.filter(|last_event| !(last_event.has_user_stack || (last_event.has_kernel_stack && !is_user)))
        else {
            assembly.losses.add(&WITHOUT_EVENT, 1);
            return;
        };
        if is_user {
            last_event.has_user_stack = true;
        } else {
            last_event.has_kernel_stack = true;
        }
        let last_event = *last_event;
        let stack = assembly.stack_pool.intern(&self.frames);
        if !last_event.switches_out {
            self.push((last_event.time_ns, last_event.pid), [stack, StackId::EMPTY], assembly);
            return;
        }
        let switched_out = self
            .switched_out
            .entry(last_event.pid)
            .or_insert(SwitchOutStacks { time_ns: last_event.time_ns, ..SwitchOutStacks::default() });
        if is_user {
            switched_out.user = stack;
        } else {
            switched_out.kernel = stack;
        }
    }

    fn push(&self, (time_ns, tid): (i64, u32), stacks: [StackId; 2], assembly: &mut Assembly) {
        let pid = self.processes.get(&tid).copied().unwrap_or(tid);
        let stacks = stacks.into_iter().filter(|&stack| stack != StackId::EMPTY);
        assembly.stacks.extend(stacks.map(|stack| Stack { time_ns, pid, tid, stack }));
    }

    /// Adds the remaining stacks and names the addresses they contain.
    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        let switched_out: Vec<(u32, SwitchOutStacks)> = self.switched_out.drain().collect();
        for (tid, switched_out) in switched_out {
            self.push((switched_out.time_ns, tid), [switched_out.kernel, switched_out.user], assembly);
        }
        if !self.kernel_addresses.is_empty() {
            self.name_kernel(assembly);
        }
        if !assembly.stacks.is_empty() {
            self.map_processes(assembly);
        }
    }

    /// Adds the kernel functions that occur in stacks, and the modules that contain them.
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
                name: assembly.intern(function.name),
                module: assembly.intern(&module_name(function.module)),
                ..Method::UNKNOWN
            };
            assembly.methods.push(method);
        }
        assembly.losses.add(&UNLISTED, unlisted);
        for code in self.data.kernel_code() {
            if modules.contains(code.module) {
                let path = assembly.intern(&module_name(code.module));
                let (base, size) = (code.addresses.start, code.addresses.end - code.addresses.start);
                assembly.images.push(image(0, base, size, path));
            }
        }
    }

    /// Adds the files that processes had mapped.
    fn map_processes(&self, assembly: &mut Assembly) {
        for map in self.data.process_maps() {
            // The vDSO is the only mapping without a file that contains code.
            let code = map.files.iter().filter(|file| !file.path.starts_with('[') || file.path == "[vdso]");
            for file in code {
                let path = assembly.intern(&file.path);
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
