//! One event, whichever form it was recorded in.

use crate::record::RecordBody;

/// What an event says, as recorded.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// What follows the event's name on its line.
    Text(&'a str),
    /// A binary record and the description of its fields.
    Record(RecordBody<'a>),
}

/// In what an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// In a thread.
    Thread,
    /// In a soft interrupt.
    SoftInterrupt,
    /// In an interrupt that cannot be put off, or one inside a soft interrupt.
    Interrupt,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Time by the trace's clock, ns.
    pub time_ns: u64,
    /// Processor.
    pub cpu: u16,
    /// Id of the thread that ran, 0 for a processor's idle thread.
    pub pid: u32,
    /// Name of that thread as the recorder knew it at the end; empty when it did not.
    pub task: &'a str,
    /// In what it happened; `None` where the form does not say, as trace-cmd's text.
    pub context: Option<Context>,
    /// The event's name, without its system.
    pub name: &'a str,
    /// What it says.
    pub body: Body<'a>,
}
