//! Lists the boots in the journals of a recording and selects the one to read.

use hashbrown::HashMap;
use onoff_trace::{Losses, RecordedBoot, counters};

use super::clocks::{ClockPairs, Evidence, SourceClock};
use super::journal::{Entry, JOURNAL_STARTED, JOURNAL_STOPPED, JournalFaults, STARTUP_FINISHED, id};
use super::journal_files::Journals;
use onoff_input::error::Error;

/// Maximum number of boots.
const MAX_BOOTS: usize = 100_000;

/// Maximum number of clock pairs per boot.
const MAX_PAIRS: usize = 4_096;
/// Minimum distance between clock pairs, µs.
const MIN_PAIR_DISTANCE_US: i64 = 1_000_000;

/// Wall-clock times before this show a clock that was not set, µs: 2005-01-01, before journals existed.
const CLOCK_SET_US: i64 = 1_104_537_600_000_000;

/// Maximum difference between the wall clocks of a boot and of another part that belongs to it: 10 min.
const MAX_CLOCK_DIFFERENCE_NS: u64 = 600_000_000_000;

counters! {
    TEXT_BOOTS_SKIPPED = "journal_text_boots_skipped", Notice, [],
        "Boots in text journals were skipped because another journal has them with more precise times, or only boots of another computer.";
}

/// Maximum delay of a kernel message that journald received while it ran, µs. In the lab's boots, delays are 1 to 44 ms.
const MAX_DELIVERY_US: i64 = 250_000;

/// Summary of one boot in a journal.
#[derive(Clone, Debug, Default)]
struct BootSummary {
    id: u128,
    entries: u64,
    first_realtime_us: Option<i64>,
    last_realtime_us: Option<i64>,
    last_monotonic_us: i64,
    /// The sequence of the journal, and the lowest number of an entry.
    sequence: Option<(u128, u64)>,
    started: bool,
    /// Time of the last message with which journald stops, µs since the kernel's start.
    journal_stopped_us: Option<i64>,
    /// Time of the last message with which journald starts.
    journal_started_us: Option<i64>,
    /// True if times are in whole seconds or are the times of receipt.
    by_wall_clock: bool,
    /// True if the entries are lines of text.
    is_text: bool,
    /// Machine id from the first entry that has one.
    machine: u128,
    host: String,
    /// Wall clock and monotonic clock, µs, as journald read them for one entry.
    pairs: Vec<(i64, i64)>,
    /// True if there are kernel messages; a container has none.
    has_kernel: bool,
    /// Times at which the kernel message with the smallest delay was sent and received, µs.
    fastest_kernel_message: Option<(i64, i64)>,
}

impl BootSummary {
    fn add(&mut self, entry: &Entry<'_>) {
        self.entries += 1;
        if let Some(realtime_us) = entry.realtime_us {
            self.first_realtime_us = Some(self.first_realtime_us.map_or(realtime_us, |first| first.min(realtime_us)));
            self.last_realtime_us = self.last_realtime_us.max(Some(realtime_us));
        }
        if let Some(monotonic_us) = entry.monotonic_us {
            self.last_monotonic_us = self.last_monotonic_us.max(monotonic_us);
        }
        self.sequence = match (self.sequence, entry.sequence) {
            (Some((id, number)), Some((other, first))) if id == other => Some((id, number.min(first))),
            (None, sequence) => sequence,
            (sequence, _) => sequence,
        };
        if self.machine == 0 {
            self.machine = entry.machine;
        }
        // Before the host name is set, entries have "localhost".
        if self.host.is_empty() || self.host == "localhost" && !entry.host.is_empty() {
            self.host.clear();
            self.host.push_str(&entry.host);
        }
        let is_from_manager = entry.pid == Some(1) && entry.user_unit.is_empty();
        self.started |= entry.message_id == STARTUP_FINISHED && is_from_manager;
        self.by_wall_clock |= entry.by_wall_clock;
        self.is_text |= entry.is_text;
        let time_us = entry.monotonic_us.unwrap_or(self.last_monotonic_us);
        match entry.message_id {
            JOURNAL_STOPPED => self.journal_stopped_us = self.journal_stopped_us.max(Some(time_us)),
            JOURNAL_STARTED => self.journal_started_us = self.journal_started_us.max(Some(time_us)),
            _ => {}
        }
        if let Some((real, monotonic)) = entry.realtime_us.zip(entry.monotonic_us)
            && self.pairs.len() < MAX_PAIRS
            && self.pairs.last().is_none_or(|(_, last)| monotonic.saturating_sub(*last) >= MIN_PAIR_DISTANCE_US)
        {
            self.pairs.push((real, monotonic));
        }
        self.has_kernel |= entry.is_kernel();
        let lag = |(sent, received): (i64, i64)| received.saturating_sub(sent);
        if entry.is_kernel()
            && let Some(pair) = entry.source_monotonic_us.zip(entry.monotonic_us)
            && lag(pair) >= 0
            && self.fastest_kernel_message.is_none_or(|best| lag(pair) < lag(best))
        {
            self.fastest_kernel_message = Some(pair);
        }
    }

