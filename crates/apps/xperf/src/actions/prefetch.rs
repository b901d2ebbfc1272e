//! `-a prefetch`: application prefetch.

use crate::event_analyses::prefetch::{EVENTS, PrefetchListener};
use crate::layouts::provider_reports;
use crate::layouts::time_unit::TimeUnit;

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "prefetch",
    summary: "application prefetch: pages and durations (text)",
    help: "  -summary                    all prefetch operations [default]
  -timeunit ns|us|ms|s [N]    unit of times, with N decimals [default: us 0]
  -min T                      hide operations shorter than T µs",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let (mut unit, mut decimals, mut min_ns) = (TimeUnit::default(), 0, 0);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => {}
            "timeunit" => {
                let name = words.text(&option, "a unit")?;
                decimals = words.optional_number::<u8>().unwrap_or(0).min(9);
                unit = TimeUnit::parse(&name)
                    .ok_or_else(|| usage(format!("-timeunit: invalid unit '{name}'; write ns, us, ms or s")))?;
            }
            "min" => min_ns = words.duration(&option)?,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let collector = PrefetchListener::default();
    Ok(Query::collect_events(&EVENTS, None, collector, PrefetchListener::take, move |collector, out| {
        let mut report = collector.finish();
        report.rows.retain(|row| row.duration_ns().is_none_or(|ns| ns >= min_ns));
        let is_empty = report.rows.is_empty();
        provider_reports::write_prefetch(&report, unit, decimals.into(), out)?;
        no_data_if(
            is_empty,
            "no application prefetch recorded; this needs Microsoft-Windows-Kernel-Prefetch (keyword 0x20)",
        )
    }))
}
