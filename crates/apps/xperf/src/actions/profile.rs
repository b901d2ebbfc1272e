//! `-a profile`: CPU time from profile samples.

use crate::layouts::profile::{self, CodeTime};
use crate::layouts::utilization::{self, Share};
use onoff_lists::cpu::{CpuGroup, list, tables};
use onoff_lists::functions::{self, CodeGroup, CodeTimes, TimeKind};
use onoff_usage::cpu::CpuSource;
use onoff_usage::cpu::grid::grid;

use super::cswitch::{SECOND_NS, cuts, interval};
use crate::action::{Action, Query};
use crate::command_words::Words;
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "profile",
    summary: "CPU time from profile samples, by processor, or by process and module (text, µs)",
    help: "  -util [n]       busy share of each processor per n seconds [default report; default n: 1]
  -detail         time by process and module, or by process and function with -symbols before the action
  -freq           number of samples by processor
  -range T1 T2    only this range",
    ..Action::of(parse)
};

#[derive(Clone, Copy)]
enum Report {
    /// With the length of an interval in ns.
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
    Ok(Query::with_functions(wanted, move |trace, mut name, out| {
        let scope = scope_of(trace, range)?;
        let is_empty = trace.samples.is_empty();
        for report in reports {
            match report {
                Report::Utilization(step_ns) => {
                    let cuts = cuts(scope.range.start_ns, scope.range.end_ns, step_ns)?;
                    let grid = grid(trace, &cuts, CpuSource::Samples, false);
                    utilization::write(&grid, Share::Utilized, out)?;
                }
                Report::Detail => {
                    let by = [CpuGroup::Process, CpuGroup::Module];
                    let list = list(trace, &scope, &by);
                    let of_modules = || list.rows.iter().map(CodeTime::of_module).collect();
                    let rows = match &mut name {
                        None => of_modules(),
                        Some(name) => {
                            let times = CodeTimes::new(trace, &scope, TimeKind::Samples);
                            let names = name(trace, &times.locations());
                            let by_function = times.list(&[CodeGroup::Process, CodeGroup::Function], &names);
                            by_function.rows.iter().filter(|row| row.own_ns > 0).map(CodeTime::of_function).collect()
                        }
                    };
                    profile::write_detail(&list.cpu, rows, out)?;
                }
                Report::Frequency => {
                    let by = [CpuGroup::Module, CpuGroup::Processor];
                    profile::write_frequency(&list(trace, &scope, &by), out)?;
                }
            }
        }
        no_data_if(is_empty, "no profile samples recorded; this needs the kernel's PROFILE events")
    }))
}
