//! `-a dpcisr`: deferred procedure calls and interrupts.

use crate::layouts::dpcisr;
use onoff_analysis::interrupt_modules::by_module;
use onoff_analysis::lists::interrupts::TABLES;

use super::cswitch::{SECOND_NS, cuts, interval};
use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "dpcisr",
    aliases: &[],
    summary: "deferred procedure calls and interrupts: their share of each processor, how long they were (text, µs)",
    help: "  -dpc, -isr        only one of both
  -summary          the share of each processor, by module
  -interval [n]     the same every n seconds (1)
  -bucket [n]       how many took how long, each step n times as long as the one before (2)
                    without any of these three, all of them
  -range T1 T2      only this time",
    bears_losses: false,
    parse,
};

/// The longest step of a histogram begins here, µs.
const LONGEST_STEP_US: i64 = 2_048;

#[derive(Clone, Copy)]
enum Report {
    Summary,
    /// Every so many ns.
    Intervals(i64),
    /// Upper ends of the steps grow by this factor.
    Histogram(i64),
}

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let (mut dpcs, mut isrs) = (false, false);
    let mut reports = Vec::new();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "dpc" => dpcs = true,
            "isr" => isrs = true,
            "summary" => reports.push(Report::Summary),
            "interval" => reports.push(Report::Intervals(interval(words)?)),
            "bucket" => reports.push(Report::Histogram(factor(words)?)),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if reports.is_empty() {
        reports = vec![Report::Summary, Report::Intervals(SECOND_NS), Report::Histogram(2)];
    }
    let sections: Vec<(&str, bool)> = [("DPC Info", true, dpcs || !isrs), ("Interrupt Info", false, isrs || !dpcs)]
        .into_iter()
        .filter_map(|(title, is_dpc, is_wanted)| is_wanted.then_some((title, is_dpc)))
        .collect();
    Ok(Question::tables(TABLES, move |trace, out| {
        let range = scope_of(trace, range)?.range;
        let nothing = trace.interrupts.is_empty();
        let whole = [range.start_ns, range.end_ns];
        for (title, is_dpc) in sections {
            dpcisr::write_title(title, out)?;
            for &report in &reports {
                match report {
                    Report::Summary => {
                        let found = by_module(trace, &whole, &[], is_dpc);
                        dpcisr::write_usage(&found, &whole, out)?;
                    }
                    Report::Intervals(step_ns) => {
                        let cuts = cuts(range.start_ns, range.end_ns, step_ns)?;
                        let found = by_module(trace, &cuts, &[], is_dpc);
                        dpcisr::write_usage(&found, &cuts, out)?;
                    }
                    Report::Histogram(factor) => {
                        let bounds_ns = bounds_ns(factor);
                        let found = by_module(trace, &whole, &bounds_ns, is_dpc);
                        dpcisr::write_histograms(&found, &bounds_ns, out)?;
                    }
                }
            }
        }
        no_data_if(nothing, "no interrupt and no DPC; this needs the kernel's INTERRUPT and DPC events")
    }))
}

fn factor(words: &mut Words) -> Result<i64, Failure> {
    match words.optional_number::<u32>() {
        None => Ok(2),
        Some(0 | 1) => Err(usage("-bucket: steps must grow: 2 or more")),
        Some(factor) => Ok(i64::from(factor)),
    }
}

/// 1 µs, then `factor` times as much each, up to [`LONGEST_STEP_US`].
fn bounds_ns(factor: i64) -> Vec<i64> {
    std::iter::successors(Some(1), |&bound| Some(bound * factor))
        .take_while(|&bound_us| bound_us <= LONGEST_STEP_US)
        .map(|bound_us| bound_us * 1_000)
        .collect()
}
