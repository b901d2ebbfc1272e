//! What the arguments of `onoff compare` mean.

use std::path::{Path, PathBuf};

use onoff::{ConfigurationSource, RunsQuestion, TransitionChoice, read_study};
use onoff_analysis::compare::table::TableSpecification;
use onoff_analysis::compare::{CompareOptions, RunSubject};
use onoff_files::Options;
use onoff_report::text::compare::CompareTextOptions;
use onoff_report::text::linux::boot::history::HistoryTextOptions;

use super::{Invocation, Recording, Task};
use crate::arguments::compare::{CompareArguments, CompareFormat, RunsArguments, SidesArguments};
use crate::failure::Failure;

/// Which runs to read, and how to compare them.
#[derive(Debug)]
pub struct ComparedRuns {
    /// The runs.
    pub runs: RunsQuestion,
    /// What counts.
    pub options: CompareOptions,
}

/// How to answer about the boots of one journal.
#[derive(Clone, Copy, Debug)]
pub enum HistoryFormat {
    /// For a person.
    Text(HistoryTextOptions),
    /// For a program.
    Json,
    /// A row for each boot.
    Csv,
}

/// What to compare, and how to show it.
#[derive(Debug)]
pub struct CompareQuestion {
    /// The runs.
    pub compared: ComparedRuns,
    /// The file of the study, if the runs come from one.
    pub study: Option<PathBuf>,
    /// Whether single runs are shown.
    pub each_run: bool,
    /// Tables to make of them.
    pub tables: Vec<TableSpecification>,
    /// How to show it.
    pub format: CompareFormat,
    /// How much of it in text.
    pub text: CompareTextOptions,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: CompareArguments) -> Result<Invocation, Failure> {
    if let Some(files) = arguments.boots {
        let format = match arguments.format {
            CompareFormat::Text => HistoryFormat::Text(HistoryTextOptions { top: arguments.last }),
            CompareFormat::Json => HistoryFormat::Json,
            CompareFormat::Csv => HistoryFormat::Csv,
            CompareFormat::Markdown | CompareFormat::Svg => {
                return Err(Failure::WrongUsage("--boots: write text, json or csv".to_owned()));
            }
        };
        let this_computer = files.is_empty().then_some(arguments.root);
        return Ok(Invocation {
            task: Task::BootHistory(arguments.last, format),
            recording: Recording { this_computer, ..Recording::of(files) },
            destination: arguments.output.into(),
        });
    }
    let (compared, tables) = match &arguments.study {
        Some(path) => of_study(path, arguments.runs)?,
        None => {
            let sides = arguments.runs.all_sides()?;
            (runs(sides, reading(arguments.runs.manifests), false)?, Vec::new())
        }
    };
    if arguments.each_run
        && matches!(arguments.format, CompareFormat::Json | CompareFormat::Markdown | CompareFormat::Svg)
    {
        let message = "--runs: text and CSV show single runs; write '--format csv'";
        return Err(Failure::WrongUsage(message.to_owned()));
    }
    let question = CompareQuestion {
        compared,
        each_run: arguments.each_run,
        study: arguments.study,
        tables,
        format: arguments.format,
        text: CompareTextOptions { top: arguments.top },
    };
    Ok(Invocation {
        task: Task::Compare(Box::new(question)),
        recording: Recording::none(),
        destination: arguments.output.into(),
    })
}

/// Settles what a study means.
fn of_study(path: &Path, arguments: RunsArguments) -> Result<(ComparedRuns, Vec<TableSpecification>), Failure> {
    let (study, configurations) = read_study(path)?;
    let mut compared = compared(arguments.sides, reading(arguments.manifests), configurations);
    compared.runs.transition = transition(study.transition.as_deref())?;
    compared.options.kinds_differ = true;
    Ok((compared, study.tables))
}

impl RunsArguments {
    /// The sides, however they were given.
    pub fn all_sides(&self) -> Result<SidesArguments, Failure> {
        let mut sides = self.sides.clone();
        match self.pair.as_slice() {
            [] => {}
            [old, new] => {
                sides.baseline = vec![old.clone()];
                sides.candidate = vec![new.clone()];
            }
            [old, ..] => {
                let message = format!("{}: give a second recording to compare it with", old.display());
                return Err(Failure::WrongUsage(message));
            }
        }
        Ok(sides)
    }
}

/// Settles which runs are meant; there may be no candidate where only the baseline is kept.
pub fn runs(arguments: SidesArguments, reading: Options, baseline_alone: bool) -> Result<ComparedRuns, Failure> {
    let named =
        |name: &str, paths: Vec<PathBuf>| ConfigurationSource { name: name.to_owned(), factors: Vec::new(), paths };
    for (name, paths) in [("--baseline", &arguments.baseline), ("--candidate", &arguments.candidate)] {
        if paths.is_empty() && !(baseline_alone && name == "--candidate") {
            let message = format!("name two recordings or folders, old and new, or give recordings with {name}");
            return Err(Failure::NothingToAnswer(message));
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

/// How recordings are read with these schemas.
pub fn reading(manifests: Vec<PathBuf>) -> Options {
    Options { manifests, ..Options::default() }
}

fn compared(arguments: SidesArguments, reading: Options, configurations: Vec<ConfigurationSource>) -> ComparedRuns {
    ComparedRuns {
        runs: RunsQuestion { configurations, transition: TransitionChoice::default(), reading },
        options: CompareOptions {
            include: arguments.include.into_iter().map(Into::into).collect(),
            least_runs: usize::from(arguments.least_runs),
            kinds_differ: false,
        },
    }
}

/// `boot`, `shutdown`, `suspend`, `netboot`, `firmware`, or one of which a recording can hold several with its number.
pub fn transition(text: Option<&str>) -> Result<TransitionChoice, Failure> {
    let Some(text) = text else {
        return Ok(TransitionChoice { name: None, number: None });
    };
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, number.parse().ok().filter(|&number| number > 0)),
        None => (text, None),
    };
    let wrong = || {
        Failure::NothingToAnswer(format!(
            "--transition: '{text}' is none of boot, shutdown, suspend, netboot, firmware, suspend:N, netboot:N with N from 1"
        ))
    };
    let name = RunSubject::of(name).ok_or_else(wrong)?;
    let several = matches!(name, RunSubject::Suspend | RunSubject::Netboot);
    if text.contains(':') && (number.is_none() || !several) {
        return Err(wrong());
    }
    Ok(TransitionChoice { name: Some(name), number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_are_names_with_numbers_where_a_recording_can_hold_several() {
        let choice = |text| transition(Some(text)).ok().map(|it| (it.name, it.number));
        assert_eq!(choice("boot"), Some((Some(RunSubject::Boot), None)));
        assert_eq!(choice("netboot:3"), Some((Some(RunSubject::Netboot), Some(3))));
        assert_eq!(choice("suspend:2"), Some((Some(RunSubject::Suspend), Some(2))));
        for wrong in ["", "sleep", "boot:1", "suspend:", "suspend:0", "suspend:x", ":2", "firmware:1"] {
            assert_eq!(choice(wrong), None, "{wrong}");
        }
    }
}
