//! Reads the kernel log: `dmesg` output as text and JSON, and other sources of its messages.
//!
//! | module | contents |
//! | --- | --- |
//! | [`clock`] | converts the log's times to the axis |
//! | `initcalls` | initialization functions and probes (`initcall_debug`) |
//! | `power` | suspend and hibernation (`PM:`) |
//! | `shutdown` | messages after the service manager has exited |
//! | `machine` | the kernel, the machine, the first program |

pub(super) mod clock;
mod initcalls;
mod machine;
mod power;
mod shutdown;

use onoff_trace::{Losses, TableName, counters, milestone};
use serde::Deserialize;

use super::assembly::Assembly;
use super::boot_failures;
use super::clocks::{Clocks, SourceClock};
use super::journal::JournalFaults;
use super::journal_files::Journal;
use super::parts::{Part, PartKind};
use super::serial_console::{BringUp, SerialConsole};
use onoff_linux_log::kernel_line::{self, Stamp};

counters! {
    UNREADABLE = "kernel_log_lines_unreadable", Notice, TABLES,
        "Kernel log lines without a timestamp were skipped (usually continuation lines).";
    LOADER_LINES = "loader_lines_skipped", Notice, [],
        "Boot loader lines (TegraBoot, CBoot) were skipped: the loader's clock cannot be related to the kernel's.";
    TRUNCATED = "kernel_log_truncated", Warning, TABLES,
        "A JSON kernel log ends within a message or has unexpected content; the messages before that were read.";
    WALL_CLOCK = "kernel_log_wall_clock", Warning, TABLES,
        "The kernel log has dates (dmesg -T), usually in whole seconds: times count from its first line. Use 'dmesg' without -T.";
    BY_RECEIPT = "kernel_log_receipt_times", Warning, TABLES,
        "Kernel messages have the wall-clock time at which the log received them, which is late during a sleep, so suspend and resume durations are unknown. Use 'dmesg', or 'journalctl' with '-o short-monotonic' or '-o export'.";
    TOO_MANY = "kernel_log_messages_skipped", Error, TABLES,
        "The kernel log has too many messages; the rest were skipped.";
    EARLIER_BOOTS = "console_boots_skipped", Notice, TABLES,
        "The log of the console has several boots; only the last one was read. Save each boot as a file to read the others.";
    CLOCK_NOT_CONVERTED = "kernel_log_clock_not_converted", Notice, TABLES,
        "The recording has no pair of times to convert the kernel log's clock to the monotonic clock; its times are used unchanged and may be off by tens of milliseconds.";
}

/// Tables filled from messages.
const TABLES: &[TableName] = &[
    TableName::DeviceOperations,
    TableName::PowerRequests,
    TableName::Activities,
    TableName::Milestones,
    TableName::Notifications,
];

/// Maximum number of messages; a kernel keeps fewer.
const MAX_MESSAGES: usize = 2_000_000;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Message {
    /// Time by the log's clock, ns.
    pub(super) time_ns: i64,
    pub(super) text: String,
    /// True if the log has no times at all, so that `time_ns` is 0.
    pub(super) is_untimed: bool,
}

/// The messages of all parts, without duplicates, in time order.
#[derive(Debug, Default)]
pub(super) struct Messages {
    messages: Vec<Message>,
    unreadable: u64,
    /// Number of boot loader lines.
    loader_lines: u64,
    /// Time of the last boot loader line.
    last_loader_time: String,
    truncated: u64,
    too_many: u64,
    /// True if messages have dates.
    wall_clock: bool,
    /// True if a date has a fraction of a second.
    has_exact_dates: bool,
    /// True if messages have the time at which a log received them.
    by_receipt: bool,
    /// Number of earlier boots in logs of consoles.
    earlier_boots: u64,
    /// What a serial console has of firmware and loader.
    bring_up: BringUp,
}

/// One message of `dmesg -J`.
#[derive(Deserialize)]
struct JsonMessage {
    time: f64,
    msg: String,
}

impl Messages {
    /// Adds the messages of `part`.
    pub(super) fn add_part(&mut self, part: &Part<'_>) {
        if part.kind == PartKind::KernelLogJson {
            self.add_json(part.bytes);
            return;
        }
        let text = String::from_utf8_lossy(part.bytes);
        let console = SerialConsole::from_text(&text);
        self.earlier_boots += console.earlier_boots;
        let mut first_wall_ns = None;
        let mut last_ns = None;
        for (index, (host_ns, line)) in console.lines().enumerate() {
            let text = &line.text;
            if let Some(time) = kernel_line::loader_time(text) {
                self.loader_lines += 1;
                time.clone_into(&mut self.last_loader_time);
                continue;
            }
            let Some(line) = kernel_line::line(text) else {
                // Lines without a time come at or after the line before.
                let time_ns = host_ns.filter(|&ns| ns >= 0).or(last_ns);
                let is_kernel = console.is_untimed && console.is_after_kernel_start(index);
                // A serial console also has the lines of other programs.
                if let Some(failure) = boot_failures::console_failure(text) {
                    self.add_untimed(time_ns, &format!("systemd[1]: {failure}"));
                } else if boot_failures::milestone_of(text).is_some() {
                    self.add_untimed(time_ns, text.trim());
                } else if is_kernel && time_ns.is_some() {
                    self.add_untimed(time_ns, text.trim_end());
                    continue;
                }
                self.unreadable += u64::from(!text.trim().is_empty());
                continue;
            };
            let time_ns = match line.stamp {
                Stamp::Log(ns) => ns,
                Stamp::Wall(ns) => {
                    self.wall_clock = true;
                    self.has_exact_dates |= ns % 1_000_000_000 != 0;
                    ns.saturating_sub(*first_wall_ns.get_or_insert(ns)).max(0)
                }
            };
            last_ns = Some(time_ns);
            self.add(time_ns, line.message);
        }
        self.bring_up.merge(console.bring_up);
    }

