//! `-a readythread`: which thread readied which.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::layouts::dumper::Dumper;
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::DescribedEvent;

use crate::action::{Action, Listener, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "readythread",
    summary: "ready-thread events, as rows of the dump (text, µs)",
    help: "  -stacks         with the call stacks of the readying threads
  -range T1 T2    only this range",
    ..Action::with_parser(parse)
};

const READY: &str = "ReadyThread";
const STACK: &str = "Stack";

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut names = vec![READY];
    while let Some(option) = words.option()? {
        match option.as_str() {
            "stacks" => names = vec![READY, STACK],
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let filter =
        EventFilter { events: names.iter().map(|name| Pattern::new(name)).collect(), ..EventFilter::default() };
    let dumper = Dumper::new().with_whole_stacks(words.for_machines());
    let listener = ReadyThreads { dumper, names, recent: VecDeque::new(), rows: 0 };
    Ok(Query::events(filter, range, listener))
}

/// A stack follows its event within a few other events.
const MAX_RECENT: usize = 256;

struct ReadyThreads {
    dumper: Dumper,
    names: Vec<&'static str>,
    /// Times of the last ready-thread events, to recognize their stacks.
    recent: VecDeque<i64>,
    rows: u64,
}

impl Listener for ReadyThreads {
    fn streams_output(&self) -> bool {
        true
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        let wants_stacks = self.names.contains(&STACK);
        if event.name == READY {
            if self.rows == 0 {
                self.dumper.begin_with(&self.names, out)?;
            }
            self.rows += 1;
            if wants_stacks {
                self.recent.truncate(MAX_RECENT - 1);
                self.recent.push_front(event.time_ns);
            }
            return self.dumper.event(event, out);
        }
        let is_wanted_stack = wants_stacks
            && event.name == STACK
            && event.derived.stack_event_ns.is_some_and(|time_ns| self.recent.contains(&time_ns));
        if is_wanted_stack {
            self.dumper.event(event, out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.rows == 0 {
            self.dumper.begin_with(&self.names, out)?;
        }
        no_data_if(self.rows == 0, "no ready-thread events recorded; this needs the kernel's DISPATCHER events")
    }
}
