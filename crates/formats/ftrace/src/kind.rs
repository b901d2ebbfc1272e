//! What the events mean that a transition is read from, the same from text and from records.
//!
//! Field names and orders: the `TRACE_EVENT` definitions of Linux 4.15 to 6.x; the `format` files say the same.

mod fields;
pub(crate) mod graph_text;
mod system_call;
mod text_fields;

use crate::event::{Body, Event};
use crate::record::StackAddresses;

pub use system_call::{SystemCallArgument, system_call_arguments};

/// What a thread was doing when it stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The kernel's letter: `R` runnable, `S` sleeping, `D` sleeping and not to be disturbed, `I` idle, `T` stopped,
    /// `t` traced, `X` dead, `Z` zombie, `P` parked.
    pub letter: u8,
    /// Whether it was taken off the processor against its will.
    pub preempted: bool,
}

/// How far a block request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStage {
    /// A file system hands it in (`block_bio_queue`).
    Queued,
    /// It is in the scheduler's queue (`block_rq_insert`).
    Inserted,
    /// It goes to the device (`block_rq_issue`).
    Issued,
    /// The device is done (`block_rq_complete`).
    Completed,
}

/// A block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest<'a> {
    /// How far it is.
    pub stage: RequestStage,
    /// Device, major and minor number.
    pub device: (u32, u32),
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Sectors.
    pub sectors: u64,
    /// What is done, as the kernel's letters: `R` read, `W` write, `D` discard, `F` flush, `N` none, then `F` forced
    /// through, `A` read-ahead, `S` synchronous, `M` metadata.
    pub operation: &'a str,
    /// Thread that asked; empty for completions.
    pub task: &'a str,
    /// Error number of a completion, 0 for none.
    pub error: i32,
}

/// Begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerEdge<'a> {
    /// A device's callback is called.
    Begin {
        /// Device that it hangs on; `none` for none.
        parent: &'a str,
        /// Which of the device's sets of callbacks, and which of these, as the kernel writes it, e.g. `bus `; empty for
        /// the driver's own.
        operations: &'a str,
        /// What of a transition: `suspend`, `hibernate`, `freeze`, `quiesce`, `thaw`, `restore`, `recover`, `resume`,
        /// with `noirq` or `late` before it in `operations`.
        event: &'a str,
    },
    /// It returned.
    End {
        /// Error number, 0 for none.
        error: i32,
    },
}

