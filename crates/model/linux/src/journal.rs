//! The journal: its entries, and which boots they are of.

use std::borrow::Cow;

use onoff_trace::{Losses, counters};

/// Longest lag, µs, between a message and its arrival in the journal for which its sender's wall clock is believed:
/// 10 min. While a system starts, messages wait for journald; a larger lag is a wall clock that was set meanwhile.
const MAX_LAG_US: i64 = 600_000_000;

counters! {
    UNREADABLE = "journal_entries_unreadable", Warning, [ServiceTransitions, Milestones],
        "Lines of the journal that are no entry; what they say is missing.";
    WHOLE_SECONDS = "journal_times_whole_seconds", Warning, [ServiceTransitions, Milestones],
        "The log has whole seconds only, so lengths are right to a second. For more, take `journalctl -o short-monotonic` or `-o export`.";
    START_UNKNOWN = "journal_kernel_start_unknown", Warning, [ServiceTransitions, Milestones],
        "Boots in a log whose times do not say when the kernel started: they count from the log's first line. Take `journalctl -o short-monotonic` or `-o export`.";
    CUT_OFF = "journal_cut_off", Warning, [ServiceTransitions, Milestones],
        "The journal ends within an entry; export it again with `journalctl -o export`.";
    NOT_CLOSED = "journal_files_not_closed", Notice, [],
        "journal files that their writer did not close: the machine was running, or lost its power";
    DAMAGED = "journal_files_damaged", Warning, [ServiceTransitions, Milestones],
        "journal files that are cut or whose list of entries is damaged; entries were looked for object by object";
    ENTRIES_MISSING = "journal_entries_missing", Warning, [ServiceTransitions, Milestones],
        "entries of damaged journal files that could not be read";
    FIELDS_MISSING = "journal_fields_missing", Warning, [ServiceTransitions, Milestones],
        "fields of journal entries that could not be read or were too large";
}

/// What was wrong with a journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalFaults {
    pub unreadable: u64,
    pub cut_off: u64,
    /// Whether times of a text are whole seconds.
    pub whole_seconds: bool,
    /// Boots of a text whose kernel's start is not known.
    pub starts_unknown: u64,
    pub binary: BinaryFaults,
}

impl JournalFaults {
    pub fn count(&self, losses: &mut Losses) {
        losses.add(&UNREADABLE, self.unreadable);
        losses.add(&CUT_OFF, self.cut_off);
        losses.add(&WHOLE_SECONDS, self.whole_seconds.into());
        losses.add(&START_UNKNOWN, self.starts_unknown);
        self.binary.count(losses);
    }
}

/// What was wrong with binary files.
#[derive(Clone, Debug, Default)]
pub(crate) struct BinaryFaults {
    /// Files that their writer did not close.
    pub not_closed: u64,
    /// Files that are cut or damaged.
    pub damaged: u64,
    /// Entries that could not be read.
    pub entries: u64,
    /// Fields that could not be read.
    pub fields: u64,
    /// Where the first damage is.
    pub first: String,
}

impl BinaryFaults {
    fn count(&self, losses: &mut Losses) {
        losses.add(&NOT_CLOSED, self.not_closed);
        losses.add(&DAMAGED, self.damaged);
        losses.add(&ENTRIES_MISSING, self.entries);
        losses.add(&FIELDS_MISSING, self.fields);
        if !self.first.is_empty() {
            for counter in [&DAMAGED, &ENTRIES_MISSING, &FIELDS_MISSING] {
                losses.place(counter, || self.first.clone());
            }
        }
    }
}

/// One entry: the fields that are of use here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry<'a> {
    /// How many fields were set.
    pub fields: u32,
    /// A line of text, whose fields were not kept: the unit shows in the message only.
    pub is_text: bool,
    /// The line has no time but the wall clock's: its times since the kernel's start are inferred, to the resolution of the text, and a
    /// kernel message has the time at which the log got it.
    pub by_wall_clock: bool,
    /// Id of the boot; 0 for none.
    pub boot: u128,
    /// When journald got it, µs since 1970.
    pub realtime_us: Option<i64>,
    /// When journald got it, µs since the kernel's start.
    pub monotonic_us: Option<i64>,
    /// When it was sent, µs since 1970.
    pub source_realtime_us: Option<i64>,
    /// When it was sent, µs since the kernel's start; of a kernel message by the kernel log's clock.
    pub source_monotonic_us: Option<i64>,
    /// What kind of message it is; 0 for none.
    pub message_id: u128,
    pub message: Cow<'a, str>,
    /// Unit that the message is about.
    pub unit: Cow<'a, str>,
    /// Unit of a user's service manager that the message is about.
    pub user_unit: Cow<'a, str>,
    /// Unit that the sender belongs to.
    pub sender_unit: Cow<'a, str>,
    pub job: Option<u64>,
    pub job_kind: Cow<'a, str>,
    pub job_result: Cow<'a, str>,
    pub pid: Option<u32>,
    pub uid: Option<u32>,
    pub comm: Cow<'a, str>,
    pub executable: Cow<'a, str>,
    pub command_line: Cow<'a, str>,
    /// The name under which the sender logs.
    pub identifier: Cow<'a, str>,
    /// How it came to the journal: `kernel`, `journal`, `syslog`, `stdout`…
    pub transport: Cow<'a, str>,
    /// Id and name of the machine that sent it.
    pub machine: u128,
    pub host: Cow<'a, str>,
    /// Start of the system: the kernel's, the initial file system's and user space's part, µs.
    pub kernel_us: Option<i64>,
    pub initrd_us: Option<i64>,
    pub user_space_us: Option<i64>,
}

