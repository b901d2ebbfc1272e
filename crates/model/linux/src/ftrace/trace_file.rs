//! Opens and reads one trace: the tracer's text or a trace-cmd file.

use onoff_ftrace::{DataFile, Event, Losses, TextTrace};

use crate::parts::{Part, PartKind};
use onoff_input::error::Error;

/// A trace whose header has been read. The header of a trace-cmd file describes its events and every kernel symbol:
/// reading it takes longer than reading the events of a short recording, so it is read only once.
#[derive(Debug)]
pub(crate) struct TraceFile<'f> {
    part: Part<'f>,
    data: Option<DataFile<'f>>,
}

impl<'f> TraceFile<'f> {
    /// Opens a part that is a trace.
    ///
    /// # Errors
    /// A trace-cmd file that is damaged beyond use.
    pub(super) fn open(part: Part<'f>) -> Result<Self, Error> {
        let data = match part.kind {
            PartKind::TraceText => None,
            _ => {
                Some(DataFile::open(part.bytes).map_err(|source| Error::Trace { name: part.name.to_owned(), source })?)
            }
        };
        Ok(Self { part, data })
    }

    pub(crate) const fn name(&self) -> &'f str {
        self.part.name
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.part.bytes.len() as u64
    }

    /// Returns the name of the trace's clock, if the file has it.
    pub(super) fn clock(&self) -> Option<&str> {
        let clock = match &self.data {
            Some(file) => file.clock(),
            None => TextTrace::new(self.part.bytes).clock()?,
        };
        (!clock.is_empty()).then_some(clock)
    }

    /// Returns the trace-cmd file; `None` for text.
    pub(super) const fn data(&self) -> Option<&DataFile<'f>> {
        self.data.as_ref()
    }

    /// Passes every event to `visit`.
    pub(crate) fn events(&self, visit: impl FnMut(Event<'_>)) -> Losses {
        match &self.data {
            Some(file) => file.read(visit),
            None => TextTrace::new(self.part.bytes).read(visit),
        }
    }
}
