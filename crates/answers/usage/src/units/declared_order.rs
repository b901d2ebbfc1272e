//! Finds waits between systemd units from their declared order.
//!
//! systemd starts a unit once all requested units that are ordered before it have started or failed. The last of them
//! to finish therefore released it. A oneshot unit finishes when it exits; `systemd-analyze critical-chain` skips
//! oneshot units, because they never become active.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{
    DependencyKind, Milestone, ServiceChange, ServiceOutcome, ServiceTransition, StringId, Trace, milestone,
};

use super::unit::{StillStarting, Unit, UnitWait, WaitKind};
use onoff_evidence::Certainty;

/// Maximum time, ns, from the end of a start to the next start that counts as immediate: 100 ms. After a longer gap,
/// something else may have delayed the service manager.
pub const NOTABLE_GAP_NS: i64 = 100_000_000;

/// Maximum error of times from log messages relative to each other, ns: 20 ms.
const MESSAGE_ERROR_NS: i64 = 20_000_000;

/// Maximum number of starts of one unit to analyze: a unit that restarts endlessly waits for nothing.
const MAX_RESTARTS: usize = 64;

/// Targets that are not part of a boot: shutdown and rescue targets. Nearly every unit is ordered to stop before
/// `shutdown.target`, which systemd reports as `After` of that target. Source: systemd.special(7).
pub const NON_BOOT_TARGETS: [&str; 11] = [
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
pub const DEVICE_SCAN: &str = "systemd-udev-trigger.service";

/// The unit starts in a recording, and their waits.
pub struct UnitStarts<'t> {
    trace: &'t Trace,
    rows: Vec<ServiceTransition>,
    /// The units that each unit is ordered after.
    preceding_units: HashMap<StringId, Vec<StringId>>,
    /// The units that any started unit is ordered after.
    predecessors: HashSet<StringId>,
    /// Indices in `rows`, by unit.
    indices: HashMap<StringId, Vec<usize>>,
    /// End times with indices, by unit, ordered by time.
    ends: HashMap<StringId, Vec<(i64, usize)>>,
    /// When the service manager finished loading its units.
    loaded_ns: Option<i64>,
}

