//! `-a filename`: file names in the recording.

use std::io::{self, Write};

use crate::layouts::filename::{FileNames, HOOKS, VOLUME_EVENT};
use onoff_sources::{EventFilter, Pattern};
use onoff_trace::{DescribedEvent, StreamHeader};

use crate::action::{Action, Listener, Query};
use crate::command_words::{Range, Words};
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "filename",
    aliases: &["filenames"],
    summary: "file names in the recording, with the keys that events use for them (text)",
    help: "\
  -range T1 T2            only names recorded in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    let hooks = HOOKS.iter().map(|hook| format!("{hook:#06x}"));
    let filter = EventFilter {
        events: hooks.chain([VOLUME_EVENT.to_owned()]).map(|name| Pattern::new(&name)).collect(),
        ..EventFilter::default()
    };
    // A volume may be recorded only once, at any time, so the range applies only to file names.
    let listener = Names { range, bounds: Ok((i64::MIN, i64::MAX)), names: FileNames::default() };
    Ok(Query::events(filter, None, listener))
}

struct Names {
    range: Option<Range>,
    bounds: Result<(i64, i64), Failure>,
    names: FileNames,
}

impl Listener for Names {
    fn begin(&mut self, header: &StreamHeader, _out: &mut dyn Write) -> io::Result<()> {
        if let Some(range) = self.range {
            self.bounds = range.resolve_in(header);
        }
        Ok(())
    }

    fn event(&mut self, event: &DescribedEvent<'_>, _out: &mut dyn Write) -> io::Result<()> {
        match self.bounds {
            Ok((from_ns, until_ns)) if (from_ns..until_ns).contains(&event.time_ns) => self.names.event(event),
            _ => self.names.volume(event),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        std::mem::replace(&mut self.bounds, Ok((0, 0)))?;
        let is_empty = self.names.is_empty();
        self.names.write(out)?;
        no_data_if(is_empty, "no file names recorded; this needs the kernel flag FILENAME, DISK_IO or HARD_FAULTS")
    }
}
