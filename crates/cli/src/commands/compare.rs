//! `onoff compare`.

use onoff_analysis::compare::compare;
use onoff_analysis::compare::table::TableSpecification;
use onoff_report::{csv, json, markdown, section, text};

use onoff_view::picture;

use super::runs;
use crate::arguments::compare::CompareFormat;
use crate::failure::Failure;
use crate::invocation::compare::CompareQuestion;
use crate::output::Destination;

pub fn run(question: CompareQuestion, destination: &Destination) -> Result<(), Failure> {
    let runs::ReadRuns { configurations, provenances: recordings, .. } =
        runs::read(&question.runs, question.format == CompareFormat::Json)?;
    let mut comparison = compare(&configurations, &question.runs.options)
        .map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    let mut tables = question.tables;
    if tables.is_empty() && question.format == CompareFormat::Markdown {
        tables.push(TableSpecification::of_all(&comparison));
    }
    comparison.tables = tables
        .iter()
        .map(|table| table.build(&comparison))
        .collect::<Result<_, _>>()
        .map_err(|refusal| Failure::NothingToAnswer(refusal.to_string()))?;
    destination.write(|out| {
        match question.format {
            CompareFormat::Text => text::compare::write(&comparison, &question.text, out)?,
            CompareFormat::Json => json::document::write(&recordings, &comparison, out)?,
            CompareFormat::Csv => section::csv::write(&[csv::compare::measures(&comparison)], out)?,
            CompareFormat::Markdown => markdown::write(&comparison.tables, out)?,
            CompareFormat::Svg => {
                picture::comparison(&onoff_view::compare::comparison(&configurations, &comparison), out)?
            }
        }
        Ok(())
    })
}
