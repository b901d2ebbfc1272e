//! Provides the lines of the kernel log and the journals as events.

use hashbrown::HashSet;
use onoff_trace::{Event, EventField, KindCount, Losses, TableName, counters};

use super::assembly::Assembly;
use super::clocks::Clocks;
use super::journal::JournalFaults;
use super::journal_files::Journals;
use super::journal_rows;
use super::kernel_log::Messages;

/// Event name of log lines in counts and filters.
pub(super) const LINE: &str = "message";
/// Name of a line's only field.
pub(super) const TEXT: &str = "text";

counters! {
    TOO_MANY = "log_lines_skipped", Warning, [Events],
        "The journal has too many lines of this boot to list them all; units and phases include all lines.";
}

/// Maximum number of listed lines per boot.
const MAX_LINES: usize = 2_000_000;

/// Log that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Log {
    Kernel,
    Journal,
}

impl Log {
    /// Returns the provider name of the log's lines.
    pub(super) const fn provider(self) -> &'static str {
        match self {
            Self::Kernel => "kernel log",
            Self::Journal => "journal",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LogLine {
    /// Time on the axis, ns.
    pub(super) time_ns: i64,
    pub(super) log: Log,
    /// Sender; empty for the kernel.
    pub(super) task: String,
    pub(super) pid: Option<u32>,
    pub(super) text: String,
}

/// Returns the lines of the kernel log and the lines of one boot of the journals that are not kernel messages, without
/// duplicates and in time order.
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
    let mut omitted = 0;
    for journal in journals.iter() {
        // The survey has already counted the faults.
        let mut faults = JournalFaults::default();
        journal.entries(boot, &mut faults, |entry| {
            let Some(time_ns) = journal_rows::time_ns(entry, clocks).filter(|_| !entry.is_kernel()) else { return };
            if lines.len() >= MAX_LINES {
                omitted += 1;
                return;
            }
            let sender = [&entry.identifier, &entry.comm, &entry.sender_unit].into_iter().find(|name| !name.is_empty());
            lines.push(LogLine {
                time_ns,
                log: Log::Journal,
                task: sender.map_or_else(String::new, |name| name.to_string()),
                pid: entry.pid,
                text: entry.message.to_string(),
            });
        });
    }
    losses.add(&TOO_MANY, omitted);
    // Stable sort: lines of the same time keep the order of their log.
    lines.sort_by_key(|line| line.time_ns);
    if journals.iter().count() > 1 {
        remove_duplicates(&mut lines);
    }
    lines
}

/// Removes duplicates that come from different formats of the same journal.
fn remove_duplicates(lines: &mut Vec<LogLine>) {
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

/// Counts the lines, and adds a row for each if the table is requested.
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
    let name = assembly.intern(TEXT);
    for line in lines {
        let row = Event {
            time_ns: line.time_ns,
            pid: line.pid,
            provider: assembly.intern(line.log.provider()),
            task: assembly.intern(&line.task),
            fields: 1,
            ..Event::UNKNOWN
        };
        let value = assembly.intern(&line.text);
        assembly.log_lines.push((row, EventField { name, value }));
    }
}
