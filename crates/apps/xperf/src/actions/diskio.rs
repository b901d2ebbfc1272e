//! `-a diskio`: how busy the disks were, and every request to them.

use crate::layouts::diskio::{self, DiskIoOptions};
use onoff_usage::storage::disk;

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "diskio",
    summary: "requests to disks: utilization, sums by file, one by one (text, µs and bytes)",
    help: "\
  -util [N]               how busy each disk was, in intervals of N s [default: 1 s]
  -summary                sums by file
  -counts                 numbers of requests by process and disk
  -detail                 every request, with the queue it met
  -overlap                for how long how many requests were outstanding
  -range T1 T2            only requests that completed in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let mut options = DiskIoOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "util" => {
                let seconds: Option<u32> = words.optional_number();
                if seconds == Some(0) {
                    return Err(usage("-util: an interval is at least 1 s"));
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
    Ok(Question::tables(disk::TABLES, move |trace, out| {
        let scope = scope_of(trace, range)?;
        let nothing = trace.disk_ios.is_empty();
        diskio::write(trace, &scope, &options, out)?;
        no_data_if(nothing, "no disk request was recorded; this needs the kernel flags DISK_IO and DISK_IO_INIT")
    }))
}
