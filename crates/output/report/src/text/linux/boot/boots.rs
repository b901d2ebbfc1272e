//! The list of the boots in a journal.

use std::io::{self, Write};

use onoff_trace::RecordedBoot;
use onoff_transitions::linux::boot::BootList;

use crate::text::printable::printable;
use crate::text::quantity::second_or_dash;
use crate::text::style::QUIET;
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// The host name of a boot, or else the machine id; `-` if neither is known.
fn machine(boot: &RecordedBoot) -> &str {
    match (boot.host.as_str(), boot.machine.as_str()) {
        ("", "") => "-",
        ("", id) => id,
        (host, _) => host,
    }
}

/// True if the boots are from several machines, by machine id, or by host name if no boot has an id.
fn of_several_machines(boots: &[RecordedBoot]) -> bool {
    let differ = |identity: fn(&RecordedBoot) -> &str| {
        let mut known = boots.iter().map(identity).filter(|identity| !identity.is_empty());
        let first = known.next();
        first.is_some_and(|first| known.any(|other| other != first))
    };
    differ(|boot| &boot.machine) || boots.iter().all(|boot| boot.machine.is_empty()) && differ(|boot| &boot.host)
}

/// For a recording of several machines: a sentence naming the machine of the boot that is read.
pub(super) fn machine_note(boots: &[RecordedBoot]) -> Option<String> {
    let read = boots.iter().find(|boot| boot.read)?;
    of_several_machines(boots).then(|| {
        format!(
            "This boot is of {}; the recording also has boots of other computers (see --list-boots).",
            printable(machine(read))
        )
    })
}

/// Writes the boots, one per line, with a star at the one that is read by default and with a column for the machine if there
/// are several.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(list: &BootList, out: &mut dyn Write) -> io::Result<()> {
    section::text::write(&section(list), out)
}

#[must_use]
pub fn section(list: &BootList) -> Section<'_> {
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
                (true, true) => "start and shutdown recorded",
                (true, false) => "no orderly shutdown, or still running",
                (false, true) => "start not recorded",
                (false, false) => "neither start nor shutdown recorded",
            };
            Cell::words(QUIET, state)
        })
        .build()
}
