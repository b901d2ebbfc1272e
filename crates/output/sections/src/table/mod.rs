//! Answers that are tables: one description of the columns serves text, CSV, JSON, and sorting by any of them.
//!
//! A result says what its rows are and implements [`TableReport`]; the names of its columns are those of the rows' JSON.

pub mod csv;
mod order;
mod value;

pub use csv::write as write_csv;
pub use order::{Order, UnknownColumn, arrange};
pub use value::Value;

use std::io::{self, Write};

use serde::Serialize;

/// Rows that text shows unless a person asks for more or fewer.
pub const TEXT_ROWS: usize = 25;

/// What a column holds: how it is aligned, and which row comes first when sorted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names: left, in alphabetical order.
    Name,
    /// Ids: right, smallest first.
    Id,
    /// Points in time: right, earliest first.
    Time,
    /// Quantities: right, largest first.
    Quantity,
}

/// A column of a table of `R`s.
#[derive(Debug)]
pub struct Column<R> {
    /// Its name: in CSV, in JSON, and what `--sort` takes.
    pub name: &'static str,
    /// Its title in text; a column without one is not in the text.
    pub title: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Widest text shown, in terminal cells.
    pub width: usize,
    /// Whether text shows nothing where there is none of it.
    pub sparse: bool,
    /// Its value in a row.
    pub value: for<'row> fn(&'row R) -> Value<'row>,
}

impl<R> Clone for Column<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Column<R> {}

impl<R> Column<R> {
    /// A column.
    #[must_use]
    pub const fn new(
        name: &'static str,
        title: &'static str,
        kind: Kind,
        value: for<'row> fn(&'row R) -> Value<'row>,
    ) -> Self {
        Self { name, title, kind, width: 44, sparse: false, value }
    }

    /// The same column, at most `width` terminal cells wide in text.
    #[must_use]
    pub const fn wide(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same column for quantities of which most rows have none: text leaves those blank, and the others stand out.
    #[must_use]
    pub const fn sparse(self) -> Self {
        Self { sparse: true, ..self }
    }
}

/// A result that is a table of rows, with something to say before and after.
pub trait TableReport: Serialize {
    /// A row.
    type Row: 'static;

    /// The columns, in order.
    fn columns(&self) -> Vec<Column<Self::Row>>;

    /// The rows, in the order that answers best.
    fn rows(&self) -> &[Self::Row];

    /// The rows, to sort and to cut.
    fn rows_mut(&mut self) -> &mut Vec<Self::Row>;

    /// Why there is no row, as a sentence that says what the recording does hold; asked only when there is none.
    fn nothing(&self) -> String;

    /// The same of a recording of Linux that tells nothing of the matter at all, with what would; `None` where nothing
    /// about it is Windows' own.
    fn nothing_on_linux(&self) -> Option<&'static str> {
        None
    }

    /// The text before the table: the answer. There were `rows` rows before any was cut off.
    ///
    /// # Errors
    /// Errors of `out`.
    fn write_before(&self, rows: usize, out: &mut dyn Write) -> io::Result<()>;

    /// The text after the table: further lists, what was missing, what was lost.
    ///
    /// # Errors
    /// Errors of `out`.
    fn write_after(&self, out: &mut dyn Write) -> io::Result<()>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(crate) struct Row {
        pub(super) name: String,
        pub(super) cpu_ns: Option<i64>,
        pub(super) start_ns: Option<i64>,
    }

    #[derive(Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(crate) struct Report {
        rows: Vec<Row>,
    }

    /// Three rows that need quotes, lack a value and differ in case.
    pub(crate) fn report() -> Report {
        let row = |name: &str, cpu_ns, start_ns| Row { name: name.to_owned(), cpu_ns, start_ns };
        Report { rows: vec![row("a,\"x\"", None, Some(7)), row("b", Some(20), None), row("C", Some(10), Some(5))] }
    }

    impl TableReport for Report {
        type Row = Row;

        fn columns(&self) -> Vec<Column<Row>> {
            vec![
                Column::new("name", "name", Kind::Name, |row| Value::text(&row.name)),
                Column::new("cpu_ns", "processor time", Kind::Quantity, |row| Value::of(row.cpu_ns, Value::Duration)),
                Column::new("start_ns", "start", Kind::Time, |row| Value::of(row.start_ns, Value::Time)),
            ]
        }

        fn rows(&self) -> &[Row] {
            &self.rows
        }

        fn rows_mut(&mut self) -> &mut Vec<Row> {
            &mut self.rows
        }

        fn nothing(&self) -> String {
            "nothing".to_owned()
        }

        fn write_before(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "{rows} rows")
        }

        fn write_after(&self, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "after")
        }
    }
}
