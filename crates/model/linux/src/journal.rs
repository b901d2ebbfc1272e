//! Journal entries, the fields that are used, and the problems found while reading journals.

use std::borrow::Cow;

use onoff_trace::{Losses, counters};

/// Maximum plausible lag between the sending of a message and its arrival in the journal, µs: 10 min. While a system
/// starts, messages wait for journald; a larger lag means that the wall clock was set in between.
const MAX_LAG_US: i64 = 600_000_000;

counters! {
    UNREADABLE = "journal_entries_unreadable", Warning, [ServiceTransitions, Milestones],
        "Unreadable journal lines were skipped.";
    WHOLE_SECONDS = "journal_times_whole_seconds", Warning, [ServiceTransitions, Milestones],
        "The log has whole seconds only, so durations are accurate to one second. Use 'journalctl -o short-monotonic' or '-o export'.";
    START_UNKNOWN = "journal_kernel_start_unknown", Warning, [ServiceTransitions, Milestones],
        "The log does not show the kernel's start time, so times count from its first line. Use 'journalctl -o short-monotonic' or '-o export'.";
    TRUNCATED = "journal_truncated", Warning, [ServiceTransitions, Milestones],
        "The journal ends within an entry. Export it again with 'journalctl -o export'.";
    NOT_CLOSED = "journal_files_not_closed", Notice, [],
        "Journal files were not closed: the machine was running or lost power.";
    DAMAGED = "journal_files_damaged", Warning, [ServiceTransitions, Milestones],
        "Journal files are truncated or have a damaged entry list; entries were recovered by scanning all objects.";
    ENTRIES_MISSING = "journal_entries_missing", Warning, [ServiceTransitions, Milestones],
        "Entries of damaged journal files were skipped.";
    FIELDS_MISSING = "journal_fields_missing", Warning, [ServiceTransitions, Milestones],
        "Unreadable or oversized fields of journal entries were skipped.";
}

/// Problems found in a journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalFaults {
    pub unreadable: u64,
    pub truncated: u64,
    /// True if a text journal has whole seconds only.
    pub whole_seconds: bool,
    /// Boots of a text journal without a kernel start time.
    pub starts_unknown: u64,
    pub binary: BinaryFaults,
}

impl JournalFaults {
    pub fn count(&self, losses: &mut Losses) {
        losses.add(&UNREADABLE, self.unreadable);
        losses.add(&TRUNCATED, self.truncated);
        losses.add(&WHOLE_SECONDS, self.whole_seconds.into());
        losses.add(&START_UNKNOWN, self.starts_unknown);
        self.binary.count(losses);
    }
}

/// Problems found in binary journal files.
#[derive(Clone, Debug, Default)]
pub(crate) struct BinaryFaults {
    pub not_closed: u64,
    /// Truncated or damaged files.
    pub damaged: u64,
    /// Unreadable entries.
    pub entries: u64,
    /// Unreadable fields.
    pub fields: u64,
    /// Location of the first damage.
    pub first_location: String,
}

impl BinaryFaults {
    fn count(&self, losses: &mut Losses) {
        losses.add(&NOT_CLOSED, self.not_closed);
        losses.add(&DAMAGED, self.damaged);
        losses.add(&ENTRIES_MISSING, self.entries);
        losses.add(&FIELDS_MISSING, self.fields);
        if !self.first_location.is_empty() {
            for counter in [&DAMAGED, &ENTRIES_MISSING, &FIELDS_MISSING] {
                losses.set_first_place(counter, || self.first_location.clone());
            }
        }
    }
}