    /// Adds what another journal has of the same boot: the same entries in another format, or others if the journal was
    /// rotated or exported in parts.
    fn merge(&mut self, other: Self) {
        let range = |boot: &Self| (boot.first_realtime_us, boot.last_realtime_us);
        let overlaps =
            self.first_realtime_us < other.last_realtime_us && other.first_realtime_us < self.last_realtime_us;
        self.entries = match overlaps || range(self) == range(&other) {
            true => self.entries.max(other.entries),
            false => self.entries.saturating_add(other.entries),
        };
        self.first_realtime_us = self.first_realtime_us.into_iter().chain(other.first_realtime_us).min();
        self.last_realtime_us = self.last_realtime_us.max(other.last_realtime_us);
        self.last_monotonic_us = self.last_monotonic_us.max(other.last_monotonic_us);
        self.sequence = match (self.sequence, other.sequence) {
            (Some((id, number)), Some((other_id, other_number))) if id == other_id => {
                Some((id, number.min(other_number)))
            }
            (sequence, other_sequence) => sequence.or(other_sequence),
        };
        self.started |= other.started;
        self.journal_stopped_us = self.journal_stopped_us.max(other.journal_stopped_us);
        self.journal_started_us = self.journal_started_us.max(other.journal_started_us);
        self.by_wall_clock |= other.by_wall_clock;
        if self.machine == 0 {
            self.machine = other.machine;
        }
        if self.host.is_empty() || self.host == "localhost" && !other.host.is_empty() {
            self.host = other.host;
        }
        self.pairs.extend(other.pairs);
        self.pairs.sort_unstable_by_key(|&(_, monotonic_us)| monotonic_us);
        self.pairs.dedup();
        self.pairs.truncate(MAX_PAIRS);
        self.has_kernel |= other.has_kernel;
        let delay_us =
            |pair: Option<(i64, i64)>| pair.map_or(i64::MAX, |(sent, received)| received.saturating_sub(sent));
        if delay_us(other.fastest_kernel_message) < delay_us(self.fastest_kernel_message) {
            self.fastest_kernel_message = other.fastest_kernel_message;
        }
    }

    /// True if the boot ended as requested: journald stopped and neither started again nor logged much afterwards. It
    /// also stops before the root file system is mounted, when the service manager of an initramfs hands over.
    fn is_stopped(&self) -> bool {
        let max_delay_us = if self.by_wall_clock { 2_000_000 } else { 1_000_000 };
        self.journal_stopped_us.is_some_and(|stopped_us| {
            self.last_monotonic_us.saturating_sub(stopped_us) <= max_delay_us
                && self.journal_started_us.is_none_or(|started_us| started_us < stopped_us)
        })
    }

