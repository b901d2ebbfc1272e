//! Reads the journal as lines of text, as written by `journalctl -o short`, `short-iso`, `short-precise`, `short-full`,
//! `short-monotonic`, `short-unix`, `short-delta` and `with-unit`, and by syslog daemons (`/var/log/syslog`,
//! `kern.log`).
//!
//! A line is a time, the host, the sender and the message: `Nov 22 09:04:00 host systemd[1]: Reached target …`. Most
//! formats have only a wall clock. The start of the kernel, which is zero on the axis, then comes from, best first:
//!
//! 1. the kernel's own timestamps, which syslog daemons keep in its messages (the message with the smallest delay
//!    counts);
//! 2. systemd's "Startup finished in …", which is written when that time has passed;
//! 3. the boot's first line, which is later than the kernel's start by an unknown time.
//!
//! The file of a central syslog server interleaves the lines of several hosts with separate boots.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use hashbrown::{HashMap, HashSet};
use onoff_trace::CivilTime;

use super::journal::{Entry, JOURNAL_STARTED, JOURNAL_STOPPED, JournalFaults, STARTUP_FINISHED};
use super::startup_times::StartupTimes;
use onoff_linux_log::kernel_line::nanoseconds;
use onoff_linux_log::text_stamp::{self, Stamp, StampedLine, stamped_line};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    stamp: Stamp,
    host: &'a str,
    identifier: &'a str,
    pid: Option<u32>,
    message: &'a str,
}

/// A classified line.
enum LineKind<'a> {
    Entry(Line<'a>),
    /// `-- Boot 0123… --` starts a boot with this id; 0 if the line has no id.
    Boot(u128),
    /// A continuation line, or a remark of journalctl.
    Ignored,
    Unreadable,
}

/// Number of lines inspected to recognize the format.
const SNIFF_LINES: usize = 40;

/// True if most of the first lines of `text` are entries.
pub(super) fn recognizes(text: &str) -> bool {
    let (mut entries, mut unreadable) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()).take(SNIFF_LINES) {
        match kind(line) {
            LineKind::Entry(_) => entries += 1,
            LineKind::Unreadable => unreadable += 1,
            LineKind::Boot(_) | LineKind::Ignored => {}
        }
    }
    entries > unreadable
}

fn kind(line: &str) -> LineKind<'_> {
    // `journalctl -x` inserts explanations of messages; each of their lines starts with two `░`.
    if line.trim().is_empty() || line.starts_with([' ', '\t', '░']) {
        // In Japanese and Chinese, months are numbers with a blank instead of a leading zero: ` 5月`.
        let is_month = |line: &&str| line.split(' ').next().is_some_and(|word| word.ends_with(['月', '월']));
        return line.strip_prefix(' ').filter(is_month).and_then(entry).map_or(LineKind::Ignored, LineKind::Entry);
    }
    if let Some(remark) = line.strip_prefix("-- ") {
        return match remark.strip_prefix("Boot ").and_then(|id| id.strip_suffix(" --")) {
            Some(id) => LineKind::Boot(super::journal::id(id)),
            None if remark == "Reboot --" => LineKind::Boot(0),
            None => LineKind::Ignored,
        };
    }
    entry(line).map_or(LineKind::Unreadable, LineKind::Entry)
}

/// Parses `TIME HOST SENDER[PID]: MESSAGE`. Kernel messages have no PID. BusyBox' syslogd writes `HOST FACILITY.LEVEL`
/// or only `FACILITY.LEVEL` in place of the host.
fn entry(line: &str) -> Option<Line<'_>> {
    let StampedLine { stamp, rest, is_common_form } = stamped_line(line.trim_end_matches('\r'))?;
    let (host, rest) = match rest.split_once(' ')? {
        (facility, rest) if is_facility(facility) => (NO_HOST, rest),
        host_and_rest => host_and_rest,
    };
    let rest = match rest.split_once(' ') {
        Some((facility, rest)) if is_facility(facility) => rest,
        _ => rest,
    };
    if host.is_empty() || host.ends_with(':') {
        return None;
    }
    let (sender, message) = rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|sender| (sender, "")))?;
    let (identifier, pid) = match sender.strip_suffix(']').and_then(|sender| sender.rsplit_once('[')) {
        Some((name, number)) => (name, Some(number.parse().ok()?)),
        None => (sender, None),
    };
    // Program names contain no blanks; otherwise this is a sentence with a colon.
    if identifier.is_empty() || identifier.contains(char::is_whitespace) {
        return None;
    }
    let is_sender = identifier == "kernel" || pid.is_some() && !is_level(host);
    (!is_common_form || is_sender).then_some(Line { stamp, host, identifier, pid, message })
}

