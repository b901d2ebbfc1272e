//! Who waited for whom where the order is declared: systemd.
//!
//! systemd starts a unit once every unit that it is declared to come after is started (or has failed), as far as those are
//! to be started at all; so the one of them whose start ended last released it. A unit that only does one thing is done when it
//! is gone again: `systemd-analyze critical-chain` passes over those, because they never become active.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    DependencyKind, Milestone, ServiceChange, ServiceOutcome, ServiceTransition, StringId, Trace, milestone,
};

use super::unit::{StillStarting, Unit, UnitWait, WaitKind};
use onoff_evidence::Certainty;

/// How long, ns, the service manager may take from the end of one start to the next before something else is held to have kept
/// it: 100 ms.
pub(crate) const NOTABLE_GAP_NS: i64 = 100_000_000;

/// How far, ns, times that come from messages may be wrong against each other: 20 ms.
const MESSAGE_ERROR_NS: i64 = 20_000_000;

/// Starts of one unit that are looked at, at most: one that is restarted for ever waits for nobody.
const MAX_RESTARTS: usize = 64;

/// Targets that no start is to reach: those of its end and of repair. Nearly every unit is declared to be stopped before
/// `shutdown.target`, which the service manager writes as that target's `After`. Source: systemd.special(7).
const NOT_OF_A_START: [&str; 11] = [
    "emergency.target",
    "exit.target",
    "final.target",
    "halt.target",
    "kexec.target",
    "poweroff.target",
    "reboot.target",
    "rescue.target",
    "shutdown.target",
    "soft-reboot.target",
    "umount.target",
];

/// The unit that tells the device manager to look for the devices that are there.
const DEVICE_SCAN: &str = "systemd-udev-trigger.service";

/// A recording's starts of units, and their waits.
pub struct Starts<'t> {
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
    pub fn of(trace: &'t Trace) -> Self {
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
            ends.sort();
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
    pub fn has_dependencies(&self) -> bool {
        !self.after.is_empty()
    }

    pub fn row(&self, at: usize) -> Option<&ServiceTransition> {
        self.rows.get(at)
    }

    /// The starts that were not over at `until_ns`, the longest first.
    pub fn unfinished(&self, until_ns: i64) -> Vec<StillStarting> {
        let last = |row: &ServiceTransition| {
            let last = self.places.get(&row.service).and_then(|places| self.rows.get(*places.last()?));
            last.is_some_and(|last| last.start_ns == row.start_ns)
        };
        let open = |row: &&ServiceTransition| {
            row.outcome == ServiceOutcome::Unfinished && row.end_ns.is_none() && row.start_ns <= until_ns && last(row)
        };
        let mut waiting: HashMap<StringId, Vec<String>> = HashMap::new();
        for (unit, after) in &self.after {
            if !self.places.contains_key(unit) && !NOT_OF_A_START.contains(&self.trace.text(*unit)) {
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
                    limit_ns: row.timeout_ns,
                    holds_up,
                }
            })
            .collect();
        found.sort_by(|a, b| b.for_ns.cmp(&a.for_ns).then(a.unit.cmp(&b.unit)));
        found
    }

    /// The unit's start that was over at `end_ns`, or its first.
    pub fn place(&self, unit: &str, end_ns: i64) -> Option<usize> {
        let places = self.places.get(&self.trace.strings.find(unit)?)?;
        places
            .iter()
            .copied()
            .find(|&at| self.rows.get(at).is_some_and(|row| row.end_ns == Some(end_ns)))
            .or_else(|| places.first().copied())
    }

    /// What released the start at `at`: the place of the other start where it is one, and the release.
    pub fn release(&self, at: usize) -> Option<(Option<usize>, UnitWait)> {
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
        let Some((time_ns, other)) = last else { return self.manager(row).map(|release| (None, release)) };
        let unit = self.trace.text(self.rows.get(other)?.service);
        let gap_ns = row.start_ns.saturating_sub(time_ns).max(0);
        Some((
            Some(other),
            UnitWait {
                name: unit.to_owned(),
                kind: WaitKind::DeclaredOrder,
                time_ns,
                gap_ns,
                certainty: certainty(gap_ns),
            },
        ))
    }

    /// A device is not started: it is announced. That began when the device manager was told to look for devices. One that was
    /// there before anybody asked has no length, and is followed when somebody needs it.
    fn device_scan(&self, row: &ServiceTransition) -> Option<(Option<usize>, UnitWait)> {
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
            UnitWait {
                name: DEVICE_SCAN.to_owned(),
                kind: WaitKind::DeviceScan,
                time_ns: scan_ns,
                gap_ns: row.start_ns.saturating_sub(scan_ns).max(0),
                certainty: Certainty::Inferred,
            },
        ))
    }

    fn manager(&self, row: &ServiceTransition) -> Option<UnitWait> {
        let time_ns = self.loaded_ns.filter(|&loaded| loaded <= row.start_ns)?;
        let gap_ns = row.start_ns.saturating_sub(time_ns);
        Some(UnitWait { name: String::new(), kind: WaitKind::Manager, time_ns, gap_ns, certainty: certainty(gap_ns) })
    }

    fn error_ns(&self, row: &ServiceTransition) -> i64 {
        if self.trace.text(row.event).starts_with("journal") { MESSAGE_ERROR_NS } else { 0 }
    }

    /// What released a start that is not one of endless restarts.
    fn release_of_first(&self, at: usize, row: &ServiceTransition) -> Option<(Option<usize>, UnitWait)> {
        self.places
            .get(&row.service)
            .and_then(|places| places.get(MAX_RESTARTS))
            .is_none_or(|&place| at < place)
            .then(|| self.release(at))
            .flatten()
    }
}

