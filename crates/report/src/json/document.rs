//! A result as a JSON document. Its names are those of the result's type: the documented contract.

use std::io::{self, Write};

use serde::Serialize;

/// Writes `result`, indented, with a line end.
///
/// # Errors
/// What `out` answers.
pub fn write<R: Serialize>(result: &R, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, result).map_err(io::Error::from)?;
    writeln!(out)
}
