//! Recordings to runs: one recording after the other, of which only the measures are kept.

use std::path::{Path, PathBuf};

use onoff::{RunsOfTransition, Session, firmware_run};
use onoff_analysis::compare::{Configuration, Run, RunSubject};
use onoff_analysis::recording::Provenance;
use onoff_files::Options;

use super::baseline;
use crate::failure::Failure;
use crate::invocation::compare::{ConfigurationSource, RunsQuestion, TransitionChoice};
use crate::progress::ProgressLine;

/// How names of recordings end, packed or not; other files of a folder are no recordings.
const RECORDINGS: [&str; 9] =
    [".etl", ".etl.xz", ".etl.gz", ".etl.zst", ".zip", ".tar", ".tar.gz", ".tar.xz", ".tar.zst"];
/// The same of network captures.
const CAPTURES: [&str; 3] = [".pcap", ".pcapng", ".cap"];
/// How a packed file's name ends, after that of what is in it.
const PACKED: [&str; 4] = ["", ".xz", ".gz", ".zst"];

/// Where runs come from.
enum Source {
    /// The files of a recording.
    Recording(Vec<PathBuf>),
    /// A kept baseline.
    Baseline(PathBuf),
}

/// The runs that were read.
pub struct ReadRuns {
    /// By configuration.
    pub configurations: Vec<Configuration>,
    /// The files of each run, in the same order; none of a kept baseline's.
    pub files: Vec<Vec<Vec<PathBuf>>>,
    /// Where they come from, if that was wanted.
    pub provenances: Vec<Provenance>,
}

/// What becomes of a recording that cannot be read, or holds no such transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRecording {
    /// It ends the work.
    Refused,
    /// It is a run that is set apart.
    SetApart,
}

/// Reads all runs of all configurations, and where they come from if that is wanted: it takes another look at every byte.
pub fn read(question: &RunsQuestion, with_provenance: bool, bad: BadRecording) -> Result<ReadRuns, Failure> {
    let mut provenances = with_provenance.then(Vec::new);
    let mut sources: Vec<(usize, Source)> = Vec::new();
    for (at, configuration) in question.configurations.iter().enumerate() {
        for source in expand(configuration, question.transition.name)? {
            sources.push((at, source));
        }
    }
    let mut configurations: Vec<Configuration> = question
        .configurations
        .iter()
        .map(|source| Configuration { name: source.name.clone(), factors: source.factors.clone(), runs: Vec::new() })
        .collect();
    let mut files_of: Vec<Vec<Vec<PathBuf>>> = configurations.iter().map(|_| Vec::new()).collect();
    let mut choice = question.transition;
    let of = sources.len();
    let mut unread: Vec<(usize, String, Failure)> = Vec::new();
    for (done, (at, source)) in sources.into_iter().enumerate() {
        let (runs, files) = match source {
            Source::Baseline(path) => (kept(&path, &mut choice)?, Vec::new()),
            Source::Recording(files) => {
                let line = ProgressLine::reading_one(done + 1, of);
                match recording(&files, &question.reading, &mut choice, &line, provenances.as_mut()) {
                    Ok(runs) => (runs, files),
                    Err(failure) if bad == BadRecording::SetApart && failure.is_of_a_recording() => {
                        unread.push((at, name_of(&files), failure));
                        continue;
                    }
                    Err(failure) => return Err(failure),
                }
            }
        };
        if let Some(known) = files_of.get_mut(at) {
            known.extend(runs.iter().map(|_| files.clone()));
        }
        if let Some(configuration) = configurations.get_mut(at) {
            configuration.runs.extend(runs);
        }
    }
    for (at, name, failure) in unread {
        let Some(configuration) = configurations.get_mut(at) else {
            continue;
        };
        // With nothing to compare it with, what is wrong with it is the answer.
        if configuration.runs.is_empty() {
            return Err(failure);
        }
        let transition = choice.name.unwrap_or(RunSubject::Boot);
        configuration.runs.push(Run::unreadable(name, transition, failure.to_string()));
    }
    Ok(ReadRuns { configurations, files: files_of, provenances: provenances.unwrap_or_default() })
}

/// The runs of a kept baseline, which must be of the transition that is compared.
fn kept(path: &Path, choice: &mut TransitionChoice) -> Result<Vec<Run>, Failure> {
    let (transition, runs) = baseline::read(path)?;
    match choice.name {
        Some(name) if name != transition => Err(Failure::NothingToAnswer(format!(
            "{}: a baseline of {}, not of {}",
            path.display(),
            transition.as_str(),
            name.as_str()
        ))),
        _ => {
            choice.name = Some(transition);
            Ok(runs)
        }
    }
}

