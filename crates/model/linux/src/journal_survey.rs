//! Which boots the journals of a recording hold, and which of them is read.

use hashbrown::HashMap;
use onoff_trace::{Losses, RecordedBoot};

use super::clocks::{Evidence, Pairs, SourceClock};
use super::journal::{Entry, JOURNAL_STOPPED, JournalFaults, STARTUP_FINISHED, id};
use super::journal_files::Journals;
use onoff_input::error::Error;

/// Boots told apart, at most.
const MAX_BOOTS: usize = 100_000;

/// Pairs of clocks that are kept of a boot, at most, and their smallest distance, µs.
const MAX_PAIRS: usize = 4_096;
const PAIR_DISTANCE_US: i64 = 1_000_000;

/// How far the wall clock of another part may be from that of the boot it belongs to, ns: 10 min.
const SAME_BOOT_NS: u64 = 600_000_000_000;

/// What a journal says of one boot.
#[derive(Clone, Debug, Default)]
struct Boot {
    id: u128,
    entries: u64,
    first_realtime_us: Option<i64>,
    last_realtime_us: Option<i64>,
    last_monotonic_us: i64,
    started: bool,
    stopped: bool,
    /// The machine, by the first entry that names it.
    machine: u128,
    host: String,
    /// Wall clock and monotonic clock, µs, as journald read them for one entry.
    pairs: Vec<(i64, i64)>,
    /// Whether its kernel says anything: a container has none.
    has_kernel: bool,
    /// The kernel message that came soonest: its own time and its arrival, µs.
    kernel: Option<(i64, i64)>,
}

impl Boot {
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
        // Until the name is set at the start, entries are of "localhost".
        if self.host.is_empty() || self.host == "localhost" && !entry.host.is_empty() {
            self.host.clear();
            self.host.push_str(&entry.host);
        }
        let by_manager = entry.pid == Some(1) && entry.user_unit.is_empty();
        self.started |= entry.message_id == STARTUP_FINISHED && by_manager;
        self.stopped |= entry.message_id == JOURNAL_STOPPED;
        if let Some((real, monotonic)) = entry.realtime_us.zip(entry.monotonic_us)
            && self.pairs.len() < MAX_PAIRS
            && self.pairs.last().is_none_or(|(_, last)| monotonic.saturating_sub(*last) >= PAIR_DISTANCE_US)
        {
            self.pairs.push((real, monotonic));
        }
        self.has_kernel |= entry.is_kernel();
        let lag = |(sent, got): (i64, i64)| got.saturating_sub(sent);
        if entry.is_kernel()
            && let Some(pair) = entry.source_monotonic_us.zip(entry.monotonic_us)
            && lag(pair) >= 0
            && self.kernel.is_none_or(|best| lag(pair) < lag(best))
        {
            self.kernel = Some(pair);
        }
    }

    /// What to add to the wall clock for the axis, ns.
    fn offset_ns(&self) -> Option<i64> {
        let (real, monotonic) = self.pairs.first()?;
        monotonic.checked_sub(*real)?.checked_mul(1_000)
    }
}

/// Whether a journal's entries go forward in time, or back, as `journalctl --reverse` writes them.
#[derive(Debug, Default)]
struct Direction {
    last: Option<(u128, i64)>,
    forward: u64,
    back: u64,
}

impl Direction {
    fn add(&mut self, entry: &Entry<'_>) {
        let Some(at) = entry.monotonic_us else { return };
        if let Some((boot, last)) = self.last
            && boot == entry.boot
        {
            self.forward += u64::from(at > last);
            self.back += u64::from(at < last);
        }
        self.last = Some((entry.boot, at));
    }

    fn is_back(&self) -> bool {
        self.back > self.forward
    }
}

/// The boots of a recording's journals, in the order in which they began: that of their entries, which a wall clock without a
/// battery does not know.
#[derive(Clone, Debug, Default)]
pub(super) struct JournalSurvey {
    boots: Vec<Boot>,
    chosen: Option<usize>,
    faults: JournalFaults,
}

