//! `onoff view`.

use std::fmt::Write as _;
use std::path::Path;

use onoff_view::build::{Shown, TABLES};
use onoff_view::page::{Page, drawn_beforehand};
use onoff_view::{file, server::Server};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::view::ViewQuestion;
use crate::output::Destination;

/// What the lanes of a single file may take beyond a screen's width, bytes of text before the page is packed.
const DRAWN_BYTES: usize = 1 << 20;

/// Random bytes of the token, 128 bits: nobody guesses it.
const TOKEN_BYTES: usize = 16;

pub fn run(recording: &Recording, question: &ViewQuestion, destination: &Destination) -> Result<(), Failure> {
    let shown = match &recording.this_computer {
        Some(_) => vec![Shown::of("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1)],
        None => recording.files.iter().map(|path| shown(path, recording)).collect::<Result<Vec<Shown>, Failure>>()?,
    };
    if shown.iter().all(|each| each.tracks.is_empty()) {
        let message = "nothing to show: no boot, shutdown or sleep, and no events of processes, services or devices; 'onoff info' says what there is";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    let to_file = destination.path.is_some();
    let mut page = Page { version: env!("CARGO_PKG_VERSION").to_owned(), served: !to_file, recordings: Vec::new() };
    for each in &shown {
        let mut content = each.recording.clone();
        if to_file {
            let end_ns = content.start_ns.saturating_add(content.duration_ns);
            content.drawn = drawn_beforehand(&each.tracks, content.start_ns, end_ns, DRAWN_BYTES / shown.len());
        }
        page.recordings.push(content);
    }
    let html = file::html(&page).map_err(|error| Failure::Unreadable(format!("cannot write the page: {error}")))?;
    if to_file {
        return destination.write(|out| Ok(out.write_all(html.as_bytes())?));
    }
    serve(question, html, shown, destination)
}

/// One recording.
fn shown(path: &Path, recording: &Recording) -> Result<Shown, Failure> {
    let one = Recording { files: vec![path.to_owned()], ..recording.clone() };
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Shown::of(name, super::open(one, TABLES)?.1))
}

fn serve(question: &ViewQuestion, html: String, shown: Vec<Shown>, destination: &Destination) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Unreadable(format!("cannot serve the page on 127.0.0.1: {error}"));
    let server = Server::bind(question.port, token()?, html, shown).map_err(failed)?;
    let url = server.url();
    destination.write(|out| Ok(writeln!(out, "{url}\nCtrl-C ends it.").and_then(|()| out.flush())?))?;
    if question.open {
        // Without a browser the address is there to be copied.
        let _none = open::that_detached(Path::new(&url));
    }
    server.run().map_err(failed)
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Unreadable(format!("this system gives no random numbers: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    }))
}
