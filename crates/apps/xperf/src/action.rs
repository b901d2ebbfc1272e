//! What an action is, and what it needs to answer.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_sources::{EventFilter, EventWriter, Pattern};
use onoff_trace::{DescribedEvent, EventColumns, StreamHeader, Tables, Trace};
use onoff_usage::address_names::AddressNames;
use onoff_usage::functions::NameFunctions;

use super::command_words::{Range, Words};
use crate::failure::Failure;

/// An action: what `-a` names.
#[derive(Clone, Copy)]
pub struct Action {
    /// Its name after `-a`, in lower case.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it shows, in one line.
    pub summary: &'static str,
    /// Its options, as `-help` shows them: one per line, name and meaning.
    pub help: &'static str,
    /// Whether a recording that lost events can answer it although nobody said `-tle`: it is about the recording itself
    /// or the machine, not about what happened.
    pub bears_losses: bool,
    /// Takes its options from the words.
    pub parse: fn(&mut Words) -> Result<Question, Failure>,
}

impl Action {
    /// An action of one name that asks for a recording without losses: what most are, but for their name, summary and help.
    pub const fn of(parse: fn(&mut Words) -> Result<Question, Failure>) -> Self {
        Self { name: "", aliases: &[], summary: "", help: "", bears_losses: false, parse }
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Answers from tables; functions are named by what `-symbols` gives, where the line has it.
pub type Answer = Box<dyn FnOnce(&Trace, Option<NameFunctions<'_>>, &mut dyn Write) -> Result<(), Failure>>;

/// An action with its options.
pub enum Question {
    /// Answered from tables.
    Tables {
        /// The tables it reads.
        wanted: Tables,
        /// How it answers.
        answer: Answer,
    },
    /// Answered from events, told one by one.
    Events {
        /// Which events it is told. Others may be told too, when several actions share a reading and none can be spared.
        filter: EventFilter,
        /// From when to when.
        range: Option<Range>,
        /// Who is told.
        listener: Box<dyn Listener>,
    },
}

impl Question {
    /// A question answered from tables.
    pub fn tables(
        wanted: Tables,
        answer: impl FnOnce(&Trace, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::of_functions(wanted, |trace, _, out| answer(trace, out))
    }

    /// A question answered from tables, and from names of functions.
    pub fn of_functions(
        wanted: Tables,
        answer: impl FnOnce(&Trace, Option<NameFunctions<'_>>, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::Tables { wanted, answer: Box::new(answer) }
    }

    /// A question answered from events.
    pub fn events(filter: EventFilter, range: Option<Range>, listener: impl Listener + 'static) -> Self {
        Self::Events { filter, range, listener: Box::new(listener) }
    }
}

impl Question {
    /// A question answered from what `taker` collected of the events that have one of the names, which are given as
    /// [`Pattern`]s take them: `take` is told each event, `answer` writes when all are told.
    pub fn collected<T: 'static>(
        names: &[&str],
        range: Option<Range>,
        taker: T,
        take: impl FnMut(&mut T, &DescribedEvent<'_>) + 'static,
        answer: impl FnOnce(T, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        let filter =
            EventFilter { events: names.iter().map(|name| Pattern::new(name)).collect(), ..EventFilter::default() };
        let collector = Collector { taker: Some(taker), take, answer: Some(answer) };
        Self::events(filter, range, collector)
    }
}

/// Collects first, and answers at the end.
struct Collector<T, Take, Answer> {
    taker: Option<T>,
    take: Take,
    answer: Option<Answer>,
}

impl<T, Take, Answer> Listener for Collector<T, Take, Answer>
where
    Take: FnMut(&mut T, &DescribedEvent<'_>),
    Answer: FnOnce(T, &mut dyn Write) -> Result<(), Failure>,
{
    fn event(&mut self, event: &DescribedEvent<'_>, _out: &mut dyn Write) -> io::Result<()> {
        if let Some(taker) = &mut self.taker {
            (self.take)(taker, event);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        match (self.taker.take(), self.answer.take()) {
            (Some(taker), Some(answer)) => answer(taker, out),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tables { wanted, .. } => formatter.debug_tuple("Tables").field(wanted).finish(),
            Self::Events { filter, range, .. } => {
                formatter.debug_struct("Events").field("filter", filter).field("range", range).finish()
            }
        }
    }
}

/// Is told the events of a recording in the order of time.
pub trait Listener {
    /// Whether it writes as it listens, and so must be alone with its destination while it does.
    fn writes_at_once(&self) -> bool {
        false
    }

    /// Whether it has to know which events the recording holds, and with which columns, before the first.
    fn wants_columns(&self) -> bool {
        false
    }

    /// Which events the recording holds; before anything else, to those who want to know.
    fn columns(&mut self, _columns: &[EventColumns]) {}

    /// Before the first event.
    fn begin(&mut self, _header: &StreamHeader, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Whether it looks at call stacks among an event's fields, not only at [`Derived::frames`](onoff_trace::Derived::frames).
    fn wants_stack_fields(&self) -> bool {
        true
    }

    /// Whether it shows functions where `-symbols` asks for them.
    fn wants_functions(&self) -> bool {
        false
    }

    /// Functions by address; before anything else, to those who want them, where there are symbols.
    fn functions(&mut self, _names: &Arc<AddressNames>) {}

    /// Who writes the events in its place, on a thread of its own; `None` where the text of an event hangs on what was written
    /// before. Then [`Self::written`] is told the texts.
    fn writer(&self) -> Option<Box<dyn EventWriter>> {
        None
    }

    /// The text of the next events, by those who wrote in its place.
    fn written(&mut self, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(text)
    }

    /// An event.
    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// After the last one: the answer, or why there is none.
    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure>;
}
