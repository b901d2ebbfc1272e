//! Decodes the events used for boots, shutdowns and sleeps into [`Kind`], from text and from binary records.
//!
//! Field names and order: the `TRACE_EVENT` definitions of Linux 4.15 to 6.x, which match the `format` files.

mod fields;
mod function_graph;
mod system_call;
mod text_fields;

use crate::event::{Body, Event};
use crate::record::StackAddresses;

pub use system_call::{SystemCallArgument, system_call_arguments};

/// State of a thread when it was switched out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The kernel's letter: `R` runnable, `S` sleeping, `D` uninterruptible, `I` idle, `T` stopped, `t` traced, `X`
    /// dead, `Z` zombie, `P` parked.
    pub letter: u8,
    /// True if the thread was preempted.
    pub preempted: bool,
}

/// Stage of a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStage {
    /// Submitted (`block_bio_queue`).
    Queued,
    /// In the scheduler's queue (`block_rq_insert`).
    Inserted,
    /// Issued to the device (`block_rq_issue`).
    Issued,
    /// Completed by the device (`block_rq_complete`).
    Completed,
}

/// A block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest<'a> {
    pub stage: RequestStage,
    /// Major and minor number of the device.
    pub device: (u32, u32),
    /// First 512-byte sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Operation in the kernel's letters: `R` read, `W` write, `D` discard, `F` flush, `N` none; then `F` FUA, `A`
    /// read-ahead, `S` synchronous, `M` metadata.
    pub operation: &'a str,
    /// Submitting thread; empty for completions.
    pub task: &'a str,
    /// Error code of a completion; 0 for success.
    pub error: i32,
}

/// Begin or end of a device callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerEdge<'a> {
    /// The callback was called.
    Begin {
        /// Parent device; `none` if there is none.
        parent: &'a str,
        /// Set of callbacks and stage as the kernel writes them, e.g. `bus `; empty for the driver's own callbacks.
        operations: &'a str,
        /// Transition: `suspend`, `hibernate`, `freeze`, `quiesce`, `thaw`, `restore`, `recover`, `resume`;
        /// `operations` has `noirq` or `late`.
        event: &'a str,
    },
    /// The callback returned.
    End {
        /// Error code; 0 for success.
        error: i32,
    },
}

/// A step of runtime power management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimePower<'a> {
    /// Suspend of a device.
    Suspend(&'a str),
    /// Resume of a device.
    Resume(&'a str),
    /// Idle check of a device.
    Idle(&'a str),
    /// The kernel function of a step returned.
    Return { function: &'a str, device: &'a str, result: i32 },
}

/// A decoded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A context switch.
    Switch {
        /// Name of the thread that was switched out.
        previous_task: &'a str,
        previous_pid: u32,
        /// Kernel priority: 0 to 99 real time, 100 to 139 others; lower values run first.
        previous_priority: i32,
        /// State in which it was switched out.
        previous_state: TaskState,
        /// Name of the thread that was switched in.
        next_task: &'a str,
        next_pid: u32,
        next_priority: i32,
    },
    /// The running thread wakes another one.
    Waking {
        task: &'a str,
        pid: u32,
        /// True if the thread is new and has not run yet.
        first: bool,
    },
    /// A thread was created.
    Fork {
        /// Id of the creating thread.
        parent_pid: u32,
        child_task: &'a str,
        child_pid: u32,
    },
    /// A process executed another program.
    Exec {
        /// Path of the program.
        file: &'a str,
        pid: u32,
    },
    /// A thread exited.
    Exit { task: &'a str, pid: u32 },
    /// An interrupt handler started.
    InterruptBegin {
        number: u32,
        /// Name of the handler.
        name: &'a str,
    },

    /// An interrupt handler returned.
    InterruptEnd { number: u32 },
    /// A soft interrupt handler started.
    SoftInterruptBegin { vector: u32 },
    /// A soft interrupt handler returned.
    SoftInterruptEnd { vector: u32 },
    /// A block request.
    Request(BlockRequest<'a>),
    /// The kernel's initialization reached an initcall level.
    InitcallLevel(&'a str),
    /// An initialization function was called; empty if its name is unknown.
    InitcallBegin(&'a str),
    /// An initialization function returned.
    InitcallEnd {
        function: &'a str,
        /// Return value.
        result: i32,
    },
    /// A module was loaded and will be initialized next.
    ModuleLoad(&'a str),
    /// A module was unloaded.
    ModuleFree(&'a str),
    /// The kernel requested a module.
    ModuleRequest(&'a str),
    /// A power callback of a device.
    DevicePower {
        /// Driver; empty if the device has none.
        driver: &'a str,
        device: &'a str,
        edge: PowerEdge<'a>,
    },
    /// Begin or end of a suspend or resume step.
    SuspendStep {
        action: &'a str,
        /// Argument: a sleep state or a CPU number.
        value: i32,
        begin: bool,
    },
    /// A wakeup source was activated or deactivated.
    WakeupSource {
        /// Name, usually of a device.
        name: &'a str,
        active: bool,
    },
    /// A step of runtime power management.
    RuntimePower(RuntimePower<'a>),
    /// The running thread sent a signal.
    Signal {
        /// Signal number: 15 `SIGTERM`, 9 `SIGKILL`.
        number: i32,
        /// Name of the receiving thread.
        task: &'a str,
        pid: u32,
    },
    /// A system call started. The value is its name without `sys_`. [`system_call_arguments`] decodes the arguments.
    SystemCallBegin(&'a str),
    /// A system call returned.
    SystemCallEnd {
        /// Name without `sys_`.
        name: &'a str,
        /// Result; negative for an error.
        result: i64,
    },
    /// function_graph tracer: a kernel function was called.
    FunctionBegin {
        /// Name, or the address in hexadecimal if the recording has no name.
        function: &'a str,
        /// Number of traced callers in the thread.
        depth: u32,
    },
    /// function_graph tracer: a kernel function returned.
    FunctionEnd {
        /// Same as in the matching [`Kind::FunctionBegin`].
        depth: u32,
        /// Duration measured by the tracer, ns, if recorded.
        duration_ns: Option<u64>,
        /// Cumulative number of calls of the thread that were too deep for the tracer; always 0 in text.
        overrun: u64,
    },
    /// function_graph tracer: begin and end of a function that made no traced calls, as one event.
    FunctionCall {
        function: &'a str,
        /// Number of traced callers in the thread.
        depth: u32,
        /// Duration, ns, if recorded.
        duration_ns: Option<u64>,
    },
    /// Kernel call stack of the previous event on the same processor, in the same thread and context (option or trigger
    /// `stacktrace`).
    KernelStack(StackAddresses<'a>),
    /// User call stack of the same event (option `userstacktrace`).
    UserStack {
        /// Process id of the event's thread; 0 if not recorded.
        process: u32,
        /// Return addresses.
        addresses: StackAddresses<'a>,
    },
    /// Text written into the trace.
    Mark(&'a str),
    /// Any other event.
    Other,
}

impl<'a> Kind<'a> {
    /// Decodes `event`. Returns `None` if it is a known event with an unreadable body.
    #[must_use]
    pub fn from_event(event: &Event<'a>) -> Option<Self> {
        if let Some(call) = system_call::read(event) {
            return call;
        }
        match event.body {
            Body::Text(text) => text_fields::read(event.name, text),
            Body::Record(body) => fields::read(event.name, body),
        }
    }
}
