//! `-a registry`: what was done to the registry.

use crate::collected::registry::{EVENTS, RegistryListener};
use crate::layouts::registry;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "registry",
    summary: "what was done to the registry, by operation and key (text, µs)",
    help: "  -counts [N]    the N keys with most operations [default: all]
  -tree          keys as a tree, each with what is below it
  -unknown       only keys whose names the recording never tells
  -range T1 T2   only operations in this time",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let (mut most, mut counts, mut tree, mut unknown, mut range) = (usize::MAX, false, false, false, None);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "counts" => {
                counts = true;
                most = words.optional_number().unwrap_or(most);
            }
            "tree" => tree = true,
            "unknown" => unknown = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let taker = RegistryListener::default();
    Ok(Question::collected(&EVENTS, range, taker, RegistryListener::take, move |taker, out| {
        let answer = taker.finish();
        let nothing = answer.operations.is_empty();
        if counts || !(tree || unknown) {
            registry::write_counts(&answer, most, out)?;
        }
        if tree {
            registry::write_tree(&answer, out)?;
        }
        if unknown {
            registry::write_unknown(&answer, out)?;
        }
        no_data_if(
            nothing,
            "no operation on the registry; this needs the kernel's registry events (xperf -on REGISTRY)",
        )
    }))
}
