//! `-a dumper`: every event as a row of text.

use std::io::{self, Write};

use crate::layouts::dumper::Dumper;
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::{DescribedEvent, EventColumns, StreamHeader};

use crate::action::{Action, Listener, Question};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "dumper",
    aliases: &[],
    summary: "every event as a row, after a block that names the columns (text, µs); the default",
    help: "  -range T1 T2            only events in this time
  -provider ID…           only events of these providers, by name or GUID, * for any text
  -stacktimeshifting      accepted: stacks carry the time of their event
  -exc_dpcisr             accepted: times between context switches include interrupts
  -add_fieldnames         each field of an event without columns of its own as 'name : value'
  -add_rawdata, -add_pgodata, -add_inline
                          accepted, and change nothing",
    bears_losses: false,
    parse,
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let mut filter = EventFilter::default();
    let mut names = false;
    while let Some(option) = words.option()? {
        match option.as_str() {
            "range" => range = Some(words.range(&option)?),
            "provider" => {
                let names = words.list(&option, "a provider")?;
                filter.providers.extend(names.iter().map(|name| Pattern::new(name)));
            }
            "add_fieldnames" => names = true,
            "stacktimeshifting" | "exc_dpcisr" | "add_rawdata" | "add_pgodata" | "add_inline" => {}
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let listener = Dump {
        dumper: Dumper::new(),
        names,
        whole_stacks: words.for_machines(),
        header: StreamHeader::default(),
        providers: filter.providers.clone(),
        rows: 0,
    };
    Ok(Question::events(filter, range, listener))
}

struct Dump {
    dumper: Dumper,
    names: bool,
    whole_stacks: bool,
    header: StreamHeader,
    providers: Vec<Pattern>,
    rows: u64,
}

impl Listener for Dump {
    fn writes_at_once(&self) -> bool {
        true
    }

    fn wants_columns(&self) -> bool {
        true
    }

    fn columns(&mut self, columns: &[EventColumns]) {
        self.dumper =
            Dumper::after_survey(columns.to_vec()).with_names(self.names).with_whole_stacks(self.whole_stacks);
    }

    /// The header block waits for the first row: without one there is no answer.
    fn begin(&mut self, header: &StreamHeader, _out: &mut dyn Write) -> io::Result<()> {
        self.header.clone_from(header);
        Ok(())
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        let is_chosen = self.providers.is_empty()
            || self.providers.iter().any(|pattern| pattern.matches(event.provider) || pattern.matches(event.guid));
        if !is_chosen {
            return Ok(());
        }
        if self.rows == 0 {
            self.dumper.begin(&self.header, out)?;
        }
        self.rows += 1;
        self.dumper.event(event, out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.rows == 0 {
            self.dumper.begin(&self.header, out)?;
            return Err(Failure::NoData("no event matches".to_owned()));
        }
        Ok(())
    }
}
