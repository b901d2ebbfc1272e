//! `-a services`: service starts and stops.

use crate::layouts::services_csv::{self, PointsOfInterest};
use onoff_evidence::auto_start;
use onoff_trace::{TableName, TableSet};
use onoff_usage::units;

use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_range;

pub const ACTION: Action = Action {
    name: "services",
    summary: "service starts and stops, with the steps of each (CSV, ms)",
    help: "  -range T1 T2                    only services that were starting or stopping in this range
  -poiThreshold_ContainerInit T   after the rows, list services whose container took longer than T µs
  -poiThreshold_ImageLoad T       the same for loading the service's image
  -poiThreshold_ServiceInit T     the same for the service's initialization",
    ..Action::with_parser(parse)
};

const TABLES: TableSet = TableSet::from_names(&[
    TableName::ServiceTransitions,
    TableName::Processes,
    TableName::Milestones,
    TableName::Activities,
]);

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut points = PointsOfInterest::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "range" => range = Some(words.range(&option)?),
            "poithreshold_containerinit" => points.container_ns = Some(words.duration(&option)?),
            "poithreshold_imageload" => points.image_load_ns = Some(words.duration(&option)?),
            "poithreshold_serviceinit" => points.initialization_ns = Some(words.duration(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(TABLES, move |trace, out| {
        let (from_ns, until_ns) = resolve_range(trace, range)?;
        let mut services = units::units(trace);
        services
            .retain(|service| service.start_ns < until_ns && service.end_ns.unwrap_or(trace.duration_ns) >= from_ns);
        let window = auto_start::auto_start_interval(trace);
        let is_empty = services.is_empty() && window.start_ns.is_none();
        services_csv::write(&window, &services, &points, out)?;
        no_data_if(is_empty, "no service starts or stops recorded; this needs the events of Microsoft-Windows-Services")
    }))
}
