//! Comma-separated values of results that are more than one table of rows.

pub mod compare;
pub mod firmware;
pub mod image;
pub mod io;
pub mod netboot;
pub mod prefetch;

use std::io::Write;

use crate::table::csv::quoted;
use crate::text::printable::printable;

/// Writes one row.
fn row<'a>(cells: impl IntoIterator<Item = &'a str>, out: &mut dyn Write) -> std::io::Result<()> {
    for (at, cell) in cells.into_iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(out, "{comma}{}", quoted(&printable(cell)))?;
    }
    writeln!(out)
}
