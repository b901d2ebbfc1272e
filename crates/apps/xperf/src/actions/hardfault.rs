//! `-a hardfault`: hard faults (pages read from disk).

use crate::layouts::hardfault::{self, HardFaultOptions};
use onoff_usage::storage::hard_faults;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "hardfault",
    aliases: &["hardfaults"],
    summary: "hard faults by process and file (text, bytes and µs)",
    help: "\
  -file                   group by file, then by waiting process
  -bytes                  sort by bytes instead of by number of faults
  -range T1 T2            only faults that ended in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut options = HardFaultOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "file" => options.by_file = true,
            "bytes" => options.by_bytes = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(hard_faults::TABLES, move |trace, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.hard_faults.is_empty();
        hardfault::write(trace, &scope, &options, out)?;
        no_data_if(is_empty, "no hard faults recorded; this needs the kernel flag HARD_FAULTS")
    }))
}
