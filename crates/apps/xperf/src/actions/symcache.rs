//! `-a symcache`: what identifies each module's symbols.

use crate::layouts::image::{self, SymbolColumns};

use super::image::{NO_IMAGES, TABLES};
use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "symcache",
    summary: "what identifies each module and its symbols, for a symbol store (text)",
    help: "  -imageid   only what identifies the image, unless -dbgid is there too
  -dbgid     only what identifies its symbols, unless -imageid is there too
  -build     refused: symbols are not downloaded",
    bears_losses: true,
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut columns = SymbolColumns::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "imageid" => columns.image_id = true,
            "dbgid" => columns.debug_id = true,
            "build" => return Err(usage("-a symcache -build: symbols are not downloaded")),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Question::tables(TABLES, move |trace, out| {
        image::write_symbols(trace, columns, out)?;
        match trace.images.is_empty() {
            true => Err(Failure::NoData(NO_IMAGES.to_owned())),
            false => Ok(()),
        }
    }))
}
