//! `-a focuschange`: which process had the keyboard's focus.

use crate::collected::focus::{EVENTS, FocusListener};
use crate::layouts::provider_reports;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "focuschange",
    summary: "which process had the keyboard's focus, from when to when (text, µs)",
    help: "  -range T1 T2   only changes in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let range = words.range_alone(ACTION.name)?;
    Ok(Question::collected(&EVENTS, range, FocusListener::default(), FocusListener::take, |taker, out| {
        let rows = taker.finish();
        let nothing = rows.is_empty();
        provider_reports::write_focus(&rows, out)?;
        no_data_if(nothing, "no change of the focus; this needs Microsoft-Windows-Win32k (keywords 0x20000 and 0x2000)")
    }))
}
