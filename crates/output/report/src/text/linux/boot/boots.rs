//! The boots that a journal holds.

use std::io::{self, Write};

use onoff_trace::RecordedBoot;
use onoff_transitions::linux::boot::BootList;

use crate::text::printable::printable;
use crate::text::quantity::second_or_dash;
use crate::text::style::QUIET;
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

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
    section::text::write(&section(list), out)
}

/// The boots.
#[must_use]
pub fn section(list: &BootList) -> Section<'_> {
    // One machine needs no name.
    let several = of_several_machines(&list.boots);
    let moment = |unix_ns| Cell::shown(Value::of(unix_ns, Value::Time), second_or_dash(unix_ns));
    Section::of("boots", "", &list.boots)
        .name("read", "", 1, |boot| Cell::shown(Value::Flag(boot.read), if boot.read { "*" } else { "" }))
        .id("number", "boot", |boot| Value::Id(boot.number))
        .name("id", "id", 32, |boot| Value::text(&boot.id))
        .column(Heading::name("machine", "machine").wide(32).in_text_if(several), |boot| {
            Cell::shown(Value::text(&boot.machine), machine(boot))
        })
        .name("first_unix_ns", "first entry (UTC)", 24, |boot| moment(boot.first_unix_ns))
        .name("last_unix_ns", "last entry (UTC)", 24, |boot| moment(boot.last_unix_ns))
        .quantity("entries", "entries", |boot| Value::Count(boot.entries))
        .name("", "", 60, |boot| {
            let state = match (boot.started, boot.stopped) {
                (true, true) => "start and stop",
                (true, false) => "start; not stopped in order, or still running",
                (false, true) => "stop; its start is not there",
                (false, false) => "neither start nor stop",
            };
            Cell::words(QUIET, state)
        })
        .done()
}
