//! `-a diskidlehistogram`: how long at a time each disk had nothing to do.

use crate::layouts::diskidlehistogram::{self, DiskIdleOptions};
use onoff_usage::storage::disk;

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "diskidlehistogram",
    summary: "how long at a time each disk had nothing to do (text, µs)",
    help: "\
  -buckets T…             upper ends of the buckets, ascending [default: 1 ms to 300 s]
  -spindown T             how often and how long a disk would stand that stops after T
  -ignore NAME…           leave out requests to files whose path contains a name
  -range T1 T2            only this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let mut options = DiskIdleOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "buckets" => {
                let ends = words.spans(&option)?;
                if !ends.is_sorted_by(|a, b| a < b) {
                    return Err(usage("-buckets: each end must be longer than the one before"));
                }
                options.buckets_ns = ends;
            }
            "spindown" => options.spindown_ns = Some(words.span(&option)?),
            "ignore" => options.ignored = words.list(&option, "a part of a path")?,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Question::tables(disk::TABLES, move |trace, out| {
        let scope = scope_of(trace, range)?;
        let nothing = trace.disk_ios.is_empty();
        diskidlehistogram::write(trace, &scope, &options, out)?;
        no_data_if(nothing, "no disk request was recorded; this needs the kernel flags DISK_IO and DISK_IO_INIT")
    }))
}
