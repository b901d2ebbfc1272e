//! Reads the journals of a recording in any supported format, entry by entry.

use std::borrow::Cow;
use std::cmp::Reverse;

use hashbrown::HashSet;
use onoff_journal::JournalFile;
use onoff_trace::{Losses, TableName, counters};

use super::journal::{Entry, JournalFaults};
use super::journal_text::TextRange;
use super::parts::{Part, PartKind};
use super::{journal_export, journal_json, journal_text, journal_verbose};
use onoff_input::error::Error;

const TABLES: &[TableName] = &[TableName::ServiceTransitions, TableName::Milestones];

counters! {
    UNREADABLE_FILES = "journal_files_unreadable", Warning, TABLES,
        "Unreadable journal files were skipped: damaged beyond use, or of a newer format.";
    TEXTS_SKIPPED = "journal_texts_skipped", Notice, [],
        "Text journals were skipped because the recording has a journal with more precise times.";
    TEXTS_OF_OTHER_TIMES = "journal_texts_of_other_times", Warning, [],
        "Text journals without a year or a time zone were skipped because the recording has a journal with more precise times, although that journal ends before they start or starts after they end: open them alone.";
    TEXTS_CONTAINED = "journal_texts_contained", Notice, [],
        "Text logs whose entries are also in another text log, such as kern.log beside syslog, were skipped.";
}

