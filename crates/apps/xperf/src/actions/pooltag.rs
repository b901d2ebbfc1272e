//! `-a pooltag`: kernel pool allocations, by tag.

use crate::layouts::memory;

use super::pool;
use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "pooltag",
    summary: "kernel pool allocations by tag and type, total and not freed (text, KB)",
    help: "",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    if let Some(option) = words.option()? {
        return Err(words.unknown(ACTION.name, &option));
    }
    Ok(pool::query(memory::write_pool_tags))
}
