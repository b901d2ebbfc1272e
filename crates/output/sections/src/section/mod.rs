//! A section of a report: one table with a title and what is to be said about it. It is described once, column by column, and every
//! format writes it from that.
//!
//! # Design constraints
//!
//! * A section holds values with units, and every row that belongs to it: a format decides how many it shows. What people see in place
//!   of a value is kept with it.
//! * A column's name is that of the JSON's field and ends in its unit (`_ns`, `_bytes`, `_percent`).

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

/// What a column is called, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its name: in CSV, in JSON, and what `--sort` takes. Empty for what is drawn or said in text only.
    pub name: &'static str,
    /// Its title in text.
    pub title: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Widest text shown, in terminal cells.
    pub width: usize,
    /// Whether text shows nothing where there is none of it.
    pub sparse: bool,
    /// Whether text has it at all.
    pub in_text: bool,
}

impl Heading {
    const fn new(name: &'static str, title: &'static str, kind: Kind) -> Self {
        Self { name, title, kind, width: 44, sparse: false, in_text: true }
    }

    /// A column of names.
    #[must_use]
    pub const fn name(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Name)
    }

    /// A column of numbers that name something.
    #[must_use]
    pub const fn id(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Id)
    }

    /// A column of points in time.
    #[must_use]
    pub const fn time(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Time)
    }

    /// A column of quantities.
    #[must_use]
    pub const fn quantity(name: &'static str, title: &'static str) -> Self {
        Self::new(name, title, Kind::Quantity)
    }

    /// A column for programs; text leaves it out.
    #[must_use]
    pub const fn data(name: &'static str) -> Self {
        Self { in_text: false, ..Self::new(name, "", Kind::Name) }
    }

    /// The same, at most `width` terminal cells wide in text.
    #[must_use]
    pub const fn wide(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same for quantities of which most rows have none: text leaves those blank, and the others stand out.
    #[must_use]
    pub const fn sparse(self) -> Self {
        Self { sparse: true, ..self }
    }

    /// The same, in text only where `is`.
    #[must_use]
    pub const fn in_text_if(self, is: bool) -> Self {
        Self { in_text: is, ..self }
    }

    /// The unit of its numbers; empty for names, ids and counts.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        ["ns", "bytes", "percent"]
            .into_iter()
            .find(|unit| self.name.strip_suffix(unit).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')))
            .unwrap_or_default()
    }

    /// Whether programs get it.
    fn is_data(&self) -> bool {
        !self.name.is_empty()
    }
}

/// A sentence below a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How it looks.
    pub style: Style,
    /// What it says.
    pub text: String,
}

/// A column with its cells, one each row.
#[derive(Clone, Debug)]
struct Column<'a> {
    heading: Heading,
    /// Its title in text: the heading's, or one that the recording gives.
    title: Cow<'a, str>,
    cells: Vec<Cell<'a>>,
}

/// A section of a report.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// What programs call it; sections of one name have the same columns and are one table.
    pub name: &'static str,
    /// Its title; empty where it needs none.
    pub title: Cow<'a, str>,
    /// What is said with the title.
    pub note: String,
    columns: Vec<Column<'a>>,
    rows: usize,
    /// Rows that text shows.
    top: usize,
    /// Whether text says how many it does not show.
    counts_rest: bool,
    lines: Vec<Line>,
}

impl<'a> Section<'a> {
    /// A section with a row of each of `rows`; its columns follow.
    pub fn of<R>(
        name: &'static str,
        title: impl Into<Cow<'a, str>>,
        rows: impl IntoIterator<Item = R>,
    ) -> SectionOf<'a, R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let section = Self {
            name,
            title: title.into(),
            note: String::new(),
            columns: Vec::new(),
            rows: rows.len(),
            top: usize::MAX,
            counts_rest: false,
            lines: Vec::new(),
        };
        SectionOf { section, rows }
    }

    /// A section without a table.
    pub fn of_lines(name: &'static str, title: impl Into<Cow<'a, str>>) -> Self {
        Self::of(name, title, [(); 0]).done()
    }

    /// The same with a sentence below it.
    #[must_use]
    pub fn line(mut self, style: Style, text: impl Into<String>) -> Self {
        self.lines.push(Line { style, text: text.into() });
        self
    }

    /// The same with the sentence, if there is one.
    #[must_use]
    pub fn line_if(self, style: Style, text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => self.line(style, text),
            None => self,
        }
    }

    /// The same with the sentences below it.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// The same with one line on the losses that touch it, but for those that were `named` before.
    #[must_use]
    pub fn touched_by(self, losses: &[String], named: &[String]) -> Self {
        let news = losses.iter().filter(|name| !named.contains(name));
        let text = losses::touching(news.map(String::as_str));
        self.line_if(DOUBT, text)
    }

    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns that programs get.
    fn data(&self) -> impl Iterator<Item = &Column<'a>> {
        self.columns.iter().filter(|column| column.heading.is_data())
    }
}

