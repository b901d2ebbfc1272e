//! `-a winsat`: what the system assessment tool did.

use super::winlogon::work_of;
use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "winsat",
    summary: "what the system assessment tool did, and how long it took (text, µs)",
    help: "  -range T1 T2   only events in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    work_of(
        words,
        ACTION.name,
        &["winsat"],
        &["*WinSAT*"],
        "no event of the system assessment tool; this needs a provider of WinSAT",
    )
}
