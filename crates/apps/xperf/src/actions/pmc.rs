//! `-a pmc`: hardware counters.

use std::io::{self, Write};

use crate::collected::hardware_counters::{HardwareCounterListener, SWITCH};
use crate::layouts::dumper::Dumper;
use crate::layouts::hardware_counters;
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::DescribedEvent;

use crate::action::{Action, Listener, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "pmc",
    summary: "hardware counters: where they reached their limit, or what they counted of whom (text, µs)",
    help: "  -process        what each counted while a process ran, from the values that context switches have
  -thread         the same by thread
  -range T1 T2    only this time
Without -process and -thread: rows of the dump, of interrupts by counters that reached their limit.",
    ..Action::of(parse)
};

const INTERRUPT: &str = "PmcInterrupt";

fn parse(words: &mut Words) -> Result<Question, Failure> {
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
        return Ok(Question::events(filter, range, Interrupts { dumper: Dumper::new(), begun: false }));
    }
    let taker = HardwareCounterListener::default();
    Ok(Question::collected(&[SWITCH], range, taker, HardwareCounterListener::take, move |taker, out| {
        let answer = taker.finish();
        for threads in reports {
            hardware_counters::write(&answer, threads, out)?;
        }
        no_data_if(
            answer.threads.is_empty(),
            "no context switch has values of counters; this needs CSWITCH events and counters of them (xperf -on CSWITCH -Pmc COUNTERS CSWITCH)",
        )
    }))
}

struct Interrupts {
    dumper: Dumper,
    begun: bool,
}

impl Interrupts {
    fn begin_rows(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match std::mem::replace(&mut self.begun, true) {
            true => Ok(()),
            false => self.dumper.begin_with(&[INTERRUPT], out),
        }
    }
}

impl Listener for Interrupts {
    fn writes_at_once(&self) -> bool {
        true
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        if event.name != INTERRUPT {
            return Ok(());
        }
        self.begin_rows(out)?;
        self.dumper.event(event, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let nothing = !self.begun;
        self.begin_rows(out)?;
        no_data_if(
            nothing,
            "no counter reached its limit; this needs the kernel's PMC_PROFILE events (xperf -PmcProfile COUNTERS)",
        )
    }
}
