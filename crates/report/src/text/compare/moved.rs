//! What began in another order.

use std::io::{self, Write};

use onoff_analysis::compare::{Comparison, Moved};

use super::CompareTextOptions;
use crate::text::printable::printable;
use crate::text::quantity::{count, duration};
use crate::text::section::title;
use crate::text::table::{Table, cell};

/// Writes what moved, most passed first.
pub(super) fn write(comparison: &Comparison, options: &CompareTextOptions, out: &mut dyn Write) -> io::Result<()> {
    if comparison.moved.is_empty() {
        return Ok(());
    }
    let all = comparison.moved.len();
    let note = if all > options.top {
        format!("{} of {}", count(options.top as u64), count(all as u64))
    } else {
        "in every run".to_owned()
    };
    title("In another order", &note, out)?;
    let several = comparison.configurations.len() > 2;
    let mut table =
        Table::new().left("", 48).left("was", 40).left("is", 40).left("", 64).left(if several { "in" } else { "" }, 24);
    for moved in comparison.moved.iter().take(options.top) {
        table.row([
            cell(printable(name(&moved.key))),
            cell(place(&moved.was_phase, moved.was_since_phase_ns)),
            cell(place(&moved.is_phase, moved.is_since_phase_ns)),
            cell(passed(moved)),
            cell(if several { printable(&moved.configuration).into_owned() } else { String::new() }),
        ]);
    }
    table.write(out)
}

/// The key without its transition: `service.Spooler`.
fn name(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// What moved, from where to where, and past whom.
#[must_use]
pub fn sentence(moved: &Moved) -> String {
    format!(
        "{} began {} after the start of {}, and now {} after the start of {}: {}.",
        printable(name(&moved.key)),
        duration(moved.was_since_phase_ns),
        printable(&moved.was_phase),
        duration(moved.is_since_phase_ns),
        printable(&moved.is_phase),
        passed(moved)
    )
}

fn place(phase: &str, since_phase_ns: i64) -> String {
    format!("{} {}", duration(since_phase_ns), printable(phase))
}

fn passed(moved: &Moved) -> String {
    let (all, direction) =
        if moved.now_after >= moved.now_before { (moved.now_after, "after") } else { (moved.now_before, "before") };
    let nearest = printable(name(&moved.passed)).into_owned();
    match all {
        1 => format!("now {direction} {nearest}"),
        all => format!("now {direction} {} such as {nearest}", count(all)),
    }
}
