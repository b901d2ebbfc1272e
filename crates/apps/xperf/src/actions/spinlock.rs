//! `-a spinlock`: spin locks, and what waiting for them cost.

use crate::collected::spin_locks::{EVENTS, SpinLockListener};
use crate::layouts::spin_locks;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "spinlock",
    summary: "spin locks, and what waiting for them cost (text, cycles)",
    help: "  -summary       sums by module [default]
  -counts [N]    the N locks and callers that waited most [default: all]",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let (mut summary, mut counts) = (false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => summary = true,
            "counts" => counts = Some(words.optional_number().unwrap_or(usize::MAX)),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let taker = SpinLockListener::default();
    Ok(Question::collected(&EVENTS, None, taker, SpinLockListener::take, move |taker, out| {
        let answer = taker.finish();
        let nothing = answer.locks.is_empty();
        if summary || counts.is_none() {
            spin_locks::write_summary(&answer, out)?;
        }
        if let Some(most) = counts {
            spin_locks::write_counts(&answer, most, out)?;
        }
        no_data_if(nothing, "no spin lock; this needs the kernel's spin-lock events (xperf -on SPINLOCK)")
    }))
}
