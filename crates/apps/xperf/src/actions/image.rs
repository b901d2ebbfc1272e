//! `-a image`: modules loaded by each process.

use crate::layouts::image;
use onoff_trace::{TableName, TableSet};

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;
use crate::ranges::resolve_range;

pub const ACTION: Action = Action {
    name: "image",
    summary: "modules of each process, by load time (text, µs)",
    help: "  -range T1 T2   only modules loaded at some point in this range",
    ..Action::with_parser(parse)
};

pub(super) const TABLES: TableSet = TableSet::from_names(&[TableName::Images, TableName::Processes]);

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    Ok(Query::tables(TABLES, move |trace, out| {
        let (from_ns, until_ns) = resolve_range(trace, range)?;
        image::write(trace, from_ns, until_ns, out)?;
        match trace.images.is_empty() {
            true => Err(Failure::NoData(NO_IMAGES.to_owned())),
            false => Ok(()),
        }
    }))
}

pub(super) const NO_IMAGES: &str = "no modules recorded; this needs the kernel's image events (xperf -on LOADER)";
