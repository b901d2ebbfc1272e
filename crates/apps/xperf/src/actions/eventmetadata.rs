//! `-a eventmetadata`: what is known of each kind of event.

use crate::layouts::trace_stats;
use onoff_trace::{TableName, Tables};

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "eventmetadata",
    summary: "names, numbers and fields of each kind of event that was recorded (text)",
    help: "",
    bears_losses: true,
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    if let Some(option) = words.option()? {
        return Err(words.unknown(ACTION.name, &option));
    }
    Ok(Question::tables(Tables::of(&[TableName::Inventory]), |trace, out| {
        if let Some(inventory) = &trace.inventory {
            trace_stats::write_metadata(inventory, out)?;
        }
        Ok(())
    }))
}
