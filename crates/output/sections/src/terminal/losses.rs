//! Losses of a recording, with advice.

use std::io::{self, Write};

use onoff_trace::Losses;

use super::printable::printable;
use super::quantity::count;
use super::style::{DOUBT, QUIET, TITLE, severity_style};

/// Writes the losses, most severe first, with advice for each, or one line if nothing was lost.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(losses: &Losses, out: &mut dyn Write) -> io::Result<()> {
    if losses.is_empty() {
        return writeln!(out, "{QUIET}Nothing was lost.{QUIET:#}");
    }
    writeln!(out, "{TITLE}Losses{TITLE:#}")?;
    let mut rows: Vec<_> = losses.iter().collect();
    rows.sort_by_key(|loss| std::cmp::Reverse(loss.severity));
    for loss in rows {
        let style = severity_style(loss.severity);
        writeln!(
            out,
            "  {style}{:<7}{style:#} {} × {}",
            loss.severity.as_str(),
            count(loss.count),
            loss.counter.replace('_', " "),
        )?;
        writeln!(out, "          {QUIET}{}{QUIET:#}", loss.help)?;
        if let Some(first) = &loss.first {
            writeln!(out, "          {QUIET}first: {}{QUIET:#}", printable(first))?;
        }
    }
    Ok(())
}

/// Returns a line that names the losses that affect a result, if there are any.
pub fn affecting_line<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|name| name.replace('_', " ")).collect();
    (!names.is_empty()).then(|| format!("May be incomplete: {}.", names.join(", ")))
}

/// Writes the line about the losses that affect a result.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_affecting(names: &[String], out: &mut dyn Write) -> io::Result<()> {
    match affecting_line(names.iter().map(String::as_str)) {
        Some(line) => writeln!(out, "  {DOUBT}{line}{DOUBT:#}"),
        None => Ok(()),
    }
}
