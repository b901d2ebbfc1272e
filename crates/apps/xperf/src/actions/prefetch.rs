//! `-a prefetch`: what was read ahead for programs.

use crate::collected::prefetch::{EVENTS, PrefetchListener};
use crate::layouts::provider_reports;
use crate::layouts::time_unit::TimeUnit;

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "prefetch",
    summary: "what was read ahead for programs, and how long it took (text)",
    help: "  -summary                    each piece of reading ahead [default]
  -timeunit ns|us|ms|s [N]    unit of times, and N decimals [default: us 0]
  -min T                      only pieces that took T µs or more",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let (mut unit, mut decimals, mut shortest_ns) = (TimeUnit::default(), 0, 0);
    while let Some(option) = words.option()? {
        match option.as_str() {
            "summary" => {}
            "timeunit" => {
                let name = words.text(&option, "a unit")?;
                decimals = words.optional_number::<u8>().unwrap_or(0).min(9);
                unit = TimeUnit::parse(&name)
                    .ok_or_else(|| usage(format!("-timeunit: '{name}' is none of ns, us, ms, s")))?;
            }
            "min" => shortest_ns = words.span(&option)?,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let taker = PrefetchListener::default();
    Ok(Question::collected(&EVENTS, None, taker, PrefetchListener::take, move |taker, out| {
        let mut rows = taker.finish();
        rows.retain(|row| row.duration_ns().is_none_or(|ns| ns >= shortest_ns));
        let nothing = rows.is_empty();
        provider_reports::write_prefetch(&rows, unit, decimals.into(), out)?;
        no_data_if(
            nothing,
            "nothing was read ahead for a program; this needs Microsoft-Windows-Kernel-Prefetch (keyword 0x20)",
        )
    }))
}
