//! The tables of a study.

use std::io::{self, Write};

use onoff_analysis::compare::study_table::{CellUnit, StudyCell, StudyTable};

use crate::text::printable::printable;
use crate::text::section::title;
use crate::text::table::{Table, cell};

/// Writes a table.
pub(super) fn write(study: &StudyTable, out: &mut dyn Write) -> io::Result<()> {
    title(&printable(&study.title), study.unit.as_str(), out)?;
    let mut table = Table::new().left(printable(&study.heading).into_owned(), 56);
    for column in &study.columns {
        table = table.right(printable(column).into_owned());
    }
    for row in &study.rows {
        let cells = row.cells.iter().map(|it| cell(number(study, it)));
        table.row([cell(printable(&row.label))].into_iter().chain(cells));
    }
    table.write(out)
}

/// A number as the table shows it; a dash where there is none.
#[must_use]
pub fn number(study: &StudyTable, cell: &StudyCell) -> String {
    let Some(number) = cell.number else {
        return "-".to_owned();
    };
    let decimals = usize::from(study.decimals);
    match cell.unit {
        CellUnit::Time => format!("{number:.decimals$}"),
        CellUnit::Mebibytes => format!("{number:.1} MiB"),
        CellUnit::Count => format!("{number:.0}"),
        CellUnit::Percent => format!("{number:.1} %"),
    }
}