    /// True if this boot is later than `other`, which another journal has, as `journalctl --list-boots` orders them: by
    /// the numbers of the entries if both have the same sequence, else by the wall clock. A computer whose clock has no
    /// battery starts in 1970, or when its firmware was built, until a server sets the clock: the last entry counts. A
    /// boot whose clock was never set stays where its file is.
    fn is_later_than(&self, other: &Self) -> bool {
        if let (Some((sequence, number)), Some((other_sequence, other_number))) = (self.sequence, other.sequence)
            && sequence == other_sequence
        {
            return number > other_number;
        }
        let is_set = |boot: &Self| boot.last_realtime_us.is_some_and(|us| us >= CLOCK_SET_US);
        match (is_set(self), is_set(other)) {
            (true, true) => self.last_realtime_us > other.last_realtime_us,
            (false, false) => self.first_realtime_us > other.first_realtime_us,
            _ => false,
        }
    }

    /// True if this boot ended before `other` started, or started after it ended.
    fn is_apart_from(&self, other: &Self) -> bool {
        let kernel_start_us = other.offset_ns().map(|offset_ns| -(offset_ns / 1_000));
        let start_us = other.first_realtime_us.into_iter().chain(kernel_start_us).min();
        let is_earlier = self.last_realtime_us.zip(start_us).is_some_and(|(last, start)| last < start);
        is_earlier || self.first_realtime_us.zip(other.last_realtime_us).is_some_and(|(first, last)| first > last)
    }

    /// Returns the offset from the wall clock to the axis, ns.
    fn offset_ns(&self) -> Option<i64> {
        let (real, monotonic) = self.pairs.first()?;
        monotonic.checked_sub(*real)?.checked_mul(1_000)
    }
}

/// Counts whether the entries of a journal go forward in time, or backward as with `journalctl --reverse`.
#[derive(Debug, Default)]
struct Direction {
    /// Boot and monotonic time of the previous entry.
    previous: Option<(u128, i64)>,
    forward: u64,
    backward: u64,
}

impl Direction {
    fn add(&mut self, entry: &Entry<'_>) {
        let Some(time_us) = entry.monotonic_us else { return };
        if let Some((boot, previous_us)) = self.previous
            && boot == entry.boot
        {
            self.forward += u64::from(time_us > previous_us);
            self.backward += u64::from(time_us < previous_us);
        }
        self.previous = Some((entry.boot, time_us));
    }

    fn is_reversed(&self) -> bool {
        self.backward > self.forward
    }
}

/// The boots of a recording's journals in chronological order, as given by the order of the entries: a wall clock
/// without a battery may be wrong.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalSurvey {
    boots: Vec<BootSummary>,
    selected: Option<usize>,
    faults: JournalFaults,
    text_boots_skipped: u64,
}

impl JournalSurvey {
    /// Scans `journals` and selects the boot to read: the requested boot if there is one, otherwise the boot that
    /// matches the wall clock of another part, otherwise the last boot that started completely, otherwise the last
    /// boot.
    pub(super) fn scan(
        journals: &Journals<'_>,
        requested: Option<&str>,
        offset_ns: Option<i64>,
    ) -> Result<Self, Error> {
        let mut survey = Self::default();
        let mut boot_indexes: HashMap<u128, usize> = HashMap::new();
        let Self { boots, faults, .. } = &mut survey;
        let has_several_journals = journals.iter().count() > 1;
        for journal in journals.iter() {
            // A boot in two journals counts once.
            let mut journal_boots: Vec<BootSummary> = Vec::new();
            let mut direction = Direction::default();
            boot_indexes.clear();
            journal.entries(None, faults, |entry| {
                if entry.boot == 0 {
                    return;
                }
                direction.add(entry);
                let index = *boot_indexes.entry(entry.boot).or_insert_with(|| {
                    if journal_boots.len() < MAX_BOOTS {
                        journal_boots.push(BootSummary { id: entry.boot, ..BootSummary::default() });
                    }
                    journal_boots.len().saturating_sub(1)
                });
                if let Some(boot) = journal_boots.get_mut(index).filter(|boot| boot.id == entry.boot) {
                    boot.add(entry);
                }
            });
            if direction.is_reversed() {
                journal_boots.reverse();
            }
            for boot in journal_boots {
                match boots.iter_mut().find(|listed| listed.id == boot.id) {
                    Some(listed) => listed.merge(boot),
                    None => {
                        let is_later = |listed: &BootSummary| listed.is_later_than(&boot);
                        let index = if has_several_journals { boots.iter().position(is_later) } else { None };
                        boots.insert(index.unwrap_or(boots.len()), boot);
                    }
                }
            }
        }
        survey.drop_copies_in_text();
        survey.selected = match requested {
            Some(requested) => Some(
                survey
                    .find_requested(requested)
                    .ok_or_else(|| Error::NoSuchBoot { requested: requested.to_owned(), boots: survey.boots.len() })?,
            ),
            None => survey.default_boot(offset_ns),
        };
        Ok(survey)
    }

