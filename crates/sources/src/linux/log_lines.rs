//! The lines of the kernel's log and of the journal as events, whoever wrote them: for who looks at a time of the recording.

use onoff_trace::{Event, EventField, StringId, TableName};

use super::assembly::Assembly;
use super::clocks::{Clocks, SourceClock};
use super::journal::JournalFaults;
use super::journal_files::Journals;
use super::journal_rows;
use super::kernel_log::Messages;

/// The provider of lines of the kernel's log.
const KERNEL_LOG: &str = "kernel log";
/// The provider of lines of the journal.
const JOURNAL: &str = "journal";
/// The only field of a line.
const TEXT: &str = "text";

/// Adds a row for each line: of the kernel's log, and of one boot of the journals what is not of the kernel, which keep that too.
pub(super) fn read(
    messages: &Messages,
    (journals, boot): (&Journals<'_>, Option<u128>),
    clocks: &Clocks,
    assembly: &mut Assembly,
) {
    if !assembly.wants(TableName::Events) {
        return;
    }
    let (kernel, journal, text) = (assembly.text(KERNEL_LOG), assembly.text(JOURNAL), assembly.text(TEXT));
    for message in messages.iter() {
        let time_ns = clocks.axis_or_same_ns(SourceClock::KernelLog, message.time_ns);
        line(assembly, time_ns, (kernel, StringId::EMPTY, None), (text, &message.text));
    }
    for part in journals.iter() {
        // What was wrong with it the survey has counted.
        let mut faults = JournalFaults::default();
        part.entries(boot, &mut faults, |entry| {
            let Some(time_ns) = journal_rows::time_ns(entry, clocks).filter(|_| !entry.is_kernel()) else { return };
            let who = [&entry.identifier, &entry.comm, &entry.sender_unit].into_iter().find(|name| !name.is_empty());
            let who = who.map_or(StringId::EMPTY, |name| assembly.text(name));
            line(assembly, time_ns, (journal, who, entry.pid), (text, &entry.message));
        });
    }
}

fn line(
    assembly: &mut Assembly,
    time_ns: i64,
    (provider, task, pid): (StringId, StringId, Option<u32>),
    (name, text): (StringId, &str),
) {
    let value = assembly.text(text);
    let row = Event {
        time_ns,
        cpu: 0,
        pid,
        tid: None,
        provider,
        id: 0,
        version: 0,
        level: 0,
        keyword: 0,
        task,
        opcode: StringId::EMPTY,
        first_field: 0,
        fields: 1,
    };
    assembly.log_lines.push((row, EventField { name, value }));
}
