//! Aligned columns.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::printable::printable;
use super::style::QUIET;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

#[derive(Clone, Debug)]
struct Column {
    title: Cow<'static, str>,
    align: Align,
    /// Longest text shown, in terminal cells; longer ones lose their middle.
    limit: usize,
}

/// A cell's text, and how it looks.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

/// A cell.
pub fn cell(text: impl Into<String>) -> Cell {
    styled_cell(Style::new(), text)
}

/// A cell in a style.
pub fn styled_cell(style: Style, text: impl Into<String>) -> Cell {
    Cell { text: text.into(), style }
}

/// A table in the making: columns first, then rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of names, at most `limit` cells wide.
    #[must_use]
    pub fn left(mut self, title: impl Into<Cow<'static, str>>, limit: usize) -> Self {
        self.columns.push(Column { title: title.into(), align: Align::Left, limit });
        self
    }

    /// Adds a column of numbers.
    #[must_use]
    pub fn right(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { title: title.into(), align: Align::Right, limit: usize::MAX });
        self
    }

    /// Appends a row: one cell per column, in their order.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let row = self
            .columns
            .iter()
            .zip(cells)
            .map(|(column, cell)| Cell { text: shortened(&cell.text, column.limit), style: cell.style });
        self.rows.push(row.collect());
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, indented by two, with its titles unless all are empty. Columns without any text are left out.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&at| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty())))
            .collect();
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            let titles = shown.iter().map(|&at| (at, self.columns[at].title.as_ref(), QUIET));
            self.write_line(out, &widths, titles)?;
        }
        for row in &self.rows {
            let cells = shown.iter().filter_map(|&at| row.get(at).map(|cell| (at, cell.text.as_str(), cell.style)));
            self.write_line(out, &widths, cells)?;
        }
        Ok(())
    }

    fn width(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.width());
        cells.chain([self.columns[at].title.width()]).max().unwrap_or(0)
    }

    fn write_line<'a>(
        &self,
        out: &mut dyn Write,
        widths: &[usize],
        cells: impl Iterator<Item = (usize, &'a str, Style)>,
    ) -> io::Result<()> {
        // Blanks wait until text follows them: no line ends in blanks.
        let mut blanks = 2;
        let mut first = true;
        for (at, text, style) in cells {
            if !first {
                blanks += 2;
            }
            first = false;
            let room = widths[at].saturating_sub(text.width());
            if self.columns[at].align == Align::Right {
                blanks += room;
            }
            if !text.is_empty() {
                write!(out, "{:blanks$}{style}{text}{style:#}", "")?;
                blanks = 0;
            }
            if self.columns[at].align == Align::Left {
                blanks += room;
            }
        }
        writeln!(out)
    }
}

/// `text` without its middle when it is wider than `limit` cells: both ends of a path matter.
fn shortened(text: &str, limit: usize) -> String {
    let text = printable(text);
    if text.width() <= limit {
        return text.into_owned();
    }
    let keep = limit.saturating_sub(1);
    let head = take_cells(text.chars(), keep / 2);
    let tail = take_cells(text.chars().rev(), keep - keep / 2);
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

fn take_cells(characters: impl Iterator<Item = char>, cells: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for character in characters {
        let mut buffer = [0; 4];
        used += character.encode_utf8(&mut buffer).width();
        if used > cells {
            break;
        }
        taken.push(character);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(table: &Table) -> String {
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        String::from_utf8(out).unwrap().replace('\u{1b}', "").replace("[2m", "").replace("[0m", "")
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let mut table = Table::new().left("name", 40).right("took").left("note", 40).left("empty", 40);
        table.row([cell("a"), cell("245 ms"), cell(""), cell("")]);
        table.row([cell("longer"), cell("1.20 s"), cell("late"), cell("")]);
        assert_eq!(written(&table), "  name      took  note\n  a       245 ms\n  longer  1.20 s  late\n");
    }

    #[test]
    fn a_wide_text_keeps_both_ends_and_its_width_is_that_of_a_terminal() {
        assert_eq!(shortened("short", 10), "short");
        assert_eq!(shortened(r"\Device\HarddiskVolume3\Windows\explorer.exe", 20), r"\Device\H…plorer.exe");
        assert_eq!(shortened("装置装置装置", 7).width(), 5);
    }
}
