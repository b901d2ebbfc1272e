//! A table as text for people.

use std::io;

use crate::paper::Paper;
use crate::section::{Heading, Section};
use crate::table::{Column, TableReport};
use crate::terminal::quantity::count;
use crate::terminal::style::QUIET;

/// Writes `report`, of whose rows `left_out` were cut off.
///
/// # Errors
/// What `paper` answers.
pub fn write<T: TableReport>(report: &T, left_out: usize, paper: &mut dyn Paper) -> io::Result<()> {
    paper.lines(&mut |out| {
        report.write_before(report.rows().len() + left_out, out)?;
        writeln!(out)
    })?;
    let mut section = Section::of("rows", "", report.rows());
    for column in report.columns() {
        let Column { name, title, kind, width, sparse, value } = column;
        let heading = Heading { name, title, kind, width, sparse, in_text: !title.is_empty() };
        section = section.column(heading, |row| value(row));
    }
    paper.sections(&[section.done()])?;
    paper.lines(&mut |out| {
        if left_out > 0 {
            let rows = if left_out == 1 { "row" } else { "rows" };
            writeln!(out, "  {QUIET}and {} more {rows}; --top 0 shows all{QUIET:#}", count(left_out as u64))?;
        }
        report.write_after(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::TextPaper;
    use crate::table::tests::report;

    #[test]
    fn the_answer_comes_first_and_what_is_cut_off_is_said() {
        let mut out = Vec::new();
        write(&report(), 1200, &mut TextPaper(&mut out)).unwrap();
        let text = anstyle_free(&String::from_utf8(out).unwrap());
        assert_eq!(
            text,
            "1203 rows\n\n  name   processor time      start\n  a,\"x\"                  0.000000s\n  \
             b               20 ns\n  C               10 ns  0.000000s\n  \
             and 1,200 more rows; --top 0 shows all\nafter\n"
        );
    }

    fn anstyle_free(text: &str) -> String {
        text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }
}
