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

/// `text` in quotes when it needs them. What a spreadsheet would take for a formula gets an apostrophe before it, which
/// makes it text there: a recording comes from elsewhere, and a service may be called `=cmd|...`.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    if is_formula(text) {
        return quoted(&format!("'{text}")).into_owned().into();
    }
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text.into() }
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
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
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
            assert_eq!(quoted(text), cell);
        }
    }

    #[test]
    fn commas_and_quotes_are_quoted_and_the_unknown_is_empty() {
        let mut out = Vec::new();
        write(&report(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,cpu_ns,start_ns\n\"a,\"\"x\"\"\",,7\nb,20,\nC,10,5\n");
    }
}
