//! `onoff diagnose` as meant.

use std::path::PathBuf;

use onoff_analysis::idle::IdleMetric;
use onoff_analysis::transition::boot::BootOptions;
use onoff_findings::Rule;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_report::text::diagnose::DiagnosisTextOptions;
use onoff_report::text::time_point::TimePoint;

use super::{Invocation, Recording, Task};
use crate::arguments::diagnose::DiagnoseArguments;
use crate::arguments::{Idle, PlainFormat};
use crate::failure::Failure;

/// What is asked of the rules.
#[derive(Debug)]
pub enum DiagnosisQuestion {
    /// What they find in a recording, with the paths of the installation that it is of, and the cost, ns,
    /// from which on a finding is a failure.
    Diagnose(Box<DiagnosisOptions>, Vec<PathBuf>, Option<i64>),
    /// What rules there are.
    List,
    /// What one of them is about.
    Explain(&'static Rule),
}

/// How to answer.
#[derive(Clone, Copy, Debug)]
pub enum DiagnosisFormat {
    /// For a person.
    Text(DiagnosisTextOptions),
    /// For a program.
    Json,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: DiagnoseArguments) -> Result<Invocation, Failure> {
    let fail_on = arguments.fail_on.as_deref().map(cost).transpose()?;
    let question = match arguments.explain {
        _ if arguments.list => DiagnosisQuestion::List,
        Some(code) => match onoff_findings::find(&code) {
            Some(rule) => DiagnosisQuestion::Explain(rule),
            None => {
                return Err(Failure::NothingToAnswer(format!(
                    "--explain: there is no rule '{code}'; 'onoff diagnose --list' names all"
                )));
            }
        },
        None => {
            let mut options = DiagnosisOptions {
                boot: BootOptions {
                    idle: match arguments.idle {
                        Idle::Xperf => IdleMetric::XPERF,
                        Idle::Adk => IdleMetric::ADK,
                    },
                    shell: arguments.shell,
                    ..BootOptions::default()
                },
                ..DiagnosisOptions::default()
            };
            if let Some(milliseconds) = arguments.noise {
                options.noise_ns = i64::from(milliseconds) * 1_000_000;
            }
            DiagnosisQuestion::Diagnose(Box::new(options), arguments.image, fail_on)
        }
    };
    let format = match arguments.format {
        PlainFormat::Text => DiagnosisFormat::Text(DiagnosisTextOptions { top: arguments.top }),
        PlainFormat::Json => DiagnosisFormat::Json,
    };
    let mut recording = match question {
        DiagnosisQuestion::Diagnose(..) => Recording::from(arguments.recording),
        // The rules are known without a recording.
        _ => Recording::none(),
    };
    recording.options.drivers = arguments.drivers;
    Ok(Invocation { task: Task::Diagnose(question, format), recording, destination: arguments.output.into() })
}

/// A cost, ns: a length of time with its unit.
fn cost(text: &str) -> Result<i64, Failure> {
    let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    match TimePoint::parse(text) {
        Some(TimePoint::SinceStart(ns)) if has_unit => Ok(ns),
        _ => Err(Failure::WrongUsage(format!("--fail-on: '{text}' is no cost; write 500ms or 2s"))),
    }
}
