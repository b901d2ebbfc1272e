//! `onoff compare`.

use std::path::{Path, PathBuf};

use onoff::{
    BadRecording, ConfigurationSource, ReadRuns, RunsQuery, TransitionChoice, check_causes, read_study,
    split_recording_path,
};
use onoff_compare::table::TableSpecification;
use onoff_compare::{CompareOptions, Exclusion, ExclusionReason, RunSubject, compare};
use onoff_files::Options;
use onoff_page::picture;
use onoff_report::markdown;
use onoff_report::text;
use onoff_sections::csv;
use onoff_sections::json;
use onoff_sections::section;
use onoff_sources::Purpose;

use crate::arguments::compare::{CompareArguments, CompareFormat, ComparisonArguments, RunsArguments};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// The runs to read, and how to compare them.
#[derive(Debug)]
pub struct ComparedRuns {
    pub runs: RunsQuery,
    pub options: CompareOptions,
}

impl ComparedRuns {
    /// Returns all input files.
    pub fn paths(&self) -> Vec<PathBuf> {
        let paths = self.runs.configurations.iter().flat_map(|configuration| &configuration.paths);
        let files = paths.flat_map(|path| split_recording_path(path));
        self.runs.options.manifests.iter().cloned().chain(files).collect()
    }
}

/// Default number of boots of a history.
const DEFAULT_BOOTS: usize = 30;
/// Default number of sleeps of a history; a computer sleeps more often than it boots.
const DEFAULT_SLEEPS: usize = 100;

struct OutputOptions {
    each_run: bool,
    tables: Vec<TableSpecification>,
    format: CompareFormat,
    top: usize,
}

pub fn resolve(arguments: CompareArguments) -> Result<Invocation, Failure> {
    let CompareArguments { each_run, format, top, last, .. } = arguments;
    let is_text = format == CompareFormat::Text;
    if let Some(files) = arguments.boots {
        let last = last.unwrap_or(DEFAULT_BOOTS);
        let recording = history_recording("--boots", (files, arguments.root), format)?;
        let recording = Recording { redact: arguments.redact, ..recording };
        let invocation = Invocation::new(recording, arguments.output, move |recording, destination| {
            history(recording, last, format, destination)
        });
        return Ok(invocation.single_recording().text_if(is_text));
    }
    if arguments.redact {
        return Err(Failure::usage("--redact requires --boots"));
    }
    if let Some(files) = arguments.sleeps {
        let last = last.unwrap_or(DEFAULT_SLEEPS);
        let mut recording = history_recording("--sleeps", (files, arguments.root), format)?;
        recording.options.purpose = Purpose::Sleep;
        let invocation = Invocation::new(recording, arguments.output, move |recording, destination| {
            sleeps(recording, (last, top), format, destination)
        });
        return Ok(invocation.single_recording().text_if(is_text));
    }
    if last.is_some() {
        return Err(Failure::usage("--last requires --boots or --sleeps"));
    }
    let (compared, tables) = match &arguments.study {
        Some(path) => from_study(path, arguments.runs)?,
        None => {
            let sides = arguments.runs.all_sides()?;
            (runs(sides, reading_options(arguments.runs.manifests), RequiredSides::Both)?, Vec::new())
        }
    };
    if each_run && matches!(format, CompareFormat::Json | CompareFormat::Markdown | CompareFormat::Svg) {
        return Err(Failure::usage("--runs supports text and csv only; use '--format csv'"));
    }
    let paths = compared.paths();
    let output_options = OutputOptions { each_run, tables, format, top };
    let invocation =
        Invocation::without_recording(arguments.output, move |destination| run(&compared, output_options, destination));
    Ok(invocation.text_if(is_text).with_inputs(arguments.study).with_inputs(paths))
}

/// Returns the recording of a history: the files of `option`, or the logs of this computer.
fn history_recording(
    option: &str,
    (files, root): (Vec<PathBuf>, PathBuf),
    format: CompareFormat,
) -> Result<Recording, Failure> {
    if matches!(format, CompareFormat::Markdown | CompareFormat::Svg) {
        return Err(Failure::usage(format!("{option} supports text, json and csv only")));
    }
    let local_root = files.is_empty().then_some(root);
    Ok(Recording { local_root, ..Recording::from_files(files) })
}

