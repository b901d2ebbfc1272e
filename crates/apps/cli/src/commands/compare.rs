//! `onoff compare`.

use std::path::{Path, PathBuf};

use onoff::{
    BadRecording, ConfigurationSource, ReadRuns, RunsQuery, TransitionChoice, read_study, split_recording_path,
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
    /// All input files.
    pub fn paths(&self) -> Vec<PathBuf> {
        let named = self.runs.configurations.iter().flat_map(|configuration| &configuration.paths);
        let files = named.flat_map(|path| split_recording_path(path));
        self.runs.options.manifests.iter().cloned().chain(files).collect()
    }
}

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
        if matches!(format, CompareFormat::Markdown | CompareFormat::Svg) {
            return Err(Failure::usage("--boots supports text, json and csv only"));
        }
        let local_root = files.is_empty().then_some(arguments.root);
        let recording = Recording { local_root, ..Recording::of(files) };
        let invocation =
            Invocation::new(recording, arguments.output, move |recording, to| history(recording, last, format, to));
        return Ok(invocation.single_recording().text_if(is_text));
    }
    let (compared, tables) = match &arguments.study {
        Some(path) => from_study(path, arguments.runs)?,
        None => {
            let sides = arguments.runs.all_sides()?;
            (runs(sides, reading(arguments.runs.manifests), false)?, Vec::new())
        }
    };
    if each_run && matches!(format, CompareFormat::Json | CompareFormat::Markdown | CompareFormat::Svg) {
        return Err(Failure::usage("--runs supports text and csv only; use '--format csv'"));
    }
    let paths = compared.paths();
    let shown = OutputOptions { each_run, tables, format, top };
    let invocation =
        Invocation::without_recording(arguments.output, move |destination| run(&compared, shown, destination));
    Ok(invocation.text_if(is_text).reading(arguments.study).reading(paths))
}

/// Reads a study file.
fn from_study(path: &Path, arguments: RunsArguments) -> Result<(ComparedRuns, Vec<TableSpecification>), Failure> {
    let (study, configurations) = read_study(path)?;
    let mut compared = compared(arguments.sides, reading(arguments.manifests), configurations);
    compared.runs.transition = transition(study.transition.as_deref())?;
    compared.options.allow_mixed_kinds = true;
    Ok((compared, study.tables))
}

impl RunsArguments {
    /// The two sides, given as a pair or by --baseline and --candidate.
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

/// Resolves the sides to runs. Without a candidate, `baseline_alone` must be set.
pub fn runs(arguments: ComparisonArguments, reading: Options, baseline_alone: bool) -> Result<ComparedRuns, Failure> {
    let named =
        |name: &str, paths: Vec<PathBuf>| ConfigurationSource { name: name.to_owned(), factors: Vec::new(), paths };
    for (name, paths) in [("--baseline", &arguments.baseline), ("--candidate", &arguments.candidate)] {
        if paths.is_empty() && !(baseline_alone && name == "--candidate") {
            let message = format!("pass two recordings or folders, OLD and NEW, or use {name}");
            return Err(Failure::NoData(message));
        }
    }
    let mut configurations = vec![named("baseline", arguments.baseline.clone())];
    if !arguments.candidate.is_empty() {
        configurations.push(named("candidate", arguments.candidate.clone()));
    }
    let transition = transition(arguments.transition.as_deref())?;
    let mut compared = compared(arguments, reading, configurations);
    compared.runs.transition = transition;
    Ok(compared)
}

pub fn reading(manifests: Vec<PathBuf>) -> Options {
    Options { manifests, ..Options::default() }
}

fn compared(
    arguments: ComparisonArguments,
    reading: Options,
    configurations: Vec<ConfigurationSource>,
) -> ComparedRuns {
    ComparedRuns {
        runs: RunsQuery { configurations, transition: TransitionChoice::default(), options: reading },
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
    let several = matches!(name, RunSubject::Suspend | RunSubject::Netboot);
    if text.contains(':') && (number.is_none() || !several) {
        return Err(invalid());
    }
    Ok(TransitionChoice { name: Some(name), number })
}

fn run(compared: &ComparedRuns, shown: OutputOptions, destination: &Destination) -> Result<(), Failure> {
    let OutputOptions { each_run, mut tables, format, top } = shown;
    let ReadRuns { configurations, provenances: recordings, .. } =
        super::runs(&compared.runs, format == CompareFormat::Json, BadRecording::Exclude)?;
    let mut comparison =
        compare(&configurations, &compared.options).map_err(|answer| Failure::NoData(answer.to_string()))?;
    if tables.is_empty() && format == CompareFormat::Markdown {
        tables.push(TableSpecification::totals_and_phases(&comparison));
    }
    comparison.tables = tables
        .iter()
        .map(|table| table.build(&comparison))
        .collect::<Result<_, _>>()
        .map_err(|refusal| Failure::NoData(refusal.to_string()))?;
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
    let is_unread = |apart: &Exclusion| apart.reason == ExclusionReason::Unreadable;
    let runs = comparison.configurations.iter().flat_map(|configuration| &configuration.runs);
    match runs.flat_map(|run| &run.exclusions).any(is_unread) {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

/// Compares the last boots of a journal with each other.
fn history(recording: Recording, last: usize, format: CompareFormat, destination: &Destination) -> Result<(), Failure> {
    let (session, history) = super::ask(recording, |session| session.boot_history(last))?;
    let history = history?;
    if history.boots.is_empty() {
        return Err(Failure::no_data("no journal in this recording, so no boots to compare"));
    }
    destination.write(|out| {
        match format {
            CompareFormat::Text => text::linux::boot::history::write(&history, last, out)?,
            CompareFormat::Json => json::document::write(&[session.provenance()?], &history, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::linux::boot::history::boots(&history, history.boots.len())], out)?,
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_transition_names_and_numbers() {
        let choice = |text| transition(Some(text)).ok().map(|it| (it.name, it.number));
        assert_eq!(choice("boot"), Some((Some(RunSubject::Boot), None)));
        assert_eq!(choice("netboot:3"), Some((Some(RunSubject::Netboot), Some(3))));
        assert_eq!(choice("suspend:2"), Some((Some(RunSubject::Suspend), Some(2))));
        for invalid in ["", "sleep", "boot:1", "suspend:", "suspend:0", "suspend:x", ":2", "firmware:1"] {
            assert_eq!(choice(invalid), None, "{invalid}");
        }
    }
}
