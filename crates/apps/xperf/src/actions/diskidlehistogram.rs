//! `-a diskidlehistogram`: lengths of the idle periods of each disk.

use crate::layouts::diskidlehistogram::{self, DiskIdleOptions};
use onoff_usage::storage::disk;

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "diskidlehistogram",
    summary: "histogram of idle periods by disk (text, µs)",
    help: "\
  -buckets T…             upper bounds of the buckets, ascending [default: 1 ms to 300 s]
  -spindown T             how often and how long the disk would be spun down after T of idle time
  -ignore NAME…           ignore requests to files whose path contains a name
  -range T1 T2            only this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut options = DiskIdleOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "buckets" => {
                let bounds = words.durations(&option)?;
                if !bounds.is_sorted_by(|a, b| a < b) {
                    return Err(usage("-buckets: the bounds must be ascending"));
                }
                options.buckets_ns = bounds;
            }
            "spindown" => options.spindown_ns = Some(words.duration(&option)?),
            "ignore" => options.ignored_paths = words.list(&option, "a part of a path")?,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(disk::TABLES, move |trace, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.disk_ios.is_empty();
        diskidlehistogram::write(trace, &scope, &options, out)?;
        no_data_if(is_empty, "no disk requests recorded; this needs the kernel flags DISK_IO and DISK_IO_INIT")
    }))
}
