//! `-a winlogon`: what the logon process did.

use crate::collected::work::WorkListener;
use crate::layouts::provider_reports;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "winlogon",
    summary: "what the logon process did, and how long it took (text, µs)",
    help: "  -range T1 T2   only events in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    work_of(
        words,
        ACTION.name,
        &["microsoft-windows-winlogon"],
        &["Microsoft-Windows-Winlogon/*"],
        "no event of the logon process; this needs Microsoft-Windows-Winlogon",
    )
}

/// A question about the work that some providers report; `nothing` says what is missing when they report none.
pub(super) fn work_of(
    words: &mut Words,
    action: &str,
    providers: &'static [&'static str],
    names: &[&str],
    nothing: &'static str,
) -> Result<Question, Failure> {
    let range = words.range_alone(action)?;
    let taker = WorkListener::new(providers);
    Ok(Question::collected(names, range, taker, WorkListener::take, move |taker, out| {
        let (rows, _) = taker.finish();
        provider_reports::write_work(&rows, out)?;
        no_data_if(rows.is_empty(), nothing)
    }))
}
