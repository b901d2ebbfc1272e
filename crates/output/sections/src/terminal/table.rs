//! Aligned columns.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::layout::{self, Width};
use super::printable::printable;
use super::style::QUIET;

/// Blanks before a row, before its continuation lines, and between columns.
const INDENT: usize = 2;
const CONTINUATION_INDENT: usize = 6;
const GAP: usize = 2;
/// Minimum width of a shortened name, and of a wrapped last column, in cells.
const MIN_NAME_WIDTH: usize = 24;
const MIN_NOTE_WIDTH: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

#[derive(Clone, Debug)]
struct Column {
    title: Cow<'static, str>,
    align: Align,
    /// Maximum width of a text, in terminal cells. Longer texts lose their middle.
    limit: usize,
}

/// The text of a cell with its style.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

pub fn cell(text: impl Into<String>) -> Cell {
    styled_cell(Style::new(), text)
}

pub fn styled_cell(style: Style, text: impl Into<String>) -> Cell {
    Cell { text: text.into(), style }
}

/// The layout of a table for a given width.
#[derive(Clone, Debug)]
struct Fit {
    /// The columns of each line of a row.
    bands: Vec<Vec<usize>>,
    /// The width of each column, in cells.
    widths: Vec<usize>,
    /// The column with wrapped text. Texts in the other columns lose their middle.
    wraps: Option<usize>,
}

/// A table: add columns first, then rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a left-aligned column, at most `limit` cells wide.
    #[must_use]
    pub fn left(mut self, title: impl Into<Cow<'static, str>>, limit: usize) -> Self {
        self.columns.push(Column { title: title.into(), align: Align::Left, limit });
        self
    }

    /// Adds a right-aligned column.
    #[must_use]
    pub fn right(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.columns.push(Column { title: title.into(), align: Align::Right, limit: usize::MAX });
        self
    }

    /// Adds a row with one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let unlimited = layout::width() == Width::Unlimited;
        let row = self.columns.iter().zip(cells).map(|(column, cell)| {
            let limit = if unlimited { usize::MAX } else { column.limit };
            Cell { text: shortened(&cell.text, limit), style: cell.style }
        });
        self.rows.push(row.collect());
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, indented by two, with its titles unless all are empty. Columns without any text are omitted.
    ///
    /// To fit a limited width ([`layout`]), it first omits bars, then shortens long names in the middle, then wraps the
    /// last column, then moves columns to a second line below the row.
    ///
    /// # Errors
    /// Returns errors from `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let natural: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut shown_columns: Vec<usize> = (0..self.columns.len())
            .filter(|&column| self.rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.text.is_empty())))
            .collect();
        let fit = match layout::width() {
            Width::Cells(cells) => self.fit(&mut shown_columns, natural, cells),
            Width::Natural | Width::Unlimited => Fit { bands: vec![shown_columns], widths: natural, wraps: None },
        };
        if self.columns.iter().any(|column| !column.title.is_empty()) {
            for (number, band) in fit.bands.iter().enumerate() {
                let titles = band.iter().map(|&column| (column, self.columns[column].title.as_ref(), QUIET)).collect();
                self.write_band(out, &fit, number, titles)?;
            }
        }
        for row in &self.rows {
            for (number, band) in fit.bands.iter().enumerate() {
                let cells = band
                    .iter()
                    .filter_map(|&column| row.get(column).map(|cell| (column, cell.text.as_str(), cell.style)));
                self.write_band(out, &fit, number, cells.collect())?;
            }
        }
        Ok(())
    }

    /// Computes the layout for a terminal of `cells`. Removes columns that do not fit from `shown_columns`.
    fn fit(&self, shown_columns: &mut Vec<usize>, natural: Vec<usize>, cells: usize) -> Fit {
        let mut widths = natural;
        let total = |shown_columns: &[usize], widths: &[usize]| {
            INDENT + shown_columns.iter().map(|&column| widths[column] + GAP).sum::<usize>() - GAP
        };
        if !shown_columns.is_empty() && total(shown_columns, &widths) > cells {
            shown_columns.retain(|&column| !self.is_bars(column));
        }
        // Shorten the widest name first. The last column is often a sentence, which wraps instead.
        let last_column = shown_columns
            .last()
            .copied()
            .filter(|&column| self.columns[column].align == Align::Left && shown_columns.len() > 1);
        let min_last_width = last_column.map_or(0, |column| widths[column].min(MIN_NOTE_WIDTH));
        loop {
            let leading: Vec<usize> =
                shown_columns.iter().copied().filter(|&column| Some(column) != last_column).collect();
            let last_gap = if last_column.is_some() { GAP } else { 0 };
            if leading.is_empty() || total(&leading, &widths) + last_gap + min_last_width <= cells {
                break;
            }
            let names = leading.iter().copied().filter(|&column| self.columns[column].align == Align::Left);
            match names.filter(|&column| widths[column] > MIN_NAME_WIDTH).max_by_key(|&column| widths[column]) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
        let mut bands: Vec<Vec<usize>> = vec![Vec::new()];
        let mut used = INDENT;
        for &column in shown_columns.iter() {
            let min_width =
                if Some(column) == last_column { widths[column].min(MIN_NOTE_WIDTH) } else { widths[column] };
            let is_first = bands.last().is_none_or(Vec::is_empty);
            if !is_first && used + GAP + min_width > cells {
                bands.push(Vec::new());
                used = CONTINUATION_INDENT;
            } else if !is_first {
                used += GAP;
            }
            if Some(column) == last_column {
                widths[column] = widths[column].min(cells.saturating_sub(used)).max(1);
            }
            used += widths[column];
            if let Some(band) = bands.last_mut() {
                band.push(column);
            }
        }
        Fit { bands, widths, wraps: last_column }
    }

    /// True if a column has only bars.
    fn is_bars(&self, column: usize) -> bool {
        let is_block = |character: char| character == ' ' || ('\u{2580}'..='\u{259f}').contains(&character);
        let mut cells =
            self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.text.is_empty()).peekable();
        cells.peek().is_some() && cells.all(|cell| cell.text.chars().all(is_block))
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width());
        cells.chain([self.columns[column].title.width()]).max().unwrap_or(0)
    }

    /// Writes one line of a row, or several if its last text wraps; omits continuation lines without text.
    fn write_band(
        &self,
        out: &mut dyn Write,
        fit: &Fit,
        number: usize,
        cells: Vec<(usize, &str, Style)>,
    ) -> io::Result<()> {
        if number > 0 && cells.iter().all(|(_, text, _)| text.is_empty()) {
            return Ok(());
        }
        let widths = &fit.widths;
        let indent = if number == 0 { INDENT } else { CONTINUATION_INDENT };
        // Blanks are written only before text, so that no line ends in blanks.
        let mut blanks = indent;
        let mut position = indent;
        let mut continuations: Vec<(usize, Style, Vec<String>)> = Vec::new();
        for (index, (column, text, style)) in cells.into_iter().enumerate() {
            if index > 0 {
                blanks += GAP;
                position += GAP;
            }
            let mut text = Cow::Borrowed(text);
            if text.width() > widths[column] {
                if fit.wraps == Some(column) {
                    let mut lines =
                        layout::lines(&text, widths[column]).into_iter().map(|line| shortened(&line, widths[column]));
                    text = Cow::Owned(lines.next().unwrap_or_default());
                    continuations.push((position, style, lines.collect()));
                } else {
                    text = Cow::Owned(shortened(&text, widths[column]));
                }
            }
            let padding = widths[column].saturating_sub(text.width());
            if self.columns[column].align == Align::Right {
                blanks += padding;
            }
            if !text.is_empty() {
                write!(out, "{:blanks$}{style}{text}{style:#}", "")?;
                blanks = 0;
            }
            if self.columns[column].align == Align::Left {
                blanks += padding;
            }
            position += widths[column];
        }
        writeln!(out)?;
        for (position, style, lines) in continuations {
            for line in lines {
                writeln!(out, "{:position$}{style}{line}{style:#}", "")?;
            }
        }
        Ok(())
    }
}

