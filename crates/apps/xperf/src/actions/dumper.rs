//! `-a dumper`: all events as text, one row per event.

use std::io::{self, Write};
use std::sync::Arc;

use crate::layouts::dumper::Dumper;
use onoff_sources::{EventFilter, EventWriter, Pattern};
use onoff_trace::{DescribedEvent, EventSchema, StreamHeader};
use onoff_usage::address_names::AddressNames;

use crate::action::{Action, Listener, Query};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "dumper",
    summary: "all events, one row each, after a header that names the columns (text, µs); the default action",
    help: "  -range T1 T2            only events in this range
  -provider ID…           only events of these providers, by name or GUID; * matches any text
  -stacktimeshifting      ignored: stacks always carry the time of their event
  -exc_dpcisr             ignored: times between context switches include interrupts
  -add_fieldnames         write fields as 'name : value' for events without fixed columns
  -add_rawdata, -add_pgodata, -add_inline
                          ignored",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut filter = EventFilter::default();
    let mut with_names = false;
    while let Some(option) = words.option()? {
        match option.as_str() {
            "range" => range = Some(words.range(&option)?),
            "provider" => {
                let names = words.list(&option, "a provider")?;
                filter.providers.extend(names.iter().map(|name| Pattern::new(name)));
            }
            "add_fieldnames" => with_names = true,
            "stacktimeshifting" | "exc_dpcisr" | "add_rawdata" | "add_pgodata" | "add_inline" => {}
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let rows = Rows { dumper: Dumper::new(), providers: filter.providers.clone() };
    let whole_stacks = words.for_machines();
    let listener = Dump {
        rows,
        with_names,
        whole_stacks,
        functions: None,
        header: StreamHeader::default(),
        header_written: false,
        text: Vec::new(),
    };
    Ok(Query::events(filter, range, listener))
}

struct Dump {
    rows: Rows,
    with_names: bool,
    whole_stacks: bool,
    functions: Option<Arc<AddressNames>>,
    header: StreamHeader,
    header_written: bool,
    /// Reused buffer for the rows of an event.
    text: Vec<u8>,
}

/// Formats events independently of each other.
#[derive(Clone)]
struct Rows {
    dumper: Dumper,
    providers: Vec<Pattern>,
}

impl EventWriter for Rows {
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>) {
        let is_selected = self.providers.is_empty()
            || self.providers.iter().any(|pattern| pattern.matches(event.provider) || pattern.matches(event.guid));
        if is_selected {
            self.dumper.append(event, text);
        }
    }
}

impl Dump {
    fn write_header(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !std::mem::replace(&mut self.header_written, true) {
            self.rows.dumper.begin(&self.header, out)?;
        }
        Ok(())
    }
}

impl Listener for Dump {
    fn streams_output(&self) -> bool {
        true
    }

    fn wants_schemas(&self) -> bool {
        true
    }

    fn schemas(&mut self, schemas: &[EventSchema]) {
        self.rows.dumper = Dumper::after_survey(schemas.to_vec())
            .with_names(self.with_names)
            .with_whole_stacks(self.whole_stacks)
            .with_functions(self.functions.clone());
    }

    /// Stores the header; the header block is written with the first row.
    fn begin(&mut self, header: &StreamHeader, _out: &mut dyn Write) -> io::Result<()> {
        self.header.clone_from(header);
        Ok(())
    }

    fn wants_stack_fields(&self) -> bool {
        false
    }

    fn wants_functions(&self) -> bool {
        true
    }

    fn functions(&mut self, names: &Arc<AddressNames>) {
        self.functions = Some(Arc::clone(names));
    }

    /// Returns a copy of the formatter. After the survey, a row depends only on its event.
    fn writer(&self) -> Option<Box<dyn EventWriter>> {
        Some(Box::new(self.rows.clone()))
    }

    fn write_text(&mut self, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.write_header(out)?;
        out.write_all(text)
    }

    fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.rows.event(event, &mut text);
        let result = self.write_text(&text, out);
        self.text = text;
        result
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if !self.header_written {
            self.write_header(out)?;
            return Err(Failure::NoData("no event matches".to_owned()));
        }
        Ok(())
    }
}
