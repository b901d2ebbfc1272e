//! `onoff diagnose`.

use std::path::PathBuf;

use onoff_evidence::recording::summarize;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::image::add_image_evidence;
use onoff_findings::{RULES, Rule, RuleList, TABLES};
use onoff_report::text;
use onoff_report::text::time_point::TimePoint;
use onoff_sections::json;
use onoff_transitions::boot::BootOptions;

use crate::arguments::PlainFormat;
use crate::arguments::diagnose::DiagnoseArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Exit code if a finding reaches the `--fail-on` cost.
const COST_LIMIT_REACHED: u8 = 3;

struct Task {
    options: DiagnosisOptions,
    /// The Windows installation of the recorded computer.
    image: Vec<PathBuf>,
    /// The minimum cost that fails the command, in ns.
    fail_on: Option<i64>,
}

pub fn resolve(arguments: DiagnoseArguments) -> Result<Invocation, Failure> {
    let fail_on = arguments.fail_on.as_deref().map(parse_cost).transpose()?;
    let (format, top) = (arguments.format, arguments.top);
    let invocation = match arguments.explain {
        _ if arguments.list => {
            Invocation::without_recording(arguments.output, move |destination| list(format, destination))
        }
        Some(code) => match onoff_findings::find(&code) {
            Some(rule) => {
                Invocation::without_recording(arguments.output, move |destination| explain(rule, format, destination))
            }
            None => {
                return Err(Failure::no_data(format!(
                    "--explain: unknown rule '{code}'; 'onoff diagnose --list' shows all rules"
                )));
            }
        },
        None => {
            let boot = BootOptions { idle: arguments.idle, shell: arguments.shell, ..BootOptions::default() };
            let mut options = DiagnosisOptions { boot, ..DiagnosisOptions::default() };
            if let Some(milliseconds) = arguments.noise {
                options.noise_ns = i64::from(milliseconds) * 1_000_000;
            }
            let task = Task { options, image: arguments.image.clone(), fail_on };
            Invocation::new(arguments.recording, arguments.output, move |recording, destination| {
                run(recording, &task, (format, top), destination)
            })
            .with_inputs(arguments.image)
        }
    };
    let mut invocation = invocation.single_recording().text_if(format == PlainFormat::Text);
    invocation.recording.options.drivers = arguments.drivers;
    invocation.recording.redact = arguments.redact;
    Ok(invocation)
}

/// Parses a cost: a duration with a unit. Returns ns.
fn parse_cost(text: &str) -> Result<i64, Failure> {
    let has_unit = text.ends_with(|character: char| character.is_ascii_alphabetic());
    match TimePoint::parse(text) {
        Some(TimePoint::SinceStart(ns)) if has_unit => Ok(ns),
        _ => Err(Failure::usage(format!("--fail-on: '{text}' is not a duration; use 500ms or 2s"))),
    }
}

fn list(format: PlainFormat, destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::diagnose::list(RULES, out)?,
            PlainFormat::Json => {
                let rules = RULES.iter().map(Rule::describe).collect();
                json::document::write(&[], &RuleList { rules }, out)?;
            }
        }
        Ok(())
    })
}

fn explain(rule: &Rule, format: PlainFormat, destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::diagnose::explain(rule, out)?,
            PlainFormat::Json => json::document::write(&[], &rule.describe(), out)?,
        }
        Ok(())
    })
}

fn run(
    recording: Recording,
    task: &Task,
    (format, top): (PlainFormat, usize),
    destination: &Destination,
) -> Result<(), Failure> {
    let paths: Vec<String> = recording.files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let (session, diagnosis) = super::query(recording, |session| session.diagnose(&task.options))?;
    let mut diagnosis = diagnosis?;
    diagnosis.insert_recording_paths(paths.iter().map(String::as_str));
    if diagnosis.transitions.is_empty() && diagnosis.findings.is_empty() {
        return Err(Failure::no_data("no boot, shutdown or sleep in this recording; 'onoff info' shows its contents"));
    }
    if !task.image.is_empty() {
        add_image_evidence(&mut diagnosis, &super::image::open(&task.image)?.report);
    }
    // Already cached by the diagnosis.
    let trace = session.tables(TABLES)?;
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::diagnose::write(&diagnosis, &summarize(&trace), top, out)?,
            PlainFormat::Json => json::document::write(&[session.provenance()?], &diagnosis, out)?,
        }
        Ok(())
    })?;
    match (diagnosis.max_measured_cost_ns(), task.fail_on) {
        (Some(highest), Some(limit)) if highest >= limit => Err(Failure::Reported(COST_LIMIT_REACHED)),
        _ => Ok(()),
    }
}
