//! Totals and phases of each run.

use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::{ComparedMeasure, Comparison, Configuration, Run};

use super::value;
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Writes a table of the runs of `configurations`. `comparison` says which runs were compared.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(configurations: &[Configuration], comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let measures = comparison.measures.iter().filter(|measure| measure.category.keeps_order());
    let rows = configurations.iter().zip(&comparison.configurations).flat_map(|(configuration, summary)| {
        let runs = configuration.runs.iter().zip(&summary.runs);
        runs.map(move |(run, compared)| (configuration, run, compared.compared))
    });
    let style = |compared: bool| if compared { Style::new() } else { QUIET };
    let mut section = Section::builder("runs", "Runs", rows)
        .note("totals and phases, in file order")
        .name("", "configuration", 16, |row| Value::text(&row.0.name))
        .name("", "run", 44, |row| Value::text(&row.1.name).styled(style(row.2)));
    for measure in measures {
        section = section.column_with_title(Heading::quantity("", ""), printable(&measure.name), |row| {
            Cell::text_only(style(row.2), run_value(row.1, measure))
        });
    }
    let section = section.name("", "", 40, |row| Cell::text_only(DOUBT, if row.2 { "" } else { "excluded" }));
    section::text::write(&section.build(), out)
}

fn run_value(run: &Run, measure: &ComparedMeasure) -> String {
    let run_measure = run.measures.iter().find(|run_measure| run_measure.key.eq_ignore_ascii_case(&measure.key));
    run_measure.map_or_else(|| "-".to_owned(), |run_measure| value(run_measure.unit, run_measure.value))
}
