//! `-a tracestats`: how much was recorded, by whom, and what was lost.

use crate::layouts::trace_stats::{self, TraceStatsOptions};
use onoff_trace::{TableName, Tables};
use onoff_usage::call_stacks;

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "tracestats",
    summary: "when and how much was recorded, and what was lost; by provider and event (text)",
    help:
        "  -detail [stack]  events and bytes of each provider and each kind of event; with 'stack', how many call stacks
                   samples, context switches and threads made ready have
  -timespan [actual]
                   accepted: start and end are always shown, as recorded
  -timezone utc    times in UTC instead of the recorded machine's local time",
    bears_losses: true,
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut options = TraceStatsOptions::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "detail" => {
                options.detail = true;
                options.stacks = words.skip_text("stack");
            }
            // Start and end are always there.
            "timespan" => {
                words.skip_text("actual");
            }
            "timezone" => match words.text(&option, "utc or local")?.to_ascii_lowercase().as_str() {
                "utc" => options.utc = true,
                "local" => options.utc = false,
                other => {
                    return Err(usage(format!("-timezone: '{other}' is neither utc nor local")));
                }
            },
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let tables = match options.detail {
        true if options.stacks => Tables::of(&[TableName::Inventory]).union(call_stacks::tables(true)),
        true => Tables::of(&[TableName::Inventory]),
        false => Tables::NONE,
    };
    Ok(Question::tables(tables, move |trace, out| Ok(trace_stats::write(trace, options, out)?)))
}
