//! `-a winsat`: work of the system assessment tool.

use super::winlogon::provider_work;
use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "winsat",
    summary: "work of the system assessment tool, with durations (text, µs)",
    help: "  -range T1 T2   only events in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    provider_work(
        words,
        ACTION.name,
        &["winsat"],
        &["*WinSAT*"],
        "no events of the system assessment tool recorded; this needs a provider of WinSAT",
    )
}
