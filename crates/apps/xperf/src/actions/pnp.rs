//! `-a pnp`: driver and device operations.

use crate::layouts::pnp_csv;
use onoff_trace::{TableName, TableSet};
use onoff_usage::devices;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_range;

pub const ACTION: Action = Action {
    name: "pnp",
    summary: "driver and device operations, with totals by driver and device (CSV, µs)",
    help: "  -range T1 T2   only operations that started in this range",
    ..Action::with_parser(parse)
};

const TABLES: TableSet = TableSet::from_names(&[TableName::DeviceOperations, TableName::Milestones]);

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let range = words.range_only(ACTION.name)?;
    Ok(Query::tables(TABLES, move |trace, out| {
        let (from_ns, until_ns) = resolve_range(trace, range)?;
        let mut operations = devices::operations(trace);
        operations.retain(|operation| (from_ns..until_ns).contains(&operation.start_ns));
        let is_empty = operations.is_empty();
        pnp_csv::write(&operations, out)?;
        no_data_if(
            is_empty,
            "no driver or device operations recorded; this needs the events of Microsoft-Windows-Kernel-PnP",
        )
    }))
}