impl<'a> Entry<'a> {
    /// Whether any field was set.
    pub fn has_fields(&self) -> bool {
        self.fields > 0
    }

    /// Whether it is a message of the kernel's log.
    pub fn is_kernel(&self) -> bool {
        self.transport == "kernel"
    }

    /// Whether the system's service manager sent it, through the journal or, while that does not run, the kernel's log.
    pub fn is_service_manager(&self) -> bool {
        if self.is_kernel() { self.identifier == "systemd" } else { self.pid == Some(1) }
    }

    /// When it was sent, ns since the kernel's start: the sender's own monotonic time, which of a kernel message is that of
    /// the kernel log's clock; else its wall clock by the pair of clocks that journald took when it got the message; else
    /// when journald got it.
    pub fn time_ns(&self) -> Option<i64> {
        if let Some(us) = self.source_monotonic_us {
            return us.checked_mul(1_000);
        }
        let got = self.monotonic_us?;
        let lag = self
            .realtime_us
            .zip(self.source_realtime_us)
            .and_then(|(got, sent)| got.checked_sub(sent))
            .filter(|lag| (0..=MAX_LAG_US).contains(lag))
            .unwrap_or(0);
        got.checked_sub(lag)?.checked_mul(1_000)
    }

    /// Whether a field of this name would be kept: most are not, and need not be read as text.
    pub fn is_of_use(name: &[u8]) -> bool {
        matches!(name, b"MESSAGE_ID" | b"MESSAGE" | b"UNIT" | b"USER_UNIT" | b"JOB_ID" | b"JOB_TYPE" | b"JOB_RESULT")
            || matches!(name, b"_SYSTEMD_UNIT" | b"_PID" | b"_UID" | b"_COMM" | b"_EXE" | b"_CMDLINE" | b"_TRANSPORT")
            || matches!(
                name,
                b"_MACHINE_ID"
                    | b"_HOSTNAME"
                    | b"SYSLOG_IDENTIFIER"
                    | b"KERNEL_USEC"
                    | b"INITRD_USEC"
                    | b"USERSPACE_USEC"
            )
            || matches!(name, b"_SOURCE_REALTIME_TIMESTAMP" | b"_SOURCE_MONOTONIC_TIMESTAMP")
    }

    /// Sets a field; of a name that comes twice the first counts.
    pub fn set(&mut self, name: &[u8], value: Cow<'a, str>) {
        self.fields = self.fields.saturating_add(1);
        let text = |place: &mut Cow<'a, str>, value: Cow<'a, str>| {
            if place.is_empty() {
                *place = value;
            }
        };
        match name {
            b"_BOOT_ID" => self.boot = id(&value),
            b"__REALTIME_TIMESTAMP" => self.realtime_us = number(&value),
            b"__MONOTONIC_TIMESTAMP" => self.monotonic_us = number(&value),
            b"_SOURCE_REALTIME_TIMESTAMP" => self.source_realtime_us = number(&value),
            b"_SOURCE_MONOTONIC_TIMESTAMP" => self.source_monotonic_us = number(&value),
            b"MESSAGE_ID" if self.message_id == 0 => self.message_id = id(&value),
            b"MESSAGE" => text(&mut self.message, value),
            b"UNIT" => text(&mut self.unit, value),
            b"USER_UNIT" => text(&mut self.user_unit, value),
            b"_SYSTEMD_UNIT" => text(&mut self.sender_unit, value),
            b"JOB_ID" => self.job = value.parse().ok(),
            b"JOB_TYPE" => text(&mut self.job_kind, value),
            b"JOB_RESULT" => text(&mut self.job_result, value),
            b"_MACHINE_ID" if self.machine == 0 => self.machine = id(&value),
            b"_HOSTNAME" => text(&mut self.host, value),
            b"_PID" => self.pid = value.parse().ok(),
            b"_UID" => self.uid = value.parse().ok(),
            b"_COMM" => text(&mut self.comm, value),
            b"_EXE" => text(&mut self.executable, value),
            b"_CMDLINE" => text(&mut self.command_line, value),
            b"SYSLOG_IDENTIFIER" => text(&mut self.identifier, value),
            b"_TRANSPORT" => text(&mut self.transport, value),
            b"KERNEL_USEC" => self.kernel_us = number(&value),
            b"INITRD_USEC" => self.initrd_us = number(&value),
            b"USERSPACE_USEC" => self.user_space_us = number(&value),
            _ => {}
        }
    }
}

