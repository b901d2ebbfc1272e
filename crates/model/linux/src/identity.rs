//! Determines which computer and boot a part of a Linux recording belongs to, and whether two parts can be from the
//! same recording.
//!
//! Parts of one boot form one recording, and so do the journals of one machine, which may have several boots. The
//! comparison uses facts in the parts themselves: host names, machine and boot ids, the kernel version, the hardware,
//! and the times of lines or units that two parts of the same kind share. Without these facts the relation is unknown.

use std::hash::{DefaultHasher, Hash, Hasher};

use onoff_journal::JournalFile;

use super::clocks::{ClockPairs, SourceClock};
use super::journal::{Entry, JournalFaults};
use super::journal_files::Journals;
use super::kernel_log::Messages;
use super::parts::{Part, PartKind};
use onoff_linux_log::kernel_line::{self, Stamp};

/// Number of bytes inspected at the start of a part.
pub const MAX_IDENTITY_BYTES: usize = 1 << 20;

/// Maximum number of names, ids and versions per part.
const MAX_FACTS: usize = 64;

/// Approximate number of marks kept per part.
const MAX_MARKS: usize = 256;
/// Maximum number of marks used as keys.
const MAX_KEYS: usize = 64;

/// Tolerance between the kernel start times of two parts of one boot, s. Times may be in whole seconds.
const SAME_START_S: i64 = 3;

/// Whether two parts belong to one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Same,
    Different,
    Unknown,
}

/// Facts that identify the computer and boot of one part.
#[derive(Clone, Debug, Default)]
pub struct PartIdentity {
    /// True if the part is a complete recording.
    pub is_standalone: bool,
    is_journal: bool,
    hosts: Vec<String>,
    machine: u128,
    boots: Vec<u128>,
    /// Version line of the kernel, for parts of a single boot.
    kernel: String,
    release: String,
    hardware: String,
    marks: Option<Marks>,
    /// Kernel start by the wall clock, s since 1970, and its source.
    start: Option<(StartSource, i64)>,
}

/// Source of a kernel start time. Only times of the same source are compared, because the wall clock may have been set
/// in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StartSource {
    KernelLog,
    /// Dates in a kernel log, in an unknown time zone.
    Dates,
    Manager,
    Readings,
}

/// What the marks of a boot are made of. Only marks of the same kind are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MarkKind {
    #[default]
    Lines,
    Units,
    Manager,
}

/// Hashed lines or units and their times. Times are exact to the microsecond, so two boots have almost no marks in
/// common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marks {
    kind: MarkKind,
    /// Hashes and times, sorted by hash. If there are many, only those with a hash up to `max_hash` are kept.
    entries: Vec<(u64, i64)>,
    max_hash: u64,
    time_range: (i64, i64),
}

impl Marks {
    fn new(kind: MarkKind, marks: impl Iterator<Item = (i64, u64)>) -> Option<Self> {
        let mut entries: Vec<(u64, i64)> = marks.map(|(time, hash)| (hash, time)).collect();
        let times = || entries.iter().map(|&(_, time)| time);
        let time_range = (times().min()?, times().max()?);
        entries.sort_unstable();
        entries.dedup();
        let max_hash = entries.get(MAX_MARKS).map_or(u64::MAX, |&(hash, _)| hash);
        entries.truncate(MAX_MARKS);
        Some(Self { kind, entries, max_hash, time_range })
    }

    /// Returns `Same` if at least half of the marks within the common time range are shared.
    fn relation(&self, other: &Self) -> Relation {
        if self.kind != other.kind {
            return Relation::Unknown;
        }
        let max_hash = self.max_hash.min(other.max_hash);
        let count_within = |marks: &Self, (begin, end): (i64, i64)| {
            let is_within = |&&(hash, time): &&(u64, i64)| hash <= max_hash && (begin..=end).contains(&time);
            marks.entries.iter().filter(is_within).count()
        };
        let fewer = count_within(self, other.time_range).min(count_within(other, self.time_range));
        if fewer == 0 {
            let is_different_boot = self.overlaps(other) && self.kind == MarkKind::Lines;
            return if is_different_boot { Relation::Different } else { Relation::Unknown };
        }
        let is_shared = |mark: &&(u64, i64)| mark.0 <= max_hash && other.entries.binary_search(mark).is_ok();
        let shared = self.entries.iter().filter(is_shared).count();
        if shared * 2 >= fewer { Relation::Same } else { Relation::Different }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let ((begin, end), (other_begin, other_end)) = (self.time_range, other.time_range);
        begin <= other_end && other_begin <= end
    }
}

