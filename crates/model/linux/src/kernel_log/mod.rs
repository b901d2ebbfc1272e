//! The kernel's log: `dmesg` as text and as JSON, and whatever else holds its messages.
//!
//! | module | question |
//! | --- | --- |
//! | [`clock`] | how do the log's times come onto the axis? |
//! | `initcalls` | initialization functions and probes (`initcall_debug`) |
//! | `power` | suspend and hibernation (`PM:`) |
//! | `shutdown` | what is said once the service manager is gone |
//! | `machine` | the kernel, the machine, the first program |

pub(super) mod clock;
mod initcalls;
mod machine;
mod power;
mod shutdown;

use onoff_trace::{Losses, TableName, counters, milestone};
use serde::Deserialize;

use super::assembly::Assembly;
use super::clocks::{Clocks, SourceClock};
use super::journal::JournalFaults;
use super::journal_files::Journal;
use super::kernel_line::{self, Stamp};
use super::parts::{Part, PartKind};

counters! {
    UNREADABLE = "kernel_log_lines_unreadable", Notice, TABLES,
        "lines of the kernel's log without a time were left out; messages of several lines look like that";
    OF_LOADER = "loader_lines_by_another_clock", Notice, [],
        "lines that the firmware's loader (TegraBoot, CBoot) wrote before the kernel: their times are of the loader's clock, which does not say when the kernel's began; they are no part of its log";
    CUT = "kernel_log_cut", Warning, TABLES,
        "a kernel log as JSON ends inside a message or holds something else; what came before is read";
    WALL_CLOCK = "kernel_log_wall_clock", Warning, TABLES,
        "the kernel's log has dates (dmesg -T), mostly in whole seconds: they count from its first line; take `dmesg` without -T";
    RECEIVED = "kernel_log_times_of_receipt", Warning, TABLES,
        "the kernel's messages have the wall-clock time at which the log got them, not their own: they are late while nothing reads them, as during a sleep, so how long going to sleep and waking took is not known; take `dmesg`, or `journalctl` with `-o short-monotonic` or `-o export`";
    TOO_MANY = "kernel_log_messages_left_out", Error, TABLES,
        "the kernel's log holds more messages than are read";
    NOT_COMPARED = "kernel_log_clock_not_compared", Notice, TABLES,
        "nothing in the recording compares the kernel log's clock with the monotonic one; its times are taken as they are and may be tens of milliseconds off";
}

/// Tables that messages fill.
const TABLES: &[TableName] = &[
    TableName::DeviceOperations,
    TableName::PowerRequests,
    TableName::Activities,
    TableName::Milestones,
    TableName::Notifications,
];

/// More messages than a kernel keeps.
const MAX_MESSAGES: usize = 2_000_000;

/// A message of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Message {
    /// Time by the log's clock, ns.
    pub(super) time_ns: i64,
    pub(super) text: String,
}

