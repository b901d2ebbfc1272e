//! A table as comma-separated values (RFC 4180, but for the line ends): one header line, names as in JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use super::TableReport;
use crate::terminal::printable::printable;

/// Writes the rows of `report`.
///
/// # Errors
/// Errors of `out`.
pub fn write<T: TableReport>(report: &T, out: &mut dyn Write) -> io::Result<()> {
    let columns = report.columns();
    let mut rows = Rows::begin(columns.iter().map(|column| column.name), out)?;
    for row in report.rows() {
        let values: Vec<_> = columns.iter().map(|column| (column.value)(row)).collect();
        rows.write(values.iter().map(super::Value::plain))?;
    }
    rows.end()
}

/// Rows in the making.
pub struct Rows<'o>(csv::Writer<&'o mut dyn Write>);

impl<'o> Rows<'o> {
    /// Begins with the line of names.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn begin<'n>(names: impl IntoIterator<Item = &'n str>, out: &'o mut dyn Write) -> io::Result<Self> {
        let mut rows = csv::WriterBuilder::new().from_writer(out);
        rows.write_record(names).map_err(unwrapped)?;
        Ok(Self(rows))
    }

    /// One row. Control characters are made visible, and what a spreadsheet would calculate becomes text.
    ///
    /// # Errors
    /// What the output answers.
    pub fn write<'c>(&mut self, cells: impl IntoIterator<Item = Cow<'c, str>>) -> io::Result<()> {
        for cell in cells {
            self.0.write_field(harmless(&printable(&cell)).as_bytes()).map_err(unwrapped)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(unwrapped)
    }

    /// Writes what is not written yet.
    ///
    /// # Errors
    /// What the output answers.
    pub fn end(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What `out` answered, as it answered it: the library's own conversion makes another kind of error of a closed pipe.
fn unwrapped(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// `text` with an apostrophe before it where a spreadsheet would take it for a formula, which makes it text there: a recording
/// comes from elsewhere, and a service may be called `=cmd|...`.
fn harmless(text: &str) -> Cow<'_, str> {
    if is_formula(text) { format!("'{text}").into() } else { text.into() }
}

/// Whether a spreadsheet calculates with it (OWASP, CSV injection): it begins as a formula does and is no number.
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
    fn what_a_spreadsheet_would_calculate_is_text_and_numbers_stay_numbers() {
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
            assert_eq!(harmless(text), cell);
        }
    }

    #[test]
    fn commas_and_quotes_are_quoted_and_the_unknown_is_empty() {
        let mut out = Vec::new();
        write(&report(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,cpu_ns,start_ns\n\"a,\"\"x\"\"\",,7\nb,20,\nC,10,5\n");
    }
}