/// Host name of lines without one.
const NO_HOST: &str = "-";

/// True for `kern.info` and the like. Source: syslog(3).
fn is_facility(word: &str) -> bool {
    const FACILITIES: [&str; 13] =
        ["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "local"];
    const LEVELS: [&str; 11] =
        ["emerg", "panic", "alert", "crit", "err", "error", "warning", "warn", "notice", "info", "debug"];
    word.split_once('.').is_some_and(|(facility, level)| {
        LEVELS.contains(&level) && FACILITIES.contains(&facility.trim_end_matches(|digit| ('0'..='7').contains(&digit)))
    })
}

/// True for a word that other programs' logs have where a system log has the host: `INFO`, `[WARN]`.
fn is_level(word: &str) -> bool {
    word.starts_with('[') || word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Evidence for the kernel's start in a boot. Wall-clock times, µs.
#[derive(Clone, Copy, Debug, Default)]
struct KernelStart {
    /// The earliest time according to the kernel's own timestamps.
    from_kernel_us: Option<i64>,
    from_startup_us: Option<i64>,
    first_line_us: Option<i64>,
    /// Time from the start of the kernel to the start of the service manager.
    kernel_us: Option<i64>,
    /// True if systemd noticed during startup that the wall clock was set.
    clock_was_set: bool,
}

impl KernelStart {
    /// Returns the kernel's start by the clock before it was set during startup; `None` unless the clock was set forward
    /// by so much that earlier lines are from before the kernel's start.
    fn before_clock_was_set_us(self) -> Option<i64> {
        let (start_us, first_line_us) = (self.best_us()?, self.first_line_us?);
        (self.clock_was_set && first_line_us < start_us)
            .then(|| first_line_us.saturating_sub(self.kernel_us.unwrap_or(0)))
    }

    fn best_us(self) -> Option<i64> {
        self.from_kernel_us.or(self.from_startup_us).or(self.first_line_us)
    }
}

/// Host names used before the real one is set.
const DEFAULT_HOST_NAMES: [&str; 4] = ["localhost", "localhost.localdomain", "(none)", NO_HOST];

/// Splits a log into lines. A file system may fill the end of a file with NULs after a power cut, and the next boot
/// appends its lines to them.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n' || byte == 0)
}

/// What must be known of the whole text before its lines can be assigned to boots.
#[derive(Debug, Default)]
struct TextSurvey {
    /// True if lines of several hosts are interleaved, that is, if a name reappears after a different one before the
    /// next kernel starts. A host that gets its name during startup changes it only once.
    has_several_hosts: bool,
    /// Numbers of the lines with the first message of a kernel.
    kernel_starts: HashSet<usize>,
}

impl TextSurvey {
    fn new(bytes: &[u8]) -> Self {
        /// Maximum number of names per boot.
        const MAX_NAMES: usize = 8;
        let mut survey = Self::default();
        let mut names: Vec<String> = Vec::new();
        // Number of the first of the lines that a kernel logs before its version.
        let mut early_line = None;
        let mut has_boot_ids = false;
        for (number, raw) in lines(bytes).enumerate() {
            let text = String::from_utf8_lossy(raw);
            let line = match kind(&text) {
                LineKind::Entry(line) => line,
                // journalctl marks the boot of each line.
                LineKind::Boot(id) => {
                    has_boot_ids |= id != 0;
                    continue;
                }
                _ => continue,
            };
            if line.precedes_version() {
                early_line.get_or_insert(number);
                continue;
            }
            let first_line = early_line.take();
            if line.is_version() {
                survey.kernel_starts.insert(first_line.unwrap_or(number));
                names.clear();
            }
            if DEFAULT_HOST_NAMES.contains(&line.host) || names.last().is_some_and(|name| name == line.host) {
                continue;
            }
            survey.has_several_hosts |= names.len() >= MAX_NAMES || names.iter().any(|name| name == line.host);
            if !survey.has_several_hosts {
                names.push(line.host.to_owned());
            }
        }
        survey.has_several_hosts &= !has_boot_ids;
        survey
    }
}

/// The boot that lines are assigned to.
#[derive(Clone, Copy, Debug, Default)]
struct CurrentBoot {
    boot: u128,
    has_entries: bool,
    /// True if journalctl marked the start of the boot.
    is_marked: bool,
    /// True if the boot has the first message of its kernel.
    has_kernel_start: bool,
}

/// Assigns lines to boots.
struct BootTracker<'s> {
    survey: &'s TextSurvey,
    /// Number of the next line.
    line: usize,
    /// Number of the file, shifted, so that synthetic boot ids of two files differ.
    file: u128,
    count: u128,
    /// Host of the last line that has a host name; empty if hosts are not distinguished.
    host: String,
    current: HashMap<String, CurrentBoot>,
}

