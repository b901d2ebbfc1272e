//! One event, whichever form it was recorded in.

use crate::data::RecordBody;

/// What an event says, as recorded.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// What follows the event's name on its line.
    Text(&'a str),
    /// A binary record and the description of its fields.
    Record(RecordBody<'a>),
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
    /// The event's name, without its system.
    pub name: &'a str,
    /// What it says.
    pub body: Body<'a>,
}
