//! Reads the runs of a comparison, one recording at a time. Only their measures stay in memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff_compare::baseline::MAX_BASELINE_BYTES;
use onoff_compare::study::{MAX_STUDY_BYTES, Study};
use onoff_compare::{Configuration, Factor, Run, RunSubject};
use onoff_evidence::recording::Provenance;
use onoff_files::{Options, open_all, recordings};
use onoff_report::text::causes::with_causes;
use onoff_sources::{Limits, Progress, RecordingKind};

use crate::baseline::read_baseline;
use crate::error::{Error, QueryError};
use crate::firmware::{firmware, firmware_provenance};
use crate::runs::{TransitionRuns, firmware_run};
use crate::session::Session;

/// Where the runs of a configuration come from.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    pub name: String,
    /// In what the configuration differs from others.
    pub factors: Vec<Factor>,
    /// Recordings, folders of recordings and saved baselines; `A+B` stands for two files of one recording.
    pub paths: Vec<PathBuf>,
}

/// The transition to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitionChoice {
    /// `None` means the transition in the first recording.
    pub name: Option<RunSubject>,
    /// Number of the transition within its recording, from 1; `None` means all.
    pub number: Option<u32>,
}

/// The runs to read.
#[derive(Clone, Debug)]
pub struct RunsQuery {
    /// The first is the baseline.
    pub configurations: Vec<ConfigurationSource>,
    pub transition: TransitionChoice,
    /// How to read recordings.
    pub options: Options,
}

