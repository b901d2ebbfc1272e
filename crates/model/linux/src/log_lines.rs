//! The lines of the kernel's log and of the journal as events, whoever wrote them: for who looks at a time of the recording.

use hashbrown::HashSet;
use onoff_trace::{Event, EventField, KindCount, Losses, TableName, counters};

use super::assembly::Assembly;
use super::clocks::Clocks;
use super::journal::JournalFaults;
use super::journal_files::Journals;
use super::journal_rows;
use super::kernel_log::Messages;

/// The name under which lines are counted and chosen.
pub(super) const LINE: &str = "message";
/// The only field of a line.
pub(super) const TEXT: &str = "text";

counters! {
    TOO_MANY = "log_lines_left_out", Warning, [Events],
        "the journal holds more lines of this boot than are listed one by one; units and phases are read from all of them";
}

/// More lines of one boot than anybody looks through.
const MAX_LINES: usize = 2_000_000;

/// Who keeps a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Log {
    Kernel,
    Journal,
}

impl Log {
    /// The provider of its lines.
    pub(super) const fn provider(self) -> &'static str {
        match self {
            Self::Kernel => "kernel log",
            Self::Journal => "journal",
        }
    }
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LogLine {
    /// Time on the axis, ns.
    pub(super) time_ns: i64,
    pub(super) log: Log,
    /// Who wrote it; empty for the kernel.
    pub(super) task: String,
    pub(super) pid: Option<u32>,
    pub(super) text: String,
}

/// The lines of the kernel's log, and of one boot of the journals what is not of the kernel, which keep that too: each once, by time.
pub(super) fn lines(
    messages: &Messages,
    (journals, boot): (&Journals<'_>, Option<u128>),
    clocks: &Clocks,
    losses: &mut Losses,
) -> Vec<LogLine> {
    let mut lines: Vec<LogLine> = messages
        .iter()
        .map(|message| LogLine {
            time_ns: messages.axis_ns(message, clocks),
            log: Log::Kernel,
            task: String::new(),
            pid: None,
            text: message.text.clone(),
        })
        .collect();
    let mut left_out = 0;
    for part in journals.iter() {
        // What was wrong with it the survey has counted.
        let mut faults = JournalFaults::default();
        part.entries(boot, &mut faults, |entry| {
            let Some(time_ns) = journal_rows::time_ns(entry, clocks).filter(|_| !entry.is_kernel()) else { return };
            if lines.len() >= MAX_LINES {
                left_out += 1;
                return;
            }
            let who = [&entry.identifier, &entry.comm, &entry.sender_unit].into_iter().find(|name| !name.is_empty());
            lines.push(LogLine {
                time_ns,
                log: Log::Journal,
                task: who.map_or_else(String::new, |name| name.to_string()),
                pid: entry.pid,
                text: entry.message.to_string(),
            });
        });
    }
    losses.add(&TOO_MANY, left_out);
    // Lines of the same time keep their order: it is that of their log.
    lines.sort_by_key(|line| line.time_ns);
    if journals.iter().count() > 1 {
        once_each(&mut lines);
    }
    lines
}

/// Drops what several forms of one journal hold.
fn once_each(lines: &mut Vec<LogLine>) {
    let mut seen: HashSet<LogLine> = HashSet::new();
    let mut last_ns = i64::MIN;
    lines.retain(|line| {
        if line.time_ns != last_ns {
            seen.clear();
            last_ns = line.time_ns;
        }
        seen.insert(line.clone())
    });
}

/// Counts the lines, and adds a row for each where the table is wanted.
pub(super) fn read(
    messages: &Messages,
    journals: (&Journals<'_>, Option<u128>),
    clocks: &Clocks,
    assembly: &mut Assembly,
) {
    let (is_counted, is_listed) = (assembly.wants(TableName::Inventory), assembly.wants(TableName::Events));
    if !is_counted && !is_listed {
        return;
    }
    let lines = lines(messages, journals, clocks, &mut assembly.losses);
    for log in [Log::Kernel, Log::Journal].into_iter().filter(|_| is_counted) {
        let events = lines.iter().filter(|line| line.log == log).count() as u64;
        if events > 0 {
            assembly.inventory.events += events;
            let (provider, name) = (log.provider().to_owned(), LINE.to_owned());
            assembly.inventory.kinds.push(KindCount { provider, name, events, ..KindCount::default() });
        }
    }
    if !is_listed {
        return;
    }
    let name = assembly.text(TEXT);
    for line in lines {
        let row = Event {
            time_ns: line.time_ns,
            pid: line.pid,
            provider: assembly.text(line.log.provider()),
            task: assembly.text(&line.task),
            fields: 1,
            ..Event::UNKNOWN
        };
        let value = assembly.text(&line.text);
        assembly.log_lines.push((row, EventField { name, value }));
    }
}
