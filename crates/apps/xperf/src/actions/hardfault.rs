//! `-a hardfault`: pages that had to be read.

use crate::layouts::hardfault::{self, HardFaultOptions};
use onoff_usage::storage::hard_faults;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "hardfault",
    aliases: &["hardfaults"],
    summary: "pages that had to be read, by process and file (text, bytes and µs)",
    help: "\
  -file                   files first, and under each the processes that waited
  -bytes                  most bytes first instead of most faults
  -range T1 T2            only faults that ended in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
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
    Ok(Question::tables(hard_faults::TABLES, move |trace, out| {
        let scope = scope_of(trace, range)?;
        let nothing = trace.hard_faults.is_empty();
        hardfault::write(trace, &scope, &options, out)?;
        no_data_if(nothing, "no hard fault was recorded; this needs the kernel flag HARD_FAULTS")
    }))
}
