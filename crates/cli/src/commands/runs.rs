//! Recordings to runs: one recording after the other, of which only the measures are kept.

use std::path::{Path, PathBuf};

use onoff::Session;
use onoff_analysis::compare::{Configuration, Run};
use onoff_analysis::recording::Provenance;
use onoff_files::Options;

use super::baseline;
use crate::failure::Failure;
use crate::invocation::compare::{ConfigurationSource, RunsQuestion, TransitionChoice};
use crate::progress::ProgressLine;

/// How names of recordings end, packed or not; other files of a folder are no recordings.
const RECORDINGS: [&str; 9] =
    [".etl", ".etl.xz", ".etl.gz", ".etl.zst", ".zip", ".tar", ".tar.gz", ".tar.xz", ".tar.zst"];

/// Where runs come from.
enum Source {
    /// The files of a recording.
    Recording(Vec<PathBuf>),
    /// A kept baseline.
    Baseline(PathBuf),
}

/// Reads all runs of all configurations, and where they come from if that is wanted: it takes another look at every byte.
pub fn read(question: &RunsQuestion, with_provenance: bool) -> Result<(Vec<Configuration>, Vec<Provenance>), Failure> {
    let mut provenances = with_provenance.then(Vec::new);
    let mut sources: Vec<(usize, Source)> = Vec::new();
    for (at, configuration) in question.configurations.iter().enumerate() {
        for source in expand(configuration)? {
            sources.push((at, source));
        }
    }
    let mut configurations: Vec<Configuration> = question
        .configurations
        .iter()
        .map(|source| Configuration { name: source.name.clone(), factors: source.factors.clone(), runs: Vec::new() })
        .collect();
    let mut choice = question.transition;
    let of = sources.len();
    for (done, (at, source)) in sources.into_iter().enumerate() {
        let runs = match source {
            Source::Baseline(path) => kept(&path, &mut choice)?,
            Source::Recording(files) => {
                let line = ProgressLine::reading_one(done + 1, of);
                recording(&files, &question.reading, &mut choice, &line, provenances.as_mut())?
            }
        };
        if let Some(configuration) = configurations.get_mut(at) {
            configuration.runs.extend(runs);
        }
    }
    Ok((configurations, provenances.unwrap_or_default()))
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
fn expand(configuration: &ConfigurationSource) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for path in &configuration.paths {
        if path.is_dir() {
            let found = folder(path)?;
            if found.is_empty() {
                return Err(Failure::NothingToAnswer(format!(
                    "{}: no recording in this folder ({})",
                    path.display(),
                    RECORDINGS.join(", ")
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
fn folder(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let (mut recordings, mut folders, mut others) = (Vec::new(), Vec::new(), false);
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if entry.is_dir() {
            folders.push(entry);
        } else if RECORDINGS.iter().any(|end| name.ends_with(end)) {
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
    let name = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("+");
    let mut options = options.clone();
    options.progress = Some(line.listener());
    let session = Session::open(files, &options)?;
    let of = session
        .runs(name, choice.name, choice.number)
        .map_err(|refusal| Failure::refused(refusal, |instead| instead))?;
    choice.name = Some(of.transition);
    if let Some(provenances) = provenances {
        provenances.push(session.provenance()?);
    }
    Ok(of.runs)
}
