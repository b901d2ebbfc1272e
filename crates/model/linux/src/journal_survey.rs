//! Lists the boots in the journals of a recording and selects the one to read.

use hashbrown::HashMap;
use onoff_trace::{Losses, RecordedBoot};

use super::clocks::{ClockPairs, Evidence, SourceClock};
use super::journal::{Entry, JOURNAL_STOPPED, JournalFaults, STARTUP_FINISHED, id};
use super::journal_files::Journals;
use onoff_input::error::Error;

/// Maximum number of boots.
const MAX_BOOTS: usize = 100_000;

/// Maximum number of clock pairs per boot, and their minimum distance, µs.
const MAX_PAIRS: usize = 4_096;
const MIN_PAIR_DISTANCE_US: i64 = 1_000_000;

/// Maximum difference between the wall clock of another part and that of its boot: 10 min.
const MAX_CLOCK_DIFFERENCE_NS: u64 = 600_000_000_000;

/// Summary of one boot in a journal.
#[derive(Clone, Debug, Default)]
struct BootSummary {
    id: u128,
    entries: u64,
    first_realtime_us: Option<i64>,
    last_realtime_us: Option<i64>,
    last_monotonic_us: i64,
    started: bool,
    stopped: bool,
    /// Machine id from the first entry that has one.
    machine: u128,
    host: String,
    /// Wall clock and monotonic clock, µs, as journald read them for one entry.
    pairs: Vec<(i64, i64)>,
    /// True if there are kernel messages; a container has none.
    has_kernel: bool,
    /// The kernel message with the smallest delay: its own time and its arrival, µs.
    kernel: Option<(i64, i64)>,
}

impl BootSummary {
    fn add(&mut self, entry: &Entry<'_>) {
        self.entries += 1;
        if let Some(at) = entry.realtime_us {
            self.first_realtime_us = Some(self.first_realtime_us.map_or(at, |first| first.min(at)));
            self.last_realtime_us = self.last_realtime_us.max(Some(at));
        }
        if let Some(at) = entry.monotonic_us {
            self.last_monotonic_us = self.last_monotonic_us.max(at);
        }
        if self.machine == 0 {
            self.machine = entry.machine;
        }
        // Before the host name is set, entries have "localhost".
        if self.host.is_empty() || self.host == "localhost" && !entry.host.is_empty() {
            self.host.clear();
            self.host.push_str(&entry.host);
        }
        let by_manager = entry.pid == Some(1) && entry.user_unit.is_empty();
        self.started |= entry.message_id == STARTUP_FINISHED && by_manager;
        self.stopped |= entry.message_id == JOURNAL_STOPPED;
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
            && self.kernel.is_none_or(|best| lag(pair) < lag(best))
        {
            self.kernel = Some(pair);
        }
    }

    /// Offset from the wall clock to the axis, ns.
    fn offset_ns(&self) -> Option<i64> {
        let (real, monotonic) = self.pairs.first()?;
        monotonic.checked_sub(*real)?.checked_mul(1_000)
    }
}

/// Whether a journal's entries go forward in time, or backward as with `journalctl --reverse`.
#[derive(Debug, Default)]
struct Direction {
    last: Option<(u128, i64)>,
    forward: u64,
    backward: u64,
}

impl Direction {
    fn add(&mut self, entry: &Entry<'_>) {
        let Some(at) = entry.monotonic_us else { return };
        if let Some((boot, last)) = self.last
            && boot == entry.boot
        {
            self.forward += u64::from(at > last);
            self.backward += u64::from(at < last);
        }
        self.last = Some((entry.boot, at));
    }

    fn is_reversed(&self) -> bool {
        self.backward > self.forward
    }
}

/// The boots of a recording's journals in chronological order. The order is that of their entries, because a wall clock
/// without a battery may be wrong.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalSurvey {
    boots: Vec<BootSummary>,
    selected: Option<usize>,
    faults: JournalFaults,
}

