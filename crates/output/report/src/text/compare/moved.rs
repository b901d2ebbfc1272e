//! Items that started in a different order.

use std::io::{self, Write};

use onoff_compare::{Comparison, OrderChange};

use crate::text::printable::printable;
use crate::text::quantity::{count, duration};
use onoff_sections::section::{self, Heading, Section};
use onoff_sections::table::Value;

/// Writes the items that moved, largest move first.
pub(super) fn write(comparison: &Comparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if comparison.order_changes.is_empty() {
        return Ok(());
    }
    let all = comparison.order_changes.len();
    let note =
        if all > top { format!("{} of {}", count(top as u64), count(all as u64)) } else { "in every run".to_owned() };
    let several = comparison.configurations.len() > 2;
    let section = Section::of("order_changes", "Order changes", &comparison.order_changes)
        .note(note)
        .top(top)
        .name("name", "", 48, |moved| Value::text(name(&moved.key)))
        .name("was", "before", 40, |moved| place(&moved.was_phase, moved.was_since_phase_ns))
        .name("is", "after", 40, |moved| place(&moved.is_phase, moved.is_since_phase_ns))
        .name("passed", "", 64, |moved| Value::Text(passed(moved).into()))
        .column(Heading::name("configuration", "in").wide(24).in_text_if(several), |moved| {
            Value::text(&moved.configuration)
        })
        .build();
    section::text::write(&section, out)
}

/// The key without its transition: `service.Spooler`.
fn name(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// An item that moved: from where to where, and past which others.
#[must_use]
pub fn sentence(moved: &OrderChange) -> String {
    format!(
        "{} started {} after the start of {}, now {} after the start of {}: {}.",
        printable(name(&moved.key)),
        duration(moved.was_since_phase_ns),
        printable(&moved.was_phase),
        duration(moved.is_since_phase_ns),
        printable(&moved.is_phase),
        passed(moved)
    )
}

fn place(phase: &str, since_phase_ns: i64) -> Value<'static> {
    Value::Text(format!("{} {}", duration(since_phase_ns), printable(phase)).into())
}

fn passed(moved: &OrderChange) -> String {
    let (all, direction) =
        if moved.now_after >= moved.now_before { (moved.now_after, "after") } else { (moved.now_before, "before") };
    let nearest = printable(name(&moved.passed)).into_owned();
    match all {
        1 => format!("now {direction} {nearest}"),
        all => format!("now {direction} {} others, for example {nearest}", count(all)),
    }
}
