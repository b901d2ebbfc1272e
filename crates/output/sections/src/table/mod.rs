//! Reports that are tables: one description of the columns for text, CSV, JSON, and sorting.
//!
//! Such a report implements [`TableReport`]; the names of its columns are the names of the JSON fields.

pub mod csv;
mod order;
mod value;

pub use csv::write as write_csv;
pub use order::{RowSelection, UnknownColumn, sort_and_truncate};
pub use value::Value;

use std::io::{self, Write};

use serde::Serialize;

/// Default number of rows in text.
pub const TEXT_ROWS: usize = 25;

/// The kind of a column: its alignment and its sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Left-aligned, alphabetical.
    Name,
    /// Right-aligned, smallest first.
    Id,
    /// A point in time: right-aligned, earliest first.
    Time,
    /// Right-aligned, largest first.
    Quantity,
}

/// A column of a table of `R`s.
#[derive(Debug)]
pub struct Column<R> {
    /// The name in CSV, in JSON, and for `--sort`.
    pub name: &'static str,
    /// The title in text. Columns without a title are not in text.
    pub title: &'static str,
    pub kind: Kind,
    /// Maximum width in text, in terminal cells.
    pub width: usize,
    /// True if text shows zeros as blanks.
    pub sparse: bool,
    /// The value in a row.
    pub value: for<'row> fn(&'row R) -> Value<'row>,
}

impl<R> Clone for Column<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Column<R> {}

impl<R> Column<R> {
    #[must_use]
    pub const fn new(
        name: &'static str,
        title: &'static str,
        kind: Kind,
        value: for<'row> fn(&'row R) -> Value<'row>,
    ) -> Self {
        Self { name, title, kind, width: 44, sparse: false, value }
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
}

/// A report that is a table, with text before and after it.
pub trait TableReport: Serialize {
    type Row: 'static;

    fn columns(&self) -> Vec<Column<Self::Row>>;

    /// Returns the rows in the default order.
    fn rows(&self) -> &[Self::Row];

    /// Returns the rows for sorting and truncating.
    fn rows_mut(&mut self) -> &mut Vec<Self::Row>;

    /// Returns the message for a report without rows, which names what the recording has instead.
    fn empty_message(&self) -> String;

    /// Returns the message for a Linux recording that cannot have any rows, which says how to record them; `None` if
    /// [`empty_message`](Self::empty_message) also fits Linux.
    fn empty_message_on_linux(&self) -> Option<&'static str> {
        None
    }

    /// Writes the text before the table: the headline. `rows` is the number of rows before truncation.
    ///
    /// # Errors
    /// Returns errors from `out`.
    fn write_headline(&self, rows: usize, out: &mut dyn Write) -> io::Result<()>;

    /// Writes the text after the table: further lists, what was not recorded, and losses.
    ///
    /// # Errors
    /// Returns errors from `out`.
    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()>;
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

    /// Returns three rows with quotes, unknown values and different cases.
    pub(crate) fn report() -> Report {
        let row = |name: &str, cpu_ns, start_ns| Row { name: name.to_owned(), cpu_ns, start_ns };
        Report { rows: vec![row("a,\"x\"", None, Some(7)), row("b", Some(20), None), row("C", Some(10), Some(5))] }
    }

    impl TableReport for Report {
        type Row = Row;

        fn columns(&self) -> Vec<Column<Row>> {
            vec![
                Column::new("name", "name", Kind::Name, |row| Value::text(&row.name)),
                Column::new("cpu_ns", "CPU time", Kind::Quantity, |row| {
                    Value::from_option(row.cpu_ns, Value::Duration)
                }),
                Column::new("start_ns", "start", Kind::Time, |row| Value::from_option(row.start_ns, Value::Time)),
            ]
        }

        fn rows(&self) -> &[Row] {
            &self.rows
        }

        fn rows_mut(&mut self) -> &mut Vec<Row> {
            &mut self.rows
        }

        fn empty_message(&self) -> String {
            "nothing".to_owned()
        }

        fn write_headline(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "{rows} rows")
        }

        fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
            writeln!(out, "after")
        }
    }
}