impl PartIdentity {
    /// Extracts the identity. `part.bytes` may be just the beginning of the file.
    pub fn from_part(part: &Part<'_>) -> Self {
        let mut identity =
            Self { is_standalone: part.kind.is_standalone(), is_journal: part.kind.is_journal(), ..Self::default() };
        let head = part.bytes.get(..MAX_IDENTITY_BYTES).unwrap_or(part.bytes);
        let part = Part { bytes: head, ..*part };
        match part.kind {
            PartKind::KernelLog | PartKind::KernelLogJson => identity.add_kernel_log(&part),
            PartKind::Units => identity.add_units(head),
            PartKind::Manager => {
                let text = String::from_utf8_lossy(head);
                identity.start = start_from_manager(&text).map(|start| (StartSource::Manager, start));
                let marks = text.lines().filter(|line| line.contains("TimestampMonotonic=")).filter_map(|line| {
                    let time: i64 = line.split_once('=')?.1.parse().ok().filter(|&time| time > 0)?;
                    Some((time, hash(&line)))
                });
                identity.marks = Marks::new(MarkKind::Manager, marks);
            }
            PartKind::ClockReadings => {
                let mut pairs = ClockPairs::default();
                String::from_utf8_lossy(head).lines().for_each(|line| {
                    super::ftrace::clock_readings(line, &mut pairs);
                });
                let offset_ns = pairs.first_offset_ns(SourceClock::RealTime);
                identity.start = offset_ns.map(|ns| (StartSource::Readings, ns.saturating_neg() / 1_000_000_000));
            }
            PartKind::Journal => {
                if let Ok(file) = JournalFile::open(head) {
                    identity.machine = file.header().machine;
                }
            }
            PartKind::JournalExport | PartKind::JournalJson | PartKind::JournalVerbose | PartKind::JournalText => {
                identity.add_journal(part);
            }
            PartKind::Uname => {
                let text = String::from_utf8_lossy(head);
                let mut words = text.split_ascii_whitespace().skip(1);
                identity.add_host(words.next().unwrap_or_default());
                words.next().unwrap_or_default().clone_into(&mut identity.release);
            }
            _ => {}
        }
        identity
    }

    /// Returns the identity of a report that contains command outputs of one computer.
    pub fn for_report() -> Self {
        Self { is_standalone: true, ..Self::default() }
    }

    /// Returns the kernel's start, s since 1970, from its log or the service manager.
    pub(crate) fn start_s(&self) -> Option<i64> {
        self.start.map(|(_, start)| start)
    }

    fn add_host(&mut self, name: &str) {
        /// Host names that the kernel, systemd, images and installers use before the real one is set.
        const DEFAULT_HOST_NAMES: [&str; 11] = [
            "",
            "-",
            "(none)",
            "localhost",
            "installer",
            "archlinux",
            "centos",
            "debian",
            "fedora",
            "raspberrypi",
            "ubuntu",
        ];
        let name = name.split('.').next().unwrap_or_default().to_lowercase();
        if !DEFAULT_HOST_NAMES.contains(&name.as_str()) && self.hosts.len() < MAX_FACTS && !self.hosts.contains(&name) {
            self.hosts.push(name);
        }
    }

