//! Tables of the measures of one category, side by side.

use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::{Category, Change, ComparedMeasure, Comparison, MeasureSpread, MeasureUnit, Verdict};

use super::{MIN_SHOWN_NS, signed, signed_percent, value};
use crate::text::phases::display_name;
use crate::text::printable::printable;
use crate::text::quantity::count;
use crate::text::style::{BAR, DOUBT, QUIET, WORST};
use crate::text::why::account::kind;
use onoff_sections::section::{self, Cell, Heading, Section, SectionBuilder};

/// Writes the measures of `category`: all of them for totals and phases, otherwise those that differ, largest
/// difference first.
pub(super) fn write(comparison: &Comparison, category: Category, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let measures: Vec<&ComparedMeasure> =
        comparison.measures.iter().filter(|measure| measure.category == category).collect();
    if measures.is_empty() {
        return Ok(());
    }
    if category.keeps_order() {
        return section::text::write(&table(comparison, (heading(category), String::new()), &measures), out);
    }
    let mut differing: Vec<&ComparedMeasure> = measures.iter().copied().filter(|measure| differs(measure)).collect();
    differing.sort_by_key(|measure| std::cmp::Reverse(size_of(measure)));
    let shown_count = differing.len().min(top);
    let note = match (differing.len(), shown_count) {
        (0, _) => format!("no change in {}", count(measures.len() as u64)),
        (total, shown_count) if total > shown_count => format!(
            "{} of {} changed, {} in total",
            count(shown_count as u64),
            count(total as u64),
            count(measures.len() as u64)
        ),
        (total, _) => format!("{} of {} changed", count(total as u64), count(measures.len() as u64)),
    };
    differing.truncate(shown_count);
    section::text::write(&table(comparison, (heading(category), note), &differing), out)
}

/// Returns the title of the table of a category.
#[must_use]
pub const fn heading(category: Category) -> &'static str {
    match category {
        Category::Total => "Totals",
        Category::Phase => "Phases",
        Category::Account => "Time per phase by subject",
        Category::Service => "Services",
        Category::Application => "Applications",
        Category::Step => "Steps",
        Category::Driver => "Drivers (summed by operation)",
        Category::Device => "Devices (summed by operation)",
        Category::Cpu => "CPU time by process",
        Category::File => "Disk time by file",
    }
}

/// True if a measure differs by 1 ms or more.
#[must_use]
pub fn differs(measure: &ComparedMeasure) -> bool {
    measure.changes.iter().enumerate().any(|(index, change)| {
        change.verdict != Verdict::Same && size_of_change(measure, index, change) >= MIN_SHOWN_NS
    })
}

/// Returns the largest difference of a measure, in its unit, or its value if it is new or gone.
#[must_use]
pub fn size_of(measure: &ComparedMeasure) -> u64 {
    measure
        .changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.verdict != Verdict::Same)
        .map(|(index, change)| size_of_change(measure, index, change))
        .max()
        .unwrap_or(0)
}

/// Returns the size of a difference, or the value of the measure if it is new or gone.
fn size_of_change(measure: &ComparedMeasure, index: usize, change: &Change) -> u64 {
    let median = |index: usize| measure.values.get(index).and_then(|spread| spread.median);
    change.difference.or(median(index + 1)).or(median(0)).map_or(0, i64::unsigned_abs)
}

fn table<'a>(
    comparison: &'a Comparison,
    (title, note): (&'static str, String),
    measures: &[&'a ComparedMeasure],
) -> Section<'a> {
    let section = Section::builder("measures", title, measures.to_vec()).note(note);
    match comparison.configurations.as_slice() {
        [first, second] => two_columns(section, (&first.name, &second.name)),
        _ => many_columns(section, comparison),
    }
}

