//! Reads the recording for several calls, and tracks the state of each call.

use std::sync::Arc;

use onoff_sources::{EventFilter, EventStream, Files, Options, Progress};
use onoff_trace::{TableSet, Trace};

use crate::action::{Listener, Query, TableWriter};
use crate::command_line::Call;
use crate::command_words::Range;
use crate::failure::Failure;

/// Shows the progress of one pass over the recording until it is dropped.
pub trait ReadingProgress {
    /// Returns the callback that the reader reports progress to.
    fn listener(&self) -> Arc<dyn Fn(Progress) + Send + Sync>;
}

/// Creates the [`ReadingProgress`] of a pass.
pub type NewProgress<'p> = &'p dyn Fn() -> Box<dyn ReadingProgress>;

/// Reads the recording, and counts the passes.
pub(super) struct Reader<'f> {
    pub(super) files: &'f Files,
    options: Options,
    progress: Option<NewProgress<'f>>,
    pub(super) passes: u32,
}

impl<'f> Reader<'f> {
    pub(super) fn new(files: &'f Files, options: Options, progress: Option<NewProgress<'f>>) -> Self {
        Self { files, options, progress, passes: 0 }
    }

    pub(super) fn with_progress<T>(&mut self, read: impl FnOnce(&Options) -> T) -> T {
        self.passes += 1;
        let progress = self.progress.map(|new_progress| new_progress());
        self.options.progress = progress.as_ref().map(|progress| progress.listener());
        read(&self.options)
    }

    pub(super) fn tables(&mut self, wanted: TableSet) -> Result<Trace, Failure> {
        let files = self.files;
        self.with_progress(|options| Ok(onoff_sources::open_files(files, wanted, options)?))
    }

    /// Opens a stream and reads only its header.
    pub(super) fn stream(&self) -> Result<EventStream<'f>, Failure> {
        Ok(EventStream::open(self.files, &self.options)?)
    }
}

/// A call and its state.
pub(super) struct PendingCall {
    pub(super) name: &'static str,
    pub(super) accepts_losses: bool,
    pub(super) errors: Option<std::path::PathBuf>,
    pub(super) output: usize,
    pub(super) state: State,
}

pub(super) enum State {
    Tables {
        wanted: TableSet,
        answer: TableWriter,
    },
    Events {
        filter: EventFilter,
        range: Option<Range>,
        listener: Box<dyn Listener>,
    },
    /// Succeeded or failed.
    Done(Result<(), Failure>),
}

impl PendingCall {
    pub(super) fn new(call: Call, output: usize) -> Self {
        Self {
            name: call.action.name,
            accepts_losses: call.action.accepts_losses,
            errors: call.errors,
            output,
            state: match call.query {
                Query::Tables { wanted, answer } => State::Tables { wanted, answer },
                Query::Events { filter, range, listener } => State::Events { filter, range, listener },
            },
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done(_))
    }

    pub(super) fn listens(&self) -> bool {
        matches!(self.state, State::Events { .. })
    }

    /// Returns the listener if it shows function names.
    pub(super) fn function_listener(&mut self) -> Option<&mut dyn Listener> {
        match &mut self.state {
            State::Events { listener, .. } if listener.wants_functions() => Some(&mut **listener),
            _ => None,
        }
    }

    pub(super) fn streams_output(&self) -> bool {
        matches!(&self.state, State::Events { listener, .. } if listener.streams_output())
    }
}