/// Removes the middle of a text wider than `limit` cells: both ends of a path matter.
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
    let mut prefix = String::new();
    let mut used = 0;
    for character in characters {
        let mut buffer = [0; 4];
        used += character.encode_utf8(&mut buffer).width();
        if used > cells {
            break;
        }
        prefix.push(character);
    }
    prefix
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
    fn aligns_columns_and_omits_empty_ones() {
        let mut table = Table::new().left("name", 40).right("took").left("note", 40).left("empty", 40);
        table.row([cell("a"), cell("245 ms"), cell(""), cell("")]);
        table.row([cell("longer"), cell("1.20 s"), cell("late"), cell("")]);
        assert_eq!(written(&table), "  name      took  note\n  a       245 ms\n  longer  1.20 s  late\n");
    }

    fn at_width(table: &Table, cells: usize) -> String {
        let mut out = Vec::new();
        layout::with_width::<io::Error>(Width::Cells(cells), &mut out, |out| table.write(out)).unwrap();
        let text = String::from_utf8(out).unwrap().replace('\u{1b}', "").replace("[2m", "").replace("[0m", "");
        for line in text.lines() {
            assert!(line.width() <= cells, "{cells}: {line}");
        }
        text
    }

    #[test]
    fn fits_narrow_terminal_without_bars_and_middles() {
        let mut table = Table::new().left("name", 60).right("took").left("share", 32).right("begins").left("", 90);
        let path = r"\Device\HarddiskVolume3\Windows\System32\explorer.exe";
        table.row([
            cell(path),
            cell("245 ms"),
            cell("████▌"),
            cell("1.00 s"),
            cell("held up ProfSvc; waited for AudioEndpointBuilder"),
        ]);
        table.row([cell("b"), cell("1.20 s"), cell("  █"), cell("2.00 s"), cell("")]);
        assert!(written(&table).contains("████▌"));
        let wide_text = at_width(&table, 100);
        assert!(!wide_text.contains('█') && wide_text.contains(path), "{wide_text}");
        let medium_text = at_width(&table, 72);
        assert!(medium_text.contains("held up ProfSvc; waited\n"), "{medium_text}");
        assert!(
            medium_text.contains(r"\Device\Har") && medium_text.contains('…') && medium_text.contains("explorer.exe"),
            "{medium_text}"
        );
        let narrow_text = at_width(&table, 50);
        for number in ["245 ms", "1.20 s", "1.00 s", "2.00 s"] {
            assert!(narrow_text.contains(number), "{narrow_text}");
        }
        for cells in layout::MIN_CELLS..140 {
            let text = at_width(&table, cells);
            assert!(text.contains("AudioEndpointBuilder") && text.contains("explorer.exe"), "{cells}: {text}");
        }
    }

    #[test]
    fn a_wide_text_keeps_both_ends_and_its_width_is_that_of_a_terminal() {
        assert_eq!(shortened("short", 10), "short");
        assert_eq!(shortened(r"\Device\HarddiskVolume3\Windows\explorer.exe", 20), r"\Device\H…plorer.exe");
        assert_eq!(shortened("装置装置装置", 7).width(), 5);
    }
}