/// What a configuration's paths stand for.
fn expand(configuration: &ConfigurationSource, chosen: Option<RunSubject>) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in &configuration.paths {
        if path.is_dir() {
            let found = folder(path, chosen)?;
            if found.is_empty() {
                return Err(Failure::NothingToAnswer(format!(
                    "{}: no recording in this folder ({}, {})",
                    path.display(),
                    RECORDINGS.join(", "),
                    CAPTURES.join(", ")
                )));
            }
            sources.extend(found.into_iter().map(|file| Source::Recording(vec![file])));
        } else if baseline::is_baseline(path) {
            sources.push(Source::Baseline(path.clone()));
        } else {
            sources.push(Source::Recording(files_of_one_recording(path)));
        }
    }
    Ok(sources)
}

/// The recordings in a folder, by name: files that are called so. A folder without any is a Linux recording that is not packed,
/// or holds such in folders of their own.
/// Firmware tables have no name to know them by: of a folder of theirs every file is one.
fn folder(path: &Path, chosen: Option<RunSubject>) -> Result<Vec<PathBuf>, Failure> {
    let is_capture = |name: &str| {
        let unpacked = PACKED.iter().filter_map(|packed| name.strip_suffix(packed));
        unpacked.into_iter().any(|name| CAPTURES.iter().any(|end| name.ends_with(end)))
    };
    let is_recording = |name: &str| match chosen {
        Some(RunSubject::Firmware) => !name.starts_with('.'),
        Some(RunSubject::Netboot) => is_capture(name),
        _ => is_capture(name) || RECORDINGS.iter().any(|end| name.ends_with(end)),
    };

    let failed = |error: std::io::Error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let (mut recordings, mut folders, mut others) = (Vec::new(), Vec::new(), false);
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if entry.is_dir() {
            folders.push(entry);
        } else if is_recording(&name) {
            recordings.push(entry);
        } else {
            others = true;
        }
    }
    recordings.sort();
    folders.sort();
    Ok(match (recordings.is_empty(), others) {
        (false, _) => recordings,
        (true, true) => vec![path.to_owned()],
        (true, false) => folders,
    })
}

/// `A+B` as two files of one recording, unless a file has that name.
pub fn files_of_one_recording(path: &Path) -> Vec<PathBuf> {
    match path.to_str() {
        Some(text) if text.contains('+') && !path.exists() => text.split('+').map(PathBuf::from).collect(),
        _ => vec![path.to_owned()],
    }
}

/// The runs of one recording. A choice that was left open is settled by the first one.
fn recording(
    files: &[PathBuf],
    options: &Options,
    choice: &mut TransitionChoice,
    line: &ProgressLine,
    provenances: Option<&mut Vec<Provenance>>,
) -> Result<Vec<Run>, Failure> {
    let name = name_of(files);
    let mut options = options.clone();
    options.progress = Some(line.listener());
    let (of, provenance) = match choice.name {
        Some(RunSubject::Firmware) => firmware_tables(files, &options, name)?,
        chosen => system_or_capture(files, &options, (name.clone(), chosen, choice.number)).or_else(|failure| {
            // Firmware tables are recordings of no system: what they are shows when they are read as what they are.
            match firmware_tables(files, &options, name) {
                Ok(tables) if chosen.is_none() => Ok(tables),
                _ => Err(failure),
            }
        })?,
    };
    choice.name = Some(of.transition);
    if let Some(provenances) = provenances {
        provenances.push(provenance);
    }
    Ok(of.runs)
}

fn name_of(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("+")
}

fn firmware_tables(
    files: &[PathBuf],
    options: &Options,
    name: String,
) -> Result<(RunsOfTransition, Provenance), Failure> {
    let report = super::firmware::read(files, options, &[])?;
    Ok((firmware_run(name, &report), super::firmware::provenance(&report.inputs)))
}

fn system_or_capture(
    files: &[PathBuf],
    options: &Options,
    (name, transition, number): (String, Option<RunSubject>, Option<u32>),
) -> Result<(RunsOfTransition, Provenance), Failure> {
    let session = Session::open(files, options)?;
    let runs =
        session.runs(name, transition, number).map_err(|refusal| Failure::refused(refusal, |instead| instead))?;
    Ok((runs, session.provenance()?))
}
