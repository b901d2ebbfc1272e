//! Reads the runs of a comparison, one recording at a time. Only their measures stay in memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff_compare::baseline::MAX_BASELINE_BYTES;
use onoff_compare::study::{MAX_STUDY_BYTES, Study};
use onoff_compare::{Configuration, Factor, Run, RunSubject};
use onoff_evidence::recording::Provenance;
use onoff_files::{Options, find_recordings, open_all};
use onoff_report::text::causes::with_causes;
use onoff_sources::{Limits, Progress, RecordingKind};

use crate::baseline::read_baseline;
use crate::error::{Error, QueryError};
use crate::firmware::{firmware, firmware_provenance};
use crate::runs::{TransitionRuns, firmware_run};
use crate::session::Session;

/// The source of the runs of a configuration.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    pub name: String,
    /// The differences from other configurations.
    pub factors: Vec<Factor>,
    /// Recordings, folders of recordings and saved baselines; `A+B` means two files of one recording.
    pub paths: Vec<PathBuf>,
}

/// The transition to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitionChoice {
    /// `None` means the transition in the first recording.
    pub name: Option<RunSubject>,
    /// Number of the transition within the recording, from 1; `None` means all.
    pub number: Option<u32>,
}

/// The runs to read.
#[derive(Clone, Debug)]
pub struct RunsQuery {
    /// The first configuration is the baseline.
    pub configurations: Vec<ConfigurationSource>,
    pub transition: TransitionChoice,
    /// How to read recordings.
    pub options: Options,
}

/// How to handle a recording that is unreadable or does not have the transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRecording {
    /// Return an error.
    Fail,
    /// Exclude the run from the comparison.
    Exclude,
}

/// The runs that were read.
#[derive(Clone, Debug)]
pub struct ReadRuns {
    pub configurations: Vec<Configuration>,
    /// The files of each run by configuration and run; empty for a saved baseline.
    pub files: Vec<Vec<Vec<PathBuf>>>,
    /// Empty unless requested.
    pub provenances: Vec<Provenance>,
}

/// Callback for the progress of reading one recording.
pub type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

enum Source {
    /// The files of a recording.
    Recording(Vec<PathBuf>),
    /// A saved baseline.
    Baseline(PathBuf),
}

