//! Tables of a study as Markdown (GitHub's tables), for a pull request or a report.

use std::io::{self, Write};

use onoff_analysis::compare::table::StudyTable;

use crate::text::compare::number;
use crate::text::printable::printable;

/// Writes the tables.
///
/// # Errors
/// What `out` answers.
pub fn write(tables: &[StudyTable], out: &mut dyn Write) -> io::Result<()> {
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "### {} ({})\n", text(&table.title), table.unit.as_str())?;
        write!(out, "| {} |", text(&table.heading))?;
        for column in &table.columns {
            write!(out, " {} |", text(column))?;
        }
        write!(out, "\n| --- |")?;
        for _ in &table.columns {
            write!(out, " ---: |")?;
        }
        writeln!(out)?;
        for row in &table.rows {
            write!(out, "| {} |", text(&row.label))?;
            for cell in &row.cells {
                write!(out, " {} |", number(table, cell))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Text in which nothing ends a cell or begins markup.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(text).chars() {
        if matches!(character, '|' | '\\' | '`' | '*' | '_' | '<' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