/// One entry, with the fields that are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry<'a> {
    /// Number of fields set.
    pub fields: u32,
    /// True for entries of a text journal, which has no fields: the unit appears only in the message.
    pub is_text: bool,
    /// True if only wall-clock times were recorded. Times since the kernel's start are then inferred, with the
    /// resolution of the text, and kernel messages have the time at which the log received them.
    pub by_wall_clock: bool,
    /// Boot id; 0 if missing.
    pub boot: u128,
    /// Id of the journal's sequence, and the entry's number in it; `None` if missing.
    pub sequence: Option<(u128, u64)>,
    /// Time of receipt by journald, µs since 1970.
    pub realtime_us: Option<i64>,
    /// Time of receipt by journald, µs since the kernel's start.
    pub monotonic_us: Option<i64>,
    /// Time of sending, µs since 1970.
    pub source_realtime_us: Option<i64>,
    /// Time of sending, µs since the kernel's start; for kernel messages by the kernel log's clock.
    pub source_monotonic_us: Option<i64>,
    /// Id of the kind of message; 0 if missing.
    pub message_id: u128,
    pub message: Cow<'a, str>,
    /// Unit the message is about.
    pub unit: Cow<'a, str>,
    /// Unit of a user's service manager the message is about.
    pub user_unit: Cow<'a, str>,
    /// Unit of the sender.
    pub sender_unit: Cow<'a, str>,
    pub job: Option<u64>,
    pub job_kind: Cow<'a, str>,
    pub job_result: Cow<'a, str>,
    pub pid: Option<u32>,
    pub uid: Option<u32>,
    pub comm: Cow<'a, str>,
    pub executable: Cow<'a, str>,
    pub command_line: Cow<'a, str>,
    /// Syslog identifier of the sender.
    pub identifier: Cow<'a, str>,
    /// Transport: `kernel`, `journal`, `syslog`, `stdout`…
    pub transport: Cow<'a, str>,
    /// Machine id; 0 if missing.
    pub machine: u128,
    pub host: Cow<'a, str>,
    /// Startup durations: kernel, initramfs and user space, µs.
    pub kernel_us: Option<i64>,
    pub initrd_us: Option<i64>,
    pub user_space_us: Option<i64>,
}

impl<'a> Entry<'a> {
    pub fn has_fields(&self) -> bool {
        self.fields > 0
    }

    pub fn is_kernel(&self) -> bool {
        self.transport == "kernel"
    }

    /// True if the system's service manager sent the entry, either to the journal or, before journald runs, to the
    /// kernel log.
    pub fn is_service_manager(&self) -> bool {
        if self.is_kernel() { self.identifier == "systemd" } else { self.pid == Some(1) }
    }

    /// Returns the time of sending, ns since the kernel's start: the sender's monotonic time if recorded (for kernel
    /// messages by the kernel log's clock), otherwise its wall-clock time, converted with the two clocks that journald
    /// read on receipt, otherwise the time of receipt.
    pub fn time_ns(&self) -> Option<i64> {
        if let Some(us) = self.source_monotonic_us {
            return us.checked_mul(1_000);
        }
        let received_us = self.monotonic_us?;
        let lag_us = self
            .realtime_us
            .zip(self.source_realtime_us)
            .and_then(|(received, sent)| received.checked_sub(sent))
            .filter(|lag| (0..=MAX_LAG_US).contains(lag))
            .unwrap_or(0);
        received_us.checked_sub(lag_us)?.checked_mul(1_000)
    }

    /// True for fields that are kept. Most are dropped and need not be decoded.
    pub fn is_relevant(name: &[u8]) -> bool {
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

    /// Sets a field. If a name occurs twice, the first value counts.
    pub fn set(&mut self, name: &[u8], value: Cow<'a, str>) {
        self.fields = self.fields.saturating_add(1);
        let set_text = |field: &mut Cow<'a, str>, value: Cow<'a, str>| {
            if field.is_empty() {
                *field = value;
            }
        };
        match name {
            b"_BOOT_ID" => self.boot = id(&value),
            b"__CURSOR" => self.sequence = sequence(&value),
            b"__REALTIME_TIMESTAMP" => self.realtime_us = number(&value),
            b"__MONOTONIC_TIMESTAMP" => self.monotonic_us = number(&value),
            b"_SOURCE_REALTIME_TIMESTAMP" => self.source_realtime_us = number(&value),
            b"_SOURCE_MONOTONIC_TIMESTAMP" => self.source_monotonic_us = number(&value),
            b"MESSAGE_ID" if self.message_id == 0 => self.message_id = id(&value),
            b"MESSAGE" => set_text(&mut self.message, value),
            b"UNIT" => set_text(&mut self.unit, value),
            b"USER_UNIT" => set_text(&mut self.user_unit, value),
            b"_SYSTEMD_UNIT" => set_text(&mut self.sender_unit, value),
            b"JOB_ID" => self.job = value.parse().ok(),
            b"JOB_TYPE" => set_text(&mut self.job_kind, value),
            b"JOB_RESULT" => set_text(&mut self.job_result, value),
            b"_MACHINE_ID" if self.machine == 0 => self.machine = id(&value),
            b"_HOSTNAME" => set_text(&mut self.host, value),
            b"_PID" => self.pid = value.parse().ok(),
            b"_UID" => self.uid = value.parse().ok(),
            b"_COMM" => set_text(&mut self.comm, value),
            b"_EXE" => set_text(&mut self.executable, value),
            b"_CMDLINE" => set_text(&mut self.command_line, value),
            b"SYSLOG_IDENTIFIER" => set_text(&mut self.identifier, value),
            b"_TRANSPORT" => set_text(&mut self.transport, value),
            b"KERNEL_USEC" => self.kernel_us = number(&value),
            b"INITRD_USEC" => self.initrd_us = number(&value),
            b"USERSPACE_USEC" => self.user_space_us = number(&value),
            _ => {}
        }
    }
}

/// Parses a time or duration, µs; `None` if it does not fit.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|&us: &i64| us >= 0)
}

