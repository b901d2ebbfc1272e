//! Actions (`-a NAME`) and the queries that they are parsed into.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_sources::{EventFilter, EventWriter, Pattern};
use onoff_trace::{DescribedEvent, EventSchema, StreamHeader, TableSet, Trace};
use onoff_usage::address_names::AddressNames;
use onoff_usage::functions::FunctionResolver;

use super::command_words::{Range, Words};
use crate::failure::Failure;

#[derive(Clone, Copy)]
pub struct Action {
    /// Lower case.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// One line for the list of actions.
    pub summary: &'static str,
    /// The options as `-help` shows them: one per line, name and meaning.
    pub help: &'static str,
    /// True if the action runs without `-tle` on a recording that lost events, because it describes the recording or
    /// the machine, not the events.
    pub accepts_losses: bool,
    /// Parses the action's options.
    pub parse: fn(&mut Words) -> Result<Query, Failure>,
}

impl Action {
    /// Returns the defaults of an action: no aliases, and lost events not accepted. Name, summary and help are empty.
    pub const fn with_parser(parse: fn(&mut Words) -> Result<Query, Failure>) -> Self {
        Self { name: "", aliases: &[], summary: "", help: "", accepts_losses: false, parse }
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Writes an action's output from tables. The function names are present only with `-symbols`.
pub type TableWriter = Box<dyn FnOnce(&Trace, Option<FunctionResolver<'_>>, &mut dyn Write) -> Result<(), Failure>>;

/// An action with its parsed options.
pub enum Query {
    /// Needs tables.
    Tables { wanted: TableSet, answer: TableWriter },
    /// Needs individual events.
    Events {
        /// The events that the listener needs. It may receive others when several actions share a pass.
        filter: EventFilter,
        range: Option<Range>,
        listener: Box<dyn Listener>,
    },
}

impl Query {
    pub fn tables(
        wanted: TableSet,
        write_output: impl FnOnce(&Trace, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::with_functions(wanted, |trace, _, out| write_output(trace, out))
    }

    /// Returns a query over tables that also receives function names.
    pub fn with_functions(
        wanted: TableSet,
        write_output: impl FnOnce(&Trace, Option<FunctionResolver<'_>>, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::Tables { wanted, answer: Box::new(write_output) }
    }

    pub fn events(filter: EventFilter, range: Option<Range>, listener: impl Listener + 'static) -> Self {
        Self::Events { filter, range, listener: Box::new(listener) }
    }
}

impl Query {
    /// Returns a query over the events that match one of `names` (in the syntax of [`Pattern`]): `take` adds each event
    /// to `state`, and `write_output` writes the output after the last event.
    pub fn collect_events<T: 'static>(
        names: &[&str],
        range: Option<Range>,
        state: T,
        take: impl FnMut(&mut T, &DescribedEvent<'_>) + 'static,
        write_output: impl FnOnce(T, &mut dyn Write) -> Result<(), Failure> + 'static,
    ) -> Self {
        let filter =
            EventFilter { events: names.iter().map(|name| Pattern::new(name)).collect(), ..EventFilter::default() };
        let collector = Collector { state: Some(state), take, write_output: Some(write_output) };
        Self::events(filter, range, collector)
    }
}

/// A listener that collects events and writes its output after the last one.
struct Collector<T, Take, WriteOutput> {
    state: Option<T>,
    take: Take,
    write_output: Option<WriteOutput>,
}

impl<T, Take, WriteOutput> Listener for Collector<T, Take, WriteOutput>
where
    Take: FnMut(&mut T, &DescribedEvent<'_>),
    WriteOutput: FnOnce(T, &mut dyn Write) -> Result<(), Failure>,
{
    fn event(&mut self, event: &DescribedEvent<'_>, _out: &mut dyn Write) -> io::Result<()> {
        if let Some(state) = &mut self.state {
            (self.take)(state, event);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        match (self.state.take(), self.write_output.take()) {
            (Some(state), Some(write_output)) => write_output(state, out),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tables { wanted, .. } => formatter.debug_tuple("Tables").field(wanted).finish(),
            Self::Events { filter, range, .. } => {
                formatter.debug_struct("Events").field("filter", filter).field("range", range).finish()
            }
        }
    }
}

/// Receives the events of a recording in time order.
pub trait Listener {
    /// True if it writes while events arrive, so that no other action may write to its output during the pass.
    fn streams_output(&self) -> bool {
        false
    }

    /// True if it needs the event types and their columns before the first event.
    fn wants_schemas(&self) -> bool {
        false
    }

    /// Receives the event schemas of the recording. Called first, and only if [`Self::wants_schemas`].
    fn schemas(&mut self, _schemas: &[EventSchema]) {}

    /// Called before the first event.
    fn begin(&mut self, _header: &StreamHeader, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// True if it reads call stacks from the fields of events in addition to
    /// [`DerivedValues::frames`](onoff_trace::DerivedValues::frames).
    fn wants_stack_fields(&self) -> bool {
        true
    }

    /// True if it shows function names with `-symbols`.
    fn wants_functions(&self) -> bool {
        false
    }

    /// Receives function names by address. Called first, and only if [`Self::wants_functions`] and there are symbols.
    fn functions(&mut self, _names: &Arc<AddressNames>) {}

    /// Returns a writer that formats events on another thread and sends their text to [`Self::write_text`]. `None` if
    /// the text of an event depends on earlier events.
    fn writer(&self) -> Option<Box<dyn EventWriter>> {
        None
    }

    /// Receives the text that a [`Self::writer`] produced for the next events.
    fn write_text(&mut self, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        out.write_all(text)
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// Called after the last event.
    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure>;
}
