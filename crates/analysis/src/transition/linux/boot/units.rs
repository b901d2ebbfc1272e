//! Starts of units, and what each waited for last.
//!
//! systemd starts a unit once every unit that it is declared to come after is started (or has failed), as far as those are
//! to be started at all; so the one of them whose start ended last released it. A unit that only does one thing is done when it
//! is gone again: `systemd-analyze critical-chain` passes over those, because they never become active.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    DependencyKind, Duration, ServiceChange, ServiceOutcome, ServiceTransition, StringId, Trace, milestone,
};

use super::phases::first;
use super::report::{StillStarting, UnitRelease, UnitReleaseKind, UnitStart};
use crate::evidence::Certainty;

/// How long, ns, the service manager may take from the end of one start to the next before something else is held to have kept
/// it: 100 ms.
pub(super) const NOTABLE_GAP_NS: i64 = 100_000_000;

/// How far, ns, times that come from messages may be wrong against each other: 20 ms.
const MESSAGE_ERROR_NS: i64 = 20_000_000;

/// Starts of one unit that are looked at, at most: one that is restarted for ever waits for nobody.
const MOST_RESTARTS: usize = 64;

/// The unit that tells the device manager to look for the devices that are there.
const DEVICE_SCAN: &str = "systemd-udev-trigger.service";

/// A recording's starts of units, and their waits.
pub(super) struct Starts<'t> {
    trace: &'t Trace,
    rows: Vec<ServiceTransition>,
    /// What each unit is declared to come after.
    after: HashMap<StringId, Vec<StringId>>,
    /// What units that were started are declared to come after.
    awaited: HashSet<StringId>,
    /// Places among `rows`, by unit.
    places: HashMap<StringId, Vec<usize>>,
    /// Ends with their places, by unit, in the order of time.
    ends: HashMap<StringId, Vec<(i64, usize)>>,
    /// When the service manager had read its units.
    loaded_ns: Option<i64>,
}

