//! `-a sysconfig`: configuration of the recorded computer.

use crate::layouts::sysconfig::{self, SECTIONS};
use onoff_trace::TableSet;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "sysconfig",
    summary: "configuration of the recorded computer (text or XML)",
    help: "  -xml   as XML
  -netidentity -cpu -memory -build -etw -power -disk -idechannel -video -nic -irq -services -pnp
         only these sections [default: all]",
    accepts_losses: true,
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut sections = Vec::new();
    let mut xml = false;
    while let Some(option) = words.option()? {
        match SECTIONS.into_iter().find(|section| section.switch == option) {
            Some(section) => sections.push(section),
            None if option == "xml" => xml = true,
            None => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if sections.is_empty() {
        sections.extend(SECTIONS);
    }
    Ok(Query::tables(TableSet::NONE, move |trace, out| {
        match xml {
            true => sysconfig::write_xml(trace, &sections, out)?,
            false => sysconfig::write_text(trace, &sections, out)?,
        }
        Ok(())
    }))
}