impl<'s> BootTracker<'s> {
    /// Maximum number of hosts; lines of further hosts are assigned to the previous line's host.
    const MAX_HOSTS: usize = 10_000;

    fn new(file: usize, survey: &'s TextSurvey) -> Self {
        Self {
            survey,
            line: 0,
            file: (file as u128 + 1) << 64,
            count: 0,
            host: String::new(),
            current: HashMap::from([(String::new(), CurrentBoot::default())]),
        }
    }

    /// Returns the boot of the next line.
    fn boot_of_line(&mut self, kind: &LineKind<'_>) -> u128 {
        let is_kernel_start = self.survey.kernel_starts.contains(&self.line);
        self.line += 1;
        match kind {
            LineKind::Boot(id) => {
                self.start_boot(*id);
                self.current().is_marked = true;
            }
            LineKind::Entry(line) => {
                if self.survey.has_several_hosts && !DEFAULT_HOST_NAMES.contains(&line.host) && self.host != line.host {
                    self.switch_host(line.host);
                }
                let current = *self.current();
                let has_earlier_boot = current.has_kernel_start || current.has_entries && !current.is_marked;
                if current.boot == 0 || (is_kernel_start && has_earlier_boot) {
                    self.start_boot(0);
                }
                let current = self.current();
                current.has_entries = true;
                current.has_kernel_start |= is_kernel_start;
            }
            LineKind::Ignored | LineKind::Unreadable => {}
        }
        self.current().boot
    }

    fn switch_host(&mut self, host: &str) {
        if self.current.contains_key(host) || self.current.len() < Self::MAX_HOSTS {
            host.clone_into(&mut self.host);
        }
    }

    fn current(&mut self) -> &mut CurrentBoot {
        self.current.entry_ref(self.host.as_str()).or_default()
    }

    fn start_boot(&mut self, id: u128) {
        self.count += 1;
        let boot = if id == 0 { self.file | self.count } else { id };
        *self.current() = CurrentBoot { boot, ..CurrentBoot::default() };
    }
}

impl Line<'_> {
    /// True if this is a kernel's message with its version, usually its first.
    fn is_version(&self) -> bool {
        self.identifier == "kernel" && kernel_text(self.message).1.starts_with("Linux version ")
    }

    /// True if this is a message that kernels log before their version: on ARM, with control groups before 4.x, and
    /// after an early update of the microcode.
    fn precedes_version(&self) -> bool {
        let text = kernel_text(self.message).1;
        let is_early_update =
            || text.starts_with("microcode: ") && (text.contains("updated early") || text.contains("Updated early"));
        self.identifier == "kernel"
            && (text.starts_with("Booting Linux on ")
                || text.starts_with("Initializing cgroup subsys cpu")
                || is_early_update())
    }

    /// True if systemd notices that the wall clock was set.
    fn is_clock_change(&self) -> bool {
        matches!(self.identifier, "systemd" | "init.scope")
            && self.pid == Some(1)
            && matches!(self.message, "Time has been changed" | "Clock change detected. Flushing caches.")
    }

    /// Returns the id that the message has in a journal with fields, if it shows that logging starts, or ends because
    /// the computer is turned off; otherwise 0.
    fn logging_step(&self) -> u128 {
        const TARGETS: [&str; 5] = ["Shutdown", "shutdown.target", "Reboot", "Power-Off", "Final Step"];
        let is_stop = match self.identifier {
            "systemd-journald" | "systemd-journal" if self.message.starts_with("Journal started") => {
                return JOURNAL_STARTED;
            }
            "systemd-journald" | "systemd-journal" => self.message.starts_with("Journal stopped"),
            "rsyslogd" => self.message.contains("exiting on signal 15"),
            "syslogd" => self.message.starts_with("syslogd exiting"),
            "systemd" | "init.scope" if self.pid == Some(1) => {
                self.message == "Shutting down."
                    || self.message.strip_prefix("Reached target ").is_some_and(|unit| {
                        let unit = unit.strip_prefix("System ").unwrap_or(unit);
                        TARGETS.iter().any(|target| unit.starts_with(target))
                    })
            }
            _ => false,
        };
        if is_stop { JOURNAL_STOPPED } else { 0 }
    }
}

