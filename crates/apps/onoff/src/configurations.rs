//! Recordings to runs: one recording after the other, of which only the measures are kept.

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
use crate::error::{Error, Refusal};
use crate::firmware::{firmware, provenance_of_firmware};
use crate::runs::{RunsOfTransition, firmware_run};
use crate::session::Session;

/// Where the runs of a configuration come from.
#[derive(Clone, Debug)]
pub struct ConfigurationSource {
    /// What it is called.
    pub name: String,
    /// In what it differs from others.
    pub factors: Vec<Factor>,
    /// Recordings, folders of them and kept baselines, as given; `A+B` is two files of one recording.
    pub paths: Vec<PathBuf>,
}

/// Which transition of the recordings to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitionChoice {
    /// Which; what the first recording holds when `None`.
    pub name: Option<RunSubject>,
    /// Number of the only one to take of a recording; all of them when `None`.
    pub number: Option<u32>,
}

/// The runs to read.
#[derive(Clone, Debug)]
pub struct RunsQuestion {
    /// The configurations; the first is the baseline.
    pub configurations: Vec<ConfigurationSource>,
    /// Which transition.
    pub transition: TransitionChoice,
    /// How to read recordings.
    pub reading: Options,
}

/// What becomes of a recording that cannot be read, or holds no such transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRecording {
    /// It ends the work.
    Refused,
    /// It is a run that is set apart.
    SetApart,
}

/// The runs that were read.
#[derive(Clone, Debug)]
pub struct ReadRuns {
    /// By configuration.
    pub configurations: Vec<Configuration>,
    /// The files of each run, in the same order; none of a kept baseline's.
    pub files: Vec<Vec<Vec<PathBuf>>>,
    /// Where they come from, if that was wanted.
    pub provenances: Vec<Provenance>,
}

/// Hears how far the reading of one recording has come.
pub type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// Where runs come from.
enum Source {
    /// The files of a recording.
    Recording(Vec<PathBuf>),
    /// A kept baseline.
    Baseline(PathBuf),
}

