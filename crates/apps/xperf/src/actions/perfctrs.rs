//! `-a perfctrs`: what processes had used of memory and handles.

use crate::collected::process_counters::{EVENTS, ProcessCounterListener};
use crate::layouts::provider_reports;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "perfctrs",
    summary: "what each process had used of memory and handles at its end (text, KB)",
    help: "  -range T1 T2   only processes that ended in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let range = words.range_alone(ACTION.name)?;
    let taker = ProcessCounterListener::default();
    Ok(Question::collected(&EVENTS, range, taker, ProcessCounterListener::take, |taker, out| {
        let rows = taker.finish();
        let nothing = rows.is_empty();
        provider_reports::write_counters(&rows, out)?;
        no_data_if(
            nothing,
            "no counters of a process; this needs the kernel's process counters (xperf -on PROC_THREAD+PERF_COUNTER)",
        )
    }))
}
