//! `onoff view`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use onoff::{BadRecording, EventQuery, ReadRuns, RunsQuery, Session, firmware};
use onoff_compare::{CompareOptions, compare};
use onoff_network::NetbootOptions;
use onoff_page::build::{LoadedRecording, TABLES};
use onoff_page::compare::{PageComparison, comparison, mark_changed_tracks, representative_run};
use onoff_page::events::{EventReader, Visit};
use onoff_page::file;
use onoff_page::page::{Page, predraw_lanes};
use onoff_requests::IoOptions;
use onoff_server::Server;
use onoff_sources::{EventFilter, RecordingKind};
use onoff_transitions::boot::BootOptions;

use super::boot_inputs::BootInputs;
use super::compare::{ComparedRuns, runs};
use crate::arguments::view::ViewArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Budget for lanes drawn into a file at more than screen resolution, in bytes before compression.
const DRAWN_BYTES: usize = 1 << 20;

const NOTHING_TO_SHOW: &str = "nothing to show: no boot, shutdown or sleep, and no events of processes, services or devices; 'onoff info' shows the contents";

/// 128 bits, which cannot be guessed.
const TOKEN_BYTES: usize = 16;

pub fn resolve(arguments: ViewArguments) -> Result<Invocation, Failure> {
    let ViewArguments { sides, port, no_open, output, .. } = arguments;
    let compares = !sides.baseline.is_empty() || !sides.candidate.is_empty();
    let recording = Recording::from(arguments.recording);
    if compares && !recording.files.is_empty() {
        return Err(Failure::no_data("pass recordings either as files, or with --baseline and --candidate"));
    }
    let compared = if compares { Some(runs(sides, recording.options.clone(), false)?) } else { None };
    let inputs = BootInputs { firmware: arguments.firmware, capture: arguments.capture };
    if compares && !inputs.is_empty() {
        return Err(Failure::usage("--firmware and --capture do not work with --baseline and --candidate"));
    }
    let paths = compared.iter().flat_map(ComparedRuns::paths).collect::<Vec<_>>();
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        let (shown, comparison, unusable) = match &compared {
            Some(runs) => {
                let (shown, comparison) = self::compared(&runs.runs, &runs.options)?;
                (shown, comparison, Vec::new())
            }
            None => {
                let (shown, unusable) = recordings(&recording, &inputs)?;
                (shown, None, unusable)
            }
        };
        run(shown, comparison, (port.unwrap_or(0), !no_open), destination)?;
        match unusable.as_slice() {
            [] => Ok(()),
            [first, others @ ..] => Err(Failure::Unreadable(match others.len() {
                0 => format!("not shown: {first}"),
                more => format!("not shown: {first} and {more} more; 'onoff summary' lists them"),
            })),
        }
    });
    Ok(invocation.reading(paths))
}

/// Writes the page to a file, or serves it on a port of 127.0.0.1 (0 for any free port) and opens the browser if `open`
/// is set.
fn run(
    mut shown: Vec<LoadedRecording>,
    comparison: Option<PageComparison>,
    (port, open): (u16, bool),
    destination: &Destination,
) -> Result<(), Failure> {
    if comparison.is_none() && shown.iter().all(|each| each.tracks.is_empty()) {
        return Err(Failure::no_data(NOTHING_TO_SHOW));
    }
    let to_file = destination.path.is_some();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut page = Page { version, served: !to_file, comparison, ..Page::default() };
    let budget_bytes = DRAWN_BYTES / shown.len().max(1);
    for each in &mut shown {
        if to_file {
            each.add_offline_content();
        }
        let mut content = each.content.clone();
        if to_file {
            let end_ns = content.start_ns.saturating_add(content.duration_ns);
            content.drawn = predraw_lanes((&each.tracks, &each.arrows), content.start_ns, end_ns, budget_bytes);
        }
        page.recordings.push(content);
    }
    let html = file::html(&page).map_err(|error| Failure::Unreadable(format!("cannot write the page: {error}")))?;
    if to_file {
        return destination.write(|out| Ok(out.write_all(html.as_bytes())?));
    }
    serve((port, open), html, shown, destination)
}