impl JournalSurvey {
    /// Looks through `journals` and chooses the boot to read: that which was asked for; else that which the
    /// wall clock of another part says the recording is of; else the last one that was started completely; else the last.
    ///
    /// # Errors
    /// No boot is the one asked for.
    pub(super) fn of(journals: &Journals<'_>, asked: Option<&str>, offset_ns: Option<i64>) -> Result<Self, Error> {
        let mut survey = Self::default();
        let mut places: HashMap<u128, usize> = HashMap::new();
        let Self { boots, faults, .. } = &mut survey;
        let several = journals.iter().count() > 1;
        for journal in journals.iter() {
            // A journal that comes in both formats counts once.
            let mut of_part: Vec<Boot> = Vec::new();
            let mut direction = Direction::default();
            places.clear();
            journal.entries(None, faults, |entry| {
                if entry.boot == 0 {
                    return;
                }
                direction.add(entry);
                let at = *places.entry(entry.boot).or_insert_with(|| {
                    if of_part.len() < MAX_BOOTS {
                        of_part.push(Boot { id: entry.boot, ..Boot::default() });
                    }
                    of_part.len().saturating_sub(1)
                });
                if let Some(boot) = of_part.get_mut(at).filter(|boot| boot.id == entry.boot) {
                    boot.add(entry);
                }
            });
            if direction.is_back() {
                of_part.reverse();
            }
            for boot in of_part {
                match boots.iter_mut().find(|known| known.id == boot.id) {
                    Some(known) if known.entries >= boot.entries => {}
                    Some(known) => *known = boot,
                    // Of several journals only the wall clock says how they lie to each other.
                    None => {
                        let later = |known: &Boot| known.first_realtime_us > boot.first_realtime_us;
                        let at = if several { boots.iter().position(later) } else { None };
                        boots.insert(at.unwrap_or(boots.len()), boot);
                    }
                }
            }
        }
        survey.chosen = match asked {
            Some(asked) => Some(
                survey
                    .asked_for(asked)
                    .ok_or_else(|| Error::NoSuchBoot { asked: asked.to_owned(), boots: survey.boots.len() })?,
            ),
            None => survey.of_recording(offset_ns),
        };
        Ok(survey)
    }

    /// The same, with the boot at `place` as the one to read.
    pub(super) fn choosing(&self, place: usize) -> Self {
        Self { chosen: Some(place), ..self.clone() }
    }

