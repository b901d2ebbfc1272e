//! Waits between systemd units, from their declared order.
//!
//! systemd starts a unit once every unit ordered before it has started or failed, if that one is to be started at all.
//! So the unit among them that finished last released it. A oneshot unit has finished once it has exited;
//! `systemd-analyze critical-chain` skips those, because they never become active.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    DependencyKind, Milestone, ServiceChange, ServiceOutcome, ServiceTransition, StringId, Trace, milestone,
};

use super::unit::{StillStarting, Unit, UnitWait, WaitKind};
use onoff_evidence::Certainty;

/// Maximum time, ns, from the end of one start to the next one that counts as immediate; after a longer gap, something
/// else may have delayed the service manager: 100 ms.
pub(crate) const NOTABLE_GAP_NS: i64 = 100_000_000;

/// Maximum error of times from log messages relative to each other, ns: 20 ms.
const MESSAGE_ERROR_NS: i64 = 20_000_000;

/// Maximum number of starts of one unit to analyze: a unit that restarts endlessly waits for nothing.
const MAX_RESTARTS: usize = 64;

/// Targets that are not part of a boot: shutdown and rescue targets. Nearly every unit is ordered to stop before
/// `shutdown.target`, which systemd reports as `After` of that target. Source: systemd.special(7).
const NON_BOOT_TARGETS: [&str; 11] = [
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

/// The unit that triggers the scan for existing devices.
const DEVICE_SCAN: &str = "systemd-udev-trigger.service";

/// The unit starts in a recording, and their waits.
pub struct Starts<'t> {
    trace: &'t Trace,
    rows: Vec<ServiceTransition>,
    /// The units that each unit is ordered after.
    after: HashMap<StringId, Vec<StringId>>,
    /// The units that started units are ordered after.
    awaited: HashSet<StringId>,
    /// Indices in `rows`, by unit.
    places: HashMap<StringId, Vec<usize>>,
    /// End times with indices, by unit, ordered by time.
    ends: HashMap<StringId, Vec<(i64, usize)>>,
    /// When the service manager had loaded its units.
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

    /// The starts that were unfinished at `until_ns`, longest first.
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
            if !self.places.contains_key(unit) && !NON_BOOT_TARGETS.contains(&self.trace.text(*unit)) {
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
                    elapsed_ns: until_ns.saturating_sub(row.start_ns),
                    limit_ns: row.timeout_ns,
                    holds_up,
                }
            })
            .collect();
        found.sort_by(|a, b| b.elapsed_ns.cmp(&a.elapsed_ns).then(a.unit.cmp(&b.unit)));
        found
    }

    /// Index of the unit's start that finished at `end_ns`, otherwise its first start.
    pub fn place(&self, unit: &str, end_ns: i64) -> Option<usize> {
        let places = self.places.get(&self.trace.strings.find(unit)?)?;
        places
            .iter()
            .copied()
            .find(|&at| self.rows.get(at).is_some_and(|row| row.end_ns == Some(end_ns)))
            .or_else(|| places.first().copied())
    }

    /// What released the start at index `at`: the index of the other start, if it is one, and the release.
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

    /// Devices are not started but announced, after the device manager scans for devices. A device that
    /// existed before it was needed has no duration, and is only followed if another unit waits for it.
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

    /// What released a start, unless it is beyond [`MAX_RESTARTS`].
    fn release_of_first(&self, at: usize, row: &ServiceTransition) -> Option<(Option<usize>, UnitWait)> {
        self.places
            .get(&row.service)
            .and_then(|places| places.get(MAX_RESTARTS))
            .is_none_or(|&place| at < place)
            .then(|| self.release(at))
            .flatten()
    }
}

/// What each unit waited for, with the index of that unit if it is an earlier one. `units` must be sorted by start.
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
            // A device that appeared during the scan did not wait for its end.
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

/// The first milestone with this name: from the service manager's own timestamps, otherwise from its messages,
/// otherwise from the kernel log.
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
    fn declared_order_determines_waits() {
        let mut trace = Trace::default();
        trace.system.kind = SystemKind::Linux;
        for (name, start, end) in [("a.service", 10, 60), ("b.service", 10, 50), ("c.service", 61, 70)] {
            service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
        }
        // In the same slice, with no other relation.
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
        assert_eq!(services[1].held_up_total, 0);
    }

    #[test]
    fn the_device_scan_holds_up_devices_that_appear_after_it() {
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
        // The scan found both; the third device existed before it started.
        for (device, found_by) in
            [("dev-early.device", DEVICE_SCAN), ("dev-late.device", DEVICE_SCAN), ("dev-before.device", "")]
        {
            let by = of(device).waited_for.as_ref().map_or("", |wait| wait.name.as_str());
            assert_eq!(by, found_by, "{device}");
        }
        // Units are sorted by start and only earlier ones hold up others: the device jobs started before the scan, so
        // none is in its list.
        assert_eq!(of(DEVICE_SCAN).held_up, [""; 0]);
    }

    #[test]
    fn a_device_that_appears_during_the_scan_is_not_held_up() {
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
        assert_eq!(held_up(250), [""; 0], "it appeared before the scan ended");
        assert_eq!(held_up(900), ["dev-sda1.device"]);
    }
}
