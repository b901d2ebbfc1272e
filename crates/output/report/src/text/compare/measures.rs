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

/// Writes the measures of `category`: all totals and phases, otherwise those that differ, largest difference first.
pub(super) fn write(comparison: &Comparison, category: Category, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let of_category: Vec<&ComparedMeasure> =
        comparison.measures.iter().filter(|measure| measure.category == category).collect();
    if of_category.is_empty() {
        return Ok(());
    }
    if category.keeps_order() {
        return section::text::write(&table(comparison, (heading(category), String::new()), &of_category), out);
    }
    let mut differing: Vec<&ComparedMeasure> = of_category.iter().copied().filter(|it| differs(it)).collect();
    differing.sort_by_key(|measure| std::cmp::Reverse(size_of(measure)));
    let shown = differing.len().min(top);
    let note = match (differing.len(), shown) {
        (0, _) => format!("no change in {}", count(of_category.len() as u64)),
        (all, shown) if all > shown => format!(
            "{} of {} changed, {} in total",
            count(shown as u64),
            count(all as u64),
            count(of_category.len() as u64)
        ),
        (all, _) => format!("{} of {} changed", count(all as u64), count(of_category.len() as u64)),
    };
    differing.truncate(shown);
    section::text::write(&table(comparison, (heading(category), note), &differing), out)
}

/// The title of the table of a category.
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
    measure
        .changes
        .iter()
        .enumerate()
        .any(|(at, change)| change.verdict != Verdict::Same && size_of_change(measure, at, change) >= MIN_SHOWN_NS)
}

/// The largest difference of a measure, in its unit; the whole value if it is new or gone.
#[must_use]
pub fn size_of(measure: &ComparedMeasure) -> u64 {
    measure
        .changes
        .iter()
        .enumerate()
        .filter(|(_, change)| change.verdict != Verdict::Same)
        .map(|(at, change)| size_of_change(measure, at, change))
        .max()
        .unwrap_or(0)
}

/// The size of a difference; the whole value if the measure is new or gone.
fn size_of_change(measure: &ComparedMeasure, at: usize, change: &Change) -> u64 {
    let median = |at: usize| measure.values.get(at).and_then(|it| it.median);
    change.difference.or(median(at + 1)).or(median(0)).map_or(0, i64::unsigned_abs)
}

fn table<'a>(
    comparison: &'a Comparison,
    (title, note): (&'static str, String),
    measures: &[&'a ComparedMeasure],
) -> Section<'a> {
    let section = Section::of("measures", title, measures.to_vec()).note(note);
    match comparison.configurations.as_slice() {
        [first, second] => two(section, (&first.name, &second.name)),
        _ => several(section, comparison),
    }
}

fn two<'a>(section: SectionBuilder<'a, &'a ComparedMeasure>, (first, second): (&'a str, &'a str)) -> Section<'a> {
    let change = |measure: &&'a ComparedMeasure, text: &dyn Fn(MeasureUnit, &Change) -> Option<String>| {
        measure.changes.first().and_then(|change| text(measure.unit, change)).unwrap_or_default()
    };
    let verdict = |measure: &&'a ComparedMeasure| measure.changes.first().map_or(Verdict::Unknown, |it| it.verdict);
    let spread = |measure: &&'a ComparedMeasure, at: usize| {
        Cell::words(
            Style::new(),
            measure.values.get(at).map_or_else(|| "-".to_owned(), |it| with_range(measure.unit, it)),
        )
    };
    section
        .name("", "", 56, |measure| Cell::words(Style::new(), label(measure)))
        .titled(Heading::quantity("", ""), printable(first), move |measure| spread(measure, 0))
        .titled(Heading::quantity("", ""), printable(second), move |measure| spread(measure, 1))
        .quantity("", "change", |measure| {
            Cell::words(style(verdict(measure)), change(measure, &|unit, it| Some(signed(unit, it.difference?))))
        })
        .quantity("", "", |measure| Cell::words(Style::new(), change(measure, &|_, it| it.percent.map(signed_percent))))
        .quantity("", "95 % confidence", |measure| {
            let interval = |unit, it: &Change| {
                let ends = it.interval?;
                Some(format!("{} to {}", signed(unit, ends.low), signed(unit, ends.high)))
            };
            Cell::words(QUIET, change(measure, &interval))
        })
        .quantity("", "noise", |measure| {
            Cell::words(QUIET, measure.noise_floor.map(|floor| value(measure.unit, floor)).unwrap_or_default())
        })
        .quantity("", "p", |measure| Cell::words(QUIET, change(measure, &|_, it| Some(p_value(it)))))
        .name("", "", 16, |measure| Cell::words(style(verdict(measure)), word(verdict(measure))))
        .build()
}

/// More than two configurations: medians with the difference from the first in percent.
fn several<'a>(mut section: SectionBuilder<'a, &'a ComparedMeasure>, comparison: &'a Comparison) -> Section<'a> {
    section = section.name("", "", 48, |measure| Cell::words(Style::new(), label(measure)));
    for (at, configuration) in comparison.configurations.iter().enumerate() {
        section = section.titled(Heading::quantity("", ""), printable(&configuration.name), |measure| {
            let median = measure.values.get(at).and_then(|spread| spread.median);
            let median = median.map_or_else(|| "-".to_owned(), |median| value(measure.unit, median));
            let change = at.checked_sub(1).and_then(|at| measure.changes.get(at));
            let text = match change.and_then(|change| change.percent) {
                Some(percent) => format!("{median} {}", signed_percent(percent)),
                None => median,
            };
            Cell::words(change.map_or(Style::new(), |change| style(change.verdict)), text)
        });
    }
    section.build()
}

/// The display name of a measure; for time by subject, the phase and the subject.
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
        None if measure.category == Category::Total => total(&measure.name),
        None => printable(&measure.name).into_owned(),
    }
}

/// The display name of a total. JSON and gate limits use its key.
fn total(name: &str) -> String {
    let title = match name {
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
        other => return printable(&other.replace('_', " ")).into_owned(),
    };
    title.to_owned()
}

/// The median with the range of the runs.
fn with_range(unit: MeasureUnit, spread: &MeasureSpread) -> String {
    let Some(median) = spread.median else { return "-".to_owned() };
    match (spread.min, spread.max) {
        (Some(least), Some(most)) if spread.runs > 1 && least != most => {
            format!("{} ({} to {})", value(unit, median), value(unit, least), value(unit, most))
        }
        _ => value(unit, median),
    }
}

/// The p-value; empty if there are too few runs for any.
fn p_value(change: &Change) -> String {
    match (change.p_value, change.min_p_value) {
        (Some(p), Some(least)) if least < 1.0 => {
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
