//! Sections of a report: a table with a title and lines of text below. A section is described once, column by column,
//! and written by every format.
//!
//! # Design constraints
//!
//! * A section contains all rows, with values and units; the format decides how many rows to show. A cell can have a text for people in
//!   addition to its value.
//! * The name of a column is the name of the JSON field and ends in the unit (`_ns`, `_bytes`, `_percent`).

mod cell;
pub mod csv;
pub mod html;
mod json;
pub mod text;

pub use cell::Cell;

use std::borrow::Cow;

use anstyle::Style;

use crate::table::Kind;
use crate::terminal::losses;
use crate::terminal::style::DOUBT;

/// The description of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The name in CSV, in JSON, and for `--sort`; empty for columns that are only in text.
    pub name: &'static str,
    /// The title in text.
    pub title: &'static str,
    pub kind: Kind,
    /// Maximum width in text, in terminal cells.
    pub width: usize,
    /// True if text shows zeros as blanks.
    pub sparse: bool,
    /// True if text has the column.
    pub in_text: bool,
}

impl Heading {
    const fn new(name: &'static str, title: &'static str, kind: Kind) -> Self {
        Self { name, title, kind, width: 44, sparse: false, in_text: true }
    }

    #[must_use]
    pub const fn name(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Name)
    }

    #[must_use]
    pub const fn id(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Id)
    }

    #[must_use]
    pub const fn time(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Time)
    }

    #[must_use]
    pub const fn quantity(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Quantity)
    }

    /// Creates a column for CSV and JSON only.
    #[must_use]
    pub const fn data(name: &'static str) -> Self {
        Self { in_text: false, ..Self::new(name, "", Kind::Name) }
    }

    /// Sets the maximum width in text, in terminal cells.
    #[must_use]
    pub const fn with_width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// Shows zeros as blanks in text, for quantities that most rows do not have.
    #[must_use]
    pub const fn sparse(self) -> Self {
        Self { sparse: true, ..self }
    }

    /// Shows the column in text only if `is_shown`.
    #[must_use]
    pub const fn in_text_if(self, is_shown: bool) -> Self {
        Self { in_text: is_shown, ..self }
    }

    /// Returns the unit of the numbers; empty for names, ids and counts.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        ["ns", "bytes", "percent"]
            .into_iter()
            .find(|unit| self.name.strip_suffix(unit).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_')))
            .unwrap_or_default()
    }

    /// True if CSV and JSON have the column.
    fn is_data(&self) -> bool {
        !self.name.is_empty()
    }
}

/// A line of text below a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub style: Style,
    pub text: String,
}

/// A column with one cell per row.
#[derive(Clone, Debug)]
struct Column<'a> {
    heading: Heading,
    /// The title in text, from the heading or from the recording.
    title: Cow<'a, str>,
    cells: Vec<Cell<'a>>,
}

/// A section of a report.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// The name in CSV and JSON; sections with the same name have the same columns and form one table.
    pub name: &'static str,
    /// The title; may be empty.
    pub title: Cow<'a, str>,
    /// A note next to the title.
    pub note: String,
    columns: Vec<Column<'a>>,
    rows: usize,
    /// Number of rows shown in text.
    top: usize,
    /// True if text gives the number of hidden rows.
    counts_hidden: bool,
    lines: Vec<Line>,
}

impl<'a> Section<'a> {
    /// Starts a section with the given rows; add the columns next.
    pub fn builder<R>(
        name: &'static str,
        title: impl Into<Cow<'a, str>>,
        rows: impl IntoIterator<Item = R>,
    ) -> SectionBuilder<'a, R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let section = Self {
            name,
            title: title.into(),
            note: String::new(),
            columns: Vec::new(),
            rows: rows.len(),
            top: usize::MAX,
            counts_hidden: false,
            lines: Vec::new(),
        };
        SectionBuilder { section, rows }
    }

    /// Creates a section without a table.
    pub fn without_table(name: &'static str, title: impl Into<Cow<'a, str>>) -> Self {
        Self::builder(name, title, [(); 0]).build()
    }

    /// Adds a line below the table.
    #[must_use]
    pub fn line(mut self, style: Style, text: impl Into<String>) -> Self {
        self.lines.push(Line { style, text: text.into() });
        self
    }

    /// Adds a line below the table if there is a text.
    #[must_use]
    pub fn line_if(self, style: Style, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.line(style, text),
            None => self,
        }
    }

    /// Adds lines below the table.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Adds a line about the losses that affect the section, without the ones in `already_reported`.
    #[must_use]
    pub fn affected_by(self, losses: &[String], already_reported: &[String]) -> Self {
        let unreported = losses.iter().filter(|name| !already_reported.contains(name));
        let text = losses::affecting_line(unreported.map(String::as_str));
        self.line_if(DOUBT, text)
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the columns for CSV and JSON.
    fn data(&self) -> impl Iterator<Item = &Column<'a>> {
        self.columns.iter().filter(|column| column.heading.is_data())
    }
}

