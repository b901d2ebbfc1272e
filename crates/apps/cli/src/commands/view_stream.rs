//! `onoff view` of large files: the page opens at once and grows while they are read.

use std::path::PathBuf;
use std::sync::Arc;

use onoff::{QueryError, Session, firmware};
use onoff_files::RecordingGroups;
use onoff_page::build::{FIRST_TABLES, LoadedRecording};
use onoff_server::Content;
use onoff_sources::{Progress, RecordingKind};
use onoff_transitions::boot::BootOptions;

use super::page_server::{NOTHING_TO_SHOW, display_name, serve};
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;
use crate::progress::ProgressLine;

/// Files smaller than this are read within a second or two, and then served.
const MIN_STREAMED_BYTES: u64 = 64 << 20;

/// True if reading the recordings takes so long that the page should open first.
pub fn is_large(search: &RecordingGroups) -> bool {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    search.unusable.is_empty() && search.recordings.iter().flatten().map(size).sum::<u64>() >= MIN_STREAMED_BYTES
}

/// A recording to read, with its files and the name that the page shows.
struct Opened {
    files: Vec<PathBuf>,
    name: String,
    session: Session,
}

/// Serves the page and reads the recordings meanwhile: first the phases of each, then everything.
pub fn stream(
    search: RecordingGroups,
    recording: &Recording,
    boot: &BootOptions,
    ports: (u16, bool),
    destination: &Destination,
) -> Result<(), Failure> {
    let names: Vec<String> = search.recordings.iter().map(|files| display_name(files, recording)).collect();
    let content = Arc::new(Content::being_read(names.join(", ")));
    let mut recordings = Vec::new();
    for (files, name) in search.recordings.into_iter().zip(&names) {
        let mut options = recording.options.clone();
        options.progress = Some(listener(name, &content));
        let opened = super::open_files(&files, None, recording.redact, &options)?;
        recordings.push(Opened { files, name: name.clone(), session: Session::new(opened, options.read()?) });
    }
    let reader = Reader { content: Arc::clone(&content), options: recording.options.clone(), boot: boot.clone() };
    let reading = std::thread::spawn(move || reader.read(recordings));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    serve(ports, &names, content, destination)?;
    // The server only stops if nothing can be shown.
    reading.join().unwrap_or_else(|_| Err(Failure::no_data(NOTHING_TO_SHOW)))
}

/// Shows the progress of reading in the terminal and in the page.
fn listener(name: &str, content: &Arc<Content>) -> Arc<dyn Fn(Progress) + Send + Sync> {
    let line = ProgressLine::reading();
    let in_terminal = line.listener();
    let (name, content) = (name.to_owned(), Arc::clone(content));
    Arc::new(move |progress: Progress| {
        // The line lasts as long as the listener.
        let _line = &line;
        in_terminal(progress);
        let percent = progress.done_bytes.saturating_mul(100).checked_div(progress.total_bytes).unwrap_or(0);
        let done = if percent < 100 { format!("{percent} %") } else { "analysis".to_owned() };
        content.set_reading(format!("{name}: {done}"));
    })
}

/// Reads recordings into the content of a page.
struct Reader {
    content: Arc<Content>,
    options: onoff_files::Options,
    boot: BootOptions,
}

impl Reader {
    fn read(&self, recordings: Vec<Opened>) -> Result<(), Failure> {
        for (index, Opened { name, session, .. }) in recordings.iter().enumerate() {
            if !matches!(session.kind(), RecordingKind::NetworkCapture | RecordingKind::FileOperations)
                && let Ok(trace) = session.tables(FIRST_TABLES)
            {
                let first = LoadedRecording::first_picture(name.clone(), &trace, self.boot.clone());
                self.content.set(index, Some(first));
            }
        }
        let mut first_failure = None;
        let mut is_any_shown = false;
        for (index, Opened { files, name, session }) in recordings.into_iter().enumerate() {
            let firmware = || firmware(&files, &self.options, &[], 0).map_err(QueryError::into_message);
            let loaded = match session.page(name, self.boot.clone(), firmware) {
                Ok(loaded) if loaded.tracks.is_empty() => Err(Failure::no_data(NOTHING_TO_SHOW)),
                Ok(loaded) => Ok(LoadedRecording { events: Some(session.into_event_reader()), ..loaded }),
                Err(error) => Err(Failure::from_query_error(error)),
            };
            is_any_shown |= loaded.is_ok();
            match loaded {
                Ok(loaded) => self.content.set(index, Some(loaded)),
                Err(failure) => {
                    self.content.set(index, None);
                    let (message, code) = failure.message_and_code();
                    self.content.add_failure(message.clone());
                    first_failure = first_failure.or(Some((message, code)));
                }
            }
        }
        match first_failure.filter(|_| !is_any_shown) {
            Some((message, code)) => {
                self.content.fail();
                Err(if code == 1 { Failure::Unreadable(message) } else { Failure::NoData(message) })
            }
            None => {
                self.content.set_reading(String::new());
                Ok(())
            }
        }
    }
}
