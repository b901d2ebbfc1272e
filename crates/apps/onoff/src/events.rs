//! Single events of a recording, whichever system it is of.

use std::ops::ControlFlow;

use onoff_report::text::time_point::TimePoint;
use onoff_sources::{
    EventFilter, EventStream, EventWriter, LinuxEventStream, RecordingKind, STRETCH_EVENTS, StreamEnd, writers_at_once,
};
use onoff_trace::{DescribedEvent, StreamHeader, SystemKind};
use onoff_transitions::{NamedPhase, NoSuchPhase, PHASE_TABLES, named_phase};

use crate::error::{Error, Refusal};
use crate::range::{OutOfRange, check_order};
use crate::session::Session;

/// Which events to show.
#[derive(Clone, Debug, Default)]
pub struct EventQuestion {
    /// Which, but for the time.
    pub filter: EventFilter,
    /// From when to when; calendar times wait for the recording's clock.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The phase that they are in, instead.
    pub phase: Option<String>,
}

/// Why no events can be shown.
#[derive(Debug, thiserror::Error)]
pub enum NoEvents {
    /// The range is not in the recording.
    #[error(transparent)]
    Range(OutOfRange),
    /// No phase is called so.
    #[error(transparent)]
    Phase(NoSuchPhase),
}

/// The events that a question is about, not yet read.
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
    /// The events that `question` is about; they are described one at a time, and the recording is never held.
    ///
    /// # Errors
    /// A recording that cannot be read or holds no single events, or a part that it does not have.
    pub fn events(&self, question: &EventQuestion) -> Result<Events<'_>, Refusal<NoEvents>> {
        let stream = match self.kind() {
            RecordingKind::Linux => Stream::Linux(Box::new(LinuxEventStream::open(self.files(), self.options())?)),
            _ => Stream::Windows(Box::new(EventStream::open(self.files(), self.options())?)),
        };
        let mut filter = question.filter.clone();
        let phase = match &question.phase {
            Some(name) => {
                let named = named_phase(&*self.tables(PHASE_TABLES)?, name);
                let phase = named.map_err(|error| Refusal::Nothing(NoEvents::Phase(error)))?;
                (filter.from_ns, filter.until_ns) = (Some(phase.start_ns), Some(phase.end_ns));
                Some(phase)
            }
            None => None,
        };
        let events = Events { session: self, stream, filter, phase };
        match question.range {
            Some(range) => events.between(range).map_err(|error| Refusal::Nothing(NoEvents::Range(error))),
            None => Ok(events),
        }
    }
}

impl Events<'_> {
    fn between(mut self, (from, until): (TimePoint, TimePoint)) -> Result<Self, OutOfRange> {
        let resolve = |point: TimePoint| point.resolve(self.header()).ok_or(OutOfRange::Time);
        let (from_ns, until_ns) = (resolve(from)?, resolve(until)?);
        check_order(from_ns, until_ns)?;
        (self.filter.from_ns, self.filter.until_ns) = (Some(from_ns), Some(until_ns));
        Ok(self)
    }

    /// What is known of the recording before its first event.
    #[must_use]
    pub fn header(&self) -> &StreamHeader {
        match &self.stream {
            Stream::Windows(stream) => stream.header(),
            Stream::Linux(stream) => stream.header(),
        }
    }

    /// Of which system they are.
    #[must_use]
    pub const fn system(&self) -> SystemKind {
        match &self.stream {
            Stream::Windows(_) => SystemKind::Windows,
            Stream::Linux(_) => SystemKind::Linux,
        }
    }

    /// The phase that the question named.
    #[must_use]
    pub const fn phase(&self) -> Option<&NamedPhase> {
        self.phase.as_ref()
    }

    /// Shows each event to `visit`, by time, until that breaks it off.
    ///
    /// # Errors
    /// A file that became shorter meanwhile: what was shown of it means nothing.
    pub fn for_each<B>(self, visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>) -> Result<StreamEnd<B>, Error> {
        let options = self.session.options();
        let end = match self.stream {
            Stream::Windows(stream) => stream.for_each(&self.filter, options, visit),
            Stream::Linux(stream) => stream.for_each(&self.filter, options, visit),
        };
        self.session.files().check_complete()?;
        Ok(end)
    }

    /// Gives the texts that writers made of the events to `take`, in the order of time and many events at a time, until that breaks it
    /// off. There may be several writers at once, each for some of the events.
    ///
    /// # Errors
    /// A file that became shorter meanwhile: what was shown of it means nothing.
    pub fn write_each<B>(
        self,
        new_writer: impl Fn() -> Box<dyn EventWriter>,
        mut take: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<StreamEnd<B>, Error> {
        let count = writers_at_once();
        match self.stream {
            Stream::Windows(stream) if count > 1 => {
                let writers = (0..count).map(|_| new_writer()).collect();
                let options = self.session.options();
                let end = stream.for_each_side_by_side(&self.filter, options, writers, STRETCH_EVENTS, take);
                self.session.files().check_complete()?;
                Ok(end)
            }
            _ => {
                let (mut writer, mut text) = (new_writer(), Vec::new());
                self.for_each(|event| {
                    text.clear();
                    writer.event(event, &mut text);
                    take(&text)
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
