//! `-a pooltag`: pool memory of the kernel, by tag.

use crate::layouts::memory;

use super::pool;
use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "pooltag",
    summary: "pool memory of the kernel, by tag and type, and what was not given back (text, KB)",
    help: "",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    if let Some(option) = words.option()? {
        return Err(words.unknown(ACTION.name, &option));
    }
    Ok(pool::question(memory::write_pool_tags))
}