    /// Drops the boots of texts that another journal has with more precise times, and boots of other computers.
    fn drop_copies_in_text(&mut self) {
        let precise: Vec<BootSummary> = self.boots.iter().filter(|boot| !boot.is_text).cloned().collect();
        let is_new = |boot: &BootSummary| {
            let same_host = || precise.iter().filter(|other| other.host == boot.host);
            same_host().next().is_some() && same_host().all(|other| boot.is_apart_from(other))
        };
        let count = self.boots.len();
        self.boots.retain(|boot| !boot.is_text || precise.is_empty() || is_new(boot));
        self.text_boots_skipped = (count - self.boots.len()) as u64;
    }

    /// Returns a copy with the boot at `index` selected.
    pub(super) fn with_selected(&self, index: usize) -> Self {
        Self { selected: Some(index), ..self.clone() }
    }

    /// Finds a boot by id or number as `journalctl --boot` does: 0 is the last, -1 the second to last, 1 the first.
    fn find_requested(&self, requested: &str) -> Option<usize> {
        let index = match requested.parse::<i64>() {
            Ok(number) if number > 0 && requested.len() < 32 => usize::try_from(number).ok()? - 1,
            Ok(number) if requested.len() < 32 => {
                self.boots.len().checked_sub(1)?.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?
            }
            _ => {
                let id = id(requested);
                self.boots.iter().position(|boot| id != 0 && boot.id == id)?
            }
        };
        (index < self.boots.len()).then_some(index)
    }

    fn default_boot(&self, offset_ns: Option<i64>) -> Option<usize> {
        // Texts next to other journals only add to the list.
        let has_others = self.boots.iter().any(|boot| !boot.is_text);
        let is_candidate = |boot: &BootSummary| !(self.is_container(boot) || has_others && boot.is_text);
        let distance = |boot: &BootSummary| Some(boot.offset_ns()?.abs_diff(offset_ns?));
        let closest = (0..self.boots.len())
            .filter_map(|index| Some((distance(self.boots.get(index)?)?, index)))
            .filter(|&(distance, _)| distance <= MAX_CLOCK_DIFFERENCE_NS)
            .min();
        closest
            .map(|(_, index)| index)
            .or_else(|| self.boots.iter().rposition(|boot| boot.started && is_candidate(boot)))
            .or_else(|| self.boots.iter().rposition(is_candidate))
            .or_else(|| self.boots.len().checked_sub(1))
    }

    /// True for a boot of a container whose host stores the journals of both (`systemd-nspawn --link-journal`): the
    /// container's machine id has no kernel messages, and the host's has.
    fn is_container(&self, boot: &BootSummary) -> bool {
        let mut kernel_machines = self.boots.iter().filter(|other| other.has_kernel).map(|other| other.machine);
        boot.machine != 0
            && kernel_machines.clone().next().is_some()
            && !kernel_machines.any(|machine| machine == boot.machine)
    }

    /// True if the selected boot is not the boot to which the wall clock of the other parts belongs.
    pub(super) fn is_another_boot(&self, offset_ns: Option<i64>) -> bool {
        self.selected.is_some() && self.selected != self.default_boot(offset_ns)
    }

