//! What was lost, and what to do about it.

use std::io::{self, Write};

use onoff_trace::Losses;

use super::printable::printable;
use super::quantity::count;
use super::style::{DOUBT, QUIET, TITLE, of_severity};

/// Writes the losses, gravest first, each with its help; one quiet line when there are none.
///
/// # Errors
/// Errors of `out`.
pub fn write(losses: &Losses, out: &mut dyn Write) -> io::Result<()> {
    if losses.is_empty() {
        return writeln!(out, "{QUIET}Nothing was lost.{QUIET:#}");
    }
    writeln!(out, "{TITLE}Lost on the way{TITLE:#}")?;
    let mut rows: Vec<_> = losses.iter().collect();
    rows.sort_by_key(|loss| std::cmp::Reverse(loss.severity));
    for loss in rows {
        let style = of_severity(loss.severity);
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

/// One line on the losses that touch an answer, if any do.
pub fn touching<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let names: Vec<String> = names.into_iter().map(|name| name.replace('_', " ")).collect();
    (!names.is_empty()).then(|| format!("May be incomplete: {}.", names.join(", ")))
}

/// Writes that line.
///
/// # Errors
/// Errors of `out`.
pub fn write_touching(names: &[String], out: &mut dyn Write) -> io::Result<()> {
    match touching(names.iter().map(String::as_str)) {
        Some(line) => writeln!(out, "  {DOUBT}{line}{DOUBT:#}"),
        None => Ok(()),
    }
}