/// Splits off the kernel's own timestamp, µs, which syslog daemons keep: `[    1.234567] text`.
fn kernel_text(message: &str) -> (Option<i64>, &str) {
    let time_and_text = message.strip_prefix('[').and_then(|rest| {
        let (time, text) = rest.split_once(']')?;
        Some((nanoseconds(time.trim())? / 1000, text.strip_prefix(' ').unwrap_or(text)))
    });
    time_and_text.map_or((None, message), |(us, text)| (Some(us), text))
}

/// Returns a number for each entry that is the same for copies of it in other formats: with or without fractions of a
/// second, the year, the time zone, and the kernel's own time.
pub(super) fn entry_keys(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let hash_builder = BuildHasherDefault::<DefaultHasher>::default();
    lines(bytes).filter_map(move |raw| match kind(&String::from_utf8_lossy(raw)) {
        LineKind::Entry(line) => {
            let time = match line.stamp {
                Stamp::Monotonic(us) => us,
                // Time zones differ by multiples of 15 minutes.
                Stamp::Wall { us, .. } => us.div_euclid(1_000_000).rem_euclid(900),
            };
            let (_, message) = kernel_text(line.message);
            Some(hash_builder.hash_one((time, line.host, line.identifier, line.pid, message)))
        }
        _ => None,
    })
}

/// True if the entries of `bytes` have only wall-clock times.
pub(super) fn is_by_wall_clock(bytes: &[u8]) -> bool {
    let first_stamp = lines(bytes).find_map(|raw| match kind(&String::from_utf8_lossy(raw)) {
        LineKind::Entry(line) => Some(line.stamp),
        _ => None,
    });
    matches!(first_stamp, Some(Stamp::Wall { .. }))
}

/// First and last time of a text by the wall clock, for telling which rotated file continues another.
#[derive(Debug)]
pub(super) struct TextRange {
    pub(super) first_us: i64,
    pub(super) last_us: i64,
    /// Whether the times count from 1970.
    absolute: bool,
    host: String,
    /// True if a kernel starts right at the beginning.
    begins_with_boot: bool,
}

impl TextRange {
    /// Number of lines inspected at each end.
    const MAX_LINES: usize = 200;
    /// Maximum time between the end of a rotated file and the start of the next, µs: 2 h. Every hour, cron logs a line.
    const MAX_GAP_US: i64 = 7_200_000_000;

    /// Returns the range of a text whose times are all by the wall clock.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let entry = |raw: &[u8]| match kind(&String::from_utf8_lossy(raw)) {
            LineKind::Entry(Line { stamp: Stamp::Wall { us, absolute, .. }, host, message, .. }) => {
                Some((us, absolute, host.to_owned(), message.contains("Linux version ")))
            }
            _ => None,
        };
        let first_entries: Vec<_> = lines(bytes).take(Self::MAX_LINES).filter_map(entry).collect();
        let last_lines = bytes.rsplit(|&byte| byte == b'\n' || byte == 0).take(Self::MAX_LINES);
        let (last_us, ..) = last_lines.filter_map(entry).next()?;
        let (first_us, absolute, host, _) = first_entries.first()?.clone();
        let begins_with_boot = first_entries.iter().any(|(.., starts_kernel)| *starts_kernel);
        Some(Self { first_us, last_us, absolute, host, begins_with_boot })
    }

    /// True if the text may have entries from `first_us` to `last_us`, µs since 1970. Times are local, and may lack the year.
    pub(super) fn overlaps(&self, first_us: i64, last_us: i64) -> bool {
        /// The largest difference of time zones from UTC, and a leap day.
        const TOLERANCE_US: i64 = (24 + 14) * 3_600_000_000;
        let is_within = |shift_us: i64| {
            let shifted = |us: i64| us.saturating_add(shift_us);
            shifted(self.first_us) <= last_us.saturating_add(TOLERANCE_US)
                && shifted(self.last_us) >= first_us.saturating_sub(TOLERANCE_US)
        };
        let year = |us: i64| CivilTime::from_unix_ns(us.saturating_mul(1_000)).year;
        if self.absolute || year(self.first_us) != text_stamp::PLACEHOLDER_YEAR {
            return is_within(0);
        }
        let start_us = |year: i64| text_stamp::days(year, 1, 1).unwrap_or(0).saturating_mul(text_stamp::US_PER_DAY);
        let shift_us = |year: i64| start_us(year).saturating_sub(start_us(text_stamp::PLACEHOLDER_YEAR));
        [year(first_us), year(last_us)].into_iter().any(|year| is_within(shift_us(year)))
    }

    /// True if this text begins before or ends after all of `ranges`, µs since 1970, as far as its times count from 1970.
    pub(super) fn exceeds(&self, ranges: &[(i64, i64)]) -> bool {
        self.absolute
            && (ranges.iter().all(|&(first_us, _)| self.first_us < first_us)
                || ranges.iter().all(|&(_, last_us)| self.last_us > last_us))
    }

    /// Returns whether this text continues the boot in which `earlier` ends.
    pub(super) fn continues(&self, earlier: &Self) -> bool {
        let gap_us = self.first_us.saturating_sub(earlier.last_us);
        !self.begins_with_boot
            && self.absolute == earlier.absolute
            && self.host == earlier.host
            && (0..=Self::MAX_GAP_US).contains(&gap_us)
    }
}

