//! `-a eventmetadata`: the description of each recorded event type.

use crate::layouts::trace_stats;
use onoff_trace::{TableName, TableSet};

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "eventmetadata",
    summary: "names, ids and fields of each recorded event type (text)",
    help: "",
    accepts_losses: true,
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    if let Some(option) = words.option()? {
        return Err(words.unknown(ACTION.name, &option));
    }
    Ok(Query::tables(TableSet::from_names(&[TableName::Inventory]), |trace, out| {
        if let Some(inventory) = &trace.inventory {
            trace_stats::write_metadata(inventory, out)?;
        }
        Ok(())
    }))
}
