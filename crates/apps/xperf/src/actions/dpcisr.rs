//! `-a dpcisr`: deferred procedure calls and interrupts.

use crate::layouts::dpcisr;
use onoff_lists::interrupts::TABLES;
use onoff_usage::interrupt_modules::by_module;

use super::cswitch::{SECOND_NS, cuts, interval};
use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::scope_of;

pub const ACTION: Action = Action {
    name: "dpcisr",
    summary: "deferred procedure calls and interrupts: their share of each processor, how long they were (text, µs)",
    help: "  -dpc, -isr        only one of both
  -summary          the share of each processor, by module
  -interval [n]     what all modules took every n seconds (1); with both, how often they took which share
  -bucket [n]       how many took how long, each step n times as long as the one before (2)
                    without any of these three, all of them
  -range T1 T2      only this time",
    ..Action::of(parse)
};

/// The longest step of a histogram begins here, µs.
const MAX_STEP_US: i64 = 2_048;

/// How long the intervals of the distribution are, ns.
const DISTRIBUTION_NS: i64 = 2 * SECOND_NS;

/// Which reports are wanted.
#[derive(Clone, Copy, Default)]
struct Reports {
    summary: bool,
    /// Every so many ns.
    interval_ns: Option<i64>,
    /// Upper ends of the steps grow by this factor.
    bucket: Option<i64>,
}

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut range = None;
    let (mut dpcs, mut isrs) = (false, false);
    let mut reports = Reports::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "dpc" => dpcs = true,
            "isr" => isrs = true,
            "summary" => reports.summary = true,
            "interval" => reports.interval_ns = Some(interval(words)?),
            "bucket" => reports.bucket = Some(factor(words)?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if matches!(reports, Reports { summary: false, interval_ns: None, bucket: None }) {
        reports = Reports { summary: true, interval_ns: Some(SECOND_NS), bucket: Some(2) };
    }
    let sections: Vec<(&str, bool)> = [("DPC Info", true, dpcs || !isrs), ("Interrupt Info", false, isrs || !dpcs)]
        .into_iter()
        .filter_map(|(title, is_dpc, is_wanted)| is_wanted.then_some((title, is_dpc)))
        .collect();
    Ok(Question::tables(TABLES, move |trace, out| {
        let range = scope_of(trace, range)?.range;
        let nothing = trace.interrupts.is_empty();
        let whole = [range.start_ns, range.end_ns];
        let of_both = sections.len() == 2;
        for (title, is_dpc) in sections {
            dpcisr::write_title(title, out)?;
            if reports.summary {
                dpcisr::write_usage(&by_module(trace, &whole, &[], is_dpc), whole, out)?;
            }
            if let Some(factor) = reports.bucket {
                let bounds_ns = bounds_ns(factor);
                let found = by_module(trace, &whole, &bounds_ns, is_dpc);
                dpcisr::write_histograms(&found, &bounds_ns, out)?;
            }
            if let Some(step_ns) = reports.interval_ns {
                let cuts = cuts(range.start_ns, range.end_ns, step_ns)?;
                let found = by_module(trace, &cuts, &[], is_dpc);
                dpcisr::write_intervals(&found, &cuts, step_ns / SECOND_NS, out)?;
            }
        }
        if of_both && reports.interval_ns.is_some() {
            let cuts = cuts(range.start_ns, range.end_ns, DISTRIBUTION_NS)?;
            let [dpcs, interrupts] = [true, false].map(|is_dpc| by_module(trace, &cuts, &[], is_dpc));
            dpcisr::write_distribution(&dpcs, &interrupts, &cuts, DISTRIBUTION_NS, out)?;
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

/// 1 µs, then `factor` times as much each, up to [`MAX_STEP_US`].
fn bounds_ns(factor: i64) -> Vec<i64> {
    std::iter::successors(Some(1), |&bound| Some(bound * factor))
        .take_while(|&bound_us| bound_us <= MAX_STEP_US)
        .map(|bound_us| bound_us * 1_000)
        .collect()
}