/// Opens each recording among the files; also returns the files that are not recordings, with the reason.
fn recordings(recording: &Recording, inputs: &BootInputs) -> Result<(Vec<LoadedRecording>, Vec<String>), Failure> {
    let mut boot = BootOptions::default();
    inputs.add_to(&mut boot, &recording.options)?;
    if recording.local_root.is_some() {
        return Ok((
            vec![LoadedRecording::new("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1)],
            Vec::new(),
        ));
    }
    let found = onoff_files::recordings(&recording.files)?;
    let mut all: Vec<LoadedRecording> = Vec::new();
    for files in &found.recordings {
        all.push(shown(files, recording, boot.clone())?);
    }
    let unusable = found.unusable.iter().map(|path| match shown(std::slice::from_ref(path), recording, boot.clone()) {
        Ok(_) => format!("{}: part of an unknown recording", path.display()),
        Err(failure) => failure.message_and_code().0,
    });
    let unusable: Vec<String> = unusable.collect();
    match (all.is_empty(), unusable.first()) {
        (true, Some(why)) => Err(Failure::Unreadable(why.clone())),
        _ => Ok((all, unusable)),
    }
}

/// Opens all files as one recording.
pub fn one_recording(recording: &Recording) -> Result<LoadedRecording, Failure> {
    let shown = match &recording.local_root {
        Some(_) => LoadedRecording::new("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1),
        None => shown(&recording.files, recording, BootOptions::default())?,
    };
    if shown.tracks.is_empty() {
        return Err(Failure::no_data(NOTHING_TO_SHOW));
    }
    Ok(shown)
}

/// Opens one recording: of a system, a network capture, file operations or firmware tables.
fn shown(files: &[PathBuf], recording: &Recording, boot: BootOptions) -> Result<LoadedRecording, Failure> {
    let one = Recording { files: files.to_vec(), ..recording.clone() };
    let name = |path: &PathBuf| {
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let name = files.iter().map(name).collect::<Vec<String>>().join("+");
    let (session, shown) = super::ask(one, |session| match session.kind() {
        RecordingKind::NetworkCapture => match session.netboot(&NetbootOptions::default()) {
            Ok(report) => Ok(LoadedRecording::from_capture(name, &report)),
            Err(refusal) => Err(Failure::from_refusal(refusal)),
        },
        RecordingKind::FileOperations => match session.requests(None, &[], &IoOptions::default()) {
            Ok(report) => Ok(LoadedRecording::from_requests(name, session.tables(onoff_requests::TABLES)?, &report)),
            Err(refusal) => Err(super::io::failure(refusal)),
        },
        _ => {
            let system = LoadedRecording::with_boot_options(name.clone(), session.tables(TABLES)?, boot);
            // Firmware tables can be part of a Linux recording; alone, they contain no transition of a system.
            if !system.content.transitions.is_empty() {
                return Ok(system);
            }
            match firmware(files, &recording.options, &[], 0) {
                Ok(report) => Ok(LoadedRecording::from_firmware(name, &report).unwrap_or(system)),
                // An FPDT without the tables it points to: the page would be empty.
                Err(onoff::QueryError::Unanswerable(why)) if system.content.duration_ns == 0 => {
                    Err(Failure::NoData(why.to_string()))
                }
                Err(_) => Ok(system),
            }
        }
    })?;
    let mut shown = shown?;
    shown.events = Some(EventReader::new(move |range, visit| read_events(&session, range, visit)));
    Ok(shown)
}

/// Calls `visit` with the events of a time range, in order.
fn read_events(session: &Session, (from_ns, until_ns): (i64, i64), visit: Visit<'_>) -> Result<(), String> {
    let filter = EventFilter { from_ns: Some(from_ns), until_ns: Some(until_ns), ..EventFilter::default() };
    let question = EventQuery { filter, ..EventQuery::default() };
    let events = session.events(&question).map_err(|refusal| refusal.to_string())?;
    let end = events.for_each(visit).map_err(|error| error.to_string())?;
    let _stopped_early = end.outcome;
    Ok(())
}

/// Compares two sides, and opens the run nearest to the median of each side, the candidate first. Runs without lanes,
/// such as network boots and saved baselines, are only compared.
fn compared(
    question: &RunsQuery,
    options: &CompareOptions,
) -> Result<(Vec<LoadedRecording>, Option<PageComparison>), Failure> {
    let ReadRuns { configurations, files, .. } = super::runs(question, false, BadRecording::Fail)?;
    let answer = compare(&configurations, options).map_err(|refusal| Failure::NoData(refusal.to_string()))?;
    let mut page = comparison(&configurations, &answer);
    let has_lanes = answer.transition.transition().is_some();
    let mut all = Vec::new();
    for side in (0..configurations.len()).rev().filter(|_| has_lanes) {
        let of_run = |run: usize| files.get(side).and_then(|runs| runs.get(run)).filter(|files| !files.is_empty());
        let Some(run) = representative_run(&configurations, &answer, side, |run| of_run(run).is_some()) else {
            continue;
        };
        let Some(files) = of_run(run) else { continue };
        let reading = Recording { options: question.options.clone(), ..Recording::of(files.clone()) };
        let mut shown = shown(files, &reading, BootOptions::default())?;
        mark_changed_tracks(&mut shown.content.tracks, &answer, side == 0);
        if let Some(page_side) = page.sides.get_mut(side) {
            (page_side.recording, page_side.shown_run) = (Some(all.len()), Some(run));
            shown.content.name = format!("{}: {}", page_side.name, shown.content.name);
        }
        all.push(shown);
    }
    Ok((all, Some(page)))
}

fn serve(
    (port, open): (u16, bool),
    html: String,
    shown: Vec<LoadedRecording>,
    destination: &Destination,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Unreadable(format!("cannot serve the page on 127.0.0.1: {error}"));
    let server = Server::bind(port, token()?, html, shown).map_err(failed)?;
    let url = server.url();
    destination.write(|out| Ok(writeln!(out, "{url}\nPress Ctrl-C to stop.").and_then(|()| out.flush())?))?;
    if open {
        // If there is no browser, the user can copy the address.
        let _none = ::open::that_detached(Path::new(&url));
    }
    server.run().map_err(failed)
}

fn token() -> Result<String, Failure> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Unreadable(format!("no random numbers available: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    }))
}
