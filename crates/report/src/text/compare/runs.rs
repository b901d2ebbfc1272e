//! What each run took: totals and phases, before any median is taken.

use std::io::{self, Write};

use onoff_analysis::compare::{ComparedMeasure, Comparison, Configuration, Run};

use super::value;
use crate::text::printable::printable;
use crate::text::section::title;
use crate::text::style::{DOUBT, QUIET};
use crate::text::table::{Table, cell, styled_cell};

/// Writes a table of the runs of `configurations`, a row each; `comparison` is theirs and says what was not compared.
///
/// # Errors
/// What `out` answers.
pub fn write(configurations: &[Configuration], comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    title("Runs", "the totals and phases of each, in the order of the files", out)?;
    let measures: Vec<&ComparedMeasure> =
        comparison.measures.iter().filter(|measure| measure.category.keeps_order()).collect();
    let mut table = Table::new().left("of", 16).left("run", 44);
    for measure in &measures {
        table = table.right(printable(&measure.name).into_owned());
    }
    table = table.left("", 40);
    for (configuration, summary) in configurations.iter().zip(&comparison.configurations) {
        for (run, compared) in configuration.runs.iter().zip(&summary.runs) {
            let style = if compared.compared { anstyle::Style::new() } else { QUIET };
            let values = measures.iter().map(|measure| styled_cell(style, of_run(run, measure)));
            let note = if compared.compared { "" } else { "set apart" };
            let names = [cell(printable(&configuration.name)), styled_cell(style, printable(&run.name))];
            table.row(names.into_iter().chain(values).chain([styled_cell(DOUBT, note)]));
        }
    }
    table.write(out)
}

fn of_run(run: &Run, measure: &ComparedMeasure) -> String {
    let own = run.measures.iter().find(|own| own.key.eq_ignore_ascii_case(&measure.key));
    own.map_or_else(|| "-".to_owned(), |own| value(own.unit, own.value))
}