/// What to do with a recording that is unreadable, or without the transition.
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
    question: &RunsQuery,
    with_provenance: bool,
    bad: BadRecording,
    progress: &mut dyn FnMut(usize, usize) -> Option<Listener>,
) -> Result<ReadRuns, QueryError<String>> {
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
    let mut files_of_runs: Vec<Vec<Vec<PathBuf>>> = configurations.iter().map(|_| Vec::new()).collect();
    let mut choice = question.transition;
    let total = sources.len();
    let mut unread: Vec<(usize, String, QueryError<String>)> = Vec::new();
    for (done, (at, source)) in sources.into_iter().enumerate() {
        let (runs, files) = match source {
            Source::Baseline(path) => (saved_runs(&path, &mut choice)?, Vec::new()),
            Source::Recording(files) => {
                let mut options = question.options.clone();
                options.progress = progress(done + 1, total);
                match recording(&files, &options, &mut choice, provenances.as_mut()) {
                    Ok(runs) => (runs, files),
                    Err(refusal) if bad == BadRecording::Exclude => {
                        unread.push((at, name_of(&files), refusal));
                        continue;
                    }
                    Err(refusal) => return Err(refusal),
                }
            }
        };
        if let Some(known) = files_of_runs.get_mut(at) {
            known.extend(runs.iter().map(|_| files.clone()));
        }
        if let Some(configuration) = configurations.get_mut(at) {
            configuration.runs.extend(runs);
        }
    }
    for (at, name, refusal) in unread {
        let Some(configuration) = configurations.get_mut(at) else { continue };
        // Without a readable run, the error itself is the result.
        if configuration.runs.is_empty() {
            return Err(refusal);
        }
        let transition = choice.name.unwrap_or(RunSubject::Boot);
        let reason = match refusal {
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
    let failed = |reason: String| Error::Document { name: path.display().to_string(), reason };
    let text = read_at_most(path, MAX_STUDY_BYTES)?;
    if text.len() as u64 > MAX_STUDY_BYTES {
        return Err(failed("larger than the limit for a study, 1 MiB".to_owned()));
    }
    let text = String::from_utf8(text).map_err(|_| failed("not valid UTF-8".to_owned()))?;
    let mut study: Study =
        toml::from_str(&text).map_err(|error| failed(format!("not a study: {}", one_line(&error))))?;
    study.check().map_err(failed)?;
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

/// The message on one line, without the excerpt of the file.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Reads up to `limit` + 1 bytes, so that the caller can detect a larger file.
fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
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
fn expand(configuration: &ConfigurationSource, chosen: Option<RunSubject>) -> Result<Vec<Source>, QueryError<String>> {
    let mut sources: Vec<(usize, Source)> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let place = |path: &PathBuf| configuration.paths.iter().position(|each| each == path).unwrap_or(usize::MAX);
    for (at, path) in configuration.paths.iter().enumerate() {
        if path.is_dir() {
            let found = folder(path, chosen)?;
            if found.is_empty() {
                let wanted = if chosen == Some(RunSubject::Netboot) { "network capture" } else { "recording" };
                return Err(QueryError::Unanswerable(format!("{}: no {wanted}s in this folder", path.display())));
            }
            sources.extend(found.into_iter().map(|files| (at, Source::Recording(files))));
        } else if is_baseline(path) {
            sources.push((at, Source::Baseline(path.clone())));
        } else if chosen != Some(RunSubject::Firmware) && path.is_file() {
            files.push(path.clone());
        } else {
            sources.push((at, Source::Recording(split_recording_path(path))));
        }
    }
    for group in recordings(&files)?.all() {
        let at = group.iter().map(place).min().unwrap_or(usize::MAX);
        match group.as_slice() {
            [first, _, ..] if !is_event_trace_log(first) => {
                sources.extend(group.iter().map(|file| (place(file), Source::Recording(vec![file.clone()]))));
            }
            _ => sources.push((at, Source::Recording(group))),
        }
    }
    sources.sort_by_key(|(at, _)| *at);
    Ok(sources.into_iter().map(|(_, source)| source).collect())
}

fn is_event_trace_log(file: &PathBuf) -> bool {
    open_all(std::slice::from_ref(file), &Limits::default())
        .is_ok_and(|files| files.kind() == RecordingKind::EventTraceLog)
}

/// Finds the recordings in a folder by their contents. For firmware tables, each file is a recording, because files of
/// two boots must not be combined.
fn folder(path: &Path, chosen: Option<RunSubject>) -> Result<Vec<Vec<PathBuf>>, Error> {
    if chosen == Some(RunSubject::Firmware) {
        return files_of_folder(path);
    }
    let mut found = recordings(&[path.to_owned()])?.all();
    if chosen == Some(RunSubject::Netboot) {
        found.retain(|files| {
            open_all(files, &Limits::default()).is_ok_and(|files| files.kind() == RecordingKind::NetworkCapture)
        });
    }
    found.sort();
    Ok(found)
}

/// Lists the files of a folder except hidden ones; if there are only folders, lists those.
fn files_of_folder(path: &Path) -> Result<Vec<Vec<PathBuf>>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let entry = entry.path();
        if entry.is_dir() {
            folders.push(entry);
        } else if !is_hidden {
            files.push(entry);
        }
    }
    let mut found = if files.is_empty() { folders } else { files };
    found.sort();
    Ok(found.into_iter().map(|path| vec![path]).collect())
}

/// Splits `A+B` into two files of one recording, unless a file of that name exists.
#[must_use]
pub fn split_recording_path(path: &Path) -> Vec<PathBuf> {
    match path.to_str() {
        Some(text) if text.contains('+') && !path.exists() => text.split('+').map(PathBuf::from).collect(),
        _ => vec![path.to_owned()],
    }
}

/// Reads the runs of one recording. If the transition is open, the first recording decides it.
fn recording(
    files: &[PathBuf],
    options: &Options,
    choice: &mut TransitionChoice,
    provenances: Option<&mut Vec<Provenance>>,
) -> Result<Vec<Run>, QueryError<String>> {
    let name = name_of(files);
    let wanted = provenances.is_some();
    let (of, provenance) = match choice.name {
        Some(RunSubject::Firmware) => firmware_tables(files, options, name)?,
        chosen => system_or_capture(files, options, (name.clone(), *choice), wanted).or_else(|refusal| {
            // Firmware tables look like part of a Linux recording; try them as such before giving up.
            match firmware_tables(files, options, name) {
                Ok(tables) if chosen.is_none() => Ok(tables),
                _ => Err(refusal),
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