    /// Adds a line whose time may be unknown.
    fn add_untimed(&mut self, time_ns: Option<i64>, text: &str) {
        self.add(time_ns.unwrap_or(0), text);
        if time_ns.is_none()
            && let Some(last) = self.messages.last_mut()
        {
            last.is_untimed = true;
        }
    }

    /// Adds the kernel messages of `boot` from a journal. Messages that programs wrote into the kernel log are stored
    /// with a separate sender; here they get their original form. If no message has the kernel's own time, as in text
    /// with dates, the time of receipt is used. If some have it, all others are skipped, because the receipt clock
    /// continues during a sleep.
    pub(super) fn add_journal(&mut self, journal: &Journal<'_>, boot: Option<u128>) {
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1000));
        let mut receipt_timed = Messages::default();
        let mut has_kernel_times = false;
        journal.entries(boot, &mut JournalFaults::default(), |entry| {
            if !entry.is_kernel() {
                return;
            }
            let kernel_ns = ns(entry.source_monotonic_us);
            has_kernel_times |= kernel_ns.is_some();
            let (messages, time_ns) = match (kernel_ns, ns(entry.monotonic_us)) {
                (Some(time_ns), _) => (&mut *self, time_ns),
                (None, Some(time_ns)) if !has_kernel_times => (&mut receipt_timed, time_ns),
                (None, _) => {
                    self.unreadable += 1;
                    return;
                }
            };
            match &*entry.identifier {
                "" | "kernel" => messages.add(time_ns, &entry.message),
                identifier => {
                    let pid = entry.pid.unwrap_or(1);
                    messages.add(time_ns, &format!("{identifier}[{pid}]: {}", entry.message));
                }
            }
        });
        if has_kernel_times {
            self.unreadable += receipt_timed.messages.len() as u64;
        } else {
            self.by_receipt |= !receipt_timed.messages.is_empty();
            self.too_many += receipt_timed.too_many;
            self.messages.append(&mut receipt_timed.messages);
        }
    }

    /// Adds a message; `time_ns` is on the log's clock.
    pub(super) fn add(&mut self, time_ns: i64, text: &str) {
        if self.messages.len() < MAX_MESSAGES {
            self.messages.push(Message { time_ns, text: text.to_owned(), is_untimed: false });
        } else {
            self.too_many += 1;
        }
    }

    fn add_json(&mut self, bytes: &[u8]) {
        let Some(begin) = memchr::memchr(b'[', bytes) else {
            self.truncated += 1;
            return;
        };
        let mut unread = bytes.get(begin + 1..).unwrap_or_default();
        loop {
            let message_bytes = unread.trim_ascii_start();
            let message_bytes = message_bytes.strip_prefix(b",").unwrap_or(message_bytes).trim_ascii_start();
            if message_bytes.first() != Some(&b'{') {
                self.truncated += u64::from(message_bytes.first() != Some(&b']'));
                return;
            }
            let mut objects = serde_json::Deserializer::from_slice(message_bytes).into_iter::<JsonMessage>();
            let Some(Ok(message)) = objects.next() else {
                self.truncated += 1;
                return;
            };
            let message_len = objects.byte_offset();
            // The log's resolution is 1 µs.
            let time_us = (message.time * 1e6).round();
            if (0.0..9e12).contains(&time_us) {
                self.add(time_us as i64 * 1000, &message.msg);
            } else {
                self.unreadable += 1;
            }
            unread = message_bytes.get(message_len..).unwrap_or_default();
        }
    }

    /// Sorts the messages and removes duplicates from several parts.
    pub(super) fn sort(&mut self) {
        // Stable sort: messages of the same time keep the order of the log.
        self.messages.sort_by_key(|message| message.time_ns);
        let mut seen = hashbrown::HashSet::new();
        let mut last_ns = i64::MIN;
        self.messages.retain(|message| {
            if message.time_ns != last_ns {
                seen.clear();
                last_ns = message.time_ns;
            }
            seen.insert(message.text.clone())
        });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }

    /// True if messages have dates (`dmesg -T`).
    pub(super) fn has_dates(&self) -> bool {
        self.wall_clock
    }

    /// True if messages have dates in whole seconds.
    pub(super) fn has_whole_seconds(&self) -> bool {
        self.wall_clock && !self.has_exact_dates
    }

    /// Returns the time of a message on the axis.
    pub(super) fn axis_ns(&self, message: &Message, clocks: &Clocks) -> i64 {
        match self.by_receipt {
            true => message.time_ns,
            false => clocks.axis_ns_or_unchanged(SourceClock::KernelLog, message.time_ns),
        }
    }

    fn count(&self, losses: &mut Losses) {
        losses.add(&UNREADABLE, self.unreadable);
        losses.add(&LOADER_LINES, self.loader_lines);
        if self.loader_lines > 0 {
            losses.set_first_place(&LOADER_LINES, || {
                format!("last line at {} s on the loader's clock", self.last_loader_time)
            });
        }
        losses.add(&TRUNCATED, self.truncated);
        losses.add(&WALL_CLOCK, self.wall_clock.into());
        losses.add(&BY_RECEIPT, self.by_receipt.into());
        losses.add(&TOO_MANY, self.too_many);
        losses.add(&EARLIER_BOOTS, self.earlier_boots);
    }
}