    /// Returns the id of the selected boot.
    pub(super) fn boot(&self) -> Option<u128> {
        Some(self.boots.get(self.selected?)?.id)
    }

    /// Adds the clock pairs of the selected boot.
    pub(super) fn clock_pairs(&self, pairs: &mut ClockPairs) {
        let Some(boot) = self.selected.and_then(|index| self.boots.get(index)) else { return };
        for &(real, monotonic) in &boot.pairs {
            if let Some((real, monotonic)) = real.checked_mul(1_000).zip(monotonic.checked_mul(1_000)) {
                let how = "wall clock and monotonic clock of journal entries";
                pairs.add(SourceClock::RealTime, Evidence::Reading, how, real, monotonic);
            }
        }
        if let Some((sent_us, received_us)) = boot.fastest_kernel_message {
            // Messages from before journald's start arrive together, late. The kernel's two clocks are nearly equal.
            let (axis_us, how) = match received_us.saturating_sub(sent_us) > MAX_DELIVERY_US {
                true => {
                    (sent_us, "the kernel log's clock unchanged, because the journal received all kernel messages late")
                }
                false => (received_us, "kernel message with the smallest delay to the journal"),
            };
            if let Some((sent, axis)) = sent_us.checked_mul(1_000).zip(axis_us.checked_mul(1_000)) {
                pairs.add(SourceClock::KernelLog, Evidence::Receipt, how, sent, axis);
            }
        }
    }

    /// True if the selected boot is in a text journal that has whole seconds only.
    pub(crate) fn has_whole_seconds(&self) -> bool {
        self.faults.whole_seconds
            && self.selected.and_then(|index| self.boots.get(index)).is_none_or(|boot| boot.is_text)
    }

