//! The boots that a journal holds.

use std::io::{self, Write};

use onoff_analysis::transition::linux::boot::BootList;
use onoff_trace::RecordedBoot;

use crate::text::printable::printable;
use crate::text::quantity::{count, second_or_dash};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};

/// The boot's machine: its name, else its id; `-` where neither is known.
fn machine(boot: &RecordedBoot) -> &str {
    match (boot.host.as_str(), boot.machine.as_str()) {
        ("", "") => "-",
        ("", id) => id,
        (host, _) => host,
    }
}

/// Whether the boots are of several machines: by their ids, or by their names where no boot has an id.
fn of_several_machines(boots: &[RecordedBoot]) -> bool {
    let differ = |identity: fn(&RecordedBoot) -> &str| {
        let mut known = boots.iter().map(identity).filter(|identity| !identity.is_empty());
        let first = known.next();
        first.is_some_and(|first| known.any(|other| other != first))
    };
    differ(|boot| &boot.machine) || boots.iter().all(|boot| boot.machine.is_empty()) && differ(|boot| &boot.host)
}

/// Of a recording of several machines: whose boot is read.
pub(super) fn whose(boots: &[RecordedBoot]) -> Option<String> {
    let read = boots.iter().find(|boot| boot.read)?;
    of_several_machines(boots).then(|| {
        format!("A boot of {}; the recording has boots of other computers too: --list-boots.", printable(machine(read)))
    })
}

/// Writes the boots, one a line; the star is at the one that is read by default. Boots of several machines have a column
/// with the machine.
///
/// # Errors
/// What `out` answers.
pub fn write(list: &BootList, out: &mut dyn Write) -> io::Result<()> {
    // One machine needs no name.
    let several = of_several_machines(&list.boots);
    let mut table = Table::new().left("", 1).right("boot").left("id", 32);
    if several {
        table = table.left("machine", 32);
    }
    let mut table = table.left("first entry (UTC)", 24).left("last entry (UTC)", 24).right("entries").left("", 60);
    for boot in &list.boots {
        let state = match (boot.started, boot.stopped) {
            (true, true) => "start and stop",
            (true, false) => "start; not stopped in order, or still running",
            (false, true) => "stop; its start is not there",
            (false, false) => "neither start nor stop",
        };
        let marks = [cell(if boot.read { "*" } else { "" }), cell(boot.number.to_string()), cell(&*boot.id)];
        let named = several.then(|| cell(printable(machine(boot))));
        let times = [
            cell(second_or_dash(boot.first_unix_ns)),
            cell(second_or_dash(boot.last_unix_ns)),
            cell(count(boot.entries)),
            styled_cell(QUIET, state),
        ];
        table.row(marks.into_iter().chain(named).chain(times));
    }
    table.write(out)
}
