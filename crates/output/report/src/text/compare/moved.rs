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
    let total = comparison.order_changes.len();
    let note = if total > top {
        format!("{} of {}", count(top as u64), count(total as u64))
    } else {
        "in every run".to_owned()
    };
    let has_several = comparison.configurations.len() > 2;
    let section = Section::builder("order_changes", "Order changes", &comparison.order_changes)
        .note(note)
        .top(top)
        .name("name", "", 48, |change| Value::text(name(&change.key)))
        .name("was", "before", 40, |change| place(&change.was_phase, change.was_since_phase_ns))
        .name("is", "after", 40, |change| place(&change.is_phase, change.is_since_phase_ns))
        .name("passed", "", 64, |change| Value::Text(passed(change).into()))
        .column(Heading::name("configuration", "in").with_width(24).in_text_if(has_several), |change| {
            Value::text(&change.configuration)
        })
        .build();
    section::text::write(&section, out)
}

/// Returns the key without its transition: `service.Spooler`.
fn name(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, name)| name)
}

/// Describes an item that moved: its old and new position, and what it passed.
#[must_use]
pub fn sentence(change: &OrderChange) -> String {
    format!(
        "{} started {} after the start of {}, now {} after the start of {}: {}.",
        printable(name(&change.key)),
        duration(change.was_since_phase_ns),
        printable(&change.was_phase),
        duration(change.is_since_phase_ns),
        printable(&change.is_phase),
        passed(change)
    )
}

fn place(phase: &str, since_phase_ns: i64) -> Value<'static> {
    Value::Text(format!("{} {}", duration(since_phase_ns), printable(phase)).into())
}

fn passed(change: &OrderChange) -> String {
    let (passed_count, direction) =
        if change.now_after >= change.now_before { (change.now_after, "after") } else { (change.now_before, "before") };
    let nearest = printable(name(&change.passed)).into_owned();
    match passed_count {
        1 => format!("now {direction} {nearest}"),
        passed_count => format!("now {direction} {} others, for example {nearest}", count(passed_count)),
    }
}