/// Reads all runs of all configurations, and where they come from if that is wanted: it takes another look at every byte. Before each
/// recording `progress` is called with its number and how many there are.
///
/// # Errors
/// A path that cannot be read, a folder without a recording, a recording without such a transition, and recordings of several.
pub fn read_runs(
    question: &RunsQuestion,
    with_provenance: bool,
    bad: BadRecording,
    progress: &mut dyn FnMut(usize, usize) -> Option<Listener>,
) -> Result<ReadRuns, Refusal<String>> {
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
    let mut unread: Vec<(usize, String, Refusal<String>)> = Vec::new();
    for (done, (at, source)) in sources.into_iter().enumerate() {
        let (runs, files) = match source {
            Source::Baseline(path) => (kept(&path, &mut choice)?, Vec::new()),
            Source::Recording(files) => {
                let mut options = question.reading.clone();
                options.progress = progress(done + 1, of);
                match recording(&files, &options, &mut choice, provenances.as_mut()) {
                    Ok(runs) => (runs, files),
                    Err(refusal) if bad == BadRecording::SetApart => {
                        unread.push((at, name_of(&files), refusal));
                        continue;
                    }
                    Err(refusal) => return Err(refusal),
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
    for (at, name, refusal) in unread {
        let Some(configuration) = configurations.get_mut(at) else { continue };
        // With nothing to compare it with, what is wrong with it is the answer.
        if configuration.runs.is_empty() {
            return Err(refusal);
        }
        let transition = choice.name.unwrap_or(RunSubject::Boot);
        let why = match refusal {
            Refusal::Unreadable(error) => with_causes(&error),
            Refusal::Nothing(nothing) => nothing,
        };
        configuration.runs.push(Run::unreadable(name, transition, why));
    }
    Ok(ReadRuns { configurations, files: files_of, provenances: provenances.unwrap_or_default() })
}

/// Reads a study from its file, and where the runs of its configurations come from.
///
/// # Errors
/// A file that cannot be read, or is no study.
pub fn read_study(path: &Path) -> Result<(Study, Vec<ConfigurationSource>), Error> {
    let failed = |reason: String| Error::Document { name: path.display().to_string(), reason };
    let text = read_at_most(path, MAX_STUDY_BYTES)?;
    if text.len() as u64 > MAX_STUDY_BYTES {
        return Err(failed("larger than any study (1 MiB)".to_owned()));
    }
    let text = String::from_utf8(text).map_err(|_| failed("stream did not contain valid UTF-8".to_owned()))?;
    let mut study: Study = toml::from_str(&text).map_err(|error| failed(format!("no study: {}", one_line(&error))))?;
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

/// The message and its line; the quoted text of the file would take more lines.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}

/// Whether a path names a kept baseline, not a recording.
fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// One byte more than `limit` where there is more.
fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The runs of a kept baseline, which must be of the transition that is compared.
fn kept(path: &Path, choice: &mut TransitionChoice) -> Result<Vec<Run>, Refusal<String>> {
    let bytes = read_at_most(path, MAX_BASELINE_BYTES)?;
    let (transition, runs) = read_baseline(&path.display().to_string(), &bytes)?;
    match choice.name {
        Some(name) if name != transition => Err(Refusal::Nothing(format!(
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

/// What a configuration's paths name, in their order. Each file is a run, but logs of Windows that were recorded together are one.
fn expand(configuration: &ConfigurationSource, chosen: Option<RunSubject>) -> Result<Vec<Source>, Refusal<String>> {
    let mut sources: Vec<(usize, Source)> = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let place = |path: &PathBuf| configuration.paths.iter().position(|each| each == path).unwrap_or(usize::MAX);
    for (at, path) in configuration.paths.iter().enumerate() {
        if path.is_dir() {
            let found = folder(path, chosen)?;
            if found.is_empty() {
                let wanted = if chosen == Some(RunSubject::Netboot) { "network capture" } else { "recording" };
                return Err(Refusal::Nothing(format!("{}: no {wanted} in this folder", path.display())));
            }
            sources.extend(found.into_iter().map(|files| (at, Source::Recording(files))));
        } else if is_baseline(path) {
            sources.push((at, Source::Baseline(path.clone())));
        } else if chosen != Some(RunSubject::Firmware) && path.is_file() {
            files.push(path.clone());
        } else {
            sources.push((at, Source::Recording(files_of_one_recording(path))));
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

/// The recordings in a folder, found by their content. Of a folder of firmware's tables every file is one: those of two boots are not
/// to be mixed.
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

/// Each file of a folder by itself, but for hidden ones; where it holds folders only, each of these.
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

/// `A+B` as two files of one recording, unless a file has that name.
#[must_use]
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
    provenances: Option<&mut Vec<Provenance>>,
) -> Result<Vec<Run>, Refusal<String>> {
    let name = name_of(files);
    let wanted = provenances.is_some();
    let (of, provenance) = match choice.name {
        Some(RunSubject::Firmware) => firmware_tables(files, options, name)?,
        chosen => system_or_capture(files, options, (name.clone(), *choice), wanted).or_else(|refusal| {
            // Firmware tables are recordings of no system: what they are shows when they are read as what they are.
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
) -> Result<(RunsOfTransition, Provenance), Refusal<String>> {
    let report = firmware(files, options, &[], 0).map_err(Refusal::into_text)?;
    Ok((firmware_run(name, &report), provenance_of_firmware(&report.inputs)))
}

fn system_or_capture(
    files: &[PathBuf],
    options: &Options,
    (name, choice): (String, TransitionChoice),
    with_provenance: bool,
) -> Result<(RunsOfTransition, Provenance), Refusal<String>> {
    let session = Session::open(files, options)?;
    let runs = session.runs(name, choice.name, choice.number)?;
    let provenance = if with_provenance { session.provenance()? } else { Provenance::default() };
    Ok((runs, provenance))
}
