//! `-a perfctrs`: memory and handle counters of processes.

use crate::event_analyses::process_counters::{EVENTS, ProcessCounterListener};
use crate::layouts::provider_reports;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "perfctrs",
    summary: "memory and handles of each process at its end (text, KB)",
    help: "  -range T1 T2   only processes that ended in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    let collector = ProcessCounterListener::default();
    Ok(Query::collect_events(&EVENTS, range, collector, ProcessCounterListener::take, |collector, out| {
        let report = collector.finish();
        let is_empty = report.rows.is_empty();
        provider_reports::write_counters(&report, out)?;
        no_data_if(
            is_empty,
            "no process counters recorded; this needs the kernel's process counters (xperf -on PROC_THREAD+PERF_COUNTER)",
        )
    }))
}