/// Parses a 128-bit id of 32 hexadecimal digits, with or without hyphens; 0 if invalid.
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

/// Parses the sequence and the number in it from a cursor: `s=ID;i=HEX;b=…`. Some tests and tools write short ids.
fn sequence(cursor: &str) -> Option<(u128, u64)> {
    let part = |name: &str| cursor.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let sequence = id(part("s")?);
    let number = u64::from_str_radix(part("i")?, 16).ok()?;
    (sequence != 0).then_some((sequence, number))
}

/// Sent by the service manager when all startup jobs are done.
pub(crate) const STARTUP_FINISHED: u128 = 0xb07a_249c_d024_414a_82dd_00cd_1813_78ff;
/// Sent by journald when it starts.
pub(crate) const JOURNAL_STARTED: u128 = 0xf773_79a8_490b_408b_be5f_6940_505a_777b;
/// Sent by journald when it stops.
pub(crate) const JOURNAL_STOPPED: u128 = 0xd93f_b3c9_c24d_451a_97ce_a615_ce59_c00b;

#[cfg(test)]
mod tests {
    use super::super::journal_files::Journals;
    use super::super::parts::{Part, PartKind};
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<(String, Option<i64>, String)>, JournalFaults) {
        let mut faults = JournalFaults::default();
        let mut entries = Vec::new();
        let kind = if bytes.starts_with(b"{") { PartKind::JournalJson } else { PartKind::JournalExport };
        let part = Part { kind, name: "x", bytes };
        let journals = Journals::from_parts(&[part]).unwrap();
        journals.iter().next().unwrap().entries(None, &mut faults, |entry| {
            entries.push((entry.message.clone().into_owned(), entry.time_ns(), entry.unit.clone().into_owned()));
        });
        (entries, faults)
    }

    #[test]
    fn export_and_json_give_the_same_entries() {
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
        let (entries, faults) = read(&export);
        assert_eq!(entries, expected);
        assert_eq!((faults.unreadable, faults.truncated), (0, 0));
        let (entries, faults) = read(json.as_bytes());
        assert_eq!(entries, expected);
        assert_eq!((faults.unreadable, faults.truncated), (0, 0));
    }

    #[test]
    fn uses_the_senders_time() {
        let time_ns = |fields: &[(&'static str, &'static str)]| {
            let mut entry = Entry::default();
            for (name, value) in fields {
                entry.set(name.as_bytes(), Cow::Borrowed(value));
            }
            entry.time_ns()
        };
        let received = [("__REALTIME_TIMESTAMP", "1000900"), ("__MONOTONIC_TIMESTAMP", "900")];
        assert_eq!(time_ns(&received), Some(900_000));
        let sent = [received[0], received[1], ("_SOURCE_REALTIME_TIMESTAMP", "1000600")];
        assert_eq!(time_ns(&sent), Some(600_000));
        // The wall clock was set back in between.
        let later = [received[0], received[1], ("_SOURCE_REALTIME_TIMESTAMP", "2000600")];
        assert_eq!(time_ns(&later), Some(900_000));
        let kernel = [received[0], received[1], ("_SOURCE_MONOTONIC_TIMESTAMP", "500"), ("_TRANSPORT", "kernel")];
        assert_eq!(time_ns(&kernel), Some(500_000));
    }

    #[test]
    fn counts_truncated_entries() {
        let (entries, faults) = read(b"MESSAGE=a\n\nMESSAGE\n\x09\0\0\0\0\0\0\0ab");
        assert_eq!((entries.len(), faults.truncated), (1, 1));
        let (entries, faults) = read(b"{\"MESSAGE\":\"a\"}\n{\"MESSAGE\":");
        assert_eq!((entries.len(), faults.unreadable), (1, 1));
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>) {
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