/// Adds the rows of the messages.
pub(super) fn read(messages: &Messages, clocks: &Clocks, assembly: &mut Assembly) {
    messages.count(&mut assembly.losses);
    messages.bring_up.read(assembly);
    if messages.messages.is_empty() {
        return;
    }
    if !messages.by_receipt && clocks.axis_ns(SourceClock::KernelLog, 0).is_none() {
        assembly.losses.add(&CLOCK_NOT_CONVERTED, 1);
    }
    let mut initcalls = initcalls::InitcallTracker::new(assembly);
    let mut power = power::PowerTracker::new(messages.by_receipt, assembly);
    let mut shutdown = shutdown::ShutdownTracker::default();
    let mut program = machine::FirstProgram::default();
    for message in messages.iter() {
        let time_ns = messages.axis_ns(message, clocks).max(0);
        assembly.extend_to(time_ns);
        let text = message.text.as_str();
        assembly.add_network_change(time_ns, "", text, "kernel log");
        assembly.log_gaps.add_line(time_ns, "", text);
        if let Some(name) = boot_failures::milestone_of(text) {
            let event = if message.is_untimed { milestone::NO_TIME_EVENT } else { "kernel log" };
            let unit = boot_failures::console_started(text);
            assembly.add_milestone(time_ns, name, unit.as_deref().unwrap_or(text), None, event);
        }
        if is_low_power_missed(text) {
            assembly.add_milestone(time_ns, milestone::LOW_POWER_NOT_REACHED, text, None, "kernel log");
        }
        if !(initcalls.on_message(time_ns, text, assembly)
            || power.on_message(time_ns, text, assembly)
            || shutdown.on_message(time_ns, text, assembly))
        {
            machine::on_message(time_ns, text, &mut program, assembly);
        }
    }
    initcalls.finish(assembly);
    power.finish(assembly);
    shutdown.finish(assembly);
    program.finish(assembly);
}

/// True if the platform driver reports that the hardware missed its low-power state. Sources: amd_pmc, and
/// intel_pmc_core with `warn_on_s0ix_failures`.
fn is_low_power_missed(text: &str) -> bool {
    text.contains("Last suspend didn't reach deepest state")
        || text.contains("CPU did not enter SLP_S0")
        || text.contains("CPU did not enter Package C10")
}

/// Returns the text between `prefix`, with which `text` must start, and `suffix`.
fn text_between<'a>(text: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    let (inner, _) = text.strip_prefix(prefix)?.split_once(suffix)?;
    Some(inner)
}

/// Splits `function+0x0/0x10 [module]` into function and module.
fn function_and_module(text: &str) -> (&str, &str) {
    let (function, module_text) = text.split_once('+').unwrap_or((text, ""));
    let module =
        module_text.split_once(" [").and_then(|(_, module)| module.split_once(']')).map_or("", |(module, _)| module);
    (function.trim(), module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_json_and_text_messages() {
        let text = "[    1.500000] one\n[    1.500000] one\n[    2.000001] two\n  continued\n";
        let json = "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     1.500000,\n         \"msg\": \"one\"\n      },{\n         \"pri\": 6,\n         \"time\":     2.000001,\n         \"msg\": \"two\"\n      },{ \"pri\": 6, \"ti";
        let mut messages = Messages::default();
        for (kind, bytes) in [(PartKind::KernelLog, text), (PartKind::KernelLogJson, json)] {
            messages.add_part(&Part { kind, name: "log", bytes: bytes.as_bytes() });
        }
        messages.sort();
        let merged: Vec<(i64, &str)> =
            messages.iter().map(|message| (message.time_ns, message.text.as_str())).collect();
        assert_eq!(merged, [(1_500_000_000, "one"), (2_000_001_000, "two")]);
        assert_eq!((messages.unreadable, messages.truncated), (1, 1));
    }

    #[test]
    fn splits_function_and_module() {
        assert_eq!(function_and_module("lpc_ich_driver_init+0x0/0x1000 [lpc_ich]"), ("lpc_ich_driver_init", "lpc_ich"));
        assert_eq!(function_and_module("con_init+0x0/0x22c"), ("con_init", ""));
    }
}
