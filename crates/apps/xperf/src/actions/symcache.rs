//! `-a symcache`: identities of modules and their symbols.

use crate::layouts::image::{self, SymbolColumns};

use super::image::{NO_IMAGES, TABLES};
use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "symcache",
    summary: "identity of each module and its symbols, for symbol stores (text)",
    help: "  -imageid   only the identity of the image; with -dbgid, both
  -dbgid     only the identity of its symbols; with -imageid, both
  -build     not supported: symbols are not downloaded",
    accepts_losses: true,
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut columns = SymbolColumns::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "imageid" => columns.image_id = true,
            "dbgid" => columns.debug_id = true,
            "build" => return Err(usage("-a symcache -build is not supported: symbols are not downloaded")),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(TABLES, move |trace, out| {
        image::write_symbols(trace, columns, out)?;
        match trace.images.is_empty() {
            true => Err(Failure::NoData(NO_IMAGES.to_owned())),
            false => Ok(()),
        }
    }))
}