impl JournalSurvey {
    /// Scans `journals` and selects the boot to read: the requested one; else the one that matches the wall clock of
    /// another part; else the last one that started completely; else the last.
    pub(super) fn of(journals: &Journals<'_>, requested: Option<&str>, offset_ns: Option<i64>) -> Result<Self, Error> {
        let mut survey = Self::default();
        let mut places: HashMap<u128, usize> = HashMap::new();
        let Self { boots, faults, .. } = &mut survey;
        let several = journals.iter().count() > 1;
        for journal in journals.iter() {
            // A journal present in two formats counts once.
            let mut of_part: Vec<BootSummary> = Vec::new();
            let mut direction = Direction::default();
            places.clear();
            journal.entries(None, faults, |entry| {
                if entry.boot == 0 {
                    return;
                }
                direction.add(entry);
                let at = *places.entry(entry.boot).or_insert_with(|| {
                    if of_part.len() < MAX_BOOTS {
                        of_part.push(BootSummary { id: entry.boot, ..BootSummary::default() });
                    }
                    of_part.len().saturating_sub(1)
                });
                if let Some(boot) = of_part.get_mut(at).filter(|boot| boot.id == entry.boot) {
                    boot.add(entry);
                }
            });
            if direction.is_reversed() {
                of_part.reverse();
            }
            for boot in of_part {
                match boots.iter_mut().find(|known| known.id == boot.id) {
                    Some(known) if known.entries >= boot.entries => {}
                    Some(known) => *known = boot,
                    // Only the wall clock gives the order of boots from several journals.
                    None => {
                        let later = |known: &BootSummary| known.first_realtime_us > boot.first_realtime_us;
                        let at = if several { boots.iter().position(later) } else { None };
                        boots.insert(at.unwrap_or(boots.len()), boot);
                    }
                }
            }
        }
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

    /// A copy with the boot at `place` selected.
    pub(super) fn with_selected(&self, place: usize) -> Self {
        Self { selected: Some(place), ..self.clone() }
    }

    /// Parses a boot id or number as `journalctl --boot` does: 0 is the last, -1 the one before it, 1 the first.
    fn find_requested(&self, requested: &str) -> Option<usize> {
        let at = match requested.parse::<i64>() {
            Ok(number) if number > 0 && requested.len() < 32 => usize::try_from(number).ok()? - 1,
            Ok(number) if requested.len() < 32 => {
                self.boots.len().checked_sub(1)?.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?
            }
            _ => {
                let id = id(requested);
                self.boots.iter().position(|boot| id != 0 && boot.id == id)?
            }
        };
        (at < self.boots.len()).then_some(at)
    }

    fn default_boot(&self, offset_ns: Option<i64>) -> Option<usize> {
        let distance = |boot: &BootSummary| Some(boot.offset_ns()?.abs_diff(offset_ns?));
        let same = (0..self.boots.len())
            .filter_map(|at| Some((distance(self.boots.get(at)?)?, at)))
            .filter(|&(distance, _)| distance <= MAX_CLOCK_DIFFERENCE_NS)
            .min();
        same.map(|(_, at)| at)
            .or_else(|| self.boots.iter().rposition(|boot| boot.started && !self.is_container(boot)))
            .or_else(|| self.boots.iter().rposition(|boot| !self.is_container(boot)))
            .or_else(|| self.boots.len().checked_sub(1))
    }

    /// True for a boot of a container, whose journal its host stores next to its own (`systemd-nspawn --link-journal`):
    /// its machine has no kernel messages, while another machine has.
    fn is_container(&self, boot: &BootSummary) -> bool {
        let mut kernel_machines = self.boots.iter().filter(|other| other.has_kernel).map(|other| other.machine);
        boot.machine != 0
            && kernel_machines.clone().next().is_some()
            && !kernel_machines.any(|machine| machine == boot.machine)
    }

    /// True if the selected boot is not the one that the other parts' wall clock belongs to.
    pub(super) fn is_another_boot(&self, offset_ns: Option<i64>) -> bool {
        self.selected.is_some() && self.selected != self.default_boot(offset_ns)
    }

    /// Id of the selected boot.
    pub(super) fn boot(&self) -> Option<u128> {
        Some(self.boots.get(self.selected?)?.id)
    }

    /// Adds the clock pairs of the selected boot.
    pub(super) fn clock_pairs(&self, pairs: &mut ClockPairs) {
        let Some(boot) = self.selected.and_then(|at| self.boots.get(at)) else { return };
        for &(real, monotonic) in &boot.pairs {
            if let Some((real, monotonic)) = real.checked_mul(1_000).zip(monotonic.checked_mul(1_000)) {
                let how = "wall clock and monotonic clock of journal entries";
                pairs.add(SourceClock::RealTime, Evidence::Reading, how, real, monotonic);
            }
        }
        if let Some((sent, received)) =
            boot.kernel.and_then(|(sent, received)| sent.checked_mul(1_000).zip(received.checked_mul(1_000)))
        {
            let how = "kernel message with the smallest delay to the journal";
            pairs.add(SourceClock::KernelLog, Evidence::Receipt, how, sent, received);
        }
    }

    /// The boots, for the reports; adds the journals' faults to `losses`.
    pub(super) fn finish(self, losses: &mut Losses) -> Vec<RecordedBoot> {
        self.faults.count(losses);
        let last = self.boots.len();
        let ns = |us: Option<i64>| us.and_then(|us| us.checked_mul(1_000));
        self.boots
            .iter()
            .enumerate()
            .map(|(at, boot)| RecordedBoot {
                id: format!("{:032x}", boot.id),
                machine: if boot.machine == 0 { String::new() } else { format!("{:032x}", boot.machine) },
                host: boot.host.clone(),
                number: i64::try_from(at + 1).unwrap_or(i64::MAX) - i64::try_from(last).unwrap_or(i64::MAX),
                first_unix_ns: ns(boot.first_realtime_us),
                last_unix_ns: ns(boot.last_realtime_us),
                entries: boot.entries,
                started: boot.started,
                stopped: boot.stopped,
                read: self.selected == Some(at),
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
        JournalSurvey::of(&Journals::of(&[part, part]).unwrap(), requested, offset_ns).ok()?.boot()
    }

    #[test]
    fn selects_boot_like_journalctl() {
        for (asked, expected) in [
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
            assert_eq!(survey(Some(asked), None), expected, "{asked}");
        }
    }

    #[test]
    fn selects_last_complete_boot_or_the_one_matching_the_wall_clock() {
        assert_eq!(survey(None, None), Some(0xbb));
        assert_eq!(survey(None, Some(-100_000)), Some(0xaa));
    }

    #[test]
    fn selects_container_boot_only_on_request() {
        let entry = |boot: u32, machine: u32, second: u32, more: &str| {
            format!("_BOOT_ID={boot:032x}\n_MACHINE_ID={machine:032x}\n__REALTIME_TIMESTAMP={second}000000\n{more}\n\n")
        };
        let finished = "_PID=1\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff";
        let kernel = "_TRANSPORT=kernel";
        let selected = |entries: &[String], requested: Option<&str>| {
            let text = entries.concat();
            let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
            JournalSurvey::of(&Journals::of(&[part]).unwrap(), requested, None).unwrap().boot()
        };
        let host = [entry(1, 7, 1, kernel), entry(1, 7, 2, finished)];
        // It started later than its host, and completely.
        let container = [entry(2, 8, 3, ""), entry(2, 8, 4, finished)];
        let both = [&host[..], &container[..]].concat();
        assert_eq!(selected(&both, None), Some(1));
        assert_eq!(selected(&both, Some("0")), Some(2));
        // Another computer has kernel messages. If no machine has any, none is a container.
        let other = [entry(3, 9, 5, kernel), entry(3, 9, 6, finished)];
        assert_eq!(selected(&[&both[..], &other[..]].concat(), None), Some(3));
        assert_eq!(selected(&container, None), Some(2));
        // Rotation removed the beginning of this boot, but it still belongs to its machine.
        let rotated = [entry(4, 7, 7, finished)];
        assert_eq!(selected(&[&both[..], &rotated[..]].concat(), None), Some(4));
    }

    fn order(journal: &str) -> Vec<u128> {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: journal.as_bytes() };
        let survey = JournalSurvey::of(&Journals::of(&[part]).unwrap(), None, None).unwrap();
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

    #[test]
    fn reports_machine_and_host_of_each_boot() {
        let entry = |boot: u32, machine: u32, host: &str| {
            format!("_BOOT_ID={boot:032x}\n__REALTIME_TIMESTAMP=1\n_MACHINE_ID={machine:032x}\n_HOSTNAME={host}\n\n")
        };
        let text = [entry(1, 7, "localhost"), entry(1, 7, "web"), entry(2, 8, "db"), entry(3, 7, "web")].concat();
        let unnamed = "_BOOT_ID=00000000000000000000000000000004\n__REALTIME_TIMESTAMP=1\n\n";
        let text = text + unnamed;
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
        let survey = JournalSurvey::of(&Journals::of(&[part]).unwrap(), None, None).unwrap();
        let machine = |number: u32| if number == 0 { String::new() } else { format!("{number:032x}") };
        let found: Vec<(String, String)> =
            survey.finish(&mut Losses::new()).into_iter().map(|boot| (boot.machine, boot.host)).collect();
        let expected = [(7, "web"), (8, "db"), (7, "web"), (0, "")];
        assert_eq!(found, expected.map(|(number, host)| (machine(number), host.to_owned())));
    }

    #[test]
    fn counts_duplicate_journal_once() {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: JOURNAL.as_bytes() };
        let survey = JournalSurvey::of(&Journals::of(&[part, part]).unwrap(), None, None).unwrap();
        let boots = survey.finish(&mut Losses::new());
        let rows: Vec<(i64, u64, bool, bool)> =
            boots.iter().map(|boot| (boot.number, boot.entries, boot.started, boot.read)).collect();
        assert_eq!(rows, [(-2, 1, false, false), (-1, 1, true, true), (0, 1, false, false)]);
    }
}
