//! `onoff gate`.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use onoff::{BadRecording, ReadRuns, write_baseline};
use onoff_compare::gate::{GateVerdict, Limit, cannot_judge, judge};
use onoff_compare::{Run, compare};
use onoff_report::github;
use onoff_report::junit;
use onoff_report::markdown;
use onoff_report::sarif;
use onoff_report::text;
use onoff_report::text::quantity::counted;
use onoff_sections::json;
use onoff_sink::OutputFile;

use super::compare::{ComparedRuns, reading, runs};
use crate::arguments::gate::{GateArguments, GateFormat};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;

/// Exit codes.
const REGRESSION: u8 = 1;
const NO_VERDICT: u8 = 2;

struct Question {
    /// Without a candidate, only the baseline is saved.
    compared: ComparedRuns,
    limits: Vec<Limit>,
    save_baseline: Option<PathBuf>,
    format: GateFormat,
    top: usize,
}

pub fn resolve(arguments: GateArguments) -> Result<Invocation, Failure> {
    let sides = arguments.runs.all_sides()?;
    let saves_only = arguments.save_baseline.is_some() && sides.candidate.is_empty();
    if arguments.limits.is_empty() && !saves_only {
        return Err(Failure::no_data("pass at least one --limit, such as --limit 'boot.total 5% and 500ms'"));
    }
    let limits = arguments
        .limits
        .iter()
        .map(|text| Limit::parse(text))
        .collect::<Result<Vec<Limit>, _>>()
        .map_err(|refusal| Failure::no_data(format!("--limit: {refusal}")))?;
    let question = Question {
        compared: runs(sides, reading(arguments.runs.manifests), saves_only)?,
        limits,
        save_baseline: arguments.save_baseline.clone(),
        format: arguments.format,
        top: arguments.top,
    };
    let paths = question.compared.paths();
    let invocation = Invocation::without_recording(arguments.output, move |destination| run(&question, destination));
    let invocation = invocation.text_if(arguments.format == GateFormat::Text).reading(paths);
    Ok(invocation.writing(arguments.save_baseline))
}

fn run(question: &Question, destination: &Destination) -> Result<(), Failure> {
    // Exit code 1 means a regression here; an unreadable recording is not one.
    answer(question, destination).map_err(|failure| match failure {
        Failure::Unreadable(message) => Failure::NoData(message),
        failure => failure,
    })
}

fn answer(question: &Question, destination: &Destination) -> Result<(), Failure> {
    let ReadRuns { configurations, provenances: recordings, .. } =
        super::runs(&question.compared.runs, question.format == GateFormat::Json, BadRecording::Fail)?;
    if let Some(path) = &question.save_baseline {
        let runs = configurations.first().map_or(&[][..], |it| &it.runs);
        save(path, runs)?;
        if configurations.len() == 1 {
            return destination.write(|out| {
                let count = counted(runs.len() as u64, "run");
                Ok(writeln!(out, "{}: {count} saved", path.display())?)
            });
        }
    }
    let options = &question.compared.options;
    let report = match compare(&configurations, options) {
        Ok(comparison) => judge(&comparison, &question.limits),
        Err(why) => cannot_judge(&configurations, options, &question.limits, &why),
    };
    destination.write(|out| {
        match question.format {
            GateFormat::Text => text::gate::write(&report, question.top, out)?,
            GateFormat::Json => json::document::write(&recordings, &report, out)?,
            GateFormat::Junit => junit::write(&report, out)?,
            GateFormat::Sarif => sarif::write(&report, env!("CARGO_PKG_VERSION"), out)?,
            GateFormat::Github => github::write(&report, out)?,
            GateFormat::Markdown => markdown::write_gate(&report, out)?,
        }
        Ok(())
    })?;
    match report.verdict {
        GateVerdict::Pass => Ok(()),
        GateVerdict::Regression => Err(Failure::Reported(REGRESSION)),
        GateVerdict::NoVerdict => Err(Failure::Reported(NO_VERDICT)),
    }
}

fn save(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::Unreadable(format!("{}: cannot write the baseline: {error}", path.display()));
    let mut out = BufWriter::new(OutputFile::create(path).map_err(failed)?);
    write_baseline(runs, &mut out).map_err(failed)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.commit().map_err(failed)
}