impl<'t> UnitStarts<'t> {
    pub fn new(trace: &'t Trace) -> Self {
        let mut rows: Vec<ServiceTransition> =
            trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start).collect();
        rows.sort_by(|a, b| (a.start_ns, trace.text(a.service)).cmp(&(b.start_ns, trace.text(b.service))));
        let mut indices: HashMap<StringId, Vec<usize>> = HashMap::new();
        let mut ends: HashMap<StringId, Vec<(i64, usize)>> = HashMap::new();
        for (index, row) in rows.iter().enumerate() {
            indices.entry(row.service).or_default().push(index);
            if let Some(end_ns) = row.end_ns {
                ends.entry(row.service).or_default().push((end_ns, index));
            }
        }
        for ends in ends.values_mut() {
            ends.sort();
        }
        let mut preceding_units: HashMap<StringId, Vec<StringId>> = HashMap::new();
        let mut predecessors = HashSet::new();
        for row in trace.service_dependencies.iter() {
            if row.kind == DependencyKind::After {
                preceding_units.entry(row.service).or_default().push(row.on);
                if indices.contains_key(&row.service) {
                    predecessors.insert(row.on);
                }
            }
        }
        let loaded = [milestone::UNITS_LOAD_END, milestone::USER_SPACE_BEGIN]
            .into_iter()
            .find_map(|name| first_milestone(trace, name));
        Self { trace, rows, preceding_units, predecessors, indices, ends, loaded_ns: loaded.map(|row| row.time_ns) }
    }

    /// Returns the resolution of times in text logs, ns.
    pub fn log_resolution_ns(&self) -> i64 {
        self.trace.log_resolution_ns
    }

    /// Returns whether dependencies were recorded.
    pub fn has_dependencies(&self) -> bool {
        !self.preceding_units.is_empty()
    }

    pub fn row(&self, index: usize) -> Option<&ServiceTransition> {
        self.rows.get(index)
    }

    /// Returns the starts, ordered by time.
    pub fn rows(&self) -> &[ServiceTransition] {
        &self.rows
    }

    /// Returns when the service manager finished loading its units.
    pub fn loaded_ns(&self) -> Option<i64> {
        self.loaded_ns
    }

    /// Returns the finished starts that a start is ordered after, as (end, index): of each preceding unit, the last
    /// one that ended by the time of the start.
    pub fn predecessors(&self, row: &ServiceTransition) -> impl Iterator<Item = (i64, usize)> + '_ {
        let (service, until_ns) = (row.service, row.start_ns.saturating_add(self.error_ns(row)));
        let preceding_units = self.preceding_units.get(&service).into_iter().flatten();
        preceding_units.filter(move |&&unit| unit != service).filter_map(move |unit| {
            let ends = self.ends.get(unit)?;
            let count = ends.partition_point(|&(end_ns, _)| end_ns <= until_ns);
            ends.get(count.checked_sub(1)?).copied()
        })
    }

    /// Returns the starts that were unfinished at `until_ns`, longest first.
    pub fn unfinished(&self, until_ns: i64) -> Vec<StillStarting> {
        let is_last_start = |row: &ServiceTransition| {
            let last_start = self.indices.get(&row.service).and_then(|indices| self.rows.get(*indices.last()?));
            last_start.is_some_and(|last_start| last_start.start_ns == row.start_ns)
        };
        let is_unfinished = |row: &&ServiceTransition| {
            row.outcome == ServiceOutcome::Unfinished
                && row.end_ns.is_none()
                && row.start_ns <= until_ns
                && is_last_start(row)
        };
        let mut waiting_units: HashMap<StringId, Vec<String>> = HashMap::new();
        for (unit, preceding_units) in &self.preceding_units {
            if !self.indices.contains_key(unit) && !NON_BOOT_TARGETS.contains(&self.trace.text(*unit)) {
                for preceding_unit in preceding_units {
                    waiting_units.entry(*preceding_unit).or_default().push(self.trace.text(*unit).to_owned());
                }
            }
        }
        let mut unfinished: Vec<StillStarting> = self
            .rows
            .iter()
            .filter(is_unfinished)
            .map(|row| {
                let mut holds_up = waiting_units.get(&row.service).cloned().unwrap_or_default();
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
        unfinished.sort_by(|a, b| b.elapsed_ns.cmp(&a.elapsed_ns).then(a.unit.cmp(&b.unit)));
        unfinished
    }

    /// Returns the index of the unit's start that finished at `end_ns`, otherwise of its first start.
    pub fn index_of(&self, unit: &str, end_ns: i64) -> Option<usize> {
        let indices = self.indices.get(&self.trace.strings.find(unit)?)?;
        indices
            .iter()
            .copied()
            .find(|&index| self.rows.get(index).is_some_and(|row| row.end_ns == Some(end_ns)))
            .or_else(|| indices.first().copied())
    }

    /// Returns what released the start at `index`: the wait, and the index of the start it waited for, if any.
    pub fn release(&self, index: usize) -> Option<(Option<usize>, UnitWait)> {
        let row = self.rows.get(index)?;
        if !self.has_dependencies() {
            return None;
        }
        let name = self.trace.text(row.service);
        if name.ends_with(".device")
            && let Some(release) = self.device_scan_release(row)
        {
            return Some(release);
        }
        let last_end = self.predecessors(row).max();
        let Some((time_ns, predecessor)) = last_end else {
            return self.manager_release(row).map(|release| (None, release));
        };
        let unit = self.trace.text(self.rows.get(predecessor)?.service);
        let gap_ns = row.start_ns.saturating_sub(time_ns).max(0);
        Some((
            Some(predecessor),
            UnitWait {
                name: unit.to_owned(),
                kind: WaitKind::DeclaredOrder,
                time_ns,
                gap_ns,
                certainty: certainty(gap_ns),
            },
        ))
    }

    /// Returns the device scan as the release of a device. Devices are not started; the device manager announces them
    /// after a scan. A device that existed before it was needed has no duration, and is only followed if another unit
    /// waits for it.
    fn device_scan_release(&self, row: &ServiceTransition) -> Option<(Option<usize>, UnitWait)> {
        let scan_indices = self.indices.get(&self.trace.strings.find(DEVICE_SCAN)?)?;
        let end_ns = row.end_ns?;
        if row.start_ns >= end_ns && !self.predecessors.contains(&row.service) {
            return None;
        }
        let (scan_ns, scan_index) = scan_indices
            .iter()
            .filter_map(|&index| Some((self.rows.get(index)?.start_ns, index)))
            .filter(|&(start_ns, _)| start_ns <= end_ns)
            .max()?;
        Some((
            Some(scan_index),
            UnitWait {
                name: DEVICE_SCAN.to_owned(),
                kind: WaitKind::DeviceScan,
                time_ns: scan_ns,
                gap_ns: row.start_ns.saturating_sub(scan_ns).max(0),
                certainty: Certainty::Inferred,
            },
        ))
    }

    fn manager_release(&self, row: &ServiceTransition) -> Option<UnitWait> {
        let time_ns = self.loaded_ns.filter(|&loaded| loaded <= row.start_ns)?;
        let gap_ns = row.start_ns.saturating_sub(time_ns);
        Some(UnitWait { name: String::new(), kind: WaitKind::Manager, time_ns, gap_ns, certainty: certainty(gap_ns) })
    }

    /// Returns the name of a row's unit.
    pub fn name(&self, row: &ServiceTransition) -> &'t str {
        self.trace.text(row.service)
    }

    pub(super) fn error_ns(&self, row: &ServiceTransition) -> i64 {
        if self.trace.text(row.event).starts_with("journal") { MESSAGE_ERROR_NS } else { 0 }
    }

    /// Returns what released a start, unless it is beyond [`MAX_RESTARTS`].
    fn release_if_counted(&self, index: usize, row: &ServiceTransition) -> Option<(Option<usize>, UnitWait)> {
        self.indices
            .get(&row.service)
            .and_then(|indices| indices.get(MAX_RESTARTS))
            .is_none_or(|&first_excluded| index < first_excluded)
            .then(|| self.release(index))
            .flatten()
    }
}

