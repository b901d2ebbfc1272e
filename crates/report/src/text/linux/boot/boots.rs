//! The boots that a journal holds.

use std::io::{self, Write};

use onoff_analysis::transition::linux::boot::BootList;

use crate::text::quantity::{count, second_or_dash};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};

/// Writes the boots, one a line; the star is at the one that is read by default.
///
/// # Errors
/// What `out` answers.
pub fn write(list: &BootList, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .left("", 1)
        .right("boot")
        .left("id", 32)
        .left("first entry (UTC)", 24)
        .left("last entry (UTC)", 24)
        .right("entries")
        .left("", 60);
    for boot in &list.boots {
        let state = match (boot.started, boot.stopped) {
            (true, true) => "start and stop",
            (true, false) => "start; not stopped in order, or still running",
            (false, true) => "stop; its start is not there",
            (false, false) => "neither start nor stop",
        };
        table.row([
            cell(if boot.read { "*" } else { "" }),
            cell(boot.number.to_string()),
            cell(&*boot.id),
            cell(second_or_dash(boot.first_unix_ns)),
            cell(second_or_dash(boot.last_unix_ns)),
            cell(count(boot.entries)),
            styled_cell(QUIET, state),
        ]);
    }
    table.write(out)
}
