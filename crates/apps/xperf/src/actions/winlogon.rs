//! `-a winlogon`: work of the logon process.

use crate::event_analyses::work::WorkListener;
use crate::layouts::provider_reports;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "winlogon",
    summary: "work of the logon process, with durations (text, µs)",
    help: "  -range T1 T2   only events in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    provider_work(
        words,
        ACTION.name,
        &["microsoft-windows-winlogon"],
        &["Microsoft-Windows-Winlogon/*"],
        "no events of the logon process recorded; this needs Microsoft-Windows-Winlogon",
    )
}

/// Creates a query for the work that providers report. `no_data` is the message if they reported no work.
pub(super) fn provider_work(
    words: &mut Words,
    action: &str,
    providers: &'static [&'static str],
    names: &[&str],
    no_data: &'static str,
) -> Result<Query, Failure> {
    let range = words.range_only(action)?;
    let collector = WorkListener::new(providers);
    Ok(Query::collect_events(names, range, collector, WorkListener::take, move |collector, out| {
        let report = collector.finish();
        provider_reports::write_work(&report, out)?;
        no_data_if(report.rows.is_empty(), no_data)
    }))
}
