//! `-a pagefault`: all kinds of page faults.

use std::io::{self, Write};

use crate::layouts::pagefault::{HOOKS, PageFaults};
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::DescribedEvent;

use crate::action::{Action, Listener, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "pagefault",
    aliases: &["pagefaults"],
    summary: "all kinds of page faults, by process or one by one (text, µs)",
    help: "\
  -detail                 all faults instead of totals by process
  -range T1 T2            only faults in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut detail = false;
    while let Some(option) = words.option()? {
        match option.as_str() {
            "detail" => detail = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let filter = EventFilter {
        events: HOOKS.iter().map(|hook| Pattern::new(&format!("{hook:#06x}"))).collect(),
        ..EventFilter::default()
    };
    let listener = Faults { faults: PageFaults::new(detail), detail };
    Ok(Query::events(filter, range, listener))
}

struct Faults {
    faults: PageFaults,
    detail: bool,
}

impl Listener for Faults {
    fn streams_output(&self) -> bool {
        self.detail
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.faults.event(event, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let is_empty = self.faults.faults() == 0;
        self.faults.end(out)?;
        no_data_if(is_empty, "no page faults recorded; this needs the kernel flag MEMORY or ALL_FAULTS")
    }
}
