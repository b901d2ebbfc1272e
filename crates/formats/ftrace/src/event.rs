//! An event, independent of the recording format.

use crate::record::RecordBody;

/// The payload of an event, as recorded.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// The text after the event's name.
    Text(&'a str),
    /// A binary record with the description of its fields.
    Record(RecordBody<'a>),
}

/// Execution context of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    Thread,
    SoftInterrupt,
    /// A hardware or non-maskable interrupt, also inside a soft interrupt.
    Interrupt,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Time on the trace's clock, ns.
    pub time_ns: u64,
    pub cpu: u16,
    /// Id of the running thread; 0 for a processor's idle thread.
    pub pid: u32,
    /// Name of the thread as known at the end of the recording; empty if unknown.
    pub task: &'a str,
    /// Execution context; `None` if the format does not have it, such as trace-cmd's text.
    pub context: Option<Context>,
    /// Event name, without its subsystem.
    pub name: &'a str,
    pub body: Body<'a>,
}
