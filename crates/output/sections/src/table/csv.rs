//! Tables as CSV (RFC 4180, except for line ends): one header line with the names of the JSON fields.

use std::borrow::Cow;
use std::io::{self, Write};

use super::TableReport;
use crate::terminal::printable::printable;

/// Writes the rows of `report`.
///
/// # Errors
/// Returns errors from `out`.
pub fn write<T: TableReport>(report: &T, out: &mut dyn Write) -> io::Result<()> {
    let columns = report.columns();
    let mut rows = Rows::begin(columns.iter().map(|column| column.name), out)?;
    for row in report.rows() {
        let values: Vec<_> = columns.iter().map(|column| (column.value)(row)).collect();
        rows.write(values.iter().map(super::Value::machine_text))?;
    }
    rows.end()
}

/// Writes CSV row by row.
pub struct Rows<'o>(csv::Writer<&'o mut dyn Write>);

impl<'o> Rows<'o> {
    /// Writes the header line.
    ///
    /// # Errors
    /// Returns errors from `out`.
    pub fn begin<'n>(names: impl IntoIterator<Item = &'n str>, out: &'o mut dyn Write) -> io::Result<Self> {
        let mut rows = csv::WriterBuilder::new().from_writer(out);
        rows.write_record(names).map_err(into_io_error)?;
        Ok(Self(rows))
    }

    /// Writes a row. Escapes control characters and turns spreadsheet formulas into text.
    ///
    /// # Errors
    /// Returns errors from the output.
    pub fn write<'c>(&mut self, cells: impl IntoIterator<Item = Cow<'c, str>>) -> io::Result<()> {
        for cell in cells {
            self.0.write_field(without_formula(&printable(&cell)).as_bytes()).map_err(into_io_error)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(into_io_error)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// Returns errors from the output.
    pub fn end(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns the original I/O error, because the conversion of the `csv` crate changes the kind of a broken pipe.
fn into_io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Prefixes formulas with an apostrophe, which makes them text in a spreadsheet. Names in a recording are untrusted: a
/// service could be called `=cmd|...`.
fn without_formula(text: &str) -> Cow<'_, str> {
    if is_formula(text) { format!("'{text}").into() } else { text.into() }
}

/// True if a spreadsheet would evaluate the text (OWASP, CSV injection): it starts like a formula and is not a number.
fn is_formula(text: &str) -> bool {
    let is_number = || {
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
            && text.parse::<f64>().is_ok()
    };
    text.starts_with(['=', '+', '-', '@']) && !is_number()
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn escapes_formulas_but_not_numbers() {
        for (text, cell) in [
            ("=1+2", "'=1+2"),
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("--nogui", "'--nogui"),
            ("-inf", "'-inf"),
            ("-12", "-12"),
            ("+1.5e-3", "+1.5e-3"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(without_formula(text), cell);
        }
    }

    #[test]
    fn quotes_cells_and_leaves_unknown_empty() {
        let mut out = Vec::new();
        write(&report(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,cpu_ns,start_ns\n\"a,\"\"x\"\"\",,7\nb,20,\nC,10,5\n");
    }
}
