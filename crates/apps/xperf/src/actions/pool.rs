//! `-a pool`: kernel pool allocations, by image and tag.

use crate::event_analyses::pool::{EVENTS, PoolListener, PoolUse};
use crate::layouts::memory;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "pool",
    summary: "kernel pool allocations by tag; images are always Unknown (CSV, KB)",
    help: "  -pooltags   ignored: rows are always by tag
  -images     ignored: the column is always Unknown",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    while let Some(option) = words.option()? {
        if !["pooltags", "images"].contains(&option.as_str()) {
            return Err(words.unknown(ACTION.name, &option));
        }
    }
    Ok(query(memory::write_pool))
}

/// Creates a query for pool allocations, which `write` writes.
pub(super) fn query(write: fn(&PoolUse, &mut dyn std::io::Write) -> std::io::Result<()>) -> Query {
    Query::collect_events(&EVENTS, None, PoolListener::default(), PoolListener::take, move |collector, out| {
        let pool_use = collector.finish();
        let is_empty = pool_use.tags.is_empty() && pool_use.unmatched_frees == 0;
        write(&pool_use, out)?;
        no_data_if(is_empty, "no pool allocations recorded; this needs the kernel's pool events (xperf -on POOL)")
    })
}