fn two_columns<'a>(
    section: SectionBuilder<'a, &'a ComparedMeasure>,
    (first, second): (&'a str, &'a str),
) -> Section<'a> {
    let change = |measure: &&'a ComparedMeasure, text: &dyn Fn(MeasureUnit, &Change) -> Option<String>| {
        measure.changes.first().and_then(|change| text(measure.unit, change)).unwrap_or_default()
    };
    let verdict =
        |measure: &&'a ComparedMeasure| measure.changes.first().map_or(Verdict::Unknown, |change| change.verdict);
    let spread = |measure: &&'a ComparedMeasure, index: usize| {
        Cell::text_only(
            Style::new(),
            measure.values.get(index).map_or_else(|| "-".to_owned(), |spread| with_range(measure.unit, spread)),
        )
    };
    section
        .name("", "", 56, |measure| Cell::text_only(Style::new(), label(measure)))
        .column_with_title(Heading::quantity("", ""), printable(first), move |measure| spread(measure, 0))
        .column_with_title(Heading::quantity("", ""), printable(second), move |measure| spread(measure, 1))
        .quantity("", "change", |measure| {
            Cell::text_only(
                style(verdict(measure)),
                change(measure, &|unit, change| Some(signed(unit, change.difference?))),
            )
        })
        .quantity("", "", |measure| {
            Cell::text_only(Style::new(), change(measure, &|_, change| change.percent.map(signed_percent)))
        })
        .quantity("", "95 % confidence", |measure| {
            let interval = |unit, change: &Change| {
                let ends = change.interval?;
                Some(format!("{} to {}", signed(unit, ends.low), signed(unit, ends.high)))
            };
            Cell::text_only(QUIET, change(measure, &interval))
        })
        .quantity("", "noise", |measure| {
            Cell::text_only(QUIET, measure.noise_floor.map(|floor| value(measure.unit, floor)).unwrap_or_default())
        })
        .quantity("", "p", |measure| Cell::text_only(QUIET, change(measure, &|_, change| Some(p_value(change)))))
        .name("", "", 16, |measure| Cell::text_only(style(verdict(measure)), word(verdict(measure))))
        .build()
}

/// Adds the columns for more than two configurations: medians with the difference from the first in percent.
fn many_columns<'a>(mut section: SectionBuilder<'a, &'a ComparedMeasure>, comparison: &'a Comparison) -> Section<'a> {
    section = section.name("", "", 48, |measure| Cell::text_only(Style::new(), label(measure)));
    for (index, configuration) in comparison.configurations.iter().enumerate() {
        section = section.column_with_title(Heading::quantity("", ""), printable(&configuration.name), |measure| {
            let median = measure.values.get(index).and_then(|spread| spread.median);
            let median = median.map_or_else(|| "-".to_owned(), |median| value(measure.unit, median));
            let change = index.checked_sub(1).and_then(|index| measure.changes.get(index));
            let text = match change.and_then(|change| change.percent) {
                Some(percent) => format!("{median} {}", signed_percent(percent)),
                None => median,
            };
            Cell::text_only(change.map_or(Style::new(), |change| style(change.verdict)), text)
        });
    }
    section.build()
}

/// Returns the display name of a measure; for time by subject, the phase and the subject.
#[must_use]
pub fn label(measure: &ComparedMeasure) -> String {
    match &measure.subject {
        Some(subject) if !subject.kind.is_attributable() => {
            format!("{} · {}", display_name(&subject.phase), kind(subject.kind))
        }
        Some(subject) => {
            format!("{} · {} {}", display_name(&subject.phase), kind(subject.kind), printable(&subject.name))
        }
        None if measure.category == Category::Phase => display_name(&measure.name),
        None if measure.category == Category::Total => total_name(&measure.name),
        None => printable(&measure.name).into_owned(),
    }
}

/// Returns the display name of a total. JSON and gate limits use its key.
fn total_name(name: &str) -> String {
    let title = match name {
        "startup" => "boot up to the last unit",
        "total_with_idle" => "total with idle time",
        "main_path" => "kernel start to desktop",
        "to_desktop" => "power-on to desktop",
        "from_reset" => "total from reset",
        "logon_to_desktop" => "logon to desktop",
        "os_loader" => "loader",
        "services" => "all services",
        "boot_start" => "boot-start drivers",
        "system_start" => "system-start drivers",
        "disk_read" => "read from disk",
        "disk_written" => "written to disk",
        "post_resume" => "work after resume",
        "pre_shutdown" => "preshutdown services",
        "default_target" => "default target reached",
        "manager" => "service manager",
        _ => return printable(&name.replace('_', " ")).into_owned(),
    };
    title.to_owned()
}

/// Formats the median with the range of the runs.
fn with_range(unit: MeasureUnit, spread: &MeasureSpread) -> String {
    let Some(median) = spread.median else { return "-".to_owned() };
    match (spread.min, spread.max) {
        (Some(min), Some(max)) if spread.runs > 1 && min != max => {
            format!("{} ({} to {})", value(unit, median), value(unit, min), value(unit, max))
        }
        _ => value(unit, median),
    }
}

/// Formats the p-value; empty if there are too few runs to compute one.
fn p_value(change: &Change) -> String {
    match (change.p_value, change.min_p_value) {
        (Some(p), Some(min_p)) if min_p < 1.0 => {
            if p < 0.001 {
                "<0.001".to_owned()
            } else {
                format!("{p:.3}")
            }
        }
        _ => String::new(),
    }
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "within noise",
        Verdict::Unknown => "",
        verdict => verdict.as_str(),
    }
}

const fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Slower | Verdict::More => WORST,
        Verdict::New | Verdict::Gone => DOUBT,
        Verdict::Faster | Verdict::Less => BAR,
        Verdict::Same => QUIET,
        Verdict::Unknown => Style::new(),
    }
}
