//! What the arguments of `onoff gate` mean.

use std::path::PathBuf;

use onoff_analysis::compare::gate::Limit;
use onoff_report::text::gate::GateTextOptions;

use super::compare::{ComparedRuns, reading, runs};
use super::{Invocation, Recording, Task};
use crate::arguments::gate::{GateArguments, GateFormat};
use crate::failure::Failure;

/// What to hold to which limits.
#[derive(Debug)]
pub struct GateQuestion {
    /// The runs; with no candidate, only the baseline is kept.
    pub compared: ComparedRuns,
    /// The limits.
    pub limits: Vec<Limit>,
    /// Where to keep the baseline.
    pub save_baseline: Option<PathBuf>,
    /// How to show the verdict.
    pub format: GateFormat,
    /// How much of it in text.
    pub text: GateTextOptions,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: GateArguments) -> Result<Invocation, Failure> {
    let sides = arguments.runs.all_sides()?;
    let saves_only = arguments.save_baseline.is_some() && sides.candidate.is_empty();
    if arguments.limits.is_empty() && !saves_only {
        let message = "give at least one --limit, as in --limit 'boot.total 5% and 500ms'";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    let limits = arguments
        .limits
        .iter()
        .map(|text| Limit::parse(text))
        .collect::<Result<Vec<Limit>, _>>()
        .map_err(|refusal| Failure::NothingToAnswer(format!("--limit: {refusal}")))?;
    let question = GateQuestion {
        compared: runs(sides, reading(arguments.runs.manifests), saves_only)?,
        limits,
        save_baseline: arguments.save_baseline,
        format: arguments.format,
        text: GateTextOptions { top: arguments.top },
    };
    Ok(Invocation {
        task: Task::Gate(Box::new(question)),
        recording: Recording::none(),
        destination: arguments.output.into(),
    })
}
