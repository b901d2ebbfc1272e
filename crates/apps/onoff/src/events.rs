//! Streams individual events of a Windows or Linux recording.

use std::ops::ControlFlow;

use onoff_report::text::time_point::TimePoint;
use onoff_sources::{
    BATCH_EVENTS, EventFilter, EventStream, EventWriter, LinuxEventStream, RecordingKind, StreamResult,
    parallel_writers,
};
use onoff_trace::{DescribedEvent, StreamHeader, SystemKind};
use onoff_transitions::{NamedPhase, PHASE_TABLES, PhaseNotFound, named_phase};

use crate::error::{Error, QueryError};
use crate::range::{RangeError, check_order};
use crate::session::Session;

/// Selects events.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    pub filter: EventFilter,
    /// Start and end; calendar times are resolved with the recording's clock.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The name of a phase, instead of `range`.
    pub phase: Option<String>,
}

/// An event query that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error(transparent)]
    Range(RangeError),
    #[error(transparent)]
    Phase(PhaseNotFound),
}

/// The events of a query, not yet read.
pub struct Events<'s> {
    session: &'s Session,
    stream: Stream<'s>,
    filter: EventFilter,
    phase: Option<NamedPhase>,
}

enum Stream<'s> {
    Windows(Box<EventStream<'s>>),
    Linux(Box<LinuxEventStream<'s>>),
}

impl Session {
    /// Prepares to stream events. They are described one at a time, without keeping the whole recording in memory.
    ///
    /// # Errors
    /// The recording is unreadable or has no individual events, or the range or phase does not exist.
    pub fn events(&self, query: &EventQuery) -> Result<Events<'_>, QueryError<EventsError>> {
        let stream = match self.kind() {
            RecordingKind::Linux => Stream::Linux(Box::new(LinuxEventStream::open(self.files(), self.options())?)),
            _ => Stream::Windows(Box::new(EventStream::open(self.files(), self.options())?)),
        };
        let mut filter = query.filter.clone();
        let phase = match &query.phase {
            Some(name) => {
                let result = named_phase(&*self.tables(PHASE_TABLES)?, name);
                let phase = result.map_err(|error| QueryError::Unanswerable(EventsError::Phase(error)))?;
                (filter.from_ns, filter.until_ns) = (Some(phase.start_ns), Some(phase.end_ns));
                Some(phase)
            }
            None => None,
        };
        let events = Events { session: self, stream, filter, phase };
        match query.range {
            Some(range) => {
                events.with_range(range).map_err(|error| QueryError::Unanswerable(EventsError::Range(error)))
            }
            None => Ok(events),
        }
    }
}

impl Events<'_> {
    fn with_range(mut self, (from, until): (TimePoint, TimePoint)) -> Result<Self, RangeError> {
        let resolve = |point: TimePoint| point.resolve(self.header()).ok_or(RangeError::Time);
        let (from_ns, until_ns) = (resolve(from)?, resolve(until)?);
        check_order(from_ns, until_ns)?;
        (self.filter.from_ns, self.filter.until_ns) = (Some(from_ns), Some(until_ns));
        Ok(self)
    }

    /// Returns the properties of the recording that are known before the first event.
    #[must_use]
    pub fn header(&self) -> &StreamHeader {
        match &self.stream {
            Stream::Windows(stream) => stream.header(),
            Stream::Linux(stream) => stream.header(),
        }
    }

    #[must_use]
    pub const fn system(&self) -> SystemKind {
        match &self.stream {
            Stream::Windows(_) => SystemKind::Windows,
            Stream::Linux(_) => SystemKind::Linux,
        }
    }

    /// Returns the phase named in the query.
    #[must_use]
    pub const fn phase(&self) -> Option<&NamedPhase> {
        self.phase.as_ref()
    }

    /// Calls `visit` with each event in time order, until it breaks.
    ///
    /// # Errors
    /// A file was truncated during the read, so the events are not reliable.
    pub fn for_each<B>(
        self,
        visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> Result<StreamResult<B>, Error> {
        let options = self.session.options();
        let result = match self.stream {
            Stream::Windows(stream) => stream.for_each(&self.filter, options, visit),
            Stream::Linux(stream) => stream.for_each(&self.filter, options, visit),
        };
        self.session.files().check_complete()?;
        Ok(result)
    }

    /// Formats the events with writers, in parallel where possible, and calls `write_text` with the text of many events
    /// at once, in time order, until it breaks.
    ///
    /// # Errors
    /// A file was truncated during the read, so the events are not reliable.
    pub fn write_each<B>(
        self,
        new_writer: impl Fn() -> Box<dyn EventWriter>,
        mut write_text: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<StreamResult<B>, Error> {
        let writer_count = parallel_writers();
        match self.stream {
            Stream::Windows(stream) if writer_count > 1 => {
                let writers = (0..writer_count).map(|_| new_writer()).collect();
                let options = self.session.options();
                let result = stream.for_each_parallel(&self.filter, options, writers, BATCH_EVENTS, write_text);
                self.session.files().check_complete()?;
                Ok(result)
            }
            _ => {
                let (mut writer, mut text) = (new_writer(), Vec::new());
                self.for_each(|event| {
                    text.clear();
                    writer.event(event, &mut text);
                    write_text(&text)
                })
            }
        }
    }
}

impl std::fmt::Debug for Events<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Events").field("filter", &self.filter).finish_non_exhaustive()
    }
}
