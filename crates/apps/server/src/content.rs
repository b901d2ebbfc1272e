//! The content of the page, which grows while files are read.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onoff_page::build::LoadedRecording;
use onoff_page::compare::PageComparison;
use onoff_page::page::Page;

/// Maximum time that a query waits for new content.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The recordings of the page. A reader adds them while the server answers.
#[derive(Debug, Default)]
pub struct Content {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// `None` before a recording is read, and if it cannot be read.
    recordings: Vec<Option<Arc<LoadedRecording>>>,
    comparison: Option<PageComparison>,
    reading: String,
    revision: u32,
    not_shown: Vec<String>,
    has_failed: bool,
}

impl Content {
    /// Creates content that is complete.
    #[must_use]
    pub fn complete(recordings: Vec<LoadedRecording>, comparison: Option<PageComparison>) -> Self {
        let recordings = recordings.into_iter().map(|recording| Some(Arc::new(recording))).collect();
        Self { state: Mutex::new(State { recordings, comparison, ..State::default() }), changed: Condvar::new() }
    }

    /// Creates empty content that is still being read. `reading` says what.
    #[must_use]
    pub fn being_read(reading: String) -> Self {
        Self { state: Mutex::new(State { reading, ..State::default() }), changed: Condvar::new() }
    }

    /// Shows a recording at the position `index`, instead of what is there; `None` removes it.
    pub fn set(&self, index: usize, recording: Option<LoadedRecording>) {
        let mut state = self.state();
        let length = state.recordings.len().max(index.saturating_add(1));
        state.recordings.resize(length, None);
        if let Some(place) = state.recordings.get_mut(index) {
            *place = recording.map(Arc::new);
        }
        self.announce(state);
    }

    /// Says what is being read; empty at the end.
    pub fn set_reading(&self, reading: String) {
        let mut state = self.state();
        let has_ended = reading.is_empty() && !state.reading.is_empty();
        state.reading = reading;
        if has_ended {
            self.announce(state);
        }
    }

    /// Says why a recording is not shown.
    pub fn add_failure(&self, reason: String) {
        let mut state = self.state();
        state.not_shown.push(reason);
        self.announce(state);
    }

    /// Ends reading without anything to show. The server stops once the page had time to say why.
    pub fn fail(&self) {
        self.state().has_failed = true;
        self.set_reading(String::new());
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.state().has_failed
    }

    pub(crate) fn recordings(&self) -> Vec<Arc<LoadedRecording>> {
        self.state().recordings.iter().flatten().cloned().collect()
    }

    /// Returns the page as far as it is read.
    #[must_use]
    pub fn page(&self) -> Page {
        let state = self.state();
        Page {
            recordings: state.recordings.iter().flatten().map(|recording| recording.content.clone()).collect(),
            comparison: state.comparison.clone(),
            ..head(&state)
        }
    }

    /// Waits for content that is newer than a revision. If there is none, returns the page without recordings, with the
    /// progress.
    pub(crate) fn page_after(&self, revision: u32) -> Page {
        let state = self.state();
        let is_old = |state: &mut State| state.revision == revision && !state.reading.is_empty();
        let waited = self.changed.wait_timeout_while(state, MAX_WAIT, is_old);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.revision == revision {
            return head(&state);
        }
        drop(state);
        self.page()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves complete recordings.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, mut state: MutexGuard<'_, State>) {
        state.revision = state.revision.saturating_add(1);
        drop(state);
        self.changed.notify_all();
    }
}

/// Returns the page without its recordings.
fn head(state: &State) -> Page {
    Page {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        served: true,
        reading: state.reading.clone(),
        revision: state.revision,
        not_shown: state.not_shown.clone(),
        ..Page::default()
    }
}
