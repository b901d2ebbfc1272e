//! The list of the boots in a journal or in event logs.

use std::io::{self, Write};

use onoff_trace::RecordedBoot;
use onoff_transitions::linux::boot::BootList;

use crate::text::printable::printable;
use crate::text::quantity::second_or_dash;
use crate::text::style::QUIET;
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Returns the host name of a boot, the machine id if there is no host name, or `-` if neither is known.
fn machine(boot: &RecordedBoot) -> &str {
    match (boot.host.as_str(), boot.machine.as_str()) {
        ("", "") => "-",
        ("", id) => id,
        (host, _) => host,
    }
}

/// True if the boots are from several machines. Machine ids decide; host names count only if no boot has an id.
fn has_several_machines(boots: &[RecordedBoot]) -> bool {
    let differ = |identity: fn(&RecordedBoot) -> &str| {
        let mut identities = boots.iter().map(identity).filter(|identity| !identity.is_empty());
        let first = identities.next();
        first.is_some_and(|first| identities.any(|identity| identity != first))
    };
    differ(|boot| &boot.machine) || boots.iter().all(|boot| boot.machine.is_empty()) && differ(|boot| &boot.host)
}

/// Names the machine of the analyzed boot if the recording has boots of several machines.
pub(crate) fn machine_note(boots: &[RecordedBoot]) -> Option<String> {
    let analyzed = boots.iter().find(|boot| boot.read)?;
    has_several_machines(boots).then(|| {
        format!(
            "This boot is from {}; the recording also has boots of other computers (see --list-boots).",
            printable(machine(analyzed))
        )
    })
}

/// Writes the boots, one per line. A star marks the boot that is analyzed by default. Several machines get a column for
/// the machine.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(list: &BootList, out: &mut dyn Write) -> io::Result<()> {
    section::text::write(&section(list), out)
}

#[must_use]
pub fn section(list: &BootList) -> Section<'_> {
    let several = has_several_machines(&list.boots);
    let time_cell =
        |unix_ns| Cell::with_display_text(Value::from_option(unix_ns, Value::Time), second_or_dash(unix_ns));
    Section::builder("boots", "", &list.boots)
        .name("read", "", 1, |boot| Cell::with_display_text(Value::Flag(boot.read), if boot.read { "*" } else { "" }))
        .id("number", "boot", |boot| Value::Id(boot.number))
        .name("id", "id", 32, |boot| Value::text(&boot.id))
        .column(Heading::name("machine", "machine").with_width(32).in_text_if(several), |boot| {
            Cell::with_display_text(Value::text(&boot.machine), machine(boot))
        })
        .name("first_unix_ns", "first entry (UTC)", 24, |boot| time_cell(boot.first_unix_ns))
        .name("last_unix_ns", "last entry (UTC)", 24, |boot| time_cell(boot.last_unix_ns))
        .quantity("entries", "entries", |boot| Value::Count(boot.entries))
        .name("", "", 60, |boot| {
            let state = match (boot.started, boot.stopped) {
                (true, true) if boot.fast_startup => "fast startup; shutdown recorded",
                (true, false) if boot.fast_startup => "fast startup; no shutdown recorded",
                (true, true) => "start and shutdown recorded",
                (true, false) => "no shutdown recorded",
                // The kernel ran, and nothing later was recorded.
                (false, true) if boot.kernel_start == Some(true) => "no record of the log service; shutdown recorded",
                (false, false) if boot.kernel_start == Some(true) => {
                    "no record of the log service; no shutdown recorded"
                }
                // The end of the start is what journals are searched for.
                (false, true) if boot.kernel_start.is_none() => "end of the start not recorded",
                (false, false) if boot.kernel_start.is_none() => "neither end of the start nor shutdown recorded",
                (false, true) => "start not recorded",
                (false, false) => "neither start nor shutdown recorded",
            };
            Cell::text_only(QUIET, state)
        })
        .build()
}