/// Reads a study file.
fn from_study(path: &Path, arguments: RunsArguments) -> Result<(ComparedRuns, Vec<TableSpecification>), Failure> {
    let (study, configurations) = read_study(path)?;
    let mut compared = compared_runs(arguments.sides, reading_options(arguments.manifests), configurations);
    compared.runs.transition = transition(study.transition.as_deref())?;
    compared.options.allow_mixed_kinds = true;
    Ok((compared, study.tables))
}

impl RunsArguments {
    /// Returns the two sides, given as a pair or by --baseline and --candidate.
    pub fn all_sides(&self) -> Result<ComparisonArguments, Failure> {
        let mut sides = self.sides.clone();
        match self.pair.as_slice() {
            [] => {}
            [old, new] => {
                sides.baseline = vec![old.clone()];
                sides.candidate = vec![new.clone()];
            }
            [old, ..] => {
                let message = format!("{}: pass two recordings or folders: onoff compare OLD NEW", old.display());
                return Err(Failure::Usage(message));
            }
        }
        Ok(sides)
    }
}

/// The sides that must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredSides {
    Both,
    Baseline,
    Candidate,
}

/// Resolves the sides to runs.
pub fn runs(
    arguments: ComparisonArguments,
    options: Options,
    required: RequiredSides,
) -> Result<ComparedRuns, Failure> {
    let configuration =
        |name: &str, paths: Vec<PathBuf>| ConfigurationSource { name: name.to_owned(), factors: Vec::new(), paths };
    let sides = [
        ("--baseline", &arguments.baseline, RequiredSides::Candidate),
        ("--candidate", &arguments.candidate, RequiredSides::Baseline),
    ];
    for (name, paths, other) in sides {
        if paths.is_empty() && required != other {
            let message = format!("pass two recordings or folders, OLD and NEW, or use {name}");
            return Err(Failure::NoData(message));
        }
    }
    let configurations = [("baseline", &arguments.baseline), ("candidate", &arguments.candidate)]
        .into_iter()
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(name, paths)| configuration(name, paths.clone()))
        .collect();
    let transition = transition(arguments.transition.as_deref())?;
    let mut compared = compared_runs(arguments, options, configurations);
    compared.runs.transition = transition;
    Ok(compared)
}

pub fn reading_options(manifests: Vec<PathBuf>) -> Options {
    Options { manifests, ..Options::default() }
}

fn compared_runs(
    arguments: ComparisonArguments,
    options: Options,
    configurations: Vec<ConfigurationSource>,
) -> ComparedRuns {
    ComparedRuns {
        runs: RunsQuery { configurations, transition: TransitionChoice::default(), options },
        options: CompareOptions {
            include: arguments.include,
            min_runs: usize::from(arguments.min_runs),
            allow_mixed_kinds: false,
        },
    }
}

/// Parses `boot`, `shutdown`, `suspend`, `netboot`, `firmware`, `suspend:N` or `netboot:N`.
fn transition(text: Option<&str>) -> Result<TransitionChoice, Failure> {
    let Some(text) = text else { return Ok(TransitionChoice { name: None, number: None }) };
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, number.parse().ok().filter(|&number| number > 0)),
        None => (text, None),
    };
    let invalid = || {
        Failure::no_data(format!(
            "--transition: '{text}' is invalid; use boot, shutdown, suspend, netboot, firmware, suspend:N or netboot:N (N from 1)"
        ))
    };
    let name = RunSubject::from_name(name).ok_or_else(invalid)?;
    let can_repeat = matches!(name, RunSubject::Suspend | RunSubject::Netboot);
    if text.contains(':') && (number.is_none() || !can_repeat) {
        return Err(invalid());
    }
    Ok(TransitionChoice { name: Some(name), number })
}

