//! Recordings to runs: one recording after the other, of which only the measures are kept.

use std::path::{Path, PathBuf};

use onoff_analysis::compare::measures::{self, Origin};
use onoff_analysis::compare::{Configuration, Run, TransitionName};
use onoff_analysis::transition::boot::{self, BootKind, BootOptions};
use onoff_analysis::transition::linux;
use onoff_analysis::transition::shutdown::{self, ShutdownOptions};
use onoff_analysis::transition::suspend::{self, SuspendOptions};
use onoff_files::Options;
use onoff_trace::{SystemKind, Tables, Trace};

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

/// Reads all runs of all configurations.
pub fn read(question: &RunsQuestion) -> Result<Vec<Configuration>, Failure> {
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
                recording(&files, &question.reading, &mut choice, &line)?
            }
        };
        if let Some(configuration) = configurations.get_mut(at) {
            configuration.runs.extend(runs);
        }
    }
    Ok(configurations)
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
) -> Result<Vec<Run>, Failure> {
    let name = files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join("+");
    let mut options = options.clone();
    options.progress = Some(line.listener());
    let trace = onoff_files::open(files, wanted(choice.name), &options)?;
    let origin = Origin::of(name, &trace);
    let candidates = match choice.name {
        Some(name) => vec![name],
        None => vec![TransitionName::Boot, TransitionName::Suspend, TransitionName::Shutdown],
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
    Err(Failure::NothingToAnswer(format!("{}: {}", origin.name, refusals.join("; "))))
}

/// The tables to read. Of a recording whose transition is still open, those of all three.
fn wanted(name: Option<TransitionName>) -> Tables {
    let tables = match name {
        Some(TransitionName::Boot) => boot::TABLES
            .union(suspend::TABLES)
            .union(linux::boot::TABLES)
            .union(linux::shutdown::TABLES)
            .union(linux::suspend::TABLES),
        Some(TransitionName::Shutdown) => shutdown::TABLES.union(linux::shutdown::TABLES),
        Some(TransitionName::Suspend) => suspend::TABLES.union(linux::suspend::TABLES),
        None => boot::TABLES.union(shutdown::TABLES).union(suspend::TABLES).union(linux::boot::TABLES),
    };
    tables.with(measures::TABLE)
}

/// The runs of one transition, or what the recording holds instead.
fn runs(trace: &Trace, origin: &Origin, name: TransitionName, number: Option<u32>) -> Result<Vec<Run>, String> {
    if trace.system.kind == SystemKind::Linux {
        return linux_runs(trace, origin, name, number);
    }
    match name {
        TransitionName::Boot => boot_run(trace, origin).map(|run| vec![run]),
        TransitionName::Shutdown => shutdown::analyse(trace, &ShutdownOptions::default())
            .map(|report| vec![measures::of_shutdown(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionName::Suspend => {
            let options = SuspendOptions { transition: number, ..SuspendOptions::default() };
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

/// The same of a recording of Linux.
fn linux_runs(trace: &Trace, origin: &Origin, name: TransitionName, number: Option<u32>) -> Result<Vec<Run>, String> {
    match name {
        TransitionName::Boot => linux::boot::analyse(trace, &BootOptions::default())
            .map(|report| vec![measures::of_linux_boot(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionName::Shutdown => linux::shutdown::analyse(trace)
            .map(|report| vec![measures::of_linux_shutdown(origin, &report)])
            .map_err(|answer| answer.to_string()),
        TransitionName::Suspend => {
            let options = SuspendOptions { transition: number, ..SuspendOptions::default() };
            let report = linux::suspend::analyse(trace, &options).map_err(|answer| answer.to_string())?;
            let several = report.sleeps.len() > 1;
            let runs = report.sleeps.iter().map(|sleep| {
                let mut origin = origin.clone();
                if several {
                    origin.name = format!("{}, transition {}", origin.name, sleep.number);
                }
                measures::of_linux_sleep(&origin, sleep, &report.losses)
            });
            Ok(runs.collect())
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
        return Ok(measures::of_fast_startup(origin, transition, &resumed.losses));
    }
    report.map(|report| measures::of_boot(origin, &report)).map_err(|answer| answer.to_string())
}