impl<'t> Starts<'t> {
    pub(super) fn of(trace: &'t Trace) -> Self {
        let mut rows: Vec<ServiceTransition> =
            trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start).collect();
        rows.sort_by(|a, b| (a.start_ns, trace.text(a.service)).cmp(&(b.start_ns, trace.text(b.service))));
        let mut places: HashMap<StringId, Vec<usize>> = HashMap::new();
        let mut ends: HashMap<StringId, Vec<(i64, usize)>> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            places.entry(row.service).or_default().push(at);
            if let Some(end_ns) = row.end_ns {
                ends.entry(row.service).or_default().push((end_ns, at));
            }
        }
        for ends in ends.values_mut() {
            ends.sort_unstable();
        }
        let mut after: HashMap<StringId, Vec<StringId>> = HashMap::new();
        let mut awaited = HashSet::new();
        for row in trace.service_dependencies.iter() {
            if row.kind == DependencyKind::After {
                after.entry(row.service).or_default().push(row.on);
                if places.contains_key(&row.service) {
                    awaited.insert(row.on);
                }
            }
        }
        let loaded =
            [milestone::UNITS_LOAD_END, milestone::USER_SPACE_BEGIN].into_iter().find_map(|name| first(trace, name));
        Self { trace, rows, after, awaited, places, ends, loaded_ns: loaded.map(|row| row.time_ns) }
    }

    /// Whether dependencies were recorded.
    pub(super) fn has_dependencies(&self) -> bool {
        !self.after.is_empty()
    }

    pub(super) fn row(&self, at: usize) -> Option<&ServiceTransition> {
        self.rows.get(at)
    }

    /// The starts that were not over at `until_ns`, the longest first.
    pub(super) fn unfinished(&self, until_ns: i64) -> Vec<StillStarting> {
        let last = |row: &ServiceTransition| {
            let last = self.places.get(&row.service).and_then(|places| self.rows.get(*places.last()?));
            last.is_some_and(|last| last.start_ns == row.start_ns)
        };
        let open = |row: &&ServiceTransition| {
            row.outcome == ServiceOutcome::Unfinished && row.end_ns.is_none() && row.start_ns <= until_ns && last(row)
        };
        let mut waiting: HashMap<StringId, Vec<String>> = HashMap::new();
        for (unit, after) in &self.after {
            if !self.places.contains_key(unit) {
                for on in after {
                    waiting.entry(*on).or_default().push(self.trace.text(*unit).to_owned());
                }
            }
        }
        let mut found: Vec<StillStarting> = self
            .rows
            .iter()
            .filter(open)
            .map(|row| {
                let mut holds_up = waiting.get(&row.service).cloned().unwrap_or_default();
                holds_up.sort();
                holds_up.dedup();
                StillStarting {
                    unit: self.trace.text(row.service).to_owned(),
                    start_ns: row.start_ns,
                    for_ns: until_ns.saturating_sub(row.start_ns),
                    timeout_ns: row.timeout_ns,
                    holds_up,
                }
            })
            .collect();
        found.sort_by(|a, b| b.for_ns.cmp(&a.for_ns).then(a.unit.cmp(&b.unit)));
        found
    }

    /// The unit's start that was over at `end_ns`, or its first.
    pub(super) fn place(&self, unit: &str, end_ns: i64) -> Option<usize> {
        let places = self.places.get(&self.trace.strings.find(unit)?)?;
        places
            .iter()
            .copied()
            .find(|&at| self.rows.get(at).is_some_and(|row| row.end_ns == Some(end_ns)))
            .or_else(|| places.first().copied())
    }

    /// What released the start at `at`: the place of the other start where it is one, and the release.
    pub(super) fn release(&self, at: usize) -> Option<(Option<usize>, UnitRelease)> {
        let row = self.rows.get(at)?;
        if !self.has_dependencies() {
            return None;
        }
        let name = self.trace.text(row.service);
        if name.ends_with(".device")
            && let Some(release) = self.device_scan(row)
        {
            return Some(release);
        }
        let until_ns = row.start_ns.saturating_add(self.error_ns(row));
        let last = self
            .after
            .get(&row.service)
            .into_iter()
            .flatten()
            .filter(|&&on| on != row.service)
            .filter_map(|on| {
                let ends = self.ends.get(on)?;
                let before = ends.partition_point(|&(end_ns, _)| end_ns <= until_ns);
                ends.get(before.checked_sub(1)?).copied()
            })
            .max();
        let Some((time_ns, other)) = last else {
            return self.manager(row).map(|release| (None, release));
        };
        let unit = self.trace.text(self.rows.get(other)?.service);
        let gap_ns = row.start_ns.saturating_sub(time_ns).max(0);
        Some((
            Some(other),
            UnitRelease {
                unit: unit.to_owned(),
                kind: UnitReleaseKind::After,
                time_ns,
                gap_ns,
                certainty: certainty(gap_ns),
                evidence: evidence(name, unit, gap_ns),
            },
        ))
    }

    /// A device is not started: it is announced. That began when the device manager was told to look for devices. One that was
    /// there before anybody asked has no length, and is followed when somebody needs it.
    fn device_scan(&self, row: &ServiceTransition) -> Option<(Option<usize>, UnitRelease)> {
        let places = self.places.get(&self.trace.strings.find(DEVICE_SCAN)?)?;
        let end_ns = row.end_ns?;
        if row.start_ns >= end_ns && !self.awaited.contains(&row.service) {
            return None;
        }
        let (scan_ns, other) = places
            .iter()
            .filter_map(|&other| Some((self.rows.get(other)?.start_ns, other)))
            .filter(|&(start_ns, _)| start_ns <= end_ns)
            .max()?;
        Some((
            Some(other),
            UnitRelease {
                unit: DEVICE_SCAN.to_owned(),
                kind: UnitReleaseKind::DeviceScan,
                time_ns: scan_ns,
                gap_ns: row.start_ns.saturating_sub(scan_ns).max(0),
                certainty: Certainty::Inferred,
                evidence: format!(
                    "{} was announced {} after {DEVICE_SCAN} began to ask for the devices that are there",
                    self.trace.text(row.service),
                    Duration::from_ns(end_ns.saturating_sub(scan_ns))
                ),
            },
        ))
    }

    fn manager(&self, row: &ServiceTransition) -> Option<UnitRelease> {
        let time_ns = self.loaded_ns.filter(|&loaded| loaded <= row.start_ns)?;
        let gap_ns = row.start_ns.saturating_sub(time_ns);
        Some(UnitRelease {
            unit: String::new(),
            kind: UnitReleaseKind::Manager,
            time_ns,
            gap_ns,
            certainty: certainty(gap_ns),
            evidence: format!(
                "nothing that {} comes after was started before it; the service manager had read its units {} earlier",
                self.trace.text(row.service),
                Duration::from_ns(gap_ns)
            ),
        })
    }

    fn error_ns(&self, row: &ServiceTransition) -> i64 {
        if self.trace.text(row.event).starts_with("journal") { MESSAGE_ERROR_NS } else { 0 }
    }

    /// What released a start that is not one of endless restarts.
    fn release_of_first(&self, at: usize, row: &ServiceTransition) -> Option<(Option<usize>, UnitRelease)> {
        self.places
            .get(&row.service)
            .and_then(|places| places.get(MOST_RESTARTS))
            .is_none_or(|&place| at < place)
            .then(|| self.release(at))
            .flatten()
    }

    /// Every start that another start released: both, and how.
    pub(super) fn releases(&self) -> Vec<(ServiceTransition, ServiceTransition, UnitRelease)> {
        let rows = self.rows.iter().enumerate();
        rows.filter_map(|(at, row)| {
            let (other, release) = self.release_of_first(at, row)?;
            Some((*row, *self.rows.get(other?)?, release))
        })
        .collect()
    }

    /// Every start, by start, with what it waited for; `path` are the places of the critical path.
    pub(super) fn units(&self, path: &HashSet<usize>) -> Vec<UnitStart> {
        let text = |id| self.trace.text(id).to_owned();
        let mut others = Vec::with_capacity(self.rows.len());
        let mut units: Vec<UnitStart> = Vec::with_capacity(self.rows.len());
        for (at, row) in self.rows.iter().enumerate() {
            let (other, waited_for) = match self.release_of_first(at, row) {
                Some((other, release)) => (other, Some(release)),
                None => (None, None),
            };
            others.push(other);
            units.push(UnitStart {
                name: text(row.service),
                slice: text(row.group),
                start_ns: row.start_ns,
                process_start_ns: row.checkpoint_ns,
                end_ns: row.end_ns,
                total_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns).max(0)),
                command: text(row.container),
                pid: row.container_pid,
                outcome: row.outcome,
                result: text(row.result),
                timeout_ns: row.timeout_ns,
                automatic: row.automatic,
                on_critical_path: path.contains(&at),
                waited_for,
                held_up: Vec::new(),
                held_up_in_turn: 0,
                event: text(row.event),
            });
        }
        // Who waits is started later, so from the last start back every count is complete when it is passed on.
        for (at, other) in others.into_iter().enumerate().rev() {
            let Some(other) = other.filter(|&other| other < at) else {
                continue;
            };
            let (name, in_turn) = match units.get(at) {
                Some(unit) => (unit.name.clone(), unit.held_up_in_turn.saturating_add(1)),
                None => continue,
            };
            if let Some(unit) = units.get_mut(other) {
                unit.held_up.push(name);
                unit.held_up_in_turn = unit.held_up_in_turn.saturating_add(in_turn);
            }
        }
        for unit in &mut units {
            unit.held_up.reverse();
        }
        units
    }
}

fn certainty(gap_ns: i64) -> Certainty {
    if gap_ns <= NOTABLE_GAP_NS { Certainty::Measured } else { Certainty::Inferred }
}

fn evidence(unit: &str, other: &str, gap_ns: i64) -> String {
    let order = format!("{unit} is declared to start after {other}, the last of those to be done");
    if gap_ns <= NOTABLE_GAP_NS {
        format!("{order}, {} before", Duration::from_ns(gap_ns))
    } else {
        format!(
            "{order}, but {} before: the service manager was kept, or the unit was asked for later",
            Duration::from_ns(gap_ns)
        )
    }
}
