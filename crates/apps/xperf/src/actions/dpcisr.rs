//! `-a dpcisr`: DPCs and interrupts.

use crate::layouts::dpcisr;
use onoff_lists::interrupts::TABLES;
use onoff_usage::interrupt_modules::by_module;

use super::cswitch::{SECOND_NS, interval, interval_boundaries};
use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};
use crate::ranges::resolve_scope;

pub const ACTION: Action = Action {
    name: "dpcisr",
    summary: "DPCs and interrupts: share of each processor, and durations (text, µs)",
    help: "  -dpc, -isr        only DPCs, or only interrupts
  -summary          share of each processor, by module
  -interval [n]     total share per n seconds [default: 1], and the distribution of these shares
  -bucket [n]       histogram of durations; each bucket is n times as long as the previous one [default: 2]
                    default: all three reports
  -range T1 T2      only this range",
    ..Action::with_parser(parse)
};

/// Maximum bucket bound of a histogram, in µs.
const MAX_BOUND_US: i64 = 2_048;

/// Length of the intervals of the distribution, in ns.
const DISTRIBUTION_NS: i64 = 2 * SECOND_NS;

#[derive(Clone, Copy, Default)]
struct Reports {
    summary: bool,
    interval_ns: Option<i64>,
    /// Ratio of consecutive bucket bounds.
    bucket_factor: Option<i64>,
}

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut range = None;
    let (mut dpcs, mut isrs) = (false, false);
    let mut reports = Reports::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "dpc" => dpcs = true,
            "isr" => isrs = true,
            "summary" => reports.summary = true,
            "interval" => reports.interval_ns = Some(interval(words)?),
            "bucket" => reports.bucket_factor = Some(factor(words)?),
            "range" => range = Some(words.range(&option)?),
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    if matches!(reports, Reports { summary: false, interval_ns: None, bucket_factor: None }) {
        reports = Reports { summary: true, interval_ns: Some(SECOND_NS), bucket_factor: Some(2) };
    }
    let sections: Vec<(&str, bool)> = [("DPC Info", true, dpcs || !isrs), ("Interrupt Info", false, isrs || !dpcs)]
        .into_iter()
        .filter_map(|(title, is_dpc, is_wanted)| is_wanted.then_some((title, is_dpc)))
        .collect();
    Ok(Query::tables(TABLES, move |trace, out| {
        let range = resolve_scope(trace, range)?.range;
        let is_empty = trace.interrupts.is_empty();
        let range_ns = [range.start_ns, range.end_ns];
        let has_both = sections.len() == 2;
        for (title, is_dpc) in sections {
            dpcisr::write_title(title, out)?;
            if reports.summary {
                dpcisr::write_usage(&by_module(trace, &range_ns, &[], is_dpc), range_ns, out)?;
            }
            if let Some(factor) = reports.bucket_factor {
                let bounds_ns = bounds_ns(factor);
                let interrupts_by_module = by_module(trace, &range_ns, &bounds_ns, is_dpc);
                dpcisr::write_histograms(&interrupts_by_module, &bounds_ns, out)?;
            }
            if let Some(interval_ns) = reports.interval_ns {
                let boundaries_ns = interval_boundaries(range.start_ns, range.end_ns, interval_ns)?;
                let interrupts_by_module = by_module(trace, &boundaries_ns, &[], is_dpc);
                dpcisr::write_intervals(&interrupts_by_module, &boundaries_ns, interval_ns / SECOND_NS, out)?;
            }
        }
        if has_both && reports.interval_ns.is_some() {
            let boundaries_ns = interval_boundaries(range.start_ns, range.end_ns, DISTRIBUTION_NS)?;
            let [dpcs, interrupts] = [true, false].map(|is_dpc| by_module(trace, &boundaries_ns, &[], is_dpc));
            dpcisr::write_distribution(&dpcs, &interrupts, &boundaries_ns, DISTRIBUTION_NS, out)?;
        }
        no_data_if(is_empty, "no interrupts or DPCs recorded; this needs the kernel's INTERRUPT and DPC events")
    }))
}

fn factor(words: &mut Words) -> Result<i64, Failure> {
    match words.optional_number::<u32>() {
        None => Ok(2),
        Some(0 | 1) => Err(usage("-bucket: the factor must be at least 2")),
        Some(factor) => Ok(i64::from(factor)),
    }
}

/// Returns the bucket bounds: 1 µs, then `factor` times the previous bound, up to [`MAX_BOUND_US`].
fn bounds_ns(factor: i64) -> Vec<i64> {
    std::iter::successors(Some(1), |&bound_us| Some(bound_us * factor))
        .take_while(|&bound_us| bound_us <= MAX_BOUND_US)
        .map(|bound_us| bound_us * 1_000)
        .collect()
}
