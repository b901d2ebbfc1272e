//! `-a pnp`: work on drivers and devices.

use crate::layouts::pnp_csv;
use onoff_trace::{TableName, Tables};
use onoff_usage::devices;

use crate::action::{Action, Question};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::range_of;

pub const ACTION: Action = Action {
    name: "pnp",
    summary: "work on drivers and devices, then its sum for each (CSV, µs)",
    help: "  -range T1 T2   only work that began in this time",
    ..Action::of(parse)
};

const TABLES: Tables = Tables::of(&[TableName::DeviceOperations, TableName::Milestones]);

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let range = words.range_alone(ACTION.name)?;
    Ok(Question::tables(TABLES, move |trace, out| {
        let (from, until) = range_of(trace, range)?;
        let mut operations = devices::operations(trace);
        operations.retain(|operation| (from..until).contains(&operation.start_ns));
        let nothing = operations.is_empty();
        pnp_csv::write(&operations, out)?;
        no_data_if(nothing, "no work on a driver or device; this needs the events of Microsoft-Windows-Kernel-PnP")
    }))
}
