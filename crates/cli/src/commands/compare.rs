//! `onoff compare`.

use onoff::{BadRecording, ReadRuns};
use onoff_analysis::compare::table::TableSpecification;
use onoff_analysis::compare::{SetApart, SetApartReason, compare};
use onoff_report::{csv, json, markdown, section, text};

use onoff_view::picture;

use super::runs;
use crate::arguments::compare::CompareFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::compare::{CompareQuestion, HistoryFormat};
use crate::output::Destination;

pub fn run(question: CompareQuestion, destination: &Destination) -> Result<(), Failure> {
    let ReadRuns { configurations, provenances: recordings, .. } =
        runs(&question.compared.runs, question.format == CompareFormat::Json, BadRecording::SetApart)?;
    let mut comparison = compare(&configurations, &question.compared.options)
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
            CompareFormat::Text => {
                text::compare::write(&comparison, &question.text, out)?;
                if question.each_run {
                    text::compare::write_runs(&configurations, &comparison, out)?;
                }
            }
            CompareFormat::Json => json::document::write(&recordings, &comparison, out)?,
            CompareFormat::Csv if question.each_run => {
                section::csv::write(&[csv::compare::runs(&configurations, &comparison)], out)?
            }
            CompareFormat::Csv => section::csv::write(&[csv::compare::measures(&comparison)], out)?,
            CompareFormat::Markdown => markdown::write(&comparison.tables, out)?,
            CompareFormat::Svg => {
                picture::comparison(&onoff_view::compare::comparison(&configurations, &comparison), out)?
            }
        }
        Ok(())
    })?;
    let is_unread = |apart: &SetApart| apart.reason == SetApartReason::Unreadable;
    let runs = comparison.configurations.iter().flat_map(|configuration| &configuration.runs);
    match runs.flat_map(|run| &run.set_apart).any(is_unread) {
        true => Err(Failure::Told(1)),
        false => Ok(()),
    }
}

/// What changed among the last boots of a journal.
pub fn history(
    recording: Recording,
    last: usize,
    format: HistoryFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, history) = super::ask(recording, |session| session.boot_history(last))?;
    let history = history?;
    if history.boots.is_empty() {
        let message = "the recording holds no journal, so no boots to compare";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    destination.write(|out| {
        match format {
            HistoryFormat::Text(options) => text::linux::boot::history::write(&history, &options, out)?,
            HistoryFormat::Json => json::document::write(&[session.provenance()?], &history, out)?,
            HistoryFormat::Csv => {
                section::csv::write(&[text::linux::boot::history::boots(&history, history.boots.len())], out)?
            }
        }
        Ok(())
    })
}