/// A step of runtime power management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimePower<'a> {
    /// A device is to be suspended.
    Suspend(&'a str),
    /// A device is to be resumed.
    Resume(&'a str),
    /// A device has nothing to do.
    Idle(&'a str),
    /// The step in `function` is over.
    Return {
        /// Function that returns.
        function: &'a str,
        /// Device.
        device: &'a str,
        /// Its result.
        result: i32,
    },
}

/// What an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A processor went from one thread to another.
    Switch {
        /// Thread that stopped.
        previous_task: &'a str,
        /// Its id.
        previous_pid: u32,
        /// Its priority, as the kernel counts: 0 to 99 real time, 100 to 139 others, lower first.
        previous_priority: i32,
        /// Why it stopped.
        previous_state: TaskState,
        /// Thread that goes on.
        next_task: &'a str,
        /// Its id.
        next_pid: u32,
        /// Its priority.
        next_priority: i32,
    },
    /// A thread is woken by the one that runs.
    Waking {
        /// Thread.
        task: &'a str,
        /// Its id.
        pid: u32,
        /// Whether it runs for the first time.
        first: bool,
    },
    /// A thread was made.
    Fork {
        /// Id of the thread that made it.
        parent_pid: u32,
        /// Name.
        child_task: &'a str,
        /// Its id.
        child_pid: u32,
    },
    /// A process runs another program.
    Exec {
        /// Program's file.
        file: &'a str,
        /// Id.
        pid: u32,
    },
    /// A thread ended.
    Exit {
        /// Name.
        task: &'a str,
        /// Its id.
        pid: u32,
    },
    /// An interrupt's handler begins.
    InterruptBegin {
        /// Interrupt.
        number: u32,
        /// Handler's name.
        name: &'a str,
    },
    /// It ends.
    InterruptEnd {
        /// Interrupt.
        number: u32,
    },
    /// A soft interrupt begins.
    SoftInterruptBegin {
        /// Its number.
        vector: u32,
    },
    /// It ends.
    SoftInterruptEnd {
        /// Its number.
        vector: u32,
    },
    /// A block request.
    Request(BlockRequest<'a>),
    /// The kernel's initialization reached a level.
    InitcallLevel(&'a str),
    /// An initialization function is called; empty when its name is not known.
    InitcallBegin(&'a str),
    /// It returned.
    InitcallEnd {
        /// Function.
        function: &'a str,
        /// What it returned.
        result: i32,
    },
    /// A module was loaded and is about to be initialized.
    ModuleLoad(&'a str),
    /// A module was taken out.
    ModuleFree(&'a str),
    /// The kernel asked for a module.
    ModuleRequest(&'a str),
    /// A device's power callback.
    DevicePower {
        /// Driver; empty when the device has none.
        driver: &'a str,
        /// Device.
        device: &'a str,
        /// Begin or end.
        edge: PowerEdge<'a>,
    },
    /// A step of suspend or resume.
    SuspendStep {
        /// Step.
        action: &'a str,
        /// Its argument: a state or a processor.
        value: i32,
        /// Whether it begins.
        begin: bool,
    },
    /// Something that wakes the machine, or keeps it awake, begins or ends.
    WakeupSource {
        /// Its name: a device's.
        name: &'a str,
        /// Whether it begins.
        active: bool,
    },
    /// Runtime power management.
    RuntimePower(RuntimePower<'a>),
    /// A signal is sent by the thread that runs.
    Signal {
        /// Its number: 15 `SIGTERM`, 9 `SIGKILL`.
        number: i32,
        /// Name of the thread that it goes to.
        task: &'a str,
        /// Its id.
        pid: u32,
    },
    /// A system call begins; its name without `sys_`. [`system_call_arguments`] has its arguments.
    SystemCallBegin(&'a str),
    /// It returns.
    SystemCallEnd {
        /// Its name without `sys_`.
        name: &'a str,
        /// What it returned; an error is negative.
        result: i64,
    },
    /// The function_graph tracer: a function of the kernel is called.
    FunctionBegin {
        /// Its name; its address in hexadecimal where the recording does not name it.
        function: &'a str,
        /// How many traced functions of the thread it is called from.
        depth: u32,
    },
    /// It returns.
    FunctionEnd {
        /// As at the begin.
        depth: u32,
        /// How long it took, as the tracer says, ns; `None` when it does not.
        duration_ns: Option<u64>,
        /// Functions of the thread that were too deep for the tracer, so far; 0 in text, which does not say.
        overrun: u64,
    },
    /// A function that calls none, on one line: begin and end.
    FunctionWhole {
        /// Its name.
        function: &'a str,
        /// As at a begin.
        depth: u32,
        /// How long it took, ns; `None` when the line does not say.
        duration_ns: Option<u64>,
    },
    /// The kernel's call stack of the event before it on its processor, in the same thread and context (option
    /// `stacktrace`, or a trigger of that name).
    KernelStack(StackAddresses<'a>),
    /// The process's call stack of the same event (option `userstacktrace`).
    UserStack {
        /// The process, of which the event's thread is one; 0 when the record does not say.
        process: u32,
        /// Its return addresses.
        addresses: StackAddresses<'a>,
    },
    /// Text that somebody wrote into the trace.
    Mark(&'a str),
    /// Another event.
    Other,
}

impl<'a> Kind<'a> {
    /// What `event` means; `None` when it is one of these and its body cannot be read.
    #[must_use]
    pub fn of(event: &Event<'a>) -> Option<Self> {
        if let Some(call) = system_call::read(event) {
            return call;
        }
        match event.body {
            Body::Text(text) => text_fields::read(event.name, text),
            Body::Record(body) => fields::read(event.name, body),
        }
    }
}
