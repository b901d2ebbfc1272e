//! Recordings to runs: one recording after the other, of which only the measures are kept.

use std::path::{Path, PathBuf};

use onoff_analysis::compare::measures::{self, Origin};
use onoff_analysis::compare::{Configuration, Run, TransitionName};
use onoff_analysis::transition::boot::{self, BootKind, BootOptions};
use onoff_analysis::transition::shutdown::{self, ShutdownOptions};
use onoff_analysis::transition::suspend::{self, SuspendOptions};
use onoff_sources::Options;
use onoff_trace::{Tables, Trace};

use crate::failure::Failure;
use crate::invocation::compare::{ConfigurationSource, RunsQuestion, TransitionChoice};
use crate::progress::ProgressLine;

/// How names of recordings end, packed or not; other files of a folder are no recordings.
const RECORDINGS: [&str; 5] = [".etl", ".etl.xz", ".etl.gz", ".etl.zst", ".etl.zip"];

/// Reads all runs of all configurations.
pub fn read(question: &RunsQuestion) -> Result<Vec<Configuration>, Failure> {
    let mut recordings: Vec<(usize, Vec<PathBuf>)> = Vec::new();
    for (at, source) in question.configurations.iter().enumerate() {
        for files in expand(source)? {
            recordings.push((at, files));
        }
    }
    let mut configurations: Vec<Configuration> = question
        .configurations
        .iter()
        .map(|source| Configuration {
            name: source.name.clone(),
            factors: source.factors.clone(),
            runs: Vec::new(),
        })
        .collect();
    let mut choice = question.transition;
    let of = recordings.len();
    for (done, (at, files)) in recordings.into_iter().enumerate() {
        let line = ProgressLine::reading_one(done + 1, of);
        let runs = recording(&files, &question.reading, &mut choice, &line)?;
        if let Some(configuration) = configurations.get_mut(at) {
            configuration.runs.extend(runs);
        }
    }
    Ok(configurations)
}

/// The recordings of a configuration, each with its files.
fn expand(source: &ConfigurationSource) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let mut recordings = Vec::new();
    for path in &source.paths {
        if path.is_dir() {
            let found = folder(path)?;
            if found.is_empty() {
                return Err(Failure::NothingToAnswer(format!(
                    "{}: no recording in this folder ({})",
                    path.display(),
                    RECORDINGS.join(", ")
                )));
            }
            recordings.extend(found.into_iter().map(|file| vec![file]));
        } else {
            recordings.push(files(path));
        }
    }
    Ok(recordings)
}

/// The recordings in a folder, by name.
fn folder(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed =
        |error: std::io::Error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        if entry.is_file() && RECORDINGS.iter().any(|end| name.ends_with(end)) {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

/// `A+B` as two files of one recording, unless a file has that name.
fn files(path: &Path) -> Vec<PathBuf> {
    match path.to_str() {
        Some(text) if text.contains('+') && !path.exists() => {
            text.split('+').map(PathBuf::from).collect()
        }
        _ => vec![path.to_owned()],
    }
}

/// The runs of one recording. A choice that was left open is settled by the first one.
fn recording(
    files: &[PathBuf],
    options: &Options,
    choice: &mut TransitionChoice,
    line: &ProgressLine,
) -> Result<Vec<Run>, Failure> {
    let name = files
        .iter()
        .map(|file| file.display().to_string())
        .collect::<Vec<_>>()
        .join("+");
    let mut options = options.clone();
    options.progress = Some(line.listener());
    let trace = onoff_sources::open(files, wanted(choice.name), &options)?;
    let origin = Origin::of(name, &trace);
    let candidates = match choice.name {
        Some(name) => vec![name],
        None => vec![
            TransitionName::Boot,
            TransitionName::Suspend,
            TransitionName::Shutdown,
        ],
    };
    let mut refusals = Vec::new();
    for name in candidates {
        match runs(&trace, &origin, name, choice.number) {
            Ok(runs) => {
                choice.name = Some(name);
                return Ok(runs);
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(Failure::NothingToAnswer(format!(
        "{}: {}",
        origin.name,
        refusals.join("; ")
    )))
}

/// The tables to read. Of a recording whose transition is still open, those of all three.
fn wanted(name: Option<TransitionName>) -> Tables {
    let tables = match name {
        Some(TransitionName::Boot) => boot::TABLES.union(suspend::TABLES),
        Some(TransitionName::Shutdown) => shutdown::TABLES,
        Some(TransitionName::Suspend) => suspend::TABLES,
        None => boot::TABLES.union(shutdown::TABLES).union(suspend::TABLES),
    };
    tables.with(measures::TABLE)
}

/// The runs of one transition, or what the recording holds instead.
fn runs(
    trace: &Trace,
    origin: &Origin,
    name: TransitionName,
    number: Option<u32>,
) -> Result<Vec<Run>, String> {
    match name {
        TransitionName::Boot => boot_run(trace, origin).map(|run| vec![run]),
        TransitionName::Shutdown => shutdown::analyse(trace, &ShutdownOptions::default())
            .map(|report| vec![measures::of_shutdown(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionName::Suspend => {
            let options = SuspendOptions {
                transition: number,
                ..SuspendOptions::default()
            };
            let report = suspend::analyse(trace, &options).map_err(|answer| answer.to_string())?;
            let several = report.transitions.len() > 1;
            Ok(report
                .transitions
                .iter()
                .map(|transition| {
                    let mut origin = origin.clone();
                    if several {
                        origin.name = format!("{}, transition {}", origin.name, transition.number);
                    }
                    measures::of_suspend(&origin, transition, &report.losses)
                })
                .collect())
        }
    }
}

/// A boot; on a computer with fast startup, the half that comes back.
fn boot_run(trace: &Trace, origin: &Origin) -> Result<Run, String> {
    let report = boot::analyse(trace, &BootOptions::default());
    if let Ok(report) = &report
        && report.before_kernel.boot_kind != BootKind::FastStartup
    {
        return Ok(measures::of_boot(origin, report));
    }
    if let Some(resumed) = suspend::fast_startup(trace, &SuspendOptions::default())
        && let Some(transition) = resumed.transitions.first()
    {
        return Ok(measures::of_fast_startup(
            origin,
            transition,
            &resumed.losses,
        ));
    }
    report
        .map(|report| measures::of_boot(origin, &report))
        .map_err(|answer| answer.to_string())
}
