//! One trace, opened: the tracer's text or the file of trace-cmd.

use onoff_ftrace::{DataFile, Event, Losses, TextTrace};

use crate::parts::{Part, PartKind};
use onoff_input::error::Error;

/// A trace whose head has been read. A file of trace-cmd describes its events and every symbol of the kernel there, which takes
/// longer than its events of a short recording: it is read once.
#[derive(Debug)]
pub(crate) struct TraceFile<'f> {
    part: Part<'f>,
    data: Option<DataFile<'f>>,
}

impl<'f> TraceFile<'f> {
    /// Opens a part that is a trace.
    ///
    /// # Errors
    /// A file of trace-cmd that is damaged beyond use.
    pub(super) fn open(part: Part<'f>) -> Result<Self, Error> {
        let data = match part.kind {
            PartKind::TraceText => None,
            _ => {
                Some(DataFile::open(part.bytes).map_err(|source| Error::Trace { name: part.name.to_owned(), source })?)
            }
        };
        Ok(Self { part, data })
    }

    /// The file's name, for messages.
    pub(crate) const fn name(&self) -> &'f str {
        self.part.name
    }

    /// Its length, bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.part.bytes.len() as u64
    }

    /// Name of the clock that stamped it, where the file says so.
    pub(super) fn clock(&self) -> Option<&str> {
        let clock = match &self.data {
            Some(file) => file.clock(),
            None => TextTrace::new(self.part.bytes).clock()?,
        };
        (!clock.is_empty()).then_some(clock)
    }

    /// The file of trace-cmd; `None` for text.
    pub(super) const fn data(&self) -> Option<&DataFile<'f>> {
        self.data.as_ref()
    }

    /// Gives every event to `each`.
    pub(crate) fn events(&self, each: impl FnMut(Event<'_>)) -> Losses {
        match &self.data {
            Some(file) => file.read(each),
            None => TextTrace::new(self.part.bytes).read(each),
        }
    }
}