/// Returns what each unit waited for, with the index of that unit if it started earlier. `units` must be sorted by
/// start.
pub(super) fn waits(trace: &Trace, units: &[Unit]) -> Vec<Option<(Option<usize>, UnitWait)>> {
    let mut waits: Vec<Option<(Option<usize>, UnitWait)>> = units.iter().map(|_| None).collect();
    let unit_indices: HashMap<(&str, i64), usize> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind == ServiceChange::Start)
        .map(|(index, unit)| ((unit.name.as_str(), unit.start_ns), index))
        .collect();
    let starts = UnitStarts::new(trace);
    let unit_index = |row: &ServiceTransition| unit_indices.get(&(trace.text(row.service), row.start_ns)).copied();
    for (index, row) in starts.rows.iter().enumerate() {
        if let Some((predecessor, release)) = starts.release_if_counted(index, row)
            && let Some(unit) = unit_index(row)
            && let Some(wait) = waits.get_mut(unit)
        {
            // A device that appeared during the scan did not wait for its end.
            let is_held_up_by = |predecessor: &ServiceTransition| {
                release.kind != WaitKind::DeviceScan || predecessor.end_ns.is_some_and(|end| Some(end) <= row.end_ns)
            };
            let earlier = predecessor
                .and_then(|predecessor| starts.rows.get(predecessor))
                .filter(|predecessor| is_held_up_by(predecessor))
                .and_then(unit_index)
                .filter(|&earlier| earlier < unit);
            *wait = Some((earlier, release));
        }
    }
    waits
}

/// Returns the first milestone with this name: from the service manager's own timestamps, otherwise from its messages,
/// otherwise from the kernel log.
pub fn first_milestone(trace: &Trace, name: &str) -> Option<Milestone> {
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
        let find = |name: &str| services.iter().find(|unit| unit.name == name).unwrap();
        // The scan found the first two devices; the third device existed before the scan started.
        for (device, found_by) in
            [("dev-early.device", DEVICE_SCAN), ("dev-late.device", DEVICE_SCAN), ("dev-before.device", "")]
        {
            let waited_for = find(device).waited_for.as_ref().map_or("", |wait| wait.name.as_str());
            assert_eq!(waited_for, found_by, "{device}");
        }
        // Only units that started earlier hold up others. The device jobs started before the scan, so it held up none.
        assert_eq!(find(DEVICE_SCAN).held_up, [""; 0]);
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