/// A time or length, µs; what does not fit into a time is none.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|&us: &i64| us >= 0)
}

/// A 128-bit id as 32 hexadecimal digits, with or without hyphens; 0 when it is none.
pub(crate) fn id(text: &str) -> u128 {
    let mut value = 0_u128;
    let mut digits = 0;
    for character in text.chars() {
        match character.to_digit(16) {
            Some(digit) => {
                value = value << 4 | u128::from(digit);
                digits += 1;
            }
            None if character == '-' => {}
            None => return 0,
        }
    }
    if digits == 32 { value } else { 0 }
}

/// Sent by the service manager when every job of the start is done.
pub(crate) const STARTUP_FINISHED: u128 = 0xb07a_249c_d024_414a_82dd_00cd_1813_78ff;
/// Sent by journald when it stops.
pub(crate) const JOURNAL_STOPPED: u128 = 0xd93f_b3c9_c24d_451a_97ce_a615_ce59_c00b;

#[cfg(test)]
mod tests {
    use super::super::journal_files::Journals;
    use super::super::parts::{Part, PartKind};
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<(String, Option<i64>, String)>, JournalFaults) {
        let mut faults = JournalFaults::default();
        let mut found = Vec::new();
        let kind = if bytes.starts_with(b"{") { PartKind::JournalJson } else { PartKind::JournalExport };
        let part = Part { kind, name: "x", bytes };
        let journals = Journals::of(&[part]).unwrap();
        journals.iter().next().unwrap().entries(None, &mut faults, |entry| {
            found.push((entry.message.clone().into_owned(), entry.time_ns(), entry.unit.clone().into_owned()));
        });
        (found, faults)
    }

    #[test]
    fn both_formats_say_the_same() {
        let mut export = b"__MONOTONIC_TIMESTAMP=30\nUNIT=a.service\nMESSAGE\n".to_vec();
        export.extend(5_u64.to_le_bytes());
        export.extend(b"x\n\ny=\n\n__MONOTONIC_TIMESTAMP=40\nMESSAGE=z\n\n");
        let json = concat!(
            r#"{"__MONOTONIC_TIMESTAMP":"30","UNIT":"a.service","MESSAGE":[120,10,10,121,61]}"#,
            "\n",
            r#"{"__MONOTONIC_TIMESTAMP":"40","MESSAGE":["z","other"],"_EXE":null}"#,
            "\n"
        );
        let expected = vec![
            ("x\n\ny=".to_owned(), Some(30_000), "a.service".to_owned()),
            ("z".to_owned(), Some(40_000), String::new()),
        ];
        let (found, faults) = read(&export);
        assert_eq!(found, expected);
        assert_eq!((faults.unreadable, faults.cut_off), (0, 0));
        let (found, faults) = read(json.as_bytes());
        assert_eq!(found, expected);
        assert_eq!((faults.unreadable, faults.cut_off), (0, 0));
    }

    #[test]
    fn a_message_has_the_time_of_its_sender() {
        let at = |fields: &[(&'static str, &'static str)]| {
            let mut entry = Entry::default();
            for (name, value) in fields {
                entry.set(name.as_bytes(), Cow::Borrowed(value));
            }
            entry.time_ns()
        };
        let got = [("__REALTIME_TIMESTAMP", "1000900"), ("__MONOTONIC_TIMESTAMP", "900")];
        assert_eq!(at(&got), Some(900_000));
        let sent = [got[0], got[1], ("_SOURCE_REALTIME_TIMESTAMP", "1000600")];
        assert_eq!(at(&sent), Some(600_000));
        // A wall clock ahead of journald's was set back in between.
        let later = [got[0], got[1], ("_SOURCE_REALTIME_TIMESTAMP", "2000600")];
        assert_eq!(at(&later), Some(900_000));
        let kernel = [got[0], got[1], ("_SOURCE_MONOTONIC_TIMESTAMP", "500"), ("_TRANSPORT", "kernel")];
        assert_eq!(at(&kernel), Some(500_000));
    }

    #[test]
    fn what_is_cut_off_is_counted() {
        let (found, faults) = read(b"MESSAGE=a\n\nMESSAGE\n\x09\0\0\0\0\0\0\0ab");
        assert_eq!((found.len(), faults.cut_off), (1, 1));
        let (found, faults) = read(b"{\"MESSAGE\":\"a\"}\n{\"MESSAGE\":");
        assert_eq!((found.len(), faults.unreadable), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let mut export = b"MESSAGE\n".to_vec();
            export.extend(&bytes);
            let _ = read(&export);
            let mut json = b"{\"MESSAGE\":".to_vec();
            json.extend(&bytes);
            let _ = read(&json);
        }
    }
}
