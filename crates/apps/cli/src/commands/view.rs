//! `onoff view`.

use std::path::PathBuf;
use std::sync::Arc;

use onoff::{BadRecording, QueryError, ReadRuns, RunsQuery, firmware};
use onoff_compare::{CompareOptions, compare};
use onoff_files::RecordingGroups;
use onoff_page::build::{LoadedRecording, TABLES};
use onoff_page::compare::{PageComparison, comparison as page_comparison, mark_changed_tracks, representative_run};
use onoff_page::file;
use onoff_page::page::{Page, predraw_lanes};
use onoff_server::Content;
use onoff_transitions::boot::BootOptions;

use super::boot_inputs::BootInputs;
use super::compare::{ComparedRuns, RequiredSides, runs};
use super::page_server::{NOTHING_TO_SHOW, display_name, serve};
use super::view_stream::{is_large, stream};
use crate::arguments::view::ViewArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Budget for lanes that are drawn into a file at more than screen resolution, in bytes before compression.
const DRAWN_LANE_BYTES: usize = 1 << 20;

pub fn resolve(arguments: ViewArguments) -> Result<Invocation, Failure> {
    let ViewArguments { sides, port, no_open, output, .. } = arguments;
    let compares = !sides.baseline.is_empty() || !sides.candidate.is_empty();
    let recording = Recording::from(arguments.recording);
    if compares && !recording.files.is_empty() {
        return Err(Failure::no_data("pass recordings either as files, or with --baseline and --candidate"));
    }
    let comparison = if compares { Some(runs(sides, recording.options.clone(), RequiredSides::Both)?) } else { None };
    let inputs = BootInputs { firmware: arguments.firmware, capture: arguments.capture };
    if compares && !inputs.is_empty() {
        return Err(Failure::usage("--firmware and --capture do not work with --baseline and --candidate"));
    }
    let paths = comparison.iter().flat_map(ComparedRuns::paths).collect::<Vec<_>>();
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        let (loaded, comparison, unusable) = match &comparison {
            Some(compared) => {
                let (loaded, comparison) = compare_runs(&compared.runs, &compared.options)?;
                (loaded, comparison, Vec::new())
            }
            None => {
                let ports = (port.unwrap_or(0), !no_open);
                match find(&recording, &inputs)? {
                    Found::Local => (vec![local_machine(&recording)?], None, Vec::new()),
                    Found::Files(search, boot) if destination.path.is_none() && is_large(&search) => {
                        return stream(search, &recording, &boot, ports, destination);
                    }
                    Found::Files(search, boot) => {
                        let (loaded, unusable) = load_recordings(&search, &recording, &boot)?;
                        (loaded, None, unusable)
                    }
                }
            }
        };
        run(loaded, comparison, (port.unwrap_or(0), !no_open), destination)?;
        match unusable.as_slice() {
            [] => Ok(()),
            [first, others @ ..] => Err(Failure::Unreadable(match others.len() {
                0 => format!("not shown: {first}"),
                count => format!("not shown: {first} and {count} more; 'onoff summary' lists them"),
            })),
        }
    });
    Ok(invocation.with_inputs(paths))
}