    fn add_kernel_log(&mut self, part: &Part<'_>) {
        let mut messages = Messages::default();
        messages.add_part(part);
        for message in messages.iter() {
            let text = message.text.as_str();
            if self.kernel.is_empty() && text.starts_with("Linux version ") {
                text.clone_into(&mut self.kernel);
                text.split(' ').nth(2).unwrap_or_default().clone_into(&mut self.release);
            } else if self.hardware.is_empty() && text.starts_with("DMI: ") {
                text.clone_into(&mut self.hardware);
            } else if let Some((_, name)) = text.split_once("ostname set to <") {
                self.add_host(name.split('>').next().unwrap_or_default());
            } else if self.start.is_none() {
                self.start = start_from_message(text, message.time_ns).map(|start| (StartSource::KernelLog, start));
            }
        }
        // Dates are in whole seconds and count from the first line, so they are not usable as marks.
        if messages.has_dates() {
            let text = String::from_utf8_lossy(part.bytes);
            let first_ns = text.lines().find_map(|line| match kernel_line::line(line)?.stamp {
                Stamp::Wall(ns) => Some(ns),
                Stamp::Log(_) => None,
            });
            self.start = first_ns.map(|ns| (StartSource::Dates, ns / 1_000_000_000));
        } else {
            let marks = messages.iter().filter(|message| message.time_ns > 0);
            self.marks = Marks::new(
                MarkKind::Lines,
                marks.map(|message| (message.time_ns, hash(&(message.time_ns, &message.text)))),
            );
        }
    }

    fn add_units(&mut self, head: &[u8]) {
        let text = String::from_utf8_lossy(head);
        let times = text.lines().filter_map(|line| line.strip_prefix("InactiveExitTimestampMonotonic=")?.parse().ok());
        self.marks = Marks::new(MarkKind::Units, times.filter(|&time: &i64| time > 0).map(|time| (time, hash(&time))));
    }