/// The messages of all parts that hold some: each once, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Messages {
    found: Vec<Message>,
    unreadable: u64,
    /// Lines of a loader, and the last of their times.
    of_loader: u64,
    loader_until: String,
    cut: u64,
    too_many: u64,
    /// Whether dates stamp messages.
    wall_clock: bool,
    /// Whether messages have the time at which a log got them.
    received: bool,
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
        let mut first_wall_ns = None;
        for text in String::from_utf8_lossy(part.bytes).lines() {
            let text = kernel_line::uncolored(text);
            if let Some(time) = kernel_line::loader_time(&text) {
                self.of_loader += 1;
                time.clone_into(&mut self.loader_until);
                continue;
            }
            let Some(line) = kernel_line::line(&text) else {
                self.unreadable += u64::from(!text.trim().is_empty());
                continue;
            };
            let time_ns = match line.stamp {
                Stamp::Log(ns) => ns,
                Stamp::Wall(ns) => {
                    self.wall_clock = true;
                    ns.saturating_sub(*first_wall_ns.get_or_insert(ns)).max(0)
                }
            };
            self.add(time_ns, line.message);
        }
    }

    /// Adds what a journal holds of the log of `boot`. Messages that programs wrote into the kernel's log are kept with their
    /// sender apart; here they stand as the log has them. Where no message has the kernel's own time, as in a text with dates, they have
    /// that of their receipt; next to messages with their own times those without are left out, as their clock goes on in a sleep.
    pub(super) fn add_journal(&mut self, journal: &Journal<'_>, boot: Option<u128>) {
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1000));
        let mut received = Messages::default();
        let mut has_own_times = false;
        journal.entries(boot, &mut JournalFaults::default(), |entry| {
            if !entry.is_kernel() {
                return;
            }
            let own_ns = ns(entry.source_monotonic_us);
            has_own_times |= own_ns.is_some();
            let (messages, time_ns) = match (own_ns, ns(entry.monotonic_us)) {
                (Some(time_ns), _) => (&mut *self, time_ns),
                (None, Some(time_ns)) if !has_own_times => (&mut received, time_ns),
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
        if has_own_times {
            self.unreadable += received.found.len() as u64;
        } else {
            self.received |= !received.found.is_empty();
            self.too_many += received.too_many;
            self.found.append(&mut received.found);
        }
    }

    /// Adds one message; `time_ns` is by the log's clock.
    pub(super) fn add(&mut self, time_ns: i64, text: &str) {
        if self.found.len() < MAX_MESSAGES {
            self.found.push(Message { time_ns, text: text.to_owned() });
        } else {
            self.too_many += 1;
        }
    }

    fn add_json(&mut self, bytes: &[u8]) {
        let Some(begin) = memchr::memchr(b'[', bytes) else {
            self.cut += 1;
            return;
        };
        let mut rest = bytes.get(begin + 1..).unwrap_or_default();
        loop {
            let more = rest.trim_ascii_start();
            let more = more.strip_prefix(b",").unwrap_or(more).trim_ascii_start();
            if more.first() != Some(&b'{') {
                self.cut += u64::from(more.first() != Some(&b']'));
                return;
            }
            let mut objects = serde_json::Deserializer::from_slice(more).into_iter::<JsonMessage>();
            let Some(Ok(message)) = objects.next() else {
                self.cut += 1;
                return;
            };
            let read = objects.byte_offset();
            // The log has microseconds.
            let micros = (message.time * 1e6).round();
            if (0.0..9e12).contains(&micros) {
                self.add(micros as i64 * 1000, &message.msg);
            } else {
                self.unreadable += 1;
            }
            rest = more.get(read..).unwrap_or_default();
        }
    }

    /// Puts them into order; those that several parts hold stay once.
    pub(super) fn sort(&mut self) {
        // Messages of the same time keep their order: it is that of the log.
        self.found.sort_by_key(|message| message.time_ns);
        let mut seen = hashbrown::HashSet::new();
        let mut last_ns = i64::MIN;
        self.found.retain(|message| {
            if message.time_ns != last_ns {
                seen.clear();
                last_ns = message.time_ns;
            }
            seen.insert(message.text.clone())
        });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Message> {
        self.found.iter()
    }

    /// Whether messages have dates (`dmesg -T`).
    pub(super) fn has_dates(&self) -> bool {
        self.wall_clock
    }

    /// Time of a message on the axis.
    pub(super) fn axis_ns(&self, message: &Message, clocks: &Clocks) -> i64 {
        match self.received {
            true => message.time_ns,
            false => clocks.axis_or_same_ns(SourceClock::KernelLog, message.time_ns),
        }
    }

    fn count(&self, losses: &mut Losses) {
        losses.add(&UNREADABLE, self.unreadable);
        losses.add(&OF_LOADER, self.of_loader);
        if self.of_loader > 0 {
            losses.place(&OF_LOADER, || format!("the last at {} s by its clock", self.loader_until));
        }
        losses.add(&CUT, self.cut);
        losses.add(&WALL_CLOCK, self.wall_clock.into());
        losses.add(&RECEIVED, self.received.into());
        losses.add(&TOO_MANY, self.too_many);
    }
}

/// Puts what the messages say into `assembly`.
pub(super) fn read(messages: &Messages, clocks: &Clocks, assembly: &mut Assembly) {
    messages.count(&mut assembly.losses);
    if messages.found.is_empty() {
        return;
    }
    if !messages.received && clocks.axis_ns(SourceClock::KernelLog, 0).is_none() {
        assembly.losses.add(&NOT_COMPARED, 1);
    }
    let mut initcalls = initcalls::InitcallTracker::new(assembly);
    let mut power = power::PowerTracker::new(messages.received, assembly);
    let mut shutdown = shutdown::ShutdownTracker::default();
    let mut program = machine::FirstProgram::default();
    for message in messages.iter() {
        let time_ns = messages.axis_ns(message, clocks).max(0);
        assembly.reaches(time_ns);
        let text = message.text.as_str();
        assembly.network_line(time_ns, "", text, "kernel log");
        if is_low_power_missed(text) {
            assembly.milestone(time_ns, milestone::LOW_POWER_MISSED, text, None, "kernel log");
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

/// Whether the platform's driver says that the hardware did not reach its low-power state. Sources: amd_pmc, and intel_pmc_core, which says it
/// with `warn_on_s0ix_failures`.
fn is_low_power_missed(text: &str) -> bool {
    text.contains("Last suspend didn't reach deepest state")
        || text.contains("CPU did not enter SLP_S0")
        || text.contains("CPU did not enter Package C10")
}

/// `text` without `prefix`, up to `suffix`.
fn between<'a>(text: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(prefix)?;
    rest.get(..rest.find(suffix)?)
}

/// `function+0x0/0x10 [module]`: the function and the module.
fn function_and_module(text: &str) -> (&str, &str) {
    let (function, rest) = text.split_once('+').unwrap_or((text, ""));
    let module = rest.split_once(" [").and_then(|(_, module)| module.split_once(']')).map_or("", |(module, _)| module);
    (function.trim(), module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_text_give_the_same_messages_once() {
        let text = "[    1.500000] one\n[    1.500000] one\n[    2.000001] two\n  continued\n";
        let json = "{\n   \"dmesg\": [\n      {\n         \"pri\": 5,\n         \"time\":     1.500000,\n         \"msg\": \"one\"\n      },{\n         \"pri\": 6,\n         \"time\":     2.000001,\n         \"msg\": \"two\"\n      },{ \"pri\": 6, \"ti";
        let mut messages = Messages::default();
        for (kind, bytes) in [(PartKind::KernelLog, text), (PartKind::KernelLogJson, json)] {
            messages.add_part(&Part { kind, name: "log", bytes: bytes.as_bytes() });
        }
        messages.sort();
        let found: Vec<(i64, &str)> = messages.iter().map(|message| (message.time_ns, message.text.as_str())).collect();
        assert_eq!(found, [(1_500_000_000, "one"), (2_000_001_000, "two")]);
        assert_eq!((messages.unreadable, messages.cut), (1, 1));
    }

    #[test]
    fn functions_are_told_from_their_modules() {
        assert_eq!(function_and_module("lpc_ich_driver_init+0x0/0x1000 [lpc_ich]"), ("lpc_ich_driver_init", "lpc_ich"));
        assert_eq!(function_and_module("con_init+0x0/0x22c"), ("con_init", ""));
    }
}
