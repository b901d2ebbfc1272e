//! `onoff view`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use onoff::{BadRecording, QueryError, ReadRuns, RunsQuery, firmware};
use onoff_compare::{CompareOptions, compare};
use onoff_page::build::{LoadedRecording, TABLES};
use onoff_page::compare::{PageComparison, comparison as page_comparison, mark_changed_tracks, representative_run};
use onoff_page::file;
use onoff_page::page::{Page, predraw_lanes};
use onoff_server::Server;
use onoff_sink::PrivateFile;
use onoff_transitions::boot::BootOptions;

use super::boot_inputs::BootInputs;
use super::compare::{ComparedRuns, runs};
use crate::arguments::view::ViewArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Budget for lanes that are drawn into a file at more than screen resolution, in bytes before compression.
const DRAWN_LANE_BYTES: usize = 1 << 20;

const NOTHING_TO_SHOW: &str = "nothing to show: no boot, shutdown or sleep, and no process, service or device events; 'onoff info' shows the contents";

/// Length of the token: 128 bits, too many to guess.
const TOKEN_BYTES: usize = 16;

pub fn resolve(arguments: ViewArguments) -> Result<Invocation, Failure> {
    let ViewArguments { sides, port, no_open, output, .. } = arguments;
    let compares = !sides.baseline.is_empty() || !sides.candidate.is_empty();
    let recording = Recording::from(arguments.recording);
    if compares && !recording.files.is_empty() {
        return Err(Failure::no_data("pass recordings either as files, or with --baseline and --candidate"));
    }
    let comparison = if compares { Some(runs(sides, recording.options.clone(), false)?) } else { None };
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
                let (loaded, unusable) = load_recordings(&recording, &inputs)?;
                (loaded, None, unusable)
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
    let to_file = destination.path.is_some();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut page = Page { version, served: !to_file, comparison, ..Page::default() };
    let budget_bytes = DRAWN_LANE_BYTES / loaded.len().max(1);
    for recording in &mut loaded {
        if to_file {
            recording.add_offline_content();
        }
        let mut content = recording.content.clone();
        if to_file {
            let end_ns = content.start_ns.saturating_add(content.duration_ns);
            content.drawn =
                predraw_lanes((&recording.tracks, &recording.arrows), content.start_ns, end_ns, budget_bytes);
        }
        page.recordings.push(content);
    }
    let html = file::html(&page).map_err(|error| Failure::Unreadable(format!("cannot write the page: {error}")))?;
    if to_file {
        return destination.write(|out| Ok(out.write_all(html.as_bytes())?));
    }
    serve((port, open), html, loaded, destination)
}

/// Loads each recording among the files. Also returns the files that are not recordings, with the reason.
fn load_recordings(recording: &Recording, inputs: &BootInputs) -> Result<(Vec<LoadedRecording>, Vec<String>), Failure> {
    let mut boot = BootOptions::default();
    inputs.add_to(&mut boot, &recording.options)?;
    if recording.local_root.is_some() {
        return Ok((
            vec![LoadedRecording::new("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1)],
            Vec::new(),
        ));
    }
    let search = onoff_files::find_recordings(&recording.files)?;
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
        Some(_) => LoadedRecording::new("this computer".to_owned(), super::open(recording.clone(), TABLES)?.1),
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
    let file_name = |path: &PathBuf| {
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let name = match recording.redact {
        // The names of the files may contain the name of the computer.
        true => "redacted event logs".to_owned(),
        false => files.iter().map(file_name).collect::<Vec<String>>().join("+"),
    };
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

fn serve(
    (port, open): (u16, bool),
    html: String,
    loaded: Vec<LoadedRecording>,
    destination: &Destination,
) -> Result<(), Failure> {
    let cannot_serve =
        |error: std::io::Error| Failure::Unreadable(format!("cannot serve the page on 127.0.0.1: {error}"));
    let port = match port {
        0 => usual_port(loaded.iter().map(|recording| recording.content.name.as_str())),
        port => port,
    };
    let server = Server::bind(port, random_token()?, html, loaded).map_err(cannot_serve)?;
    let url = server.url();
    destination.write(|out| Ok(writeln!(out, "{url}\nPress Ctrl-C to stop.").and_then(|()| out.flush())?))?;
    // The file must exist until the browser has read it.
    let redirect = (open && cfg!(unix)).then(|| redirect_file(&url));
    if open {
        // If there is no browser, or no file, the user can copy the address.
        let _ignored = match &redirect {
            Some(file) => file.as_ref().map(|file| ::open::that_detached(file.path())).ok(),
            None => Some(::open::that_detached(Path::new(&url))),
        };
    }
    server.run().map_err(cannot_serve)
}

/// Writes a private file that redirects to `url`. Other users see the command lines of programs, so the token must not
/// be in the command line of a browser.
fn redirect_file(url: &str) -> std::io::Result<PrivateFile> {
    let page = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>onoff</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><a href=\"{url}\">onoff view</a></html>\n"
    );
    PrivateFile::create(&redirect_folder(), ".html", page.as_bytes())
}

/// Returns a folder that browsers can read. Browsers installed as snaps can read neither `/tmp` nor `/run`.
fn redirect_folder() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = folder("HOME").unwrap_or_default();
    let snaps = ["firefox", "chromium"].map(|browser| home.join("snap").join(browser).join("common"));
    let existing = snaps.into_iter().chain(folder("XDG_RUNTIME_DIR")).find(|folder| folder.is_dir());
    existing.unwrap_or_else(std::env::temp_dir)
}

/// Returns the port for recordings with these names if it is free, otherwise 0 for any port. Browsers keep saved views
/// by address, so they are found again if the port is the same.
fn usual_port<'n>(names: impl Iterator<Item = &'n str>) -> u16 {
    /// The first port that no service is registered for, and the number of such ports.
    const FIRST: u16 = 49_152;
    const COUNT: u32 = 16_384;
    let hash = names.flat_map(str::bytes).fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let port = u16::try_from(hash % COUNT).map_or(0, |offset| FIRST.saturating_add(offset));
    match std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => port,
        Err(_) => 0,
    }
}

fn random_token() -> Result<String, Failure> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Unreadable(format!("no random numbers available: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::usual_port;

    #[test]
    fn usual_port_is_the_same_unless_it_is_taken() {
        let port = usual_port(["a.etl", "b.etl"].into_iter());
        assert!(port >= 49_152);
        assert_eq!(usual_port(["a.etl", "b.etl"].into_iter()), port);
        let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert_eq!(usual_port(["a.etl", "b.etl"].into_iter()), 0);
    }
}
