//! `-a cswitch`: CPU time from context switches.

use crate::layouts::cswitch::{self, CswitchOptions};
use crate::layouts::utilization::{self, Share};
use onoff_lists::cpu::{CpuGroup, list, tables};
use onoff_usage::cpu::CpuSource;
use onoff_usage::cpu::grid::{MAX_INTERVALS, grid, interval_bounds};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "cswitch",
    summary: "CPU time from context switches, by processor, process or thread (text, µs)",
    help: "  -avail [n]      idle share of each processor per n seconds [default report; default n: 1]
  -util [n]       busy share of each processor per n seconds [default n: 1]
  -process        time by process, longest first
  -thread         time by thread, longest first
  -exc_dpcisr     exclude the time of interrupts and DPCs
  -range T1 T2    only this range",
    ..Action::with_parser(parse)
};

#[derive(Clone, Copy)]
enum Report {
    /// Share of each processor, with the length of an interval in ns.
    Processors(Share, i64),
    Owners {
        threads: bool,
    },
}

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let mut without_interrupts = false;
    let mut reports = Vec::new();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "avail" => reports.push(Report::Processors(Share::Available, interval(words)?)),
            "util" => reports.push(Report::Processors(Share::Utilized, interval(words)?)),
            "process" => reports.push(Report::Owners { threads: false }),
            "thread" => reports.push(Report::Owners { threads: true }),
            "exc_dpcisr" => without_interrupts = true,
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if reports.is_empty() {
        reports.push(Report::Processors(Share::Available, SECOND_NS));
    }
    Ok(Query::tables(tables(&[CpuGroup::Process]), move |trace, out| {
        let scope = resolve_scope(trace, range)?;
        let is_empty = trace.context_switches.is_empty();
        for report in reports {
            match report {
                Report::Processors(share, interval_ns) => {
                    let boundaries_ns = interval_boundaries(scope.range.start_ns, scope.range.end_ns, interval_ns)?;
                    let source = CpuSource::ContextSwitches;
                    let grid = grid(trace, &boundaries_ns, source, without_interrupts);
                    utilization::write(&grid, share, out)?;
                }
                Report::Owners { threads } => {
                    let group = if threads { CpuGroup::Thread } else { CpuGroup::Process };
                    let options = CswitchOptions { threads, without_interrupts };
                    cswitch::write(&list(trace, &scope, &[group]), options, out)?;
                }
            }
        }
        no_data_if(is_empty, "no context switches recorded; this needs the kernel's CSWITCH events")
    }))
}

pub(super) const SECOND_NS: i64 = 1_000_000_000;

/// Takes the optional interval after an option, in seconds (default: 1). Returns ns.
pub(super) fn interval(words: &mut Words) -> Result<i64, Failure> {
    match words.optional_number::<u32>() {
        None => Ok(SECOND_NS),
        Some(0) => Err(usage("the interval must be at least 1 s")),
        Some(seconds) => Ok(i64::from(seconds) * SECOND_NS),
    }
}

/// Returns the boundaries of intervals of `interval_ns` in a range. An empty range has one boundary, and no interval.
pub(super) fn interval_boundaries(start_ns: i64, end_ns: i64, interval_ns: i64) -> Result<Vec<i64>, Failure> {
    if start_ns >= end_ns {
        return Ok(vec![start_ns]);
    }
    interval_bounds(start_ns, end_ns, interval_ns).ok_or_else(|| {
        usage(format!("the range has more than {MAX_INTERVALS} intervals; use a shorter range or longer intervals"))
    })
}
