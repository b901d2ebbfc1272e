//! Tables as text.

use std::io;

use crate::report_writer::ReportWriter;
use crate::section::{Heading, Section};
use crate::table::{Column, TableReport};
use crate::terminal::quantity::count;
use crate::terminal::style::QUIET;

/// Writes `report`, from which `omitted` rows were removed.
///
/// # Errors
/// Returns errors from `writer`.
pub fn write<T: TableReport>(report: &T, omitted: usize, writer: &mut dyn ReportWriter) -> io::Result<()> {
    writer.lines(&mut |out| {
        report.write_headline(report.rows().len() + omitted, out)?;
        writeln!(out)
    })?;
    let mut section = Section::builder("rows", "", report.rows());
    for column in report.columns() {
        let Column { name, title, kind, width, sparse, value } = column;
        let heading = Heading { name, title, kind, width, sparse, in_text: !title.is_empty() };
        section = section.column(heading, |row| value(row));
    }
    writer.sections(&[section.build()])?;
    writer.lines(&mut |out| {
        if omitted > 0 {
            let rows = if omitted == 1 { "row" } else { "rows" };
            writeln!(out, "  {QUIET}and {} more {rows}; use --top 0 to show all{QUIET:#}", count(omitted as u64))?;
        }
        report.write_footer(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report_writer::TextWriter;
    use crate::table::tests::report;

    #[test]
    fn writes_headline_rows_and_number_of_hidden_rows() {
        let mut out = Vec::new();
        write(&report(), 1200, &mut TextWriter(&mut out)).unwrap();
        let text = without_styles(&String::from_utf8(out).unwrap());
        assert_eq!(
            text,
            "1203 rows\n\n  name   CPU time      start\n  a,\"x\"            0.000000s\n  \
             b         <1 µs\n  C         <1 µs  0.000000s\n  \
             and 1,200 more rows; use --top 0 to show all\nafter\n"
        );
    }

    fn without_styles(text: &str) -> String {
        text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }
}
