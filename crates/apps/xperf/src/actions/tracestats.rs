//! `-a tracestats`: number of events and bytes by provider, and losses.

use crate::layouts::trace_stats::{self, TraceStatsOptions};
use onoff_trace::{TableName, TableSet};
use onoff_usage::call_stacks;

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "tracestats",
    summary: "start, end, size and losses of the recording, by provider and event (text)",
    help:
        "  -detail [stack]  events and bytes by provider and event type; with 'stack', also the number of call stacks of
                   samples, context switches and ready-thread events
  -timespan [actual]
                   ignored: start and end are always shown as recorded
  -timezone utc    times in UTC instead of the recorded computer's local time",
    accepts_losses: true,
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut options = TraceStatsOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "detail" => {
                options.detail = true;
                options.stacks = words.skip_text("stack");
            }
            // Start and end are always shown.
            "timespan" => {
                words.skip_text("actual");
            }
            "timezone" => match words.text(&option, "utc or local")?.to_ascii_lowercase().as_str() {
                "utc" => options.utc = true,
                "local" => options.utc = false,
                zone => {
                    return Err(usage(format!("-timezone: '{zone}' is not utc or local")));
                }
            },
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let tables = match options.detail {
        true if options.stacks => TableSet::from_names(&[TableName::Inventory]).union(call_stacks::tables(true)),
        true => TableSet::from_names(&[TableName::Inventory]),
        false => TableSet::NONE,
    };
    Ok(Query::tables(tables, move |trace, out| Ok(trace_stats::write(trace, options, out)?)))
}