/// Passes every entry of `bytes` to `visit`, in file order. `file` is the number of this text in the recording.
pub(super) fn entries<'a>(bytes: &'a [u8], file: usize, faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'a>)) {
    let survey = TextSurvey::new(bytes);
    let starts = kernel_starts(bytes, file, &survey);
    let mut tracker = BootTracker::new(file, &survey);
    let mut approximate: HashSet<u128> = HashSet::new();
    let mut set_clocks: HashSet<u128> = HashSet::new();
    for raw in lines(bytes) {
        let text = String::from_utf8_lossy(raw);
        let kind = kind(&text);
        let boot = tracker.boot_of_line(&kind);
        let line = match kind {
            LineKind::Entry(line) => line,
            LineKind::Unreadable => {
                faults.unreadable += 1;
                continue;
            }
            LineKind::Boot(_) | LineKind::Ignored => continue,
        };
        let mut entry = Entry { boot, is_text: true, ..Entry::default() };
        match line.stamp {
            Stamp::Monotonic(us) => {
                entry.monotonic_us = Some(us);
                entry.source_monotonic_us = Some(us);
            }
            Stamp::Wall { us, absolute, seconds } => {
                let start = starts.get(&boot).copied().unwrap_or_default();
                if line.is_clock_change() {
                    set_clocks.insert(boot);
                }
                let start_us =
                    start.before_clock_was_set_us().filter(|_| !set_clocks.contains(&boot)).or_else(|| start.best_us());
                // A time before the kernel's start comes from a clock that was set later.
                entry.monotonic_us = start_us.and_then(|start_us| us.checked_sub(start_us)).map(|us| us.max(0));
                entry.realtime_us = absolute.then_some(us);
                entry.by_wall_clock = true;
                faults.whole_seconds |= seconds;
                if start.from_kernel_us.is_none() && start.from_startup_us.is_none() && approximate.insert(boot) {
                    faults.starts_unknown += 1;
                }
            }
        }
        let mut message = line.message;
        if line.identifier == "kernel" {
            entry.set(b"_TRANSPORT", Cow::Borrowed("kernel"));
            let (stamp, text) = kernel_text(line.message);
            message = text;
            if stamp.is_some() {
                entry.source_monotonic_us = stamp;
            }
        }
        // `with-unit` prints the unit instead of the program: init.scope is the service manager.
        let identifier = if line.identifier == "init.scope" { "systemd" } else { line.identifier };
        if identifier == "systemd" && line.pid == Some(1) && StartupTimes::read(message).is_some() {
            entry.message_id = STARTUP_FINISHED;
        } else {
            entry.message_id = line.logging_step();
        }
        entry.pid = line.pid;
        entry.set(b"_HOSTNAME", Cow::Owned(line.host.to_owned()));
        entry.set(b"MESSAGE", Cow::Owned(message.to_owned()));
        entry.set(b"SYSLOG_IDENTIFIER", Cow::Owned(identifier.to_owned()));
        entry.set(b"_COMM", Cow::Owned(identifier.to_owned()));
        visit(&entry);
    }
}

