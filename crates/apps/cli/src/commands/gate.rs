//! `onoff gate`.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use onoff::{BadRecording, ReadRuns, write_baseline};
use onoff_compare::gate::{GateVerdict, Limit, RunLimits, check_limits, check_runs, report_without_verdict};
use onoff_compare::{Run, compare};
use onoff_report::github;
use onoff_report::junit;
use onoff_report::markdown;
use onoff_report::sarif;
use onoff_report::text;
use onoff_report::text::quantity::counted;
use onoff_sections::json;
use onoff_sink::OutputFile;

use super::compare::{ComparedRuns, RequiredSides, reading_options, runs};
use crate::arguments::compare::ComparisonArguments;
use crate::arguments::gate::{GateArguments, GateFormat};
use crate::arguments::netboot::ExpectedOutcome;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;

// Exit codes.
const REGRESSION: u8 = 1;
const NO_VERDICT: u8 = 2;

struct Task {
    /// If there is no candidate, the baseline is saved and nothing is compared.
    compared: ComparedRuns,
    limits: Vec<Limit>,
    run_limits: RunLimits,
    save_baseline: Option<PathBuf>,
    format: GateFormat,
    top: usize,
}

pub fn resolve(arguments: GateArguments) -> Result<Invocation, Failure> {
    let has_run_limits = arguments.expect.is_some() || !arguments.maxima.is_empty();
    let needs_baseline = !arguments.limits.is_empty() || arguments.save_baseline.is_some();
    let sides = match arguments.runs.pair.as_slice() {
        [candidate] if !needs_baseline => {
            ComparisonArguments { candidate: vec![candidate.clone()], ..arguments.runs.sides.clone() }
        }
        _ => arguments.runs.all_sides()?,
    };
    let only_saves_baseline = arguments.save_baseline.is_some() && sides.candidate.is_empty();
    if arguments.limits.is_empty() && !has_run_limits && !only_saves_baseline {
        return Err(Failure::no_data(
            "pass at least one --limit, such as --limit 'boot.total 5% and 500ms', or --max or --expect",
        ));
    }
    if only_saves_baseline && has_run_limits {
        return Err(Failure::usage("--max and --expect apply to the candidate; pass --candidate"));
    }
    let required = match (only_saves_baseline, needs_baseline) {
        (true, _) => RequiredSides::Baseline,
        (false, true) => RequiredSides::Both,
        (false, false) => RequiredSides::Candidate,
    };
    let limits = arguments
        .limits
        .iter()
        .map(|text| Limit::parse(text))
        .collect::<Result<Vec<Limit>, _>>()
        .map_err(|error| Failure::no_data(format!("--limit: {error}")))?;
    let maxima = arguments.maxima.iter().map(|text| Limit::parse_maximum(text)).collect::<Result<Vec<Limit>, _>>();
    let maxima = maxima.map_err(|error| Failure::no_data(format!("--max: {error}")))?;
    let task = Task {
        compared: runs(sides, reading_options(arguments.runs.manifests), required)?,
        limits,
        run_limits: RunLimits { expected: arguments.expect.map(ExpectedOutcome::verdict), maxima },
        save_baseline: arguments.save_baseline.clone(),
        format: arguments.format,
        top: arguments.top,
    };
    let paths = task.compared.paths();
    let invocation = Invocation::without_recording(arguments.output, move |destination| run(&task, destination));
    let invocation = invocation.text_if(arguments.format == GateFormat::Text).with_inputs(paths);
    Ok(invocation.with_outputs(arguments.save_baseline))
}

fn run(task: &Task, destination: &Destination) -> Result<(), Failure> {
    // Exit code 1 is reserved for regressions, so an unreadable recording must not use it.
    answer(task, destination).map_err(|failure| match failure {
        Failure::Unreadable(message) => Failure::NoData(message),
        failure => failure,
    })
}

fn answer(task: &Task, destination: &Destination) -> Result<(), Failure> {
    let ReadRuns { configurations, provenances: recordings, .. } =
        super::read_runs(&task.compared.runs, task.format == GateFormat::Json, BadRecording::Fail)?;
    if let Some(path) = &task.save_baseline {
        let runs = configurations.first().map_or(&[][..], |baseline| &baseline.runs);
        save_baseline(path, runs)?;
        if configurations.len() == 1 {
            return destination.write(|out| {
                let count = counted(runs.len() as u64, "run");
                Ok(writeln!(out, "{}: {count} saved", path.display())?)
            });
        }
    }
    let options = &task.compared.options;
    let mut report = match compare(&configurations, options) {
        Ok(comparison) => check_limits(&comparison, &task.limits),
        Err(error) => report_without_verdict(&configurations, options, &task.limits, &error.to_string()),
    };
    check_runs(&mut report, &configurations, options, &task.run_limits);
    destination.write(|out| {
        match task.format {
            GateFormat::Text => text::gate::write(&report, task.top, out)?,
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

fn save_baseline(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    let cannot_write =
        |error: io::Error| Failure::Unreadable(format!("{}: cannot write the baseline: {error}", path.display()));
    let mut out = BufWriter::new(OutputFile::create(path).map_err(cannot_write)?);
    write_baseline(runs, &mut out).map_err(cannot_write)?;
    out.into_inner().map_err(|error| cannot_write(error.into_error()))?.commit().map_err(cannot_write)
}
