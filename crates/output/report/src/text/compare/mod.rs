//! The text report of `compare`: headline, excluded runs, then the differences, largest first.

mod cause_check;
mod explanation;
mod headline;
mod measures;
mod moved;
mod notes;
mod runs;
mod study;

use std::io::{self, Write};

use onoff_compare::{Category, Comparison, ConfigurationSummary, ExclusionReason, MeasureUnit};

use super::printable::printable;
use super::quantity::{count, counted, duration, size};
use super::style::{DOUBT, QUIET};
use onoff_sections::section::{self, Section};
use onoff_sections::table::Value;

pub use cause_check::sentence as cause_check;
pub use explanation::sentence as explanation;
pub(super) use explanation::write as write_explanations;
pub use measures::{differs, heading, label, size_of};
pub use moved::sentence as moved;
pub(super) use notes::write as write_notes;
pub use runs::write as write_runs;
pub use study::number;

/// Minimum difference of a service, device etc. shown as text, in ns: 1 ms. JSON and CSV have smaller ones.
const MIN_SHOWN_NS: u64 = 1_000_000;

/// Writes the comparison.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(comparison: &Comparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline::write(comparison, out)?;
    configurations(&comparison.configurations, out)?;
    excluded_runs(&comparison.configurations, out)?;
    for table in &comparison.tables {
        study::write(table, out)?;
    }
    for category in Category::ALL {
        measures::write(comparison, category, top, out)?;
    }
    moved::write(comparison, top, out)
}

/// Returns the headline in sentences: one per configuration after the baseline, then the notes.
#[must_use]
pub fn answer(comparison: &Comparison) -> Vec<String> {
    let answers = headline::sentences(comparison).map(|(_, sentence)| sentence);
    answers.chain(comparison.notes.iter().map(notes::sentence)).chain(headline::too_few(comparison)).collect()
}

/// Formats a value with its unit.
pub(crate) fn value(unit: MeasureUnit, value: i64) -> String {
    match unit {
        MeasureUnit::Ns => duration(value),
        MeasureUnit::Bytes => {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}", size(value.unsigned_abs()))
        }
        MeasureUnit::Count => {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}", count(value.unsigned_abs()))
        }
    }
}

/// Formats a difference with its sign and unit.
pub(super) fn signed(unit: MeasureUnit, difference: i64) -> String {
    let sign = if difference > 0 { "+" } else { "" };
    format!("{sign}{}", value(unit, difference))
}

/// Formats a difference in percent, to a tenth, with its sign.
pub(crate) fn signed_percent(percent: f64) -> String {
    if percent.abs() < 0.05 {
        "0 %".to_owned()
    } else if percent.abs() < 99.95 {
        format!("{percent:+.1} %")
    } else if percent < 9_999.5 {
        format!("{percent:+.0} %")
    } else {
        // A change from almost zero has no readable percentage.
        String::new()
    }
}

/// Writes one line with the number of compared runs per configuration.
pub(super) fn configurations(configurations: &[ConfigurationSummary], out: &mut dyn Write) -> io::Result<()> {
    let summaries: Vec<String> = configurations
        .iter()
        .map(|configuration| {
            let excluded = match configuration.runs.len() as u64 - configuration.compared_runs {
                0 => String::new(),
                excluded => format!(", {} excluded", count(excluded)),
            };
            let settings = settings(configuration);
            format!(
                "{}: {}{excluded}{settings}",
                printable(&configuration.name),
                counted(configuration.compared_runs, "run")
            )
        })
        .collect();
    writeln!(out, "{QUIET}{}{QUIET:#}", summaries.join(" · "))
}

/// Lists the settings of the compared runs, each once, in parentheses; empty if unknown.
fn settings(configuration: &ConfigurationSummary) -> String {
    let mut settings: Vec<&str> = Vec::new();
    for run in configuration.runs.iter().filter(|run| run.compared && !run.settings.is_empty()) {
        if !settings.contains(&run.settings.as_str()) {
            settings.push(&run.settings);
        }
    }
    match settings.as_slice() {
        [] => String::new(),
        [only] => format!(" ({})", printable(only)),
        several => format!(" (mixed: {})", printable(&several.join("; "))),
    }
}

/// Writes the excluded runs with the reasons.
pub(super) fn excluded_runs(configurations: &[ConfigurationSummary], out: &mut dyn Write) -> io::Result<()> {
    let rows = configurations
        .iter()
        .flat_map(|configuration| &configuration.runs)
        .flat_map(|run| run.exclusions.iter().map(move |exclusion| (run, exclusion)));
    let section = Section::builder("exclusions", "Excluded runs", rows)
        .note("not included in the numbers below")
        .name("run", "run", 48, |(run, _)| Value::text(&run.name))
        .name("why", "reason", 96, |(_, exclusion)| Value::text(&exclusion.text).styled(DOUBT))
        .name("option", "to include it", 40, |(_, exclusion)| Value::Text(include_option(exclusion.reason).into()))
        .build();
    if section.is_empty() { Ok(()) } else { section::text::write(&section, out) }
}

/// Returns the option that includes runs excluded for this reason.
fn include_option(reason: ExclusionReason) -> String {
    // An unreadable run cannot be included.
    if reason == ExclusionReason::Unreadable {
        return String::new();
    }
    format!("--include {}", reason.as_str().replace('_', "-"))
}
