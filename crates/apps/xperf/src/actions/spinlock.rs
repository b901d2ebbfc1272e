//! `-a spinlock`: spin locks and the time spent waiting for them.

use crate::event_analyses::spin_locks::{EVENTS, SpinLockListener};
use crate::layouts::spin_locks;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "spinlock",
    summary: "spin locks and the time spent waiting for them (text, cycles)",
    help: "  -summary       totals by module [default]
  -counts [N]    the N locks and callers with the longest waits [default: all]",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut summary, mut counts) = (false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => summary = true,
            "counts" => counts = Some(words.optional_number().unwrap_or(usize::MAX)),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let collector = SpinLockListener::default();
    Ok(Query::collect_events(&EVENTS, None, collector, SpinLockListener::take, move |collector, out| {
        let lock_use = collector.finish();
        let is_empty = lock_use.locks.is_empty();
        if summary || counts.is_none() {
            spin_locks::write_summary(&lock_use, out)?;
        }
        if let Some(max_rows) = counts {
            spin_locks::write_counts(&lock_use, max_rows, out)?;
        }
        no_data_if(is_empty, "no spin locks recorded; this needs the kernel's spin-lock events (xperf -on SPINLOCK)")
    }))
}
