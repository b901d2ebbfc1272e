//! The tables of a study.

use std::io::{self, Write};

use anstyle::Style;
use onoff_compare::study_table::{CellUnit, StudyCell, StudyTable};

use crate::text::printable::printable;
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Writes the table of a study.
pub(super) fn write(study: &StudyTable, out: &mut dyn Write) -> io::Result<()> {
    let mut section = Section::builder("study", printable(&study.title), &study.rows)
        .note(study.unit.as_str())
        .column_with_title(Heading::name("", "").with_width(56), printable(&study.heading), |row| {
            Value::text(&row.label)
        });
    for (index, column) in study.columns.iter().enumerate() {
        section = section.column_with_title(Heading::quantity("", ""), printable(column), |row| {
            Cell::text_only(Style::new(), row.cells.get(index).map(|cell| number(study, cell)).unwrap_or_default())
        });
    }
    section::text::write(&section.build(), out)
}

/// Formats a number as shown in the table, or a dash.
#[must_use]
pub fn number(study: &StudyTable, cell: &StudyCell) -> String {
    let Some(number) = cell.number else { return "-".to_owned() };
    let decimals = usize::from(study.decimals);
    match cell.unit {
        CellUnit::Time => format!("{number:.decimals$}"),
        CellUnit::Mebibytes => format!("{number:.1} MiB"),
        CellUnit::Count => format!("{number:.0}"),
        CellUnit::Percent if number == 0.0 => "0 %".to_owned(),
        CellUnit::Percent if number.abs() < 0.05 => "<0.1 %".to_owned(),
        CellUnit::Percent => format!("{number:.1} %"),
    }
}
