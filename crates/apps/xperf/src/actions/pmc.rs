//! `-a pmc`: hardware counters.

use std::io::{self, Write};

use crate::event_analyses::hardware_counters::{HardwareCounterListener, SWITCH};
use crate::layouts::dumper::Dumper;
use crate::layouts::hardware_counters;
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::DescribedEvent;

use crate::action::{Action, Listener, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "pmc",
    summary: "hardware counters: overflow interrupts, or counts by process or thread (text, µs)",
    help: "  -process        counts by process, from the counter values in context switches
  -thread         counts by thread
  -range T1 T2    only this range
Without -process or -thread: the counter overflow interrupts, as rows of the dump.",
    ..Action::with_parser(parse)
};

const INTERRUPT: &str = "PmcInterrupt";

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut range, mut reports) = (None, Vec::new());
    while let Some(option) = words.option()? {
        match option.as_str() {
            "process" => reports.push(false),
            "thread" => reports.push(true),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if reports.is_empty() {
        let filter = EventFilter { events: vec![Pattern::new(INTERRUPT)], ..EventFilter::default() };
        return Ok(Query::events(filter, range, Interrupts { dumper: Dumper::new(), header_written: false }));
    }
    let collector = HardwareCounterListener::default();
    Ok(Query::collect_events(&[SWITCH], range, collector, HardwareCounterListener::take, move |collector, out| {
        let counters = collector.finish();
        for threads in reports {
            hardware_counters::write(&counters, threads, out)?;
        }
        no_data_if(
            counters.threads.is_empty(),
            "no context switches with counter values recorded; this needs CSWITCH events with counters (xperf -on CSWITCH -Pmc COUNTERS CSWITCH)",
        )
    }))
}

struct Interrupts {
    dumper: Dumper,
    header_written: bool,
}

impl Interrupts {
    fn write_header(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match std::mem::replace(&mut self.header_written, true) {
            true => Ok(()),
            false => self.dumper.begin_with(&[INTERRUPT], out),
        }
    }
}

impl Listener for Interrupts {
    fn streams_output(&self) -> bool {
        true
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        if event.name != INTERRUPT {
            return Ok(());
        }
        self.write_header(out)?;
        self.dumper.event(event, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let is_empty = !self.header_written;
        self.write_header(out)?;
        no_data_if(
            is_empty,
            "no counter overflows recorded; this needs the kernel's PMC_PROFILE events (xperf -PmcProfile COUNTERS)",
        )
    }
}
