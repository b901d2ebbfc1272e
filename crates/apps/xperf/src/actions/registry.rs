//! `-a registry`: registry operations.

use crate::event_analyses::registry::{EVENTS, RegistryListener};
use crate::layouts::registry;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "registry",
    summary: "registry operations, by kind and key (text, µs)",
    help: "  -counts [N]    the N keys with the most operations [default: all]
  -tree          keys as a tree; counts include subkeys
  -unknown       only keys whose names were not recorded
  -range T1 T2   only operations in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut max_rows, mut counts, mut tree, mut unknown, mut range) = (usize::MAX, false, false, false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "counts" => {
                counts = true;
                max_rows = words.optional_number().unwrap_or(max_rows);
            }
            "tree" => tree = true,
            "unknown" => unknown = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let collector = RegistryListener::default();
    Ok(Query::collect_events(&EVENTS, range, collector, RegistryListener::take, move |collector, out| {
        let registry_use = collector.finish();
        let is_empty = registry_use.operations.is_empty();
        if counts || !(tree || unknown) {
            registry::write_counts(&registry_use, max_rows, out)?;
        }
        if tree {
            registry::write_tree(&registry_use, out)?;
        }
        if unknown {
            registry::write_unknown(&registry_use, out)?;
        }
        no_data_if(
            is_empty,
            "no registry operations recorded; this needs the kernel's registry events (xperf -on REGISTRY)",
        )
    }))
}