    /// Numbers as `journalctl --boot` counts: 0 the last, -1 the one before, 1 the first.
    fn asked_for(&self, asked: &str) -> Option<usize> {
        let at = match asked.parse::<i64>() {
            Ok(number) if number > 0 && asked.len() < 32 => usize::try_from(number).ok()? - 1,
            Ok(number) if asked.len() < 32 => {
                self.boots.len().checked_sub(1)?.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)?
            }
            _ => {
                let id = id(asked);
                self.boots.iter().position(|boot| id != 0 && boot.id == id)?
            }
        };
        (at < self.boots.len()).then_some(at)
    }

    fn of_recording(&self, offset_ns: Option<i64>) -> Option<usize> {
        let distance = |boot: &Boot| Some(boot.offset_ns()?.abs_diff(offset_ns?));
        let same = (0..self.boots.len())
            .filter_map(|at| Some((distance(self.boots.get(at)?)?, at)))
            .filter(|&(distance, _)| distance <= SAME_BOOT_NS)
            .min();
        same.map(|(_, at)| at)
            .or_else(|| self.boots.iter().rposition(|boot| boot.started && !self.is_of_container(boot)))
            .or_else(|| self.boots.iter().rposition(|boot| !self.is_of_container(boot)))
            .or_else(|| self.boots.len().checked_sub(1))
    }

    /// Whether a boot is one of a container, whose journal its host keeps beside its own (`systemd-nspawn --link-journal`): of a machine
    /// of which no kernel says anything, where one of another machine does.
    fn is_of_container(&self, boot: &Boot) -> bool {
        let mut of_kernels = self.boots.iter().filter(|other| other.has_kernel).map(|other| other.machine);
        boot.machine != 0 && of_kernels.clone().next().is_some() && !of_kernels.any(|machine| machine == boot.machine)
    }

    /// Whether the boot asked for is not the one that the wall clock of the other parts belongs to.
    pub(super) fn is_another_boot(&self, offset_ns: Option<i64>) -> bool {
        self.chosen.is_some() && self.chosen != self.of_recording(offset_ns)
    }

    /// The boot that is read.
    pub(super) fn boot(&self) -> Option<u128> {
        Some(self.boots.get(self.chosen?)?.id)
    }

    /// Adds what the journal of the chosen boot knows of other clocks.
    pub(super) fn clock_pairs(&self, pairs: &mut Pairs) {
        let Some(boot) = self.chosen.and_then(|at| self.boots.get(at)) else { return };
        for &(real, monotonic) in &boot.pairs {
            if let Some((real, monotonic)) = real.checked_mul(1_000).zip(monotonic.checked_mul(1_000)) {
                let how = "wall clock and monotonic clock of journal entries";
                pairs.add(SourceClock::RealTime, Evidence::Reading, how, real, monotonic);
            }
        }
        if let Some((sent, got)) =
            boot.kernel.and_then(|(sent, got)| sent.checked_mul(1_000).zip(got.checked_mul(1_000)))
        {
            let how = "the kernel message that reached the journal soonest";
            pairs.add(SourceClock::KernelLog, Evidence::Receipt, how, sent, got);
        }
    }

    /// The boots, for the reports; and what was wrong with the journals.
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
                read: self.chosen == Some(at),
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

    fn survey(asked: Option<&str>, offset_ns: Option<i64>) -> Option<u128> {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: JOURNAL.as_bytes() };
        JournalSurvey::of(&Journals::of(&[part, part]).unwrap(), asked, offset_ns).ok()?.boot()
    }

    #[test]
    fn a_boot_is_chosen_as_journalctl_counts() {
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
    fn by_itself_the_last_complete_boot_is_read_unless_another_part_has_its_wall_clock() {
        assert_eq!(survey(None, None), Some(0xbb));
        assert_eq!(survey(None, Some(-100_000)), Some(0xaa));
    }

    #[test]
    fn the_boot_of_a_container_is_read_only_if_it_is_asked_for() {
        let entry = |boot: u32, machine: u32, second: u32, more: &str| {
            format!("_BOOT_ID={boot:032x}\n_MACHINE_ID={machine:032x}\n__REALTIME_TIMESTAMP={second}000000\n{more}\n\n")
        };
        let finished = "_PID=1\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff";
        let kernel = "_TRANSPORT=kernel";
        let chosen = |entries: &[String], asked: Option<&str>| {
            let text = entries.concat();
            let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: text.as_bytes() };
            JournalSurvey::of(&Journals::of(&[part]).unwrap(), asked, None).unwrap().boot()
        };
        let host = [entry(1, 7, 1, kernel), entry(1, 7, 2, finished)];
        // It started later than its host, and completely.
        let container = [entry(2, 8, 3, ""), entry(2, 8, 4, finished)];
        let both = [&host[..], &container[..]].concat();
        assert_eq!(chosen(&both, None), Some(1));
        assert_eq!(chosen(&both, Some("0")), Some(2));
        // Another computer has a kernel, and where nobody's kernel says anything, nobody is a container.
        let other = [entry(3, 9, 5, kernel), entry(3, 9, 6, finished)];
        assert_eq!(chosen(&[&both[..], &other[..]].concat(), None), Some(3));
        assert_eq!(chosen(&container, None), Some(2));
        // A journal of which rotation took the begin of a boot is still its machine's.
        let rotated = [entry(4, 7, 7, finished)];
        assert_eq!(chosen(&[&both[..], &rotated[..]].concat(), None), Some(4));
    }

    fn order(journal: &str) -> Vec<u128> {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: journal.as_bytes() };
        let survey = JournalSurvey::of(&Journals::of(&[part]).unwrap(), None, None).unwrap();
        survey.boots.iter().map(|boot| boot.id).collect()
    }

    #[test]
    fn boots_are_in_the_order_of_their_entries_whatever_the_wall_clock_says() {
        let entry = |boot: u32, real: u32, monotonic: u32| {
            format!("_BOOT_ID={boot:032x}\n__REALTIME_TIMESTAMP={real}\n__MONOTONIC_TIMESTAMP={monotonic}\n\n")
        };
        let forward = [entry(0xa, 900, 1), entry(0xa, 950, 51), entry(0xb, 100, 1), entry(0xb, 150, 51)];
        assert_eq!(order(&forward.concat()), [0xa, 0xb]);
        let mut back = forward;
        back.reverse();
        assert_eq!(order(&back.concat()), [0xa, 0xb]);
    }

    #[test]
    fn boots_of_several_machines_are_told_apart_by_what_their_entries_say() {
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
    fn a_journal_in_both_formats_counts_once() {
        let part = Part { kind: PartKind::JournalExport, name: "journal", bytes: JOURNAL.as_bytes() };
        let survey = JournalSurvey::of(&Journals::of(&[part, part]).unwrap(), None, None).unwrap();
        let boots = survey.finish(&mut Losses::new());
        let rows: Vec<(i64, u64, bool, bool)> =
            boots.iter().map(|boot| (boot.number, boot.entries, boot.started, boot.read)).collect();
        assert_eq!(rows, [(-2, 1, false, false), (-1, 1, true, true), (0, 1, false, false)]);
    }
}