/// A section in the making: its rows are there, its columns are added.
#[derive(Debug)]
pub struct SectionOf<'a, R> {
    section: Section<'a>,
    rows: Vec<R>,
}

impl<'a, R> SectionOf<'a, R> {
    /// The same with a note at its title.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.section.note = note.into();
        self
    }

    /// The same; text shows the first `top` rows.
    #[must_use]
    pub fn top(mut self, top: usize) -> Self {
        self.section.top = top;
        self
    }

    /// The same; text shows the first `top` rows and says how many more there are.
    #[must_use]
    pub fn first(mut self, top: usize) -> Self {
        self.section.counts_rest = true;
        self.top(top)
    }

    /// The same with one more column.
    #[must_use]
    pub fn column<C: Into<Cell<'a>>>(self, heading: Heading, cell: impl Fn(&R) -> C) -> Self {
        self.titled(heading, heading.title, cell)
    }

    /// The same with a column of names, at most `width` terminal cells wide in text.
    #[must_use]
    pub fn name<C: Into<Cell<'a>>>(
        self,
        name: &'static str,
        title: &'static str,
        width: usize,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.column(Heading::name(name, title).wide(width), cell)
    }

    /// The same with a column of numbers that name something.
    #[must_use]
    pub fn id<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::id(name, title), cell)
    }

    /// The same with a column of points in time.
    #[must_use]
    pub fn time<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::time(name, title), cell)
    }

    /// The same with a column of quantities.
    #[must_use]
    pub fn quantity<C: Into<Cell<'a>>>(self, name: &'static str, title: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::quantity(name, title), cell)
    }

    /// The same with a column for programs; text leaves it out.
    #[must_use]
    pub fn data<C: Into<Cell<'a>>>(self, name: &'static str, cell: impl Fn(&R) -> C) -> Self {
        self.column(Heading::data(name), cell)
    }

    /// The same with one more column, whose title in text is `title`: the name of a run, a size, or whatever else the answer holds.
    #[must_use]
    pub fn titled<C: Into<Cell<'a>>>(
        mut self,
        heading: Heading,
        title: impl Into<Cow<'a, str>>,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.section.columns.push(Column { heading, title: title.into(), cells });
        self
    }

    /// The section.
    #[must_use]
    pub fn done(self) -> Section<'a> {
        self.section
    }

    /// The section; `None` where it has no row.
    #[must_use]
    pub fn if_any(self) -> Option<Section<'a>> {
        Some(self.section).filter(|section| !section.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Value;
    use crate::terminal::style::QUIET;

    /// Three rows with a name that a spreadsheet would calculate, a length that is not known, and a remark for people.
    pub(super) fn section() -> Section<'static> {
        let rows = [("=cmd", Some(1_500_000_000), "late"), ("b", None, ""), ("c", Some(0), "")];
        Section::of("units", "Units", rows)
            .note("slowest of 3")
            .top(2)
            .column(Heading::name("name", "unit"), |row| Value::text(row.0))
            .column(Heading::quantity("duration_ns", "took"), |row| Cell::took(row.1))
            .column(Heading::data("system"), |_| Value::text("linux"))
            .column(Heading::name("", ""), |row| Value::text(row.2).styled(QUIET))
            .done()
            .line(QUIET, "All of it.")
    }

    #[test]
    fn a_unit_is_the_end_of_a_name() {
        let unit = |name| Heading::quantity(name, "").unit();
        assert_eq!((unit("duration_ns"), unit("bytes"), unit("read_bytes")), ("ns", "bytes", "bytes"));
        assert_eq!((unit("columns"), unit("requests"), unit("busy_percent")), ("", "", "percent"));
    }

    #[test]
    fn each_loss_is_named_once() {
        let lost = ["lost_events".to_owned(), "lost_buffers".to_owned()];
        let section = Section::of_lines("x", "X").touched_by(&lost, &lost[..1]);
        assert_eq!(section.lines.len(), 1);
        assert_eq!(section.lines[0].text, "May be incomplete: lost buffers.");
        assert!(Section::of_lines("x", "X").touched_by(&lost, &lost).lines.is_empty());
    }
}
