//! Totals and phases of each run.

use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::{ComparedMeasure, Comparison, Configuration, Run};

use super::value;
use crate::text::printable::printable;
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Writes a table of the runs of `configurations`; `comparison` says which runs were compared.
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
    let mut section = Section::of("runs", "Runs", rows)
        .note("totals and phases, in file order")
        .name("", "configuration", 16, |row| Value::text(&row.0.name))
        .name("", "run", 44, |row| Value::text(&row.1.name).styled(style(row.2)));
    for measure in measures {
        section = section.titled(Heading::quantity("", ""), printable(&measure.name), |row| {
            Cell::words(style(row.2), of_run(row.1, measure))
        });
    }
    let section = section.name("", "", 40, |row| Cell::words(DOUBT, if row.2 { "" } else { "excluded" }));
    section::text::write(&section.build(), out)
}

fn of_run(run: &Run, measure: &ComparedMeasure) -> String {
    let own = run.measures.iter().find(|own| own.key.eq_ignore_ascii_case(&measure.key));
    own.map_or_else(|| "-".to_owned(), |own| value(own.unit, own.value))
}
