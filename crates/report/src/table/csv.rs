//! A table as comma-separated values (RFC 4180, but for the line ends): one header line, names as in JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use super::TableReport;
use crate::text::printable::printable;

/// Writes the rows of `report`.
///
/// # Errors
/// What `out` answers.
pub fn write<T: TableReport>(report: &T, out: &mut dyn Write) -> io::Result<()> {
    let columns = report.columns();
    for (at, column) in columns.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{}", column.name)?;
    }
    writeln!(out)?;
    for row in report.rows() {
        for (at, column) in columns.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let value = (column.value)(row);
            write!(out, "{comma}{}", quoted(&printable(&value.plain())))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `text` in quotes when it needs them.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    #[test]
    fn commas_and_quotes_are_quoted_and_the_unknown_is_empty() {
        let mut out = Vec::new();
        write(&report(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,cpu_ns,start_ns\n\"a,\"\"x\"\"\",,7\nb,20,\nC,10,5\n");
    }
}
