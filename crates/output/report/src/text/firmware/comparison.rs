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
    if let Some(sentence) = grown(comparison) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    writeln!(
        out,
        "{QUIET}before: {} · after: {}{QUIET:#}",
        printable(&comparison.before),
        printable(&comparison.after)
    )?;
    let all = usize::MAX;
    let sections = [
        list("intervals", "From reset to the operating system", "stage", comparison.intervals.iter().collect(), all),
        list("phases", "Phases", "phase", comparison.phases.iter().collect(), all),
        list("drivers", "Drivers and modules (self time)", "module", largest(&comparison.drivers), top),
        list("devices", "Devices (self time in driver starts)", "device", largest(&comparison.devices), top),
    ];
    section::text::write_all(sections.iter().filter(|section| !section.is_empty()), out)
}

fn answer(comparison: &FirmwareComparison) -> String {
    let known = |name: &str| {
        let change = comparison.intervals.iter().find(|change| change.name.starts_with(name))?;
        Some((change.change_ns?, change.before_ns?, change.after_ns?))
    };
    let part = match (known("Time1"), known("total")) {
        (Some((change, was, is)), None) => {
            format!("The firmware took {}", grown_by(change, was, is))
        }
        (None, Some((change, was, is))) => {
            format!("From reset to the operating system it took {}", grown_by(change, was, is))
        }
        (Some((firmware, ..)), Some((change, was, is))) => format!(
            "From reset to the operating system it took {}; the firmware accounts for {}",
            grown_by(change, was, is),
            signed(firmware)
        ),
        (None, None) => "The change in firmware time is unknown: one of the two inputs does not have it".to_owned(),
    };
    part + "."
}

/// A change as `1.72 s (32 %) longer: 7.02 s, was 5.30 s`.
fn grown_by(change: i64, was: i64, is: i64) -> String {
    if change == 0 {
        return format!("as long as before, {}", duration(is));
    }
    let part = if was > 0 {
        format!(" ({})", percent(change.unsigned_abs() as f64 * 100.0 / was as f64))
    } else {
        String::new()
    };
    let what = if change > 0 { "longer" } else { "less" };
    let length = duration(i64::try_from(change.unsigned_abs()).unwrap_or(i64::MAX));
    format!("{length}{part} {what}: {}, was {}", duration(is), duration(was))
}

fn signed(ns: i64) -> String {
    format!("{}{}", if ns > 0 { "+" } else { "" }, duration(ns))
}

fn grown(comparison: &FirmwareComparison) -> Option<String> {
    let named = |what: &str, change: &Option<FirmwareChange>| {
        let change = change.as_ref()?;
        Some(format!(
            "{what}: {}, +{} to {}.",
            printable(&change.name),
            duration(change.change_ns?),
            duration(change.after_ns?)
        ))
    };
    let sentences: Vec<String> = [
        named("Largest growth of a phase", &comparison.grown_phase),
        named("Largest growth of a driver", &comparison.grown_driver),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The largest changes first, growth or not.
fn largest(changes: &[FirmwareChange]) -> Vec<&FirmwareChange> {
    let mut changed: Vec<&FirmwareChange> =
        changes.iter().filter(|change| change.change_ns.is_some_and(|ns| ns != 0)).collect();
    changed.sort_by_key(|change| std::cmp::Reverse(change.change_ns.map(i64::unsigned_abs)));
    changed
}

fn list<'a>(
    name: &'static str,
    title: &'static str,
    one: &'static str,
    changes: Vec<&'a FirmwareChange>,
    top: usize,
) -> Section<'a> {
    let note = if changes.len() > top {
        format!("{} of {} that changed", count(top as u64), count(changes.len() as u64))
    } else {
        String::new()
    };
    Section::of(name, title, changes)
        .note(note)
        .top(top)
        .name("name", one, 64, |change| Value::text(&change.name))
        .data("guid", |change| Value::text(&change.guid))
        .quantity("before_ns", "before", |change| Cell::duration_or_dash(change.before_ns))
        .quantity("after_ns", "after", |change| Cell::duration_or_dash(change.after_ns))
        .quantity("change_ns", "change", |change| match change.change_ns {
            Some(ns) => Cell::shown(Value::Duration(ns), signed(ns)),
            None => Cell::duration_or_dash(None),
        })
        .build()
}