/// Returns the kernel's start in each boot, by the text's wall clock.
fn kernel_starts(bytes: &[u8], file: usize, survey: &TextSurvey) -> HashMap<u128, KernelStart> {
    let mut starts: HashMap<u128, KernelStart> = HashMap::new();
    let mut tracker = BootTracker::new(file, survey);
    for raw in lines(bytes) {
        let text = String::from_utf8_lossy(raw);
        let kind = kind(&text);
        let boot = tracker.boot_of_line(&kind);
        let LineKind::Entry(line) = kind else { continue };
        let is_clock_change = line.is_clock_change();
        let Line { stamp: Stamp::Wall { us, .. }, identifier, pid, message, .. } = line else { continue };
        let start = starts.entry(boot).or_default();
        start.first_line_us.get_or_insert(us);
        start.clock_was_set |= is_clock_change && start.from_startup_us.is_none();
        if identifier == "kernel" {
            let (stamp, _) = kernel_text(message);
            if let Some(start_us) = stamp.and_then(|stamp| us.checked_sub(stamp)) {
                start.from_kernel_us = Some(start.from_kernel_us.map_or(start_us, |earliest| earliest.min(start_us)));
            }
        } else if matches!(identifier, "systemd" | "init.scope")
            && pid == Some(1)
            && start.from_startup_us.is_none()
            && let Some(times) = StartupTimes::read(message)
        {
            start.from_startup_us = us.checked_sub(times.since_kernel_ns() / 1000);
            start.kernel_us = Some(times.kernel_ns / 1000);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boot, µs since the kernel's start, µs since 1970, identifier, PID, message.
    type Row = (u128, Option<i64>, Option<i64>, String, Option<u32>, String);

    fn read(text: &str) -> (Vec<Row>, JournalFaults) {
        let mut faults = JournalFaults::default();
        let mut rows = Vec::new();
        entries(text.as_bytes(), 0, &mut faults, |entry| {
            rows.push((
                entry.boot,
                entry.source_monotonic_us.or(entry.monotonic_us),
                entry.realtime_us,
                entry.identifier.to_string(),
                entry.pid,
                entry.message.to_string(),
            ));
        });
        (rows, faults)
    }

    const FIRST_BOOT: u128 = 1 << 64 | 1;

    /// Returns the times of three lines and of the end of the startup, in seconds since the kernel's start.
    fn times_around(clock_change: &str, later_minute: u32) -> Vec<i64> {
        let text = format!(
            "Nov 22 09:04:00 host systemd-journald[100]: Journal started\n\
             Nov 22 09:04:10 host systemd[1]: Starting a.service...\n\
             {clock_change}\
             Nov 22 09:{later_minute:02}:20 host systemd[1]: Started a.service.\n\
             Nov 22 09:{later_minute:02}:22 host systemd[1]: Startup finished in 3s (kernel) + 22s (userspace) = 25s.\n"
        );
        let systemd = |row: &Row| row.3 == "systemd" && row.5 != "Time has been changed";
        read(&text).0.iter().filter(|row| systemd(row)).filter_map(|row| row.1).map(|us| us / 1_000_000).collect()
    }

    #[test]
    fn clock_set_during_startup_does_not_move_earlier_lines() {
        let change = "Nov 22 09:07:15 host systemd[1]: Time has been changed\n";
        assert_eq!(times_around(change, 7), [13, 23, 25]);
        // The clock was set by less than the messages show.
        assert_eq!(times_around("Nov 22 09:04:15 host systemd[1]: Time has been changed\n", 4), [13, 23, 25]);
        // Nobody set the clock: the startup's length contradicts the times, and the last lines count.
        assert_eq!(times_around("", 7), [0, 23, 25]);
    }

    #[test]
    fn reads_every_line_format() {
        // 2026-11-22 09:04:00 UTC.
        const DATE_US: i64 = 1_795_338_240_000_000;
        for (line, real) in [
            ("Nov 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("Nov 22 09:04:00.250000 host systemd[1]: Starting a.service...", None),
            ("2026-11-22T09:04:00+0000 host systemd[1]: Starting a.service...", Some(DATE_US)),
            ("2026-11-22T10:04:00.250000+01:00 host systemd[1]: Starting a.service...", Some(DATE_US + 250_000)),
            ("2026-11-22T09:04:00.250000Z host systemd[1]: Starting a.service...", Some(DATE_US + 250_000)),
            ("Sun 2026-11-22 09:04:00 UTC host systemd[1]: Starting a.service...", Some(DATE_US)),
            ("Sun 2026-11-22 10:04:00 CET host init.scope[1]: Starting a.service...", None),
            ("1795338240.250000 host systemd[1]: Starting a.service...", Some(DATE_US + 250_000)),
            // Without a zone, in other languages, and from other daemons.
            ("2026-11-22T09:04:00 host systemd[1]: Starting a.service...", None),
            ("2026-11-22 09:04:00.250 host systemd[1]: Starting a.service...", None),
            ("nov. 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("ноя 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("11月 22 09:04:00 host systemd[1]: Starting a.service...", None),
            (" 5月 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("nóvember 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("So 2026-11-22 09:04:00 UTC host systemd[1]: Starting a.service...", Some(DATE_US)),
            ("日 2026-11-22 09:04:00 JST host systemd[1]: Starting a.service...", None),
            ("Nov 22 09:04:00 host daemon.info systemd[1]: Starting a.service...", None),
            ("Nov 22 09:04:00 local3.warn systemd[1]: Starting a.service...", None),
            ("Sun Nov 22 09:04:00 2026 daemon.info systemd[1]: Starting a.service...", None),
            ("<30>Nov 22 09:04:00 host systemd[1]: Starting a.service...", None),
            ("[   12.345678] host systemd[1]: Starting a.service...", None),
            ("[   12.345678 <    0.000012 >] host systemd[1]: Starting a.service...", None),
        ] {
            let (rows, faults) = read(line);
            let monotonic = if line.starts_with('[') { 12_345_678 } else { 0 };
            let expected =
                (FIRST_BOOT, Some(monotonic), real, "systemd".into(), Some(1), "Starting a.service...".into());
            assert_eq!(rows, [expected], "{line}");
            assert_eq!(faults.unreadable, 0);
            assert!(recognizes(line), "{line}");
        }
        for line in [
            "",
            "Reached target Basic System.",
            "Nov 22 09:04 host x: y",
            "[  OK  ] Started a.service.",
            "2026-11-22 09:04:00 INFO main: hello",
            "2026-11-22 09:04:00 INFO main[3]: hello",
            "2026-11-22 09:04:00 [WARN] main[3]: hello",
            "Alice 22 09:04:00 said hello: world",
            "22 09:04:00 host kernel: x",
            "2026-99-22T09:04:00+0000 host x: y",
        ] {
            assert!(!recognizes(line), "{line}");
        }
    }

    #[test]
    fn finds_kernel_start_from_kernel_timestamps() {
        let text = "Nov 22 09:04:03 host kernel: [    0.000000] Linux version 6.1\n\
                    Nov 22 09:04:03 host kernel: [    2.500000] usb 1-1: new device\n\
                    Nov 22 09:04:05 host systemd[1]: Started a.service.\n";
        let (rows, faults) = read(text);
        assert_eq!(rows[0].1, Some(0));
        // The second kernel message had the smallest delay: the kernel started 0.5 s after the full second.
        assert_eq!(rows[2].1, Some(4_500_000));
        assert_eq!(faults.starts_unknown, 0);
        assert!(faults.whole_seconds);
    }

    #[test]
    fn finds_kernel_start_from_startup_finished() {
        let text = "Nov 22 09:04:03.000000 host systemd[1]: Started a.service.\n\
                    Nov 22 09:04:20.000000 host systemd[1]: Startup finished in 2.500s (kernel) + 17.500s (userspace) = 20.000s.\n";
        let (rows, faults) = read(text);
        assert_eq!((rows[0].1, rows[1].1), (Some(3_000_000), Some(20_000_000)));
        assert_eq!((faults.starts_unknown, faults.whole_seconds), (0, false));
    }

    #[test]
    fn falls_back_to_first_line_and_reports_it() {
        let (rows, faults) = read("Nov 22 09:04:03 host a[7]: x\nNov 22 09:04:05 host b: y\n  z\n");
        assert_eq!((rows.len(), rows[1].1), (2, Some(2_000_000)));
        assert_eq!(faults.starts_unknown, 1);
    }

    #[test]
    fn separates_boots() {
        let text = "-- Logs begin at Sun 2026-11-22 --\n\
                    Nov 22 09:04:03 host kernel: Linux version 6.1\nNov 22 09:04:05 host a: x\n\
                    Nov 22 10:04:03 host kernel: Linux version 6.1\n\
                    -- Boot 000000000000000000000000000000ab --\n\
                    Nov 22 11:04:03 host kernel: Linux version 6.1\n-- Reboot --\nNov 22 12:04:03 host a: y\n";
        let (rows, _) = read(text);
        let boots: Vec<u128> = rows.iter().map(|row| row.0).collect();
        assert_eq!(boots, [FIRST_BOOT, FIRST_BOOT, FIRST_BOOT + 1, 0xab, FIRST_BOOT + 3]);
    }

    #[test]
    fn lines_before_kernel_version_start_no_other_boot() {
        let boots = |text: &str| -> Vec<u128> { read(text).0.iter().map(|row| row.0 & 0xff).collect() };
        for early in [
            "microcode: microcode updated early to revision 0xf0, date = 2021-11-12",
            "microcode: updated early: 0xa0 -> 0xf0, date = 2021-11-12",
            "[    0.000000] Booting Linux on physical CPU 0x0",
            "Initializing cgroup subsys cpuset",
        ] {
            let line = |second: u32, message: &str| format!("Nov 22 09:00:{second:02} host kernel: {message}\n");
            let boot = |second: u32| line(second, early) + &line(second, "Linux version 6.1") + &line(second + 1, "x");
            assert_eq!(boots(&(boot(1) + &boot(30))), [1, 1, 1, 2, 2, 2], "{early}");
            // journalctl marks a boot before its first line.
            let marked = format!("-- Boot 000000000000000000000000000000ab --\n{}", boot(1));
            let next = format!("-- Boot 000000000000000000000000000000ac --\n{}", boot(30));
            assert_eq!(boots(&(marked + &next)), [0xab, 0xab, 0xab, 0xac, 0xac, 0xac], "{early}");
            // Without a version, the line belongs to the boot before: processors are updated one by one.
            assert_eq!(boots(&(boot(1) + &line(9, early) + &line(9, "y"))), [1; 5], "{early}");
        }
    }

    #[test]
    fn nuls_of_a_power_cut_separate_lines() {
        let nuls = "\0".repeat(300);
        let first = "Nov 22 09:00:00 host kernel: Linux version 6.1\nNov 22 09:00:05 host a: x\nNov 22 09:00:0";
        let second = "Nov 22 10:00:00 host kernel: Linux version 6.1\nNov 22 10:00:05 host a: y\n";
        let (rows, faults) = read(&format!("{first}{nuls}{second}"));
        assert_eq!(rows.iter().map(|row| row.0 & 0xff).collect::<Vec<_>>(), [1, 1, 2, 2]);
        // The line that was cut.
        assert_eq!(faults.unreadable, 1);
    }

    #[test]
    fn separates_interleaved_hosts() {
        let boots = |text: &str| -> Vec<u128> { read(text).0.iter().map(|row| row.0 - FIRST_BOOT).collect() };
        // Two hosts start at the same time, and later the first host restarts.
        let text = "Nov 22 09:00:00 a kernel: Linux version 6.1\nNov 22 09:00:01 b kernel: Linux version 6.1\n\
                    Nov 22 09:00:02 a x: 1\nNov 22 09:00:03 b x: 2\nNov 22 09:00:04 a x: 3\nNov 22 09:00:05 b x: 4\n\
                    Nov 22 09:01:00 a kernel: Linux version 6.1\nNov 22 09:01:01 b x: 5\n";
        assert_eq!(boots(text), [0, 1, 0, 1, 0, 1, 2, 1]);
        let ms: Vec<i64> = read(text).0.iter().map(|row| row.1.unwrap() / 1000).collect();
        assert_eq!(ms, [0, 0, 2000, 2000, 4000, 4000, 0, 60_000]);
        // One host gets its name during each of two boots, and loses it for one line.
        let text = "Nov 22 09:00:00 installer kernel: Linux version 6.1\nNov 22 09:00:02 web x: 1\n\
                    Nov 22 09:01:00 installer kernel: Linux version 6.1\nNov 22 09:01:02 web x: 1\n\
                    Nov 22 09:01:03 localhost x: 1\nNov 22 09:01:04 web x: 1\n";
        assert_eq!(boots(text), [0, 0, 1, 1, 1, 1]);
    }

    proptest::proptest! {
        #[test]
        fn keeps_every_line_of_any_hosts(hosts in proptest::collection::vec("(a|b|localhost|[a-z]{1,3})", 0..40), starts: u64) {
            let line = |(number, host): (usize, &String)| {
                let text = if starts >> number & 1 == 1 { "kernel: Linux version 6" } else { "x: y" };
                format!("Nov 22 09:00:{:02} {host} {text}\n", number % 60)
            };
            let text: String = hosts.iter().enumerate().map(line).collect();
            proptest::prop_assert_eq!(read(&text).0.len(), hosts.len());
        }

        #[test]
        fn accepts_any_text(bytes: Vec<u8>, line in "[A-Z0-9a-z: .\\[\\]+T-]{0,60}") {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            recognizes(&text);
            read(&text);
            read(&line);
            read(&format!("Nov 22 {line}\n{line} host a[1]: Startup finished in {line}"));
        }
    }
}