/// For each unit what it waited for, with its position where it is one that came before. `units` are by start.
pub(super) fn waits(trace: &Trace, units: &[Unit]) -> Vec<Option<(Option<usize>, UnitWait)>> {
    let mut waits: Vec<Option<(Option<usize>, UnitWait)>> = units.iter().map(|_| None).collect();
    let places: HashMap<(&str, i64), usize> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind == ServiceChange::Start)
        .map(|(at, unit)| ((unit.name.as_str(), unit.start_ns), at))
        .collect();
    let starts = Starts::of(trace);
    for (at, row) in starts.rows.iter().enumerate() {
        let place = |row: &ServiceTransition| places.get(&(trace.text(row.service), row.start_ns)).copied();
        if let Some((other, release)) = starts.release_of_first(at, row)
            && let Some(unit) = place(row)
            && let Some(wait) = waits.get_mut(unit)
        {
            // A device that came while the scan for devices went on did not wait for the scan's end.
            let held_up = |other: &ServiceTransition| {
                release.kind != WaitKind::DeviceScan || other.end_ns.is_some_and(|end| Some(end) <= row.end_ns)
            };
            let earlier = other.and_then(|other| starts.rows.get(other)).filter(|other| held_up(other));
            let earlier = earlier.and_then(place).filter(|&earlier| earlier < unit);
            *wait = Some((earlier, release));
        }
    }
    waits
}

/// The first milestone of that name: by the service manager's own account, else by its messages, else by the kernel's log.
pub fn first(trace: &Trace, name: &str) -> Option<Milestone> {
    let name = trace.strings.find(name)?;
    trace.milestones.iter().filter(|row| row.name == name).min_by_key(|row| {
        let event = trace.text(row.event);
        let source = if event.starts_with("systemd ") { 0 } else { 1 + i32::from(event.starts_with("kernel log")) };
        (source, row.time_ns)
    })
}

fn certainty(gap_ns: i64) -> Certainty {
    if gap_ns <= NOTABLE_GAP_NS { Certainty::Measured } else { Certainty::Inferred }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::units;
    use onoff_testkit::synthetic::{MS, service};
    use onoff_trace::{ServiceDependency, SystemKind};

    #[test]
    fn declared_order_tells_who_waited_for_whom() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        for (name, start, end) in [("a.service", 10, 60), ("b.service", 10, 50), ("c.service", 61, 70)] {
            service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
        }
        // Of the same slice, and nothing else between them.
        assert_eq!(units(&trace)[2].waited_for, None);
        for on in ["a.service", "b.service"] {
            let row = ServiceDependency {
                service: trace.strings.intern("c.service"),
                kind: DependencyKind::After,
                on: trace.strings.intern(on),
            };
            trace.service_dependencies.push(row);
        }
        let services = units(&trace);
        let wait = services[2].waited_for.as_ref().unwrap();
        assert_eq!((wait.name.as_str(), wait.gap_ns), ("a.service", MS));
        assert_eq!(wait.certainty, Certainty::Measured);
        assert_eq!(services[0].held_up, ["c.service"]);
        assert_eq!(services[1].held_up_in_turn, 0);
    }

    #[test]
    fn the_scan_for_devices_holds_up_those_that_came_once_it_was_over() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        for (name, start, end) in [
            (DEVICE_SCAN, 100, 400),
            ("dev-early.device", 50, 250),
            ("dev-late.device", 50, 900),
            ("dev-before.device", 20, 60),
            ("wants.service", 950, 960),
        ] {
            service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
        }
        for on in ["dev-early.device", "dev-late.device", "dev-before.device"] {
            let row = ServiceDependency {
                service: trace.strings.intern("wants.service"),
                kind: DependencyKind::After,
                on: trace.strings.intern(on),
            };
            trace.service_dependencies.push(row);
        }
        let services = units(&trace);
        let of = |name: &str| services.iter().find(|unit| unit.name == name).unwrap();
        // Both were found by the scan; one that was there before it began was not.
        for (device, found_by) in
            [("dev-early.device", DEVICE_SCAN), ("dev-late.device", DEVICE_SCAN), ("dev-before.device", "")]
        {
            let by = of(device).waited_for.as_ref().map_or("", |wait| wait.name.as_str());
            assert_eq!(by, found_by, "{device}");
        }
        // Units are by start, and who holds up comes before: the devices' jobs began before the scan, so none is in its list.
        assert_eq!(of(DEVICE_SCAN).held_up, [""; 0]);
    }

    #[test]
    fn a_device_that_came_while_the_scan_went_on_is_not_held_up_by_it() {
        let held_up = |device_end: i64| {
            let mut trace = Trace::default();
            trace.system.kind = SystemKind::Linux;
            for (name, start, end) in [(DEVICE_SCAN, 100, 400), ("dev-sda1.device", 150, device_end)] {
                service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
            }
            let row = ServiceDependency {
                service: trace.strings.intern("a.mount"),
                kind: DependencyKind::After,
                on: trace.strings.intern("dev-sda1.device"),
            };
            trace.service_dependencies.push(row);
            let services = units(&trace);
            let device = services[1].waited_for.as_ref().unwrap();
            assert_eq!((device.name.as_str(), device.kind), (DEVICE_SCAN, WaitKind::DeviceScan));
            services[0].held_up.clone()
        };
        assert_eq!(held_up(250), [""; 0], "it came before the scan was over");
        assert_eq!(held_up(900), ["dev-sda1.device"]);
    }
}