    /// Returns the boots for the reports and adds the journals' faults to `losses`.
    pub(super) fn finish(mut self, losses: &mut Losses) -> Vec<RecordedBoot> {
        self.faults.whole_seconds = self.has_whole_seconds();
        self.faults.count(losses);
        losses.add(&TEXT_BOOTS_SKIPPED, self.text_boots_skipped);
        let count = self.boots.len();
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1_000));
        self.boots
            .iter()
            .enumerate()
            .map(|(index, boot)| RecordedBoot {
                id: format!("{:032x}", boot.id),
                machine: if boot.machine == 0 { String::new() } else { format!("{:032x}", boot.machine) },
                host: boot.host.clone(),
                number: i64::try_from(index + 1).unwrap_or(i64::MAX) - i64::try_from(count).unwrap_or(i64::MAX),
                first_unix_ns: ns(boot.first_realtime_us),
                last_unix_ns: ns(boot.last_realtime_us),
                entries: boot.entries,
                kernel_start: None,
                started: boot.started,
                fast_startup: false,
                stopped: boot.is_stopped(),
                read: self.selected == Some(index),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::{Part, PartKind};

    const JOURNAL: &str = "_BOOT_ID=000000000000000000000000000000aa\n__REALTIME_TIMESTAMP=100\n__MONOTONIC_TIMESTAMP=9\n\n\
         _BOOT_ID=000000000000000000000000000000bb\n__REALTIME_TIMESTAMP=5000000\n__MONOTONIC_TIMESTAMP=40\n_PID=1\n\
         MESSAGE_ID=b07a249cd024414a82dd00cd181378ff\n\n\
         _BOOT_ID=000000000000000000000000000000ff\n__REALTIME_TIMESTAMP=9500000\n\n";

    fn survey(requested: Option<&str>, offset_ns: Option<i64>) -> Option<u128> {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: JOURNAL.as_bytes() };
        JournalSurvey::scan(&Journals::from_parts(&[part, part]).unwrap(), requested, offset_ns).ok()?.boot()
    }

    #[test]
    fn parts_of_one_boot_are_added_and_copies_are_not() {
        let entry = |second: u32, fields: &str| {
            format!(
                "_BOOT_ID={:032x}\n__REALTIME_TIMESTAMP={}000000\n__MONOTONIC_TIMESTAMP={second}000000\n{fields}\n\n",
                0xaa,
                2_000_000_000 + second
            )
        };
        let finished = "_PID=1\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff";
        let stopped = "MESSAGE_ID=d93fb3c9c24d451a97cea615ce59c00b";
        let first = entry(1, "MESSAGE=a") + &entry(2, finished);
        let second = entry(3, "MESSAGE=b") + &entry(4, "MESSAGE=c") + &entry(5, stopped);
        let boots = |texts: &[&String]| {
            let parts: Vec<Part<'_>> = texts
                .iter()
                .map(|text| Part { kind: PartKind::JournalExport, name: "j", bytes: text.as_bytes() })
                .collect();
            let survey = JournalSurvey::scan(&Journals::from_parts(&parts).unwrap(), None, None).unwrap();
            let boots = survey.finish(&mut Losses::new()).into_iter();
            boots.map(|boot| (boot.entries, boot.started, boot.stopped)).collect::<Vec<_>>()
        };
        for order in [[&first, &second], [&second, &first]] {
            assert_eq!(boots(&order), [(5, true, true)]);
        }
        let whole = format!("{first}{second}");
        assert_eq!(boots(&[&whole, &second]), [(5, true, true)]);
    }

    #[test]
    fn selects_boot_like_journalctl() {
        for (requested, expected) in [
            ("0", Some(0xff)),
            ("-1", Some(0xbb)),
            ("-2", Some(0xaa)),
            ("-3", None),
            ("1", Some(0xaa)),
            ("3", Some(0xff)),
            ("4", None),
            ("000000000000000000000000000000bb", Some(0xbb)),
            ("00000000-0000-0000-0000-0000000000aa", Some(0xaa)),
            ("00000000000000000000000000000000", None),
            ("last", None),
        ] {
            assert_eq!(survey(Some(requested), None), expected, "{requested}");
        }
    }

    #[test]
    fn selects_last_complete_boot_or_the_one_matching_the_wall_clock() {
        assert_eq!(survey(None, None), Some(0xbb));
        assert_eq!(survey(None, Some(-100_000)), Some(0xaa));
    }

    #[test]
    fn selects_container_boot_only_on_request() {
        let entry = |boot: u32, machine: u32, second: u32, fields: &str| {
            format!(
                "_BOOT_ID={boot:032x}\n_MACHINE_ID={machine:032x}\n__REALTIME_TIMESTAMP={second}000000\n{fields}\n\n"
            )
        };
        let finished = "_PID=1\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff";
        let kernel = "_TRANSPORT=kernel";
        let selected = |entries: &[String], requested: Option<&str>| {
            let text = entries.concat();
            let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
            JournalSurvey::scan(&Journals::from_parts(&[part]).unwrap(), requested, None).unwrap().boot()
        };
        let host = [entry(1, 7, 1, kernel), entry(1, 7, 2, finished)];
        // The container started later than its host, and completely.
        let container = [entry(2, 8, 3, ""), entry(2, 8, 4, finished)];
        let host_and_container = [&host[..], &container[..]].concat();
        assert_eq!(selected(&host_and_container, None), Some(1));
        assert_eq!(selected(&host_and_container, Some("0")), Some(2));
        // A machine with kernel messages is not a container. If no machine has kernel messages, none is a container.
        let other_computer = [entry(3, 9, 5, kernel), entry(3, 9, 6, finished)];
        assert_eq!(selected(&[&host_and_container[..], &other_computer[..]].concat(), None), Some(3));
        assert_eq!(selected(&container, None), Some(2));
        // Rotation removed the beginning of this boot, but it still belongs to its machine.
        let rotated = [entry(4, 7, 7, finished)];
        assert_eq!(selected(&[&host_and_container[..], &rotated[..]].concat(), None), Some(4));
    }

    fn order(journal: &str) -> Vec<u128> {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: journal.as_bytes() };
        let survey = JournalSurvey::scan(&Journals::from_parts(&[part]).unwrap(), None, None).unwrap();
        survey.boots.iter().map(|boot| boot.id).collect()
    }

    #[test]
    fn orders_boots_by_entries_and_not_by_wall_clock() {
        let entry = |boot: u32, real: u32, monotonic: u32| {
            format!("_BOOT_ID={boot:032x}\n__REALTIME_TIMESTAMP={real}\n__MONOTONIC_TIMESTAMP={monotonic}\n\n")
        };
        let forward = [entry(0xa, 900, 1), entry(0xa, 950, 51), entry(0xb, 100, 1), entry(0xb, 150, 51)];
        assert_eq!(order(&forward.concat()), [0xa, 0xb]);
        let mut backward = forward;
        backward.reverse();
        assert_eq!(order(&backward.concat()), [0xa, 0xb]);
    }

    /// Ids of the boots of several exports, in the order of the list.
    fn order_of(journals: &[String]) -> Vec<u128> {
        let parts: Vec<Part<'_>> = journals
            .iter()
            .map(|text| Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() })
            .collect();
        let survey = JournalSurvey::scan(&Journals::from_parts(&parts).unwrap(), None, None).unwrap();
        survey.boots.iter().map(|boot| boot.id).collect()
    }

    #[test]
    fn orders_boots_of_several_journals_without_a_clock() {
        const YEAR_2026_US: u64 = 1_780_000_000_000_000;
        let entry = |boot: u32, number: u64, real_us: u64| {
            format!(
                "__CURSOR=s={:032x};i={number:x};b={boot:032x}\n_BOOT_ID={boot:032x}\n__REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP=1\n\n",
                7
            )
        };
        let without_cursor = |text: String| text.split_once('\n').unwrap().1.to_owned();
        // Every boot starts in 1970; the sequence goes on. The newest file comes first, as 'ls -t' lists them.
        let [a, b, c] = [(0xa, 10, 900), (0xb, 20, 500), (0xc, 30, 100)]
            .map(|(boot, number, real_us)| entry(boot, number, real_us) + &entry(boot, number + 1, real_us + 50));
        assert_eq!(order_of(&[c.clone(), a.clone(), b.clone()]), [0xa, 0xb, 0xc]);
        // Without cursors, the clock that a server set counts.
        let [a, b] = [(0xa, 900, YEAR_2026_US), (0xb, 500, YEAR_2026_US + 9)]
            .map(|(boot, first, last)| without_cursor(entry(boot, 1, first)) + &without_cursor(entry(boot, 2, last)));
        assert_eq!(order_of(&[b.clone(), a.clone()]), [0xa, 0xb]);
        // A right clock orders as before.
        let [a, b] =
            [(0xa, YEAR_2026_US), (0xb, YEAR_2026_US + 9)].map(|(boot, us)| without_cursor(entry(boot, 1, us)));
        assert_eq!(order_of(&[b, a]), [0xa, 0xb]);
    }

    #[test]
    fn reports_machine_and_host_of_each_boot() {
        let entry = |boot: u32, machine: u32, host: &str| {
            format!("_BOOT_ID={boot:032x}\n__REALTIME_TIMESTAMP=1\n_MACHINE_ID={machine:032x}\n_HOSTNAME={host}\n\n")
        };
        let text = [entry(1, 7, "localhost"), entry(1, 7, "web"), entry(2, 8, "db"), entry(3, 7, "web")].concat();
        let unnamed = "_BOOT_ID=00000000000000000000000000000004\n__REALTIME_TIMESTAMP=1\n\n";
        let text = text + unnamed;
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
        let survey = JournalSurvey::scan(&Journals::from_parts(&[part]).unwrap(), None, None).unwrap();
        let machine = |number: u32| if number == 0 { String::new() } else { format!("{number:032x}") };
        let machines_and_hosts: Vec<(String, String)> =
            survey.finish(&mut Losses::new()).into_iter().map(|boot| (boot.machine, boot.host)).collect();
        let expected = [(7, "web"), (8, "db"), (7, "web"), (0, "")];
        assert_eq!(machines_and_hosts, expected.map(|(number, host)| (machine(number), host.to_owned())));
    }

    #[test]
    fn kernel_messages_that_were_all_received_late_do_not_move_its_clock() {
        let offset_ns = |delays_us: &[i64]| {
            let entries = delays_us.iter().zip(1..).map(|(delay_us, second)| {
                format!(
                    "_BOOT_ID=000000000000000000000000000000aa\n__REALTIME_TIMESTAMP=1\n__MONOTONIC_TIMESTAMP={}\n_TRANSPORT=kernel\n\
                     _SOURCE_MONOTONIC_TIMESTAMP={second}000000\n\n",
                    second * 1_000_000 + delay_us
                )
            });
            let text: String = entries.collect();
            let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
            let mut pairs = ClockPairs::default();
            JournalSurvey::scan(&Journals::from_parts(&[part]).unwrap(), None, None).unwrap().clock_pairs(&mut pairs);
            pairs.first_offset_ns(SourceClock::KernelLog)
        };
        // The first messages are from before journald's start.
        assert_eq!(offset_ns(&[9_000_000, 8_000_000, 40_000]), Some(40_000_000));
        assert_eq!(offset_ns(&[9_000_000, 8_000_000]), Some(0));
    }

    #[test]
    fn text_adds_boots_that_other_journals_lack() {
        const START: u64 = 1_700_000_000;
        let entry = |second: u64, fields: &str| {
            format!(
                "_BOOT_ID={:032x}\n_HOSTNAME=host\n__REALTIME_TIMESTAMP={}000000\n__MONOTONIC_TIMESTAMP={second}000000\n{fields}\n\n",
                0xaa,
                START + second
            )
        };
        // The beginning of the boot is no longer in the journal.
        let export = entry(3_000, "MESSAGE=a") + &entry(3_600, "_PID=1\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff");
        let boot = |host: &str, second: i64| {
            let line = |second: i64, text: &str| format!("{}.0 {host} {text}\n", START.cast_signed() + second);
            line(second, "kernel: Linux version 6.1")
                + &line(second + 20, "systemd[1]: Startup finished in 1s (kernel) + 2s (userspace) = 3s.")
        };
        let listed = |text: &str| {
            let parts = [(PartKind::JournalExport, export.as_str()), (PartKind::JournalText, text)]
                .map(|(kind, text)| Part { kind, name: "j", bytes: text.as_bytes() });
            let survey = JournalSurvey::scan(&Journals::from_parts(&parts).unwrap(), None, None).unwrap();
            let boots = survey.clone().finish(&mut Losses::new()).into_iter().map(|boot| (boot.number, boot.read));
            (boots.collect::<Vec<_>>(), survey.text_boots_skipped)
        };
        let unread_first = vec![(-1, false), (0, true)];
        assert_eq!(listed(&(boot("host", -90_000) + &boot("host", 0))), (unread_first, 1));
        // A later boot is listed; the journal's boot is still read.
        assert_eq!(listed(&boot("host", 90_000)).0, [(-1, true), (0, false)]);
        // The same boot, and another computer.
        assert_eq!(listed(&boot("host", 0)), (vec![(0, true)], 1));
        assert_eq!(listed(&boot("other", -90_000)), (vec![(0, true)], 1));
    }

    #[test]
    fn counts_duplicate_journal_once() {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: JOURNAL.as_bytes() };
        let survey = JournalSurvey::scan(&Journals::from_parts(&[part, part]).unwrap(), None, None).unwrap();
        let boots = survey.finish(&mut Losses::new());
        let rows: Vec<(i64, u64, bool, bool)> =
            boots.iter().map(|boot| (boot.number, boot.entries, boot.started, boot.read)).collect();
        assert_eq!(rows, [(-2, 1, false, false), (-1, 1, true, true), (0, 1, false, false)]);
    }
}