/// Reads all runs of all configurations. With `with_provenance`, hashes every file, which reads each byte again. Calls
/// `progress` before each recording with its number and the number of recordings.
///
/// # Errors
/// A path is unreadable, a folder has no recordings, or a recording does not have the transition.
pub fn read_runs(
    query: &RunsQuery,
    with_provenance: bool,
    bad_recording: BadRecording,
    progress: &mut dyn FnMut(usize, usize) -> Option<Listener>,
) -> Result<ReadRuns, QueryError<String>> {
    let mut provenances = with_provenance.then(Vec::new);
    let mut sources: Vec<(usize, Source)> = Vec::new();
    for (index, configuration) in query.configurations.iter().enumerate() {
        for source in expand(configuration, query.transition.name)? {
            sources.push((index, source));
        }
    }
    let mut configurations: Vec<Configuration> = query
        .configurations
        .iter()
        .map(|source| Configuration { name: source.name.clone(), factors: source.factors.clone(), runs: Vec::new() })
        .collect();
    let mut files_of_runs: Vec<Vec<Vec<PathBuf>>> = configurations.iter().map(|_| Vec::new()).collect();
    let mut choice = query.transition;
    let total = sources.len();
    let mut failures: Vec<(usize, String, QueryError<String>)> = Vec::new();
    for (completed, (index, source)) in sources.into_iter().enumerate() {
        let (runs, files) = match source {
            Source::Baseline(path) => (saved_runs(&path, &mut choice)?, Vec::new()),
            Source::Recording(files) => {
                let mut options = query.options.clone();
                options.progress = progress(completed + 1, total);
                match read_recording(&files, &options, &mut choice, provenances.as_mut()) {
                    Ok(runs) => (runs, files),
                    Err(error) if bad_recording == BadRecording::Exclude => {
                        failures.push((index, joined_paths(&files), error));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        if let Some(configuration_files) = files_of_runs.get_mut(index) {
            configuration_files.extend(runs.iter().map(|_| files.clone()));
        }
        if let Some(configuration) = configurations.get_mut(index) {
            configuration.runs.extend(runs);
        }
    }
    for (index, name, error) in failures {
        let Some(configuration) = configurations.get_mut(index) else { continue };
        // If no run of a configuration is readable, return the error.
        if configuration.runs.is_empty() {
            return Err(error);
        }
        let transition = choice.name.unwrap_or(RunSubject::Boot);
        let reason = match error {
            QueryError::Unreadable(error) => with_causes(&error),
            QueryError::Unanswerable(reason) => reason,
        };
        configuration.runs.push(Run::unreadable(name, transition, reason));
    }
    Ok(ReadRuns { configurations, files: files_of_runs, provenances: provenances.unwrap_or_default() })
}

/// Reads a study file (TOML). Paths in it are relative to its folder.
///
/// # Errors
/// The file is unreadable, or not a study.
pub fn read_study(path: &Path) -> Result<(Study, Vec<ConfigurationSource>), Error> {
    let document_error = |reason: String| Error::Document { name: path.display().to_string(), reason };
    let text = read_at_most(path, MAX_STUDY_BYTES)?;
    if text.len() as u64 > MAX_STUDY_BYTES {
        return Err(document_error("larger than the limit for a study, 1 MiB".to_owned()));
    }
    let text = String::from_utf8(text).map_err(|_| document_error("not valid UTF-8".to_owned()))?;
    let mut study: Study =
        toml::from_str(&text).map_err(|error| document_error(format!("not a study: {}", one_line(&error))))?;
    study.check().map_err(document_error)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let sources = std::mem::take(&mut study.configurations)
        .into_iter()
        .map(|configuration| ConfigurationSource {
            name: configuration.name,
            factors: configuration.factors.into_iter().map(|(name, level)| Factor { name, level }).collect(),
            paths: configuration.files.into_iter().map(|file| folder.join(file)).collect(),
        })
        .collect();
    Ok((study, sources))
}

/// Returns the message on one line, without the excerpt of the file.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Reads up to `limit` + 1 bytes, which lets the caller detect a larger file.
fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(read_error)?.take(limit + 1).read_to_end(&mut bytes).map_err(read_error)?;
    Ok(bytes)
}

/// Reads a saved baseline, which must match the chosen transition.
fn saved_runs(path: &Path, choice: &mut TransitionChoice) -> Result<Vec<Run>, QueryError<String>> {
    let bytes = read_at_most(path, MAX_BASELINE_BYTES)?;
    let (transition, runs) = read_baseline(&path.display().to_string(), &bytes)?;
    match choice.name {
        Some(name) if name != transition => Err(QueryError::Unanswerable(format!(
            "{}: this is a {} baseline, but the transition is {}",
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

/// Expands the paths of a configuration, in order. Each file is a run, except that Windows logs recorded together form
/// one run.
fn expand(
    configuration: &ConfigurationSource,
    transition: Option<RunSubject>,
) -> Result<Vec<Source>, QueryError<String>> {
    let mut sources: Vec<(usize, Source)> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let path_index = |file: &PathBuf| configuration.paths.iter().position(|path| path == file).unwrap_or(usize::MAX);
    for (index, path) in configuration.paths.iter().enumerate() {
        if path.is_dir() {
            let recordings_in_folder = recordings_in_folder(path, transition)?;
            if recordings_in_folder.is_empty() {
                let noun = if transition == Some(RunSubject::Netboot) { "network capture" } else { "recording" };
                return Err(QueryError::Unanswerable(format!("{}: no {noun}s in this folder", path.display())));
            }
            sources.extend(recordings_in_folder.into_iter().map(|files| (index, Source::Recording(files))));
        } else if is_baseline(path) {
            sources.push((index, Source::Baseline(path.clone())));
        } else if transition != Some(RunSubject::Firmware) && path.is_file() {
            files.push(path.clone());
        } else {
            sources.push((index, Source::Recording(split_recording_path(path))));
        }
    }
    for group in find_recordings(&files)?.into_all_paths() {
        let index = group.iter().map(path_index).min().unwrap_or(usize::MAX);
        match group.as_slice() {
            [first, _, ..] if !is_event_trace_log(first) => {
                sources.extend(group.iter().map(|file| (path_index(file), Source::Recording(vec![file.clone()]))));
            }
            _ => sources.push((index, Source::Recording(group))),
        }
    }
    sources.sort_by_key(|(index, _)| *index);
    Ok(sources.into_iter().map(|(_, source)| source).collect())
}

fn is_event_trace_log(file: &PathBuf) -> bool {
    open_all(std::slice::from_ref(file), &Limits::default())
        .is_ok_and(|files| files.kind() == RecordingKind::EventTraceLog)
}

/// Finds the recordings in a folder by their contents. For firmware tables, each file is a recording, because files of
/// two boots must not be combined.
fn recordings_in_folder(path: &Path, transition: Option<RunSubject>) -> Result<Vec<Vec<PathBuf>>, Error> {
    if transition == Some(RunSubject::Firmware) {
        return files_of_folder(path);
    }
    let mut recordings_found = find_recordings(&[path.to_owned()])?.into_all_paths();
    if transition == Some(RunSubject::Netboot) {
        recordings_found.retain(|files| {
            open_all(files, &Limits::default()).is_ok_and(|files| files.kind() == RecordingKind::NetworkCapture)
        });
    }
    recordings_found.sort();
    Ok(recordings_found)
}

/// Lists the files of a folder except hidden files. If there are only folders, lists the folders.
fn files_of_folder(path: &Path) -> Result<Vec<Vec<PathBuf>>, Error> {
    let read_error = |source| Error::Read { path: path.to_owned(), source };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(read_error)? {
        let entry = entry.map_err(read_error)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let path = entry.path();
        if path.is_dir() {
            folders.push(path);
        } else if !is_hidden {
            files.push(path);
        }
    }
    let mut paths = if files.is_empty() { folders } else { files };
    paths.sort();
    Ok(paths.into_iter().map(|path| vec![path]).collect())
}

/// Splits `A+B` into two files of one recording, unless a file of that name exists.
#[must_use]
pub fn split_recording_path(path: &Path) -> Vec<PathBuf> {
    match path.to_str() {
        Some(text) if text.contains('+') && !path.exists() => text.split('+').map(PathBuf::from).collect(),
        _ => vec![path.to_owned()],
    }
}

/// Reads the runs of one recording. If no transition is chosen, the first recording determines it.
fn read_recording(
    files: &[PathBuf],
    options: &Options,
    choice: &mut TransitionChoice,
    provenances: Option<&mut Vec<Provenance>>,
) -> Result<Vec<Run>, QueryError<String>> {
    let name = joined_paths(files);
    let with_provenance = provenances.is_some();
    let (transition_runs, provenance) = match choice.name {
        Some(RunSubject::Firmware) => firmware_tables(files, options, name)?,
        subject => system_or_capture(files, options, (name.clone(), *choice), with_provenance).or_else(|error| {
            // Firmware tables look like part of a Linux recording, so try to read the files as firmware tables.
            match firmware_tables(files, options, name) {
                Ok(firmware_runs) if subject.is_none() => Ok(firmware_runs),
                _ => Err(error),
            }
        })?,
    };
    choice.name = Some(transition_runs.transition);
    if let Some(provenances) = provenances {
        provenances.push(provenance);
    }
    Ok(transition_runs.runs)
}

fn joined_paths(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("+")
}

fn firmware_tables(
    files: &[PathBuf],
    options: &Options,
    name: String,
) -> Result<(TransitionRuns, Provenance), QueryError<String>> {
    let report = firmware(files, options, &[], 0).map_err(QueryError::into_message)?;
    Ok((firmware_run(name, &report), firmware_provenance(&report.inputs)))
}

fn system_or_capture(
    files: &[PathBuf],
    options: &Options,
    (name, choice): (String, TransitionChoice),
    with_provenance: bool,
) -> Result<(TransitionRuns, Provenance), QueryError<String>> {
    let session = Session::open(files, options)?;
    let runs = session.runs(name, choice.name, choice.number)?;
    let provenance = if with_provenance { session.provenance()? } else { Provenance::default() };
    Ok((runs, provenance))
}
