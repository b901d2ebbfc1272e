//! Sections as text.

use std::io::{self, Write};

use super::{Column, Section};
use crate::table::Kind;
use crate::terminal::quantity::count;
use crate::terminal::section::title;
use crate::terminal::style::QUIET;
use crate::terminal::table::{Table, styled_cell};

/// Writes the title, the first rows and the lines of a section.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(section: &Section<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !section.title.is_empty() {
        title(&section.title, &section.note, out)?;
    }
    let columns: Vec<&Column<'_>> = section.columns.iter().filter(|column| column.heading.in_text).collect();
    let mut table = Table::new();
    for column in &columns {
        let title = column.title.clone().into_owned();
        table = match column.heading.kind {
            Kind::Name => table.left(title, column.heading.width),
            Kind::Id | Kind::Time | Kind::Quantity => table.right(title),
        };
    }
    for row in 0..section.rows.min(section.top) {
        let cells = columns.iter().filter_map(|column| Some((column.heading.sparse, column.cells.get(row)?)));
        table.row(cells.map(|(sparse, cell)| styled_cell(cell.style, cell.text(sparse))));
    }
    if !table.is_empty() {
        table.write(out)?;
    }
    let hidden = section.rows.saturating_sub(section.top);
    if section.counts_hidden && hidden > 0 {
        let rows = if hidden == 1 { "row" } else { "rows" };
        writeln!(out, "  {QUIET}and {} more {rows}; use --top 0 to show all{QUIET:#}", count(hidden as u64))?;
    }
    for line in &section.lines {
        let style = line.style;
        writeln!(out, "  {style}{}{style:#}", line.text)?;
    }
    Ok(())
}

/// Writes several sections.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_all<'s, 'a: 's>(
    sections: impl IntoIterator<Item = &'s Section<'a>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    sections.into_iter().try_for_each(|section| write(section, out))
}

#[cfg(test)]
mod tests {
    use super::super::tests::section;
    use super::*;

    #[test]
    fn writes_first_rows_with_display_text() {
        let mut out = Vec::new();
        write(&section(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let plain: String =
            text.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
        assert_eq!(
            plain,
            "\nUnits  slowest of 3\n  unit    duration\n  =cmd      1.50 s  late\n  b     unfinished\n  All of it.\n"
        );
    }
}