/// Builds a section column by column from its rows.
#[derive(Debug)]
pub struct SectionBuilder<'a, R> {
    section: Section<'a>,
    rows: Vec<R>,
}

impl<'a, R> SectionBuilder<'a, R> {
    /// Sets the note next to the title.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.section.note = note.into();
        self
    }

    /// Limits text to the first `top` rows.
    #[must_use]
    pub fn top(mut self, top: usize) -> Self {
        self.section.top = top;
        self
    }

    /// Limits text to the first `top` rows, followed by the number of hidden rows.
    #[must_use]
    pub fn top_with_remainder(mut self, top: usize) -> Self {
        self.section.counts_hidden = true;
        self.top(top)
    }

    /// Adds a column.
    #[must_use]
    pub fn column<C: Into<Cell<'a>>>(self, heading: Heading, cell: impl Fn(&R) -> C) -> Self {
        self.column_with_title(heading, heading.title, cell)
    }

    /// Adds a column of names, at most `width` terminal cells wide in text.
    #[must_use]
    pub fn name<C: Into<Cell<'a>>>(
        self,
        name: &'static str,
        title: &'static str,
        width: usize,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.column(Heading::name(name, title).with_width(width), cell)
    }

    /// Adds a column of ids.
    #[must_use]
    pub fn id<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::id(name, title), cell)
    }

    /// Adds a column of points in time.
    #[must_use]
    pub fn time<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::time(name, title), cell)
    }

    /// Adds a column of quantities.
    #[must_use]
    pub fn quantity<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::quantity(name, title), cell)
    }

    /// Adds a column for CSV and JSON only.
    #[must_use]
    pub fn data<C: Into<Cell<'a>>>(self, name: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::data(name), cell)
    }

    /// Adds a column with a variable title, such as the name of a run.
    #[must_use]
    pub fn column_with_title<C: Into<Cell<'a>>>(
        mut self,
        heading: Heading,
        title: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.section.columns.push(Column { heading, title: title.into(), cells });
        self
    }

    /// Returns the finished section.
    #[must_use]
    pub fn build(self) -> Section<'a> {
        self.section
    }

    /// Returns the finished section, or `None` if it has no rows.
    #[must_use]
    pub fn build_if_any(self) -> Option<Section<'a>> {
        Some(self.section).filter(|section| !section.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Value;
    use crate::terminal::style::QUIET;

    /// Returns three rows: a name that looks like a formula, an unknown duration, and a text-only column.
    pub(super) fn section() -> Section<'static> {
        let rows = [("=cmd", Some(1_500_000_000), "late"), ("b", None, ""), ("c", Some(0), "")];
        Section::builder("units", "Units", rows)
            .note("slowest of 3")
            .top(2)
            .column(Heading::name("name", "unit"), |row| Value::text(row.0))
            .column(Heading::quantity("duration_ns", "duration"), |row| Cell::duration_or_unfinished(row.1))
            .column(Heading::data("system"), |_| Value::text("linux"))
            .column(Heading::name("", ""), |row| Value::text(row.2).styled(QUIET))
            .build()
            .line(QUIET, "All of it.")
    }

    #[test]
    fn derives_unit_from_name() {
        let unit = |name| Heading::quantity(name, "").unit();
        assert_eq!((unit("duration_ns"), unit("bytes"), unit("read_bytes")), ("ns", "bytes", "bytes"));
        assert_eq!((unit("columns"), unit("requests"), unit("busy_percent")), ("", "", "percent"));
    }

    #[test]
    fn names_each_loss_once() {
        let lost = ["lost_events".to_owned(), "lost_buffers".to_owned()];
        let section = Section::without_table("x", "X").affected_by(&lost, &lost[..1]);
        assert_eq!(section.lines.len(), 1);
        assert_eq!(section.lines[0].text, "May be incomplete: lost buffers.");
        assert!(Section::without_table("x", "X").affected_by(&lost, &lost).lines.is_empty());
    }
}