/// One journal: all binary files of a recording, or one file of another format.
#[derive(Debug)]
pub(crate) enum Journal<'f> {
    /// Binary files, which together form one journal, and their names.
    Binary(Vec<JournalFile<'f>>, Vec<&'f str>),
    /// `journalctl -o export`.
    Export(&'f [u8]),
    /// `journalctl -o json` and its variants.
    Json(&'f [u8]),
    /// `journalctl -o verbose`.
    Verbose(&'f [u8]),
    /// `journalctl -o short` and its variants, and files of syslog daemons, with the number of the file.
    Text(Cow<'f, [u8]>, usize),
}

#[derive(Debug, Default)]
pub(crate) struct Journals<'f> {
    journals: Vec<Journal<'f>>,
    texts_skipped: u64,
    /// Names of skipped texts from another time than the journals with more precise times.
    texts_of_other_times: Vec<&'f str>,
    texts_contained: u64,
    unreadable: u64,
    first_unreadable: Option<String>,
}

impl<'f> Journals<'f> {
    /// Opens the journals among `parts`.
    pub(crate) fn from_parts(parts: &[Part<'f>]) -> Result<Self, Error> {
        let mut opened = Self::default();
        let (mut files, mut names) = (Vec::new(), Vec::new());
        let mut first_error = None;
        for part in parts {
            match part.kind {
                PartKind::Journal => match JournalFile::open(part.bytes) {
                    Ok(file) => {
                        files.push(file);
                        names.push(part.name);
                    }
                    Err(source) => {
                        let error = Error::Journal { name: part.name.to_owned(), source };
                        opened.unreadable += 1;
                        opened.first_unreadable.get_or_insert_with(|| error.to_string());
                        first_error = first_error.or(Some(error));
                    }
                },
                PartKind::JournalExport => opened.journals.push(Journal::Export(part.bytes)),
                PartKind::JournalJson => opened.journals.push(Journal::Json(part.bytes)),
                PartKind::JournalVerbose => opened.journals.push(Journal::Verbose(part.bytes)),
                PartKind::JournalText => {
                    let number = opened.journals.len();
                    opened.journals.push(Journal::Text(Cow::Borrowed(part.bytes), number));
                }
                _ => {}
            }
        }
        if !files.is_empty() {
            opened.journals.insert(0, Journal::Binary(files, names));
        }
        let precise_ranges = precise_ranges_us(parts).unwrap_or_default();
        opened.texts_of_other_times = texts_of_other_times(parts, &precise_ranges);
        // Drop the less precise journals. Lines of text have no boot ids, so their boots would be counted in addition
        // to the same boots of a journal with fields. The file of a syslog daemon has the times at which the daemon
        // read the messages, so it is a less precise duplicate. Texts that have further boots remain; the survey drops
        // their boots that are duplicates.
        let begins_earlier_or_ends_later = |journal: &Journal<'_>| match journal {
            Journal::Text(bytes, _) if !precise_ranges.is_empty() => {
                TextRange::new(bytes).is_some_and(|text| text.exceeds(&precise_ranges))
            }
            _ => false,
        };
        let is_text = |journal: &Journal<'_>| matches!(journal, Journal::Text(..));
        let is_by_wall_clock =
            |journal: &Journal<'_>| matches!(journal, Journal::Text(bytes, _) if journal_text::is_by_wall_clock(bytes));
        for is_worse in [&is_text as &dyn Fn(&Journal<'_>) -> bool, &is_by_wall_clock] {
            if !opened.journals.iter().all(is_worse) {
                let count = opened.journals.len();
                opened.journals.retain(|journal| !is_worse(journal) || begins_earlier_or_ends_later(journal));
                opened.texts_skipped += (count - opened.journals.len()) as u64;
            }
        }
        opened.drop_contained_texts();
        opened.join_rotated_texts();
        match first_error {
            Some(error) if parts.len() == 1 => Err(error),
            _ => Ok(opened),
        }
    }

    /// Drops text logs whose entries are also in larger ones: syslog daemons write the kernel's messages to `kern.log` and
    /// to `syslog`, and support tools add `journalctl`. Each boot would count twice.
    fn drop_contained_texts(&mut self) {
        let text = |journal: &Journal<'f>| match journal {
            Journal::Text(Cow::Borrowed(bytes), number) => Some((*bytes, *number)),
            _ => None,
        };
        let mut texts: Vec<(&'f [u8], usize)> = self.journals.iter().filter_map(text).collect();
        if texts.len() < 2 {
            return;
        }
        texts.sort_by_key(|(bytes, number)| (Reverse(bytes.len()), *number));
        let mut keys: HashSet<u64> = HashSet::new();
        let mut contained = Vec::new();
        for (bytes, number) in texts {
            let own: Vec<u64> = journal_text::entry_keys(bytes).collect();
            let known = own.iter().filter(|&key| keys.contains(key)).count();
            // The last lines may be in only one of them if the files were copied one after another.
            if known > 0 && known.saturating_mul(20) >= own.len().saturating_mul(19) {
                contained.push(number);
            } else {
                keys.extend(own);
            }
        }
        self.texts_contained = contained.len() as u64;
        self.journals.retain(|journal| text(journal).is_none_or(|(_, number)| !contained.contains(&number)));
    }

    /// Joins text logs of one boot that were rotated in between, such as `syslog.1` and `syslog`. The later file shows no
    /// start of a boot, so its lines would count as another one.
    fn join_rotated_texts(&mut self) {
        let ranges = self.journals.iter().enumerate().filter_map(|(index, journal)| match journal {
            Journal::Text(bytes, _) => Some((index, TextRange::new(bytes)?)),
            _ => None,
        });
        let mut ranges: Vec<(usize, TextRange)> = ranges.collect();
        ranges.sort_by_key(|(_, range)| (range.first_us, range.last_us));
        let mut joined: Vec<usize> = Vec::new();
        let mut previous: Option<(usize, TextRange)> = None;
        for (index, range) in ranges {
            let target = previous.as_ref().filter(|(_, earlier)| range.continues(earlier)).map(|(target, _)| *target);
            let Some(target) = target else {
                previous = Some((index, range));
                continue;
            };
            let addition = match self.journals.get(index) {
                Some(Journal::Text(bytes, _)) => bytes.to_vec(),
                _ => continue,
            };
            if let Some(Journal::Text(bytes, _)) = self.journals.get_mut(target) {
                let bytes = bytes.to_mut();
                if bytes.last().is_some_and(|&byte| byte != b'\n') {
                    bytes.push(b'\n');
                }
                bytes.extend(addition);
                joined.push(index);
                previous = Some((target, range));
            }
        }
        let mut index = 0;
        self.journals.retain(|_| {
            index += 1;
            !joined.contains(&(index - 1))
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.journals.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Journal<'f>> {
        self.journals.iter()
    }

    /// Adds the counts of skipped files.
    pub(crate) fn count_losses(&self, losses: &mut Losses) {
        losses.add(&TEXTS_SKIPPED, self.texts_skipped);
        losses.add(&TEXTS_OF_OTHER_TIMES, self.texts_of_other_times.len() as u64);
        if let Some(name) = self.texts_of_other_times.first() {
            losses.set_first_place(&TEXTS_OF_OTHER_TIMES, || (*name).to_owned());
        }
        losses.add(&TEXTS_CONTAINED, self.texts_contained);
        losses.add(&UNREADABLE_FILES, self.unreadable);
        if let Some(error) = &self.first_unreadable {
            losses.set_first_place(&UNREADABLE_FILES, || error.clone());
        }
    }
}

/// Returns the times of the first and the last entry of each journal with more precise times than text, µs since 1970.
/// Returns `None` if a journal must be read to know its times.
fn precise_ranges_us(parts: &[Part<'_>]) -> Option<Vec<(i64, i64)>> {
    let ranges = parts.iter().filter_map(|part| match part.kind {
        PartKind::Journal => Some(header_range_us(part.bytes)),
        PartKind::JournalExport | PartKind::JournalJson => Some(realtime_range_us(part.bytes)),
        PartKind::JournalVerbose => Some(None),
        _ => None,
    });
    ranges.collect()
}

/// Returns the names of the text journals outside `precise_ranges`, the times of the more precise journals, that cannot be
/// put in order with them because their times lack the year or the zone.
fn texts_of_other_times<'f>(parts: &[Part<'f>], precise_ranges: &[(i64, i64)]) -> Vec<&'f str> {
    let is_of_other_time = |part: &&Part<'f>| {
        let is_elsewhere = |text: TextRange| {
            !text.exceeds(precise_ranges)
                && !precise_ranges.iter().any(|&(first_us, last_us)| text.overlaps(first_us, last_us))
        };
        part.kind == PartKind::JournalText && TextRange::new(part.bytes).is_some_and(is_elsewhere)
    };
    let texts = parts.iter().filter(|_| !precise_ranges.is_empty()).filter(is_of_other_time);
    texts.map(|part| part.name).collect()
}

/// Returns the times of the first and the last entry in the header of a journal file, µs since 1970.
fn header_range_us(bytes: &[u8]) -> Option<(i64, i64)> {
    let [first, last] = JournalFile::open(bytes).ok()?.header().realtime_us;
    let time = |us: u64| i64::try_from(us).ok().filter(|&us| us > 0);
    Some((time(first)?, time(last)?))
}

/// Returns the times of the first and the last entry of an export or JSON file, µs since 1970.
fn realtime_range_us(bytes: &[u8]) -> Option<(i64, i64)> {
    const FIELD: &[u8] = b"__REALTIME_TIMESTAMP";
    /// Maximum size of an entry in which the time is searched for, bytes.
    const MAX_ENTRY_SIZE: usize = 1 << 20;
    let time = |at: usize| {
        let rest = bytes.get(at + FIELD.len()..)?;
        let digits = rest.iter().skip_while(|byte| b"\"=: ".contains(byte)).take_while(|byte| byte.is_ascii_digit());
        digits
            .take(18)
            .fold(None, |number: Option<i64>, digit| Some(number.unwrap_or(0) * 10 + i64::from(digit - b'0')))
    };
    let head = bytes.get(..MAX_ENTRY_SIZE).unwrap_or(bytes);
    let first = head.windows(FIELD.len()).position(|window| window == FIELD)?;
    let tail_start = bytes.len().saturating_sub(MAX_ENTRY_SIZE);
    let last = bytes.get(tail_start..)?.windows(FIELD.len()).rposition(|window| window == FIELD)?;
    Some((time(first)?, time(tail_start + last)?))
}

impl<'f> Journal<'f> {
    /// Passes the entries of `boot`, or of all boots, to `visit`, in journal order. Entries without a boot id come from
    /// a filtered journal, which has one boot.
    pub(crate) fn entries(&self, boot: Option<u128>, faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'_>)) {
        match self {
            Self::Binary(files, names) => {
                let losses = onoff_journal::read(files, |raw| {
                    if boot.is_some_and(|boot| boot != raw.boot) {
                        return;
                    }
                    let mut entry = Entry {
                        boot: raw.boot,
                        realtime_us: i64::try_from(raw.realtime_us).ok(),
                        monotonic_us: i64::try_from(raw.monotonic_us).ok(),
                        ..Entry::default()
                    };
                    for field in raw.fields() {
                        if Entry::is_relevant(&field.name) {
                            entry.set(&field.name, text(field.value));
                        }
                    }
                    visit(&entry);
                });
                faults.binary.not_closed += losses.unclosed;
                faults.binary.damaged += losses.damaged_arrays.max(losses.truncated);
                faults.binary.entries += losses.unreadable_entries;
                faults.binary.fields += losses.unreadable_fields + losses.fields_beyond_budget;
                if let Some(location) = losses.first_location
                    && faults.binary.first_location.is_empty()
                {
                    let name = names.get(location.file).copied().unwrap_or_default();
                    faults.binary.first_location = format!("{name}, byte offset {:#x}", location.offset);
                }
            }
            Self::Export(bytes) => journal_export::entries(bytes, faults, filter_boot(boot, visit)),
            Self::Json(bytes) => journal_json::entries(bytes, faults, filter_boot(boot, visit)),
            Self::Verbose(bytes) => journal_verbose::entries(bytes, faults, filter_boot(boot, visit)),
            Self::Text(bytes, number) => journal_text::entries(bytes, *number, faults, filter_boot(boot, visit)),
        }
    }
}

fn filter_boot(boot: Option<u128>, mut visit: impl FnMut(&Entry<'_>)) -> impl FnMut(&Entry<'_>) {
    move |entry| {
        if boot.is_none_or(|boot| boot == entry.boot) {
            visit(entry);
        }
    }
}

fn text(value: Cow<'_, [u8]>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use onoff_testkit::journal::{JournalEntry, JournalWriter};

    use super::*;

    fn fields(fields: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn binary_journal_equals_its_export() {
        let entry = JournalEntry {
            sequence_number: 1,
            realtime_us: 1_700_000_000_000_000,
            monotonic_us: 30,
            boot_id: 0xaa,
            fields: fields(&[("MESSAGE", "x"), ("UNIT", "a.service"), ("_PID", "1"), ("OTHER", "y")]),
        };
        let bytes = JournalWriter::default().file(&[entry]);
        let export = format!(
            "__REALTIME_TIMESTAMP=1700000000000000\n__MONOTONIC_TIMESTAMP=30\n_BOOT_ID={:032x}\nMESSAGE=x\nUNIT=a.service\n_PID=1\n\n",
            0xaa
        );
        let read = |kind, bytes| {
            let journals = Journals::from_parts(&[Part { kind, name: "j", bytes }]).unwrap();
            let mut entries = Vec::new();
            for journal in journals.iter() {
                journal.entries(None, &mut JournalFaults::default(), |entry| {
                    entries.push((
                        (entry.boot, entry.realtime_us, entry.monotonic_us, entry.pid),
                        (entry.message.to_string(), entry.unit.to_string()),
                    ));
                });
            }
            entries
        };
        let binary = read(PartKind::Journal, &bytes);
        assert_eq!(binary.len(), 1);
        assert_eq!(binary, read(PartKind::JournalExport, export.as_bytes()));
    }

    #[test]
    fn skipped_text_of_another_time_is_a_loss() {
        // 2023-11-14 22:13:20 and 23:13:20 UTC.
        let export = "__REALTIME_TIMESTAMP=1700000000000000\n_BOOT_ID=a\n\n__REALTIME_TIMESTAMP=1700003600000000\n_BOOT_ID=a\n\n";
        let json = "{\"__REALTIME_TIMESTAMP\":\"1700000000000000\",\"_BOOT_ID\":\"a\"}\n{\"__REALTIME_TIMESTAMP\":\"1700003600000000\",\"_BOOT_ID\":\"a\"}\n";
        let losses = |journal: (PartKind, &'static str), text: &'static str| {
            let parts = [(journal, "journal"), ((PartKind::JournalText, text), "old.log")]
                .map(|((kind, text), name)| Part { kind, name, bytes: text.as_bytes() });
            let mut losses = Losses::new();
            Journals::from_parts(&parts).unwrap().count_losses(&mut losses);
            losses.iter().map(|loss| (loss.counter, loss.first.clone().unwrap_or_default())).collect::<Vec<_>>()
        };
        let of_other_time = ("journal_texts_of_other_times", "old.log".to_owned());
        for journal in [(PartKind::JournalExport, export), (PartKind::JournalJson, json)] {
            assert!(losses(journal, "Nov 11 09:04:00 host cron[1]: x\n").contains(&of_other_time));
            // A text that can be put in order is read.
            assert_eq!(losses(journal, "2022-11-14T22:13:20+0000 host cron[1]: x\n"), []);
            // The same boot, by the clock of another time zone, and in a year that is not written.
            for text in ["Nov 15 12:13:20 host cron[1]: x\n", "2023-11-14T22:13:25+0000 host cron[1]: x\n"] {
                assert_eq!(losses(journal, text), [("journal_texts_skipped", String::new())], "{text}");
            }
        }
        // A binary journal has the times in its header.
        let entry = |us| JournalEntry { realtime_us: us, sequence_number: us, boot_id: 1, ..JournalEntry::default() };
        let mut binary = JournalWriter::default().file(&[entry(1_700_000_000_000_000), entry(1_700_003_600_000_000)]);
        let in_binary = |binary: &[u8], text: &'static str| {
            let part = |kind, name, bytes| Part { kind, name, bytes };
            let journal = part(PartKind::Journal, "system.journal", binary);
            let parts = [journal, part(PartKind::JournalText, "old.log", text.as_bytes())];
            texts_of_other_times(&parts, &precise_ranges_us(&parts).unwrap_or_default()).len()
        };
        assert_eq!(in_binary(&binary, "Nov 11 09:04:00 host cron[1]: x\n"), 1);
        assert_eq!(in_binary(&binary, "Nov 14 22:13:25 host cron[1]: x\n"), 0);
        binary[184..200].fill(0);
        assert_eq!(in_binary(&binary, "Nov 11 09:04:00 host cron[1]: x\n"), 0);
        // A text without times that can be compared.
        assert_eq!(losses((PartKind::JournalExport, export), "hello\n"), [("journal_texts_skipped", String::new())]);
    }

    #[test]
    fn kernel_log_beside_syslog_counts_once() {
        let line = |number: u32, sender: &str| format!("Nov 22 09:00:{number:02} host {sender}: line {number}\n");
        let kernel: String = (0..30).map(|number| line(number, "kernel")).collect();
        let syslog: String = (0..30).map(|number| line(number, "kernel") + &line(number, "cron[7]")).collect();
        let older: String = (30..60).map(|number| line(number, "kernel")).collect();
        let count = |texts: &[&String]| {
            let parts: Vec<Part<'_>> = texts
                .iter()
                .map(|text| Part { kind: PartKind::JournalText, name: "log", bytes: text.as_bytes() })
                .collect();
            Journals::from_parts(&parts).unwrap().iter().count()
        };
        assert_eq!(count(&[&kernel, &syslog]), 1);
        // A rotated file continues the boot.
        assert_eq!(count(&[&syslog, &older]), 1);
        assert_eq!(count(&[&syslog, &older.replace("Nov 22", "Nov 23")]), 2);
        assert_eq!(count(&[&syslog, &(kernel.clone() + &older)]), 2);
        // The same by journalctl, with fractions, and with the kernel's times in syslog.
        let precise = syslog.replace(" host ", ".250000 host ");
        assert_eq!(count(&[&precise, &syslog]), 1);
        assert_eq!(count(&[&precise, &kernel.replace("kernel: ", "kernel: [    1.000000] ")]), 1);
        assert_eq!(count(&[&precise, &syslog.replace("Nov 22 09:00", "Nov 23 09:07")]), 2);
    }

    #[test]
    fn rotated_text_continues_the_boot() {
        let line = |minute: u32, text: &str| format!("Nov 22 09:{minute:02}:00 host {text}\n");
        let first: String = line(0, "kernel: Linux version 6.1.0") + &line(1, "cron[7]: a") + &line(2, "cron[7]: b");
        let second: String = (3..9).map(|minute| line(minute, "cron[7]: c")).collect();
        let count = |texts: &[&str]| {
            let part = |text: &&str| {
                // Tests leak their texts, as parts outlive the journals.
                let bytes: &'static [u8] = Box::leak(text.as_bytes().to_vec().into_boxed_slice());
                Part { kind: PartKind::JournalText, name: "log", bytes }
            };
            let parts: Vec<Part<'_>> = texts.iter().map(part).collect();
            let journals = Journals::from_parts(&parts).unwrap();
            let mut entries = 0;
            for journal in journals.iter() {
                journal.entries(None, &mut JournalFaults::default(), |_| entries += 1);
            }
            (journals.iter().count(), entries)
        };
        assert_eq!(count(&[&second, &first]), (1, 9));
        // Another computer, a later day, and another boot.
        assert_eq!(count(&[&first, &second.replace("host", "other")]), (2, 9));
        assert_eq!(count(&[&first, &second.replace("Nov 22", "Nov 23")]), (2, 9));
        assert_eq!(count(&[&first, &(line(3, "kernel: Linux version 6.1.0") + &second)]), (2, 10));
    }

    #[test]
    fn skips_and_names_damaged_file() {
        let good = JournalWriter::default().file(&[JournalEntry {
            boot_id: 1,
            sequence_number: 1,
            ..JournalEntry::default()
        }]);
        let bad = Part { kind: PartKind::Journal, name: "bad.journal", bytes: b"LPKSHHRH" };
        assert!(matches!(Journals::from_parts(&[bad]), Err(Error::Journal { .. })));
        let journals =
            Journals::from_parts(&[bad, Part { kind: PartKind::Journal, name: "good", bytes: &good }]).unwrap();
        let mut losses = Losses::new();
        journals.count_losses(&mut losses);
        let loss = losses.iter().next().unwrap();
        assert_eq!((loss.counter, loss.count), ("journal_files_unreadable", 1));
        assert!(loss.first.as_ref().unwrap().starts_with("bad.journal: byte offset 0x8"));
    }
}
