//! `-a profile`: CPU time from profile samples.

use crate::layouts::profile::{self, CodeTime};
use crate::layouts::utilization::{self, Share};
use onoff_lists::cpu::{CpuGroup, list, tables};
use onoff_lists::functions::{self, CodeGroup, CodeTimes, TimeKind};
use onoff_usage::cpu::CpuSource;
use onoff_usage::cpu::grid::grid;

use super::cswitch::{SECOND_NS, interval, interval_boundaries};
use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "profile",
    summary: "CPU time from profile samples, by processor, or by process and module (text, µs)",
    help: "  -util [n]       busy share of each processor per n seconds [default report; default n: 1]
  -detail         time by process and module, or by process and function with -symbols before the action
  -freq           number of samples by processor
  -range T1 T2    only this range",
    ..Action::with_parser(parse)
};

#[derive(Clone, Copy)]
enum Report {
    /// Busy share, with the length of an interval in ns.
    Utilization(i64),
    Detail,
    Frequency,
}

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut reports = Vec::new();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "util" => reports.push(Report::Utilization(interval(words)?)),
            "detail" => reports.push(Report::Detail),
            "freq" => reports.push(Report::Frequency),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if reports.is_empty() {
        reports.push(Report::Utilization(SECOND_NS));
    }
    let wanted = tables(&[CpuGroup::Module]).union(functions::tables(TimeKind::Samples));
    Ok(Query::with_functions(wanted, move |trace, mut name_functions, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.samples.is_empty();
        for report in reports {
            match report {
                Report::Utilization(interval_ns) => {
                    let boundaries_ns = interval_boundaries(scope.range.start_ns, scope.range.end_ns, interval_ns)?;
                    let grid = grid(trace, &boundaries_ns, CpuSource::Samples, false);
                    utilization::write(&grid, Share::Utilized, out)?;
                }
                Report::Detail => {
                    let groups = [CpuGroup::Process, CpuGroup::Module];
                    let list = list(trace, &scope, &groups);
                    let module_rows = || list.rows.iter().map(CodeTime::from_cpu_row).collect();
                    let rows = match &mut name_functions {
                        None => module_rows(),
                        Some(name_functions) => {
                            let times = CodeTimes::new(trace, &scope, TimeKind::Samples);
                            let names = name_functions(trace, &times.locations());
                            let function_list = times.list(&[CodeGroup::Process, CodeGroup::Function], &names);
                            function_list
                                .rows
                                .iter()
                                .filter(|row| row.own_ns > 0)
                                .map(CodeTime::from_function_row)
                                .collect()
                        }
                    };
                    profile::write_detail(&list.cpu, rows, out)?;
                }
                Report::Frequency => {
                    let groups = [CpuGroup::Module, CpuGroup::Processor];
                    profile::write_frequency(&list(trace, &scope, &groups), out)?;
                }
            }
        }
        no_data_if(is_empty, "no profile samples recorded; this needs the kernel's PROFILE events")
    }))
}