/// Writes the page to a file, or serves it on a port of 127.0.0.1 (0 for any free port) and opens the browser if `open`
/// is set.
fn run(
    mut loaded: Vec<LoadedRecording>,
    comparison: Option<PageComparison>,
    (port, open): (u16, bool),
    destination: &Destination,
) -> Result<(), Failure> {
    if comparison.is_none() && loaded.iter().all(|recording| recording.tracks.is_empty()) {
        return Err(Failure::no_data(NOTHING_TO_SHOW));
    }
    if destination.path.is_none() {
        let content = Arc::new(Content::complete(loaded, comparison));
        let page = content.page();
        let names: Vec<&str> = page.recordings.iter().map(|recording| recording.name.as_str()).collect();
        return serve((port, open), &names, content, destination);
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut page = Page { version, comparison, ..Page::default() };
    let budget_bytes = DRAWN_LANE_BYTES / loaded.len().max(1);
    for recording in &mut loaded {
        recording.add_offline_content();
        let mut content = recording.content.clone();
        let end_ns = content.start_ns.saturating_add(content.duration_ns);
        content.drawn = predraw_lanes((&recording.tracks, &recording.arrows), content.start_ns, end_ns, budget_bytes);
        page.recordings.push(content);
    }
    let html = file::html(&page).map_err(|error| Failure::Unreadable(format!("cannot write the page: {error}")))?;
    destination.write(|out| Ok(out.write_all(html.as_bytes())?))
}

/// What to show.
#[allow(clippy::large_enum_variant, reason = "there is one value")]
enum Found {
    /// The computer that the program runs on.
    Local,
    Files(RecordingGroups, BootOptions),
}

/// Finds the recordings among the files, and reads the times before the kernel.
fn find(recording: &Recording, inputs: &BootInputs) -> Result<Found, Failure> {
    let mut boot = BootOptions::default();
    inputs.add_to(&mut boot, &recording.options)?;
    match recording.local_root {
        Some(_) => Ok(Found::Local),
        None => Ok(Found::Files(onoff_files::find_recordings(&recording.files)?, boot)),
    }
}

fn local_machine(recording: &Recording) -> Result<LoadedRecording, Failure> {
    Ok(LoadedRecording::new("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1))
}

/// Loads each recording among the files. Also returns the files that are not recordings, with the reason.
fn load_recordings(
    search: &RecordingGroups,
    recording: &Recording,
    boot: &BootOptions,
) -> Result<(Vec<LoadedRecording>, Vec<String>), Failure> {
    let mut loaded: Vec<LoadedRecording> = Vec::new();
    for files in &search.recordings {
        loaded.push(load(files, recording, boot.clone())?);
    }
    let unusable = search.unusable.iter().map(|path| match load(std::slice::from_ref(path), recording, boot.clone()) {
        Ok(_) => format!("{}: part of an unknown recording", path.display()),
        Err(failure) => failure.message_and_code().0,
    });
    let unusable: Vec<String> = unusable.collect();
    match (loaded.is_empty(), unusable.first()) {
        (true, Some(reason)) => Err(Failure::Unreadable(reason.clone())),
        _ => Ok((loaded, unusable)),
    }
}

/// Loads all files as one recording.
pub fn one_recording(recording: &Recording) -> Result<LoadedRecording, Failure> {
    let loaded = match &recording.local_root {
        Some(_) => local_machine(recording)?,
        None => load(&recording.files, recording, BootOptions::default())?,
    };
    if loaded.tracks.is_empty() {
        return Err(Failure::no_data(NOTHING_TO_SHOW));
    }
    Ok(loaded)
}

/// Loads one recording: of a system, a network capture, file operations or firmware tables.
fn load(files: &[PathBuf], recording: &Recording, boot: BootOptions) -> Result<LoadedRecording, Failure> {
    let recording_of_files = Recording { files: files.to_vec(), ..recording.clone() };
    let name = display_name(files, recording);
    let firmware = || firmware(files, &recording.options, &[], 0).map_err(QueryError::into_message);
    let (session, loaded) = super::query(recording_of_files, |session| session.page(name, boot, firmware))?;
    let mut loaded = loaded.map_err(Failure::from_query_error)?;
    loaded.events = Some(session.into_event_reader());
    Ok(loaded)
}

/// Compares two sides, and loads the run nearest to the median of each side, the candidate first. Runs without lanes,
/// such as network boots and saved baselines, are only compared.
fn compare_runs(
    query: &RunsQuery,
    options: &CompareOptions,
) -> Result<(Vec<LoadedRecording>, Option<PageComparison>), Failure> {
    let ReadRuns { configurations, files, .. } = super::read_runs(query, false, BadRecording::Fail)?;
    let comparison = compare(&configurations, options).map_err(|error| Failure::NoData(error.to_string()))?;
    let mut page_comparison = page_comparison(&configurations, &comparison);
    let has_lanes = comparison.transition.transition().is_some();
    let mut loaded = Vec::new();
    for side in (0..configurations.len()).rev().filter(|_| has_lanes) {
        let files_of_run =
            |run: usize| files.get(side).and_then(|runs| runs.get(run)).filter(|files| !files.is_empty());
        let Some(run) = representative_run(&configurations, &comparison, side, |run| files_of_run(run).is_some())
        else {
            continue;
        };
        let Some(files) = files_of_run(run) else { continue };
        let recording = Recording { options: query.options.clone(), ..Recording::from_files(files.clone()) };
        let mut run_to_show = load(files, &recording, BootOptions::default())?;
        mark_changed_tracks(&mut run_to_show.content.tracks, &comparison, side == 0);
        if let Some(page_side) = page_comparison.sides.get_mut(side) {
            (page_side.recording, page_side.shown_run) = (Some(loaded.len()), Some(run));
            run_to_show.content.name = format!("{}: {}", page_side.name, run_to_show.content.name);
        }
        loaded.push(run_to_show);
    }
    Ok((loaded, Some(page_comparison)))
}
