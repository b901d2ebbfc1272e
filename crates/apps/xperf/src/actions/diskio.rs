//! `-a diskio`: disk utilization and disk requests.

use crate::layouts::diskio::{self, DiskIoOptions};
use onoff_usage::storage::disk;

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "diskio",
    summary: "disk utilization, totals by file, and all requests (text, µs and bytes)",
    help: "\
  -util [N]               busy share of each disk per N seconds [default: 1]
  -summary                totals by file
  -counts                 number of requests by process and disk
  -detail                 all requests, with the queue depth
  -overlap                time by number of outstanding requests
  -range T1 T2            only requests that completed in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut options = DiskIoOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "util" => {
                let seconds: Option<u32> = words.optional_number();
                if seconds == Some(0) {
                    return Err(usage("-util: the interval must be at least 1 s"));
                }
                options.utilization_ns = Some(
                    seconds.map_or(DiskIoOptions::DEFAULT_INTERVAL_NS, |seconds| i64::from(seconds) * 1_000_000_000),
                );
            }
            "summary" => options.summary = true,
            "counts" => options.counts = true,
            "detail" => options.detail = true,
            "overlap" => options.overlap = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(disk::TABLES, move |trace, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.disk_ios.is_empty();
        diskio::write(trace, &scope, &options, out)?;
        no_data_if(is_empty, "no disk requests recorded; this needs the kernel flags DISK_IO and DISK_IO_INIT")
    }))
}
