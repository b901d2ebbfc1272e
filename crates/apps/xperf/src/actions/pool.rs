//! `-a pool`: pool memory of the kernel, by image and tag.

use crate::collected::pool::{EVENTS, PoolListener, PoolUse};
use crate::layouts::memory;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "pool",
    summary: "pool memory of the kernel, by tag; its images are not known (CSV, KB)",
    help: "  -pooltags   accepted: rows are by tag
  -images     accepted: the column is there, and says Unknown",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    while let Some(option) = words.option()? {
        if !["pooltags", "images"].contains(&option.as_str()) {
            return Err(words.unknown(ACTION.name, &option));
        }
    }
    Ok(question(memory::write_pool))
}

/// A question about pool memory, written by `write`.
pub(super) fn question(write: fn(&PoolUse, &mut dyn std::io::Write) -> std::io::Result<()>) -> Question {
    Question::collected(&EVENTS, None, PoolListener::default(), PoolListener::take, move |taker, out| {
        let answer = taker.finish();
        let nothing = answer.tags.is_empty() && answer.other_frees == 0;
        write(&answer, out)?;
        no_data_if(nothing, "no pool allocation; this needs the kernel's pool events (xperf -on POOL)")
    })
}
