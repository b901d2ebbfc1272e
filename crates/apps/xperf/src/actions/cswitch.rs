//! `-a cswitch`: processor time from context switches.

use crate::layouts::cswitch::{self, CswitchOptions};
use crate::layouts::utilization::{self, Share};
use onoff_lists::cpu::{CpuGroup, list, tables};
use onoff_usage::cpu::CpuSource;
use onoff_usage::cpu::grid::{INTERVALS, grid, steps};

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "cswitch",
    summary: "processor time from context switches: by processor, process or thread (text, µs)",
    help: "  -avail [n]      how free each processor was, every n seconds (1); the default
  -util [n]       how busy each processor was, every n seconds (1)
  -process        time of each process, most first
  -thread         time of each thread, most first
  -exc_dpcisr     without the time that interrupts and DPCs took
  -range T1 T2    only this time",
    ..Action::of(parse)
};

#[derive(Clone, Copy)]
enum Report {
    /// By processor, every so many ns.
    Processors(Share, i64),
    /// By process, or by thread.
    Owners { threads: bool },
}

fn parse(words: &mut Words) -> Result<Question, Failure> {
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
    Ok(Question::tables(tables(&[CpuGroup::Process]), move |trace, out| {
        let scope = scope_of(trace, range)?;
        let nothing = trace.context_switches.is_empty();
        for report in reports {
            match report {
                Report::Processors(share, step_ns) => {
                    let cuts = cuts(scope.range.start_ns, scope.range.end_ns, step_ns)?;
                    let source = CpuSource::ContextSwitches;
                    let grid = grid(trace, &cuts, source, without_interrupts);
                    utilization::write(&grid, share, out)?;
                }
                Report::Owners { threads } => {
                    let by = if threads { CpuGroup::Thread } else { CpuGroup::Process };
                    let options = CswitchOptions { threads, without_interrupts };
                    cswitch::write(&list(trace, &scope, &[by]), options, out)?;
                }
            }
        }
        no_data_if(nothing, "no context switch; this needs the kernel's CSWITCH events")
    }))
}

/// One second.
pub(super) const SECOND_NS: i64 = 1_000_000_000;

/// The interval that may follow an option, in seconds; 1 when it does not. Answers ns.
pub(super) fn interval(words: &mut Words) -> Result<i64, Failure> {
    match words.optional_number::<u32>() {
        None => Ok(SECOND_NS),
        Some(0) => Err(usage("an interval must be longer than 0 s")),
        Some(seconds) => Ok(i64::from(seconds) * SECOND_NS),
    }
}

/// The ends of intervals of `step_ns` in a range; one end, and so no interval, where the range is empty.
pub(super) fn cuts(start_ns: i64, end_ns: i64, step_ns: i64) -> Result<Vec<i64>, Failure> {
    if start_ns >= end_ns {
        return Ok(vec![start_ns]);
    }
    steps(start_ns, end_ns, step_ns).ok_or_else(|| {
        usage(format!("the range has more than {INTERVALS} intervals: ask for a shorter range or longer intervals"))
    })
}
