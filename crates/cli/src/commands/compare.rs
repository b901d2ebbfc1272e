//! `onoff compare`.

use onoff_analysis::compare::compare;
use onoff_report::{csv, json, text};

use super::runs;
use crate::arguments::compare::CompareFormat;
use crate::failure::Failure;
use crate::invocation::compare::CompareQuestion;
use crate::output::Destination;

pub fn run(question: CompareQuestion, destination: &Destination) -> Result<(), Failure> {
    let configurations = runs::read(&question.runs)?;
    let comparison = compare(&configurations, &question.runs.options)
        .map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    destination.write(|out| {
        match question.format {
            CompareFormat::Text => text::compare::write(&comparison, &question.text, out)?,
            CompareFormat::Json => json::document::write(&comparison, out)?,
            CompareFormat::Csv => csv::compare::write(&comparison, out)?,
        }
        Ok(())
    })
}
