//! `-a heap`: heap allocations of processes.

use crate::event_analyses::heap::{EVENTS, HeapListener};
use crate::layouts::memory;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "heap",
    summary: "heap allocations of processes, by heap, total and not freed (text, KB)",
    help: "  -range T1 T2   only allocations in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    Ok(Query::collect_events(&EVENTS, range, HeapListener::default(), HeapListener::take, |collector, out| {
        let heap_use = collector.finish();
        let is_empty = heap_use.heaps.is_empty() && heap_use.unreadable == 0;
        memory::write_heaps(&heap_use, out)?;
        no_data_if(is_empty, "no heap allocations recorded; this needs heap events (xperf -start HeapSession -heap)")
    }))
}
