//! `-a marks`: marks set during the recording.

use crate::layouts::marks;
use onoff_trace::{Milestone, TableName, TableSet, milestone};

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::Failure;
use crate::ranges::resolve_range;

pub const ACTION: Action = Action {
    name: "marks",
    aliases: &["mark"],
    summary: "marks set during the recording (text, µs)",
    help: "  -summary       each text once, with count, first and last time
  -range T1 T2   only marks in this range",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut summary = false;
    while let Some(option) = words.option()? {
        match option.as_str() {
            "range" => range = Some(words.range(&option)?),
            "summary" => summary = true,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(TableSet::from_names(&[TableName::Milestones]), move |trace, out| {
        let (from_ns, until_ns) = resolve_range(trace, range)?;
        let marks: Vec<Milestone> = trace
            .milestones
            .iter()
            .filter(|row| trace.text(row.name) == milestone::MARK)
            .filter(|row| (from_ns..until_ns).contains(&row.time_ns))
            .collect();
        match summary {
            true => marks::write_summary(trace, &marks, out)?,
            false => marks::write(trace, &marks, out)?,
        }
        if marks.is_empty() {
            return Err(Failure::NoData("no marks recorded; set one with 'xperf -m TEXT' while recording".to_owned()));
        }
        Ok(())
    }))
}
