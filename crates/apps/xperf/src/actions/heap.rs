//! `-a heap`: heap memory of processes.

use crate::collected::heap::{EVENTS, HeapListener};
use crate::layouts::memory;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "heap",
    summary: "heap memory of processes, by heap, and what was not given back (text, KB)",
    help: "  -range T1 T2   only allocations in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let range = words.range_alone(ACTION.name)?;
    Ok(Question::collected(&EVENTS, range, HeapListener::default(), HeapListener::take, |taker, out| {
        let answer = taker.finish();
        let nothing = answer.heaps.is_empty() && answer.unreadable == 0;
        memory::write_heaps(&answer, out)?;
        no_data_if(nothing, "no heap allocation; this needs heap events (xperf -start HeapSession -heap)")
    }))
}