fn run(compared: &ComparedRuns, options: OutputOptions, destination: &Destination) -> Result<(), Failure> {
    let OutputOptions { each_run, mut tables, format, top } = options;
    let read = super::read_runs(&compared.runs, format == CompareFormat::Json, BadRecording::Exclude)?;
    let mut comparison =
        compare(&read.configurations, &compared.options).map_err(|error| Failure::NoData(error.to_string()))?;
    if matches!(format, CompareFormat::Text | CompareFormat::Json) {
        check_causes(&mut comparison, &read, &compared.runs);
    }
    let ReadRuns { configurations, provenances: recordings, .. } = read;
    if tables.is_empty() && format == CompareFormat::Markdown {
        tables.push(TableSpecification::totals_and_phases(&comparison));
    }
    comparison.tables = tables
        .iter()
        .map(|table| table.build(&comparison))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::NoData(error.to_string()))?;
    destination.write(|out| {
        match format {
            CompareFormat::Text => {
                text::compare::write(&comparison, top, out)?;
                if each_run {
                    text::compare::write_runs(&configurations, &comparison, out)?;
                }
            }
            CompareFormat::Json => json::document::write(&recordings, &comparison, out)?,
            CompareFormat::Csv if each_run => {
                section::csv::write(&[csv::compare::runs(&configurations, &comparison)], out)?
            }
            CompareFormat::Csv => section::csv::write(&[csv::compare::measures(&comparison)], out)?,
            CompareFormat::Markdown => markdown::write(&comparison.tables, out)?,
            CompareFormat::Svg => {
                picture::comparison(&onoff_page::compare::comparison(&configurations, &comparison), out)?
            }
        }
        Ok(())
    })?;
    let is_unreadable = |exclusion: &Exclusion| exclusion.reason == ExclusionReason::Unreadable;
    let runs = comparison.configurations.iter().flat_map(|configuration| &configuration.runs);
    match runs.flat_map(|run| &run.exclusions).any(is_unreadable) {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

/// Compares the last boots of a journal with each other.
fn history(
    recording: Recording,
    boot_count: usize,
    format: CompareFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, history) = super::query(recording, |session| session.boot_history(boot_count))?;
    let history = history?;
    if history.boots.is_empty() {
        return Err(Failure::no_data("no journal in this recording, so there are no boots to compare"));
    }
    destination.write(|out| {
        match format {
            CompareFormat::Text => text::boot_history::write(&history, boot_count, out)?,
            CompareFormat::Json => json::document::write(&[session.provenance()?], &history, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::boot_history::boots(&history, history.boots.len())], out)?,
        }
        Ok(())
    })
}

/// Lists the last sleeps of a journal and compares them with each other.
fn sleeps(
    recording: Recording,
    (sleep_count, top): (usize, usize),
    format: CompareFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, history) = super::query(recording, |session| session.sleep_history(sleep_count))?;
    let history = history?;
    if history.sleeps.is_empty() {
        return Err(Failure::no_data(format!(
            "no sleep of Linux in {}",
            match history.boots {
                0 | 1 => "this recording".to_owned(),
                boots => format!("the {boots} boots of this recording"),
            }
        )));
    }
    destination.write(|out| {
        match format {
            CompareFormat::Text => text::sleep_history::write(&history, top, out)?,
            CompareFormat::Json => json::document::write(&[session.provenance()?], &history, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::sleep_history::sleeps(&history, history.sleeps.len())], out)?,
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_transition_names_and_numbers() {
        let choice = |text| transition(Some(text)).ok().map(|choice| (choice.name, choice.number));
        assert_eq!(choice("boot"), Some((Some(RunSubject::Boot), None)));
        assert_eq!(choice("netboot:3"), Some((Some(RunSubject::Netboot), Some(3))));
        assert_eq!(choice("suspend:2"), Some((Some(RunSubject::Suspend), Some(2))));
        for invalid in ["", "sleep", "boot:1", "suspend:", "suspend:0", "suspend:x", ":2", "firmware:1"] {
            assert_eq!(choice(invalid), None, "{invalid}");
        }
    }
}
