//! `-a focuschange`: which process had the keyboard focus.

use crate::event_analyses::focus::{EVENTS, FocusListener};
use crate::layouts::provider_reports;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "focuschange",
    summary: "processes that had the keyboard focus, with start and end (text, µs)",
    help: "  -range T1 T2   only changes in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    Ok(Query::collect_events(&EVENTS, range, FocusListener::default(), FocusListener::take, |collector, out| {
        let report = collector.finish();
        let is_empty = report.rows.is_empty();
        provider_reports::write_focus(&report, out)?;
        no_data_if(
            is_empty,
            "no focus changes recorded; this needs Microsoft-Windows-Win32k (keywords 0x20000 and 0x2000)",
        )
    }))
}