    fn add_journal(&mut self, part: Part<'_>) {
        let Ok(journals) = Journals::from_parts(&[part]) else { return };
        for journal in journals.iter() {
            journal.entries(None, &mut JournalFaults::default(), |entry: &Entry<'_>| {
                self.add_host(&entry.host);
                if self.machine == 0 {
                    self.machine = entry.machine;
                }
                // Boot ids of a text journal are synthetic.
                let is_new = !entry.is_text && entry.boot != 0 && !self.boots.contains(&entry.boot);
                if is_new && self.boots.len() < MAX_FACTS {
                    self.boots.push(entry.boot);
                }
            });
        }
    }

    pub fn relation(&self, other: &Self) -> Relation {
        let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        let has_shared_host = self.hosts.iter().any(|host| other.hosts.contains(host));
        let is_same_machine = (self.machine != 0 && other.machine != 0).then_some(self.machine == other.machine);
        let has_shared_boot = self.boots.iter().any(|boot| other.boots.contains(boot));
        if has_shared_boot {
            return Relation::Same;
        }
        if is_same_machine == Some(false)
            || (!has_shared_host && !self.hosts.is_empty() && !other.hosts.is_empty() && is_same_machine.is_none())
            || differ(&self.kernel, &other.kernel)
            || differ(&self.release, &other.release)
            || differ(&self.hardware, &other.hardware)
        {
            return Relation::Different;
        }
        let marks_relation = match (&self.marks, &other.marks) {
            (Some(marks), Some(other_marks)) => marks.relation(other_marks),
            _ => Relation::Unknown,
        };
        if marks_relation != Relation::Unknown {
            return marks_relation;
        }
        if let Some(((source, start), (other_source, other_start))) = self.start.zip(other.start) {
            let is_same_source = source == other_source;
            let is_close = start.abs_diff(other_start) <= SAME_START_S.unsigned_abs();
            match (is_same_source, is_close) {
                (true, false) => return Relation::Different,
                (_, true) => return Relation::Same,
                (false, false) => {}
            }
        }
        if is_same_machine == Some(true) || has_shared_host {
            return Relation::Same;
        }
        // Boot ids distinguish journals if there is no machine id.
        if self.is_journal && other.is_journal && !self.boots.is_empty() && !other.boots.is_empty() {
            return Relation::Different;
        }
        Relation::Unknown
    }

    /// True if both parts are logs of the same time: without a shared [key](PartIdentity::keys), that is, without a
    /// common line, they are from different boots.
    pub fn differs_unless_key_shared(&self, other: &Self) -> bool {
        match (&self.marks, &other.marks) {
            (Some(marks), Some(other_marks)) => {
                marks.kind == MarkKind::Lines && other_marks.kind == MarkKind::Lines && marks.overlaps(other_marks)
            }
            _ => false,
        }
    }

    /// Returns hashes of the facts that parts of one recording have in common. Any two parts for which
    /// [`PartIdentity::relation`] returns `Same` share a key, unless only their start times match.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        let hosts = self.hosts.iter().map(|host| hash(&("host", host)));
        let boots = self.boots.iter().map(|boot| hash(&("boot", boot)));
        let machine = (self.machine != 0).then(|| hash(&("machine", self.machine)));
        let marks = self.marks.iter().flat_map(|marks| marks.entries.iter().take(MAX_KEYS).map(|&(hash, _)| hash));
        hosts.chain(boots).chain(machine).chain(marks)
    }

    /// Returns the rank for grouping: parts with a lower rank identify better and are grouped first. Journals come
    /// after parts of a single boot.
    pub fn rank(&self) -> u8 {
        match self {
            Self { marks: Some(Marks { kind: MarkKind::Lines, .. }), .. } => 0,
            Self { kernel, .. } if !kernel.is_empty() => 1,
            Self { marks: Some(_), .. } => 2,
            Self { is_journal: true, .. } => 3,
            Self { hosts, start, .. } if !hosts.is_empty() || start.is_some() => 4,
            Self { is_standalone: true, .. } => 5,
            _ => 6,
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Parses the kernel's start, s since 1970, from a message with a wall-clock time, such as `audit: …
/// audit(1795216507.028:1): …` or `rtc_cmos 00:03: setting system clock to 2026-11-20T23:15:12 UTC (1795216512)`.
fn start_from_message(text: &str, time_ns: i64) -> Option<i64> {
    let seconds = if let Some((_, date)) = text.split_once("setting system clock to ") {
        date.rsplit_once('(')?.1.trim_end_matches(')')
    } else {
        text.split_once(" audit(").filter(|(line_start, _)| line_start.starts_with("audit: "))?.1.split('.').next()?
    };
    seconds.parse::<i64>().ok()?.checked_sub(time_ns / 1_000_000_000)
}

/// Parses the kernel's start, s since 1970, from `KernelTimestamp=Fri 2026-11-20 23:15:07 UTC`.
fn start_from_manager(text: &str) -> Option<i64> {
    let date = text.lines().find_map(|line| line.strip_prefix("KernelTimestamp="))?;
    onoff_linux_log::text_stamp::utc_us(date).map(|us| us / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(kind: PartKind, text: &str) -> PartIdentity {
        PartIdentity::from_part(&Part { kind, name: "part", bytes: text.as_bytes() })
    }

    fn log(lines: std::ops::Range<u32>, boot: u32) -> PartIdentity {
        let mut text = "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n".to_owned();
        for line in lines {
            text.push_str(&format!("[{:5}.{:06}] line {line}\n", line, (line * 7919 + boot * 104_729) % 1_000_000));
        }
        identity(PartKind::KernelLog, &text)
    }

    #[test]
    fn kernel_logs_of_one_boot_share_lines() {
        // One log was collected while running, the other log at the end, when the first lines had been dropped.
        assert_eq!(log(1..400, 1).relation(&log(200..900, 1)), Relation::Same);
        assert_eq!(log(1..4000, 1).relation(&log(3000..9000, 1)), Relation::Same);
        assert_eq!(log(1..400, 1).relation(&log(1..400, 2)), Relation::Different);
        // They could be two sections of one log or two boots.
        assert_eq!(log(1..100, 1).relation(&log(200..300, 1)), Relation::Unknown);
    }

    #[test]
    fn ignores_shared_lines_with_tick_times() {
        let text = |boot: u32| {
            let ticks =
                "[    0.000000] Linux version 3.10\n[    0.004000] Calibrating delay loop\n[    0.008000] pid_max\n";
            let exact_lines: String =
                (1..20).map(|line| format!("[{line:5}.{:06}] line\n", line * 31 + boot)).collect();
            identity(PartKind::KernelLog, &format!("{ticks}{exact_lines}"))
        };
        assert_eq!(text(1).relation(&text(2)), Relation::Different);
    }

    #[test]
    fn distinguishes_computers_by_name_version_and_hardware() {
        let log = |version: &str, message: &str| {
            identity(
                PartKind::KernelLog,
                &format!("[    0.000000] Linux version {version}\n[    0.000000] {message}\n"),
            )
        };
        let uname =
            |name: &str, release: &str| identity(PartKind::Uname, &format!("Linux {name} {release} #1 SMP x86_64\n"));
        let hostname = "systemd[1]: Hostname set to <web1>.";
        for (a, b, expected) in [
            (log("6.1.0 #1", "x"), log("6.1.0 #2", "x"), Relation::Different),
            (log("6.1.0 #1", "DMI: A"), log("6.1.0 #1", "DMI: B"), Relation::Different),
            (log("6.1.0 #1", "x"), log("6.1.0 #1", "y"), Relation::Unknown),
            (log("6.1.0 #1", hostname), uname("web1.example.org", "6.1.0"), Relation::Same),
            (log("6.1.0 #1", hostname), uname("web2", "6.1.0"), Relation::Different),
            (log("6.1.0 #1", "x"), uname("web2", "6.9.0"), Relation::Different),
        ] {
            assert_eq!(a.relation(&b), expected, "{a:?} {b:?}");
            assert_eq!(b.relation(&a), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn groups_journals_by_machine() {
        let journal = |machine: u32, boot: u32| {
            let machine = if machine == 0 { String::new() } else { format!("_MACHINE_ID={machine:032x}\n") };
            identity(
                PartKind::JournalExport,
                &format!("__CURSOR=s\n__REALTIME_TIMESTAMP=1\n_BOOT_ID={boot:032x}\n{machine}MESSAGE=x\n\n"),
            )
        };
        assert_eq!(journal(7, 1).relation(&journal(7, 2)), Relation::Same);
        assert_eq!(journal(7, 1).relation(&journal(8, 2)), Relation::Different);
        assert_eq!(journal(0, 1).relation(&journal(0, 1)), Relation::Same);
        assert_eq!(journal(0, 1).relation(&journal(0, 2)), Relation::Different);
        assert_eq!(journal(0, 1).relation(&journal(8, 2)), Relation::Different);
    }

    #[test]
    fn compares_unit_times() {
        let units = |boot: u64| {
            let unit = |number: u64| {
                format!("Id=u{number}.service\nInactiveExitTimestampMonotonic={}\n\n", number * 1000 + boot)
            };
            identity(PartKind::Units, &(1..50).map(unit).collect::<String>())
        };
        assert_eq!(units(1).relation(&units(1)), Relation::Same);
        assert_eq!(units(1).relation(&units(2)), Relation::Different);
        let manager_without_start = identity(PartKind::Manager, "UserspaceTimestampMonotonic=11743378\n");
        assert_eq!(units(1).relation(&manager_without_start), Relation::Unknown);
        let manager = |second: u32| {
            identity(
                PartKind::Manager,
                &format!(
                    "KernelTimestamp=Fri 2026-11-20 23:15:{second:02} UTC\nUserspaceTimestampMonotonic=1{second}\n"
                ),
            )
        };
        let log = "[    0.000000] Linux version 6\n[    5.048414] rtc_cmos 00:03: setting system clock to 2026-11-20T23:15:12 UTC (1795216512)\n";
        assert_eq!(identity(PartKind::KernelLog, log).relation(&manager(7)), Relation::Same);
        // The sources differ, and a real-time clock may be wrong.
        assert_eq!(identity(PartKind::KernelLog, log).relation(&manager(40)), Relation::Unknown);
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>, text in "[a-zA-Z0-9=()<>:. \\[\\]\n-]{0,200}") {
            for kind in [PartKind::KernelLog, PartKind::Units, PartKind::Manager, PartKind::Journal, PartKind::JournalText, PartKind::JournalExport, PartKind::Uname, PartKind::ClockReadings] {
                for bytes in [&bytes[..], text.as_bytes()] {
                    let identity = PartIdentity::from_part(&Part { kind, name: "x", bytes });
                    proptest::prop_assert_ne!(identity.relation(&identity.clone()), Relation::Different);
                }
            }
        }
    }
}
