//! A result as a JSON document. Its names are those of the result's type: the documented contract.

use std::io::{self, Write};

use serde::Serialize;

use super::escape::write_indented;

/// Writes `result`, indented, with a line end.
///
/// # Errors
/// What `out` answers.
pub fn write<R: Serialize>(result: &R, out: &mut dyn Write) -> io::Result<()> {
    write_indented(result, out)?;
    writeln!(out)
}
