//! A recording that is read for several calls, and the calls on their way.

use std::sync::Arc;

use onoff_sources::{EventFilter, EventStream, Files, Options, Progress};
use onoff_trace::{Tables, Trace};

use crate::action::{Answer, Listener, Question};
use crate::command_line::Call;
use crate::command_words::Range;
use crate::failure::Failure;

/// Shows how far one reading of the recording has come, until it is dropped.
pub trait ReadingProgress {
    /// What the reader calls as it goes on.
    fn listener(&self) -> Arc<dyn Fn(Progress) + Send + Sync>;
}

/// Makes the [`ReadingProgress`] of a reading that begins.
pub type NewProgress<'p> = &'p dyn Fn() -> Box<dyn ReadingProgress>;

/// Reads the recording, and counts how often.
pub(super) struct Reader<'f> {
    pub(super) files: &'f Files,
    options: Options,
    progress: Option<NewProgress<'f>>,
    pub(super) readings: u32,
}

impl<'f> Reader<'f> {
    pub(super) fn new(files: &'f Files, options: Options, progress: Option<NewProgress<'f>>) -> Self {
        Self { files, options, progress, readings: 0 }
    }

    pub(super) fn with_progress<T>(&mut self, read: impl FnOnce(&Options) -> T) -> T {
        self.readings += 1;
        let progress = self.progress.map(|new| new());
        self.options.progress = progress.as_ref().map(|progress| progress.listener());
        read(&self.options)
    }

    pub(super) fn tables(&mut self, wanted: Tables) -> Result<Trace, Failure> {
        let files = self.files;
        self.with_progress(|options| Ok(onoff_sources::open_files(files, wanted, options)?))
    }

    /// A stream of which nothing but the header is read yet.
    pub(super) fn stream(&self) -> Result<EventStream<'f>, Failure> {
        Ok(EventStream::open(self.files, &self.options)?)
    }
}

/// A call on its way.
pub(super) struct Asked {
    pub(super) call_name: &'static str,
    pub(super) bears_losses: bool,
    pub(super) errors: Option<std::path::PathBuf>,
    pub(super) output: usize,
    pub(super) state: State,
}

pub(super) enum State {
    Tables {
        wanted: Tables,
        answer: Answer,
    },
    Events {
        filter: EventFilter,
        range: Option<Range>,
        listener: Box<dyn Listener>,
    },
    /// Answered, or failed.
    Over(Result<(), Failure>),
}

impl Asked {
    pub(super) fn new(call: Call, output: usize) -> Self {
        Self {
            call_name: call.action.name,
            bears_losses: call.action.bears_losses,
            errors: call.errors,
            output,
            state: match call.question {
                Question::Tables { wanted, answer } => State::Tables { wanted, answer },
                Question::Events { filter, range, listener } => State::Events { filter, range, listener },
            },
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    pub(super) fn listens(&self) -> bool {
        matches!(self.state, State::Events { .. })
    }

    /// Who listens and shows functions.
    pub(super) fn wants_functions(&mut self) -> Option<&mut dyn Listener> {
        match &mut self.state {
            State::Events { listener, .. } if listener.wants_functions() => Some(&mut **listener),
            _ => None,
        }
    }

    pub(super) fn writes_at_once(&self) -> bool {
        matches!(&self.state, State::Events { listener, .. } if listener.writes_at_once())
    }
}
