//! `-a bootprefetch`: the boot's read-ahead (ReadyBoot).

use crate::boot_prefetch;
use crate::event_analyses::ready_boot::{EVENTS, ReadyBoot};
use crate::layouts::boot_prefetch as layout;
use onoff_report::text;
use onoff_transitions::boot::{self, BootOptions};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "bootprefetch",
    aliases: &["readyboot"],
    summary: "boot read-ahead (ReadyBoot), by phase and disk (text, s)",
    help: "  -summary       prefetched reads, other reads and writes per phase [default]
  -disktime      time of each disk during the boot, by kind of work
  -events        the requests that ReadyBoot saw, and its own totals
  -range T1 T2   with -events: only requests in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut summary, mut disk_time, mut events, mut range) = (false, false, false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => summary = true,
            "disktime" => disk_time = true,
            "events" => events = true,
            "range" => range = Some(words.range(&option)?),
            "pattern" | "type" => {
                return Err(usage(format!(
                    "-a bootprefetch -{option} is not supported: the flags that mark hits and misses are undocumented"
                )));
            }
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if events {
        if summary || disk_time {
            return Err(usage(
                "-a bootprefetch: -events cannot be combined with -summary or -disktime; use a separate -a bootprefetch",
            ));
        }
        return Ok(Query::collect_events(&EVENTS, range, ReadyBoot::default(), ReadyBoot::take, |events, out| {
            if events.requests.is_empty() && events.sums.is_none() {
                return Err(usage(
                    "no ReadyBoot requests recorded; this needs Microsoft-Windows-ReadyBoostDriver (keyword 0x20) and \
                     Microsoft-Windows-ReadyBoost",
                ));
            }
            Ok(layout::write_events(&events, out)?)
        }));
    }
    if range.is_some() {
        return Err(usage("-a bootprefetch: -range requires -events"));
    }
    Ok(Query::tables(boot::TABLES, move |trace, out| {
        let boot = boot::analyze(trace, &BootOptions::default())
            .map_err(|error| Failure::Unanswerable(text::boot::no_boot(&error)))?;
        if trace.disk_ios.is_empty() {
            return Err(usage(super::NO_DISK_REQUESTS));
        }
        let prefetch = boot_prefetch::analyze(trace, &boot);
        if summary || !disk_time {
            layout::write_summary(&prefetch, out)?;
        }
        if disk_time {
            layout::write_disk_time(&prefetch, out)?;
        }
        Ok(())
    }))
}
