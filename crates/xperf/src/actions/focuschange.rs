//! `-a focuschange`: which process had the keyboard's focus.

use crate::collected::focus::{EVENTS, FocusListener};
use crate::layouts::provider_reports;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "focuschange",
    aliases: &[],
    summary: "which process had the keyboard's focus, from when to when (text, µs)",
    help: "  -range T1 T2   only changes in this time",
    bears_losses: false,
    parse,
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    while let Some(option) = words.option()? {
        match option.as_str() {
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Question::collected(&EVENTS, range, FocusListener::default(), FocusListener::take, |taker, out| {
        let rows = taker.finish();
        let nothing = rows.is_empty();
        provider_reports::write_focus(&rows, out)?;
        no_data_if(nothing, "no change of the focus; this needs Microsoft-Windows-Win32k (keywords 0x20000 and 0x2000)")
    }))
}
