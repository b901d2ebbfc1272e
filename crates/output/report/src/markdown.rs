//! Tables of a study, and the result of a gate, as GitHub Markdown.

use std::io::{self, Write};

use onoff_compare::gate::{GateReport, GateVerdict};
use onoff_compare::study_table::StudyTable;

use crate::text::compare::{number, signed_percent, value};
use crate::text::gate::headline;
use onoff_sections::terminal::printable::printable;

/// Writes the tables.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(tables: &[StudyTable], out: &mut dyn Write) -> io::Result<()> {
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
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

/// Writes the result of a gate: the verdict as a heading, then one row per measure, exceeded limits first.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_gate(report: &GateReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "### {}\n", text(&headline(report)))?;
    writeln!(out, "| | measure | before | after | change | limit |\n| --- | --- | ---: | ---: | ---: | --- |")?;
    for verdict in [GateVerdict::Regression, GateVerdict::NoVerdict, GateVerdict::Pass] {
        for limit in &report.limits {
            for check in limit.checks.iter().filter(|check| check.verdict == verdict) {
                let [was, is] = [check.was, check.is]
                    .map(|number| number.map(|number| value(check.unit, number)).unwrap_or_default());
                let percent = check.percent.map(signed_percent).unwrap_or_default();
                let (mark, limit) = (mark(verdict), text(&limit.limit));
                let run = check.run.as_ref().map(|run| format!(" in {}", text(run))).unwrap_or_default();
                writeln!(out, "| {mark} | {}{run} | {was} | {is} | {percent} | {limit} |", text(&check.key))?;
                if !check.reason.is_empty() {
                    writeln!(out, "| | {} | | | | |", text(&check.reason))?;
                }
            }
        }
    }
    Ok(())
}

const fn mark(verdict: GateVerdict) -> &'static str {
    match verdict {
        GateVerdict::Pass => "met",
        GateVerdict::Regression => "**exceeded**",
        GateVerdict::NoVerdict => "no verdict",
    }
}

/// Escapes characters that end a cell or start markup.
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
