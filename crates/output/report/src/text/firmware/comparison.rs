//! The comparison of two firmware boots: what grew, then all differences.

use std::io::{self, Write};

use onoff_firmware_times::{FirmwareChange, FirmwareComparison};

use crate::text::printable::printable;
use crate::text::quantity::{count, duration, percent};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes the comparison.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_comparison(comparison: &FirmwareComparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(comparison))?;
    if let Some(sentence) = growth(comparison) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    writeln!(
        out,
        "{QUIET}before: {} · after: {}{QUIET:#}",
        printable(&comparison.before),
        printable(&comparison.after)
    )?;
    let sections = [
        list(
            "intervals",
            "From reset to the operating system",
            "stage",
            comparison.intervals.iter().collect(),
            usize::MAX,
        ),
        list("phases", "Phases", "phase", comparison.phases.iter().collect(), usize::MAX),
        list("drivers", "Drivers and modules (self time)", "module", largest(&comparison.drivers), top),
        list("devices", "Devices (self time in driver starts)", "device", largest(&comparison.devices), top),
    ];
    section::text::write_all(sections.iter().filter(|section| !section.is_empty()), out)
}

fn answer(comparison: &FirmwareComparison) -> String {
    let change_of = |name: &str| {
        let change = comparison.intervals.iter().find(|change| change.name.starts_with(name))?;
        Some((change.change_ns?, change.before_ns?, change.after_ns?))
    };
    let clause = match (change_of("Time1"), change_of("total")) {
        (Some((change, was, is)), None) => {
            format!("The firmware took {}", change_phrase(change, was, is))
        }
        (None, Some((change, was, is))) => {
            format!("Reset to operating system took {}", change_phrase(change, was, is))
        }
        (Some((firmware, ..)), Some((change, was, is))) => format!(
            "Reset to operating system took {}; the firmware accounts for {}",
            change_phrase(change, was, is),
            signed(firmware)
        ),
        (None, None) => {
            "The change in firmware time is unknown: one of the two inputs does not have the time".to_owned()
        }
    };
    clause + "."
}

/// Formats a change as `1.72 s (32 %) longer: 7.02 s, was 5.30 s`.
fn change_phrase(change: i64, was: i64, is: i64) -> String {
    if change == 0 {
        return format!("{}, as before", duration(is));
    }
    let percentage = if was > 0 {
        format!(" ({})", percent(change.unsigned_abs() as f64 * 100.0 / was as f64))
    } else {
        String::new()
    };
    let direction = if change > 0 { "longer" } else { "less" };
    let length = duration(i64::try_from(change.unsigned_abs()).unwrap_or(i64::MAX));
    format!("{length}{percentage} {direction}: {}, was {}", duration(is), duration(was))
}

fn signed(ns: i64) -> String {
    format!("{}{}", if ns > 0 { "+" } else { "" }, duration(ns))
}

fn growth(comparison: &FirmwareComparison) -> Option<String> {
    let growth_sentence = |label: &str, change: &Option<FirmwareChange>| {
        let change = change.as_ref()?;
        Some(format!(
            "{label}: {}, +{} to {}.",
            printable(&change.name),
            duration(change.change_ns?),
            duration(change.after_ns?)
        ))
    };
    let sentences: Vec<String> = [
        growth_sentence("Largest growth of a phase", &comparison.grown_phase),
        growth_sentence("Largest growth of a driver", &comparison.grown_driver),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Returns the changes, largest first, whether growth or not.
fn largest(changes: &[FirmwareChange]) -> Vec<&FirmwareChange> {
    let mut changed: Vec<&FirmwareChange> =
        changes.iter().filter(|change| change.change_ns.is_some_and(|ns| ns != 0)).collect();
    changed.sort_by_key(|change| std::cmp::Reverse(change.change_ns.map(i64::unsigned_abs)));
    changed
}

fn list<'a>(
    name: &'static str,
    title: &'static str,
    item_name: &'static str,
    changes: Vec<&'a FirmwareChange>,
    top: usize,
) -> Section<'a> {
    let note = if changes.len() > top {
        format!("{} of {} that changed", count(top as u64), count(changes.len() as u64))
    } else {
        String::new()
    };
    Section::builder(name, title, changes)
        .note(note)
        .top(top)
        .name("name", item_name, 64, |change| Value::text(&change.name))
        .data("guid", |change| Value::text(&change.guid))
        .quantity("before_ns", "before", |change| Cell::duration_or_dash(change.before_ns))
        .quantity("after_ns", "after", |change| Cell::duration_or_dash(change.after_ns))
        .quantity("change_ns", "change", |change| match change.change_ns {
            Some(ns) => Cell::with_display_text(Value::Duration(ns), signed(ns)),
            None => Cell::duration_or_dash(None),
        })
        .build()
}
