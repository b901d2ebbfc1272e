//! Infers waits between systemd units from times, for recordings without declared order.
//!
//! systemd starts a unit a few milliseconds after the last unit it is ordered after has finished. A start therefore
//! shows what it waited for: the unit that finished right before it. If several did, the boot waited for the unit during
//! which nothing else started for longest. A unit after whose end nothing starts for seconds held up nobody.

use hashbrown::HashSet;

use super::declared_order::{NOTABLE_GAP_NS, UnitStarts};
use super::unit::{UnitWait, WaitKind};
use onoff_evidence::Certainty;
use onoff_evidence::significance::NOTICEABLE_NS;
use onoff_trace::ServiceTransition;

/// After this time without a start, a unit that finished before it released nothing, ns: 2 s.
pub const SILENCE_NS: i64 = 2_000_000_000;

/// A unit during which nothing else started for this long was waited for, whatever else finished at the same time, ns.
const QUIET_NS: i64 = 300_000_000;

/// What released a start, and where the search continues.
#[derive(Clone, Debug)]
pub struct ObservedRelease {
    pub wait: UnitWait,
    /// The unit that the start waited for: its index, and the start of its part of the path, ns. `None` if it is unknown.
    pub predecessor: Option<(usize, i64)>,
    /// If the unit is unknown, the earlier start from which the search continues, ns.
    pub continue_ns: Option<i64>,
}

/// The starts of a recording that can hold up others.
pub struct ObservedOrder<'s, 't> {
    starts: &'s UnitStarts<'t>,
    /// Ends with indices of units that do work, ordered by time.
    work_ends: Vec<(i64, usize)>,
    /// The same of units whose start and end have the same time, in logs with whole seconds.
    brief_ends: Vec<(i64, usize)>,
    /// The same of devices.
    device_ends: Vec<(i64, usize)>,
    /// Starts of units that do work, ordered by time.
    work_starts_ns: Vec<i64>,
    /// Maximum time from an end to a start that it released, ns.
    window_ns: i64,
    /// Maximum error of times relative to each other, ns.
    error_ns: i64,
    /// 1 s for logs with whole seconds, otherwise 0.
    resolution_ns: i64,
}

impl<'s, 't> ObservedOrder<'s, 't> {
    #[must_use]
    pub fn new(starts: &'s UnitStarts<'t>) -> Self {
        let rows = || starts.rows().iter().enumerate().filter(|(_, row)| row.automatic);
        let ends = |is_wanted: &dyn Fn(&str) -> bool| {
            let finished = rows().filter(|(_, row)| is_wanted(starts.name(row)));
            let mut ends: Vec<(i64, usize)> = finished
                .filter_map(|(index, row)| Some((row.end_ns.filter(|&end| end > row.start_ns)?, index)))
                .collect();
            ends.sort_unstable();
            ends
        };
        let work_ends = ends(&does_work);
        let device_ends = ends(&is_device);
        let resolution_ns = starts.log_resolution_ns();
        let is_brief = |row: &ServiceTransition| row.end_ns == Some(row.start_ns) && does_work(starts.name(row));
        let mut brief_ends: Vec<(i64, usize)> = rows()
            .filter(|(_, row)| resolution_ns > 0 && is_brief(row))
            .map(|(index, row)| (row.start_ns, index))
            .collect();
        brief_ends.sort_unstable();
        let mut work_starts_ns: Vec<i64> =
            rows().filter(|(_, row)| does_work(starts.name(row))).map(|(_, row)| row.start_ns).collect();
        work_starts_ns.sort_unstable();
        let error_ns = starts.rows().iter().map(|row| starts.error_ns(row)).max().unwrap_or_default();
        Self {
            starts,
            work_ends,
            brief_ends,
            device_ends,
            work_starts_ns,
            window_ns: NOTABLE_GAP_NS.saturating_add(resolution_ns),
            error_ns,
            resolution_ns,
        }
    }

    /// Returns what released a unit that started at `time_ns`, except units in `visited`; `None` if nothing earlier was
    /// recorded.
    #[must_use]
    pub fn release(&self, time_ns: i64, visited: &HashSet<usize>) -> Option<ObservedRelease> {
        let loaded_ns = self.starts.loaded_ns().filter(|&loaded| loaded <= time_ns);
        let first_ns = loaded_ns.unwrap_or(i64::MIN);
        let finished = self.finished_right_before((first_ns, time_ns), self.error_ns, visited);
        // Times in whole seconds may be late by one.
        let finished = finished.or_else(|| match self.resolution_ns {
            0 => None,
            late_ns => self.finished_right_before((first_ns, time_ns), late_ns, visited),
        });
        if let Some((index, start_ns, end_ns)) = finished {
            return Some(self.released_by(index, (start_ns, end_ns), time_ns));
        }
        let last = self.last_finished(time_ns, visited).filter(|&(end_ns, _)| end_ns > first_ns);
        let Some((end_ns, index)) = last else {
            // The service manager starts the first units; in an initramfs, an earlier one started others.
            let loaded_ns = loaded_ns?;
            let predecessor = self.last_finished(loaded_ns, visited);
            let predecessor = predecessor.and_then(|(_, index)| Some((index, self.starts.row(index)?.start_ns)));
            let gap_ns = time_ns.saturating_sub(loaded_ns);
            let wait = wait(String::new(), WaitKind::Manager, loaded_ns, gap_ns);
            return Some(ObservedRelease { wait, predecessor, continue_ns: None });
        };
        let row = self.starts.row(index)?;
        let gap_ns = time_ns.saturating_sub(end_ns);
        if gap_ns < SILENCE_NS.saturating_add(self.window_ns) {
            return Some(self.released_by(index, (row.start_ns, end_ns), time_ns));
        }
        let starts_before = self.work_starts_ns.partition_point(|&start| start <= end_ns);
        let continue_ns = starts_before.checked_sub(1).and_then(|last| self.work_starts_ns.get(last).copied());
        let wait = wait(self.starts.name(row).to_owned(), WaitKind::Unexplained, end_ns, gap_ns);
        Some(ObservedRelease { wait, predecessor: None, continue_ns })
    }

    fn released_by(&self, index: usize, (start_ns, end_ns): (i64, i64), time_ns: i64) -> ObservedRelease {
        let name = self.starts.row(index).map_or("", |row| self.starts.name(row)).to_owned();
        let gap_ns = time_ns.saturating_sub(end_ns).max(0);
        ObservedRelease {
            wait: wait(name, WaitKind::ObservedOrder, end_ns.min(time_ns), gap_ns),
            predecessor: Some((index, start_ns)),
            continue_ns: None,
        }
    }

    /// Returns the unit that finished right before `time_ns` and was most likely waited for, with the start and the end
    /// of the wait.
    fn finished_right_before(
        &self,
        (first_ns, time_ns): (i64, i64),
        error_ns: i64,
        visited: &HashSet<usize>,
    ) -> Option<(usize, i64, i64)> {
        let finished = |ends: &'_ [(i64, usize)]| -> Vec<(i64, usize)> {
            let from = ends.partition_point(|&(end, _)| end < time_ns.saturating_sub(self.window_ns).max(first_ns));
            let until = ends.partition_point(|&(end, _)| end <= time_ns.saturating_add(error_ns));
            ends.get(from..until).unwrap_or_default().to_vec()
        };
        let row =
            |index: usize| self.starts.row(index).filter(|row| row.start_ns < time_ns && !visited.contains(&index));
        // A message may be late by the error, but not the end of a unit that hardly ran before.
        let is_plausible = |row: &ServiceTransition, end_ns: i64| {
            end_ns <= time_ns || end_ns.saturating_sub(row.start_ns) > error_ns.saturating_mul(4)
        };
        // Starts right before do not count: several units may finish and release others at about the same time.
        let quiet_until_ns = time_ns.saturating_sub(self.window_ns);
        let works: Vec<(i64, usize, i64)> = finished(&self.work_ends)
            .into_iter()
            .filter_map(|(end_ns, index)| {
                let row = row(index).filter(|row| is_plausible(row, end_ns))?;
                Some((end_ns, index, self.quiet_since(row.start_ns, quiet_until_ns)))
            })
            .collect();
        let devices = finished(&self.device_ends).into_iter().filter_map(|(end_ns, index)| {
            let row = row(index).filter(|row| is_plausible(row, end_ns))?;
            let last_end = self.last_end_before(end_ns).unwrap_or(row.start_ns);
            let since_ns = self.quiet_since(row.start_ns, quiet_until_ns).max(last_end);
            // Every boot waits for its disk, for up to a second.
            (end_ns.saturating_sub(since_ns) >= NOTICEABLE_NS).then_some((end_ns, index, since_ns))
        });
        let devices: Vec<(i64, usize, i64)> = devices.collect();
        let quiet_ns = |&(end_ns, _, since_ns): &(i64, usize, i64)| end_ns.saturating_sub(since_ns);
        let max_quiet_ns = works.iter().chain(&devices).map(quiet_ns).max().unwrap_or_default();
        // About as quiet: the last to finish counts.
        let min_quiet_ns = (max_quiet_ns - max_quiet_ns / 5).max(QUIET_NS);
        let quiet_units = works.iter().chain(&devices).filter(|candidate| quiet_ns(candidate) >= min_quiet_ns);
        let last = quiet_units.max_by_key(|&&(end_ns, index, _)| (end_ns.min(time_ns), self.duration_ns(index)));
        if let Some(&(end_ns, index, since_ns)) = last {
            let is_device = devices.iter().any(|device| device.1 == index);
            let start_ns = if is_device { since_ns } else { self.starts.row(index)?.start_ns };
            return Some((index, start_ns, end_ns));
        }
        let &(end_ns, index, _) =
            works.iter().max_by_key(|&&(end_ns, index, _)| (end_ns.min(time_ns), self.duration_ns(index)))?;
        Some((index, self.starts.row(index)?.start_ns, end_ns))
    }

    fn duration_ns(&self, index: usize) -> i64 {
        let row = self.starts.row(index);
        row.and_then(|row| Some(row.end_ns?.saturating_sub(row.start_ns))).unwrap_or_default()
    }

    /// Returns since when nothing else had started at `until_ns`, at the earliest `start_ns`.
    fn quiet_since(&self, start_ns: i64, until_ns: i64) -> i64 {
        let count = self.work_starts_ns.partition_point(|&start| start < until_ns);
        let last_start = count.checked_sub(1).and_then(|last| self.work_starts_ns.get(last).copied());
        last_start.map_or(start_ns, |last_start| last_start.max(start_ns))
    }

    fn last_end_before(&self, time_ns: i64) -> Option<i64> {
        let count = self.work_ends.partition_point(|&(end, _)| end < time_ns);
        self.work_ends.get(count.checked_sub(1)?).map(|&(end, _)| end)
    }

    /// Returns the last unit that finished by `time_ns`: its end and index.
    fn last_finished(&self, time_ns: i64, visited: &HashSet<usize>) -> Option<(i64, usize)> {
        let last = |ends: &[(i64, usize)], until_ns: i64| {
            let count = ends.partition_point(|&(end, _)| end <= until_ns);
            let finished = ends.get(..count).unwrap_or_default();
            finished.iter().rev().find(|(_, index)| !visited.contains(index)).copied()
        };
        let brief = last(&self.brief_ends, time_ns.saturating_sub(1));
        // Of two that finished in one second, the longer one counts.
        match (last(&self.work_ends, time_ns), brief) {
            (Some(work), Some(brief)) if brief.0 > work.0 => Some(brief),
            (None, brief) => brief,
            (work, _) => work,
        }
    }
}

fn wait(name: String, kind: WaitKind, time_ns: i64, gap_ns: i64) -> UnitWait {
    UnitWait { name, kind, time_ns, gap_ns, certainty: Certainty::Inferred }
}

/// Waits until the rest of the boot is done, so nothing waits for its work.
pub const PLYMOUTH_WAIT: &str = "plymouth-quit-wait.service";

/// True for units whose start takes time. Targets, sockets and timers are done at once. Before version 249, systemd
/// printed descriptions instead of unit names.
fn does_work(unit: &str) -> bool {
    const DONE_AT_ONCE: [&str; 7] = [".target", ".socket", ".slice", ".scope", ".path", ".timer", ".automount"];
    unit != PLYMOUTH_WAIT && !is_device(unit) && !DONE_AT_ONCE.iter().any(|kind| unit.ends_with(kind))
}

fn is_device(unit: &str) -> bool {
    unit.ends_with(".device")
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, service};
    use onoff_trace::{SystemKind, Trace};

    /// Returns the names of what was waited for, backwards from `time_ms`, with the gaps in ms.
    fn walk(units: &[(&str, i64, i64)], time_ms: i64) -> Vec<(String, i64)> {
        walk_log(units, time_ms, 0)
    }

    /// The same for a log with this resolution.
    fn walk_log(units: &[(&str, i64, i64)], time_ms: i64, log_resolution_ns: i64) -> Vec<(String, i64)> {
        let mut trace = Trace { log_resolution_ns, ..Trace::default() };
        trace.system.kind = SystemKind::Linux;
        for &(name, start, end) in units {
            service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
        }
        let starts = UnitStarts::new(&trace);
        let order = ObservedOrder::new(&starts);
        let mut visited = HashSet::new();
        let mut time_ns = time_ms * MS;
        let mut names = Vec::new();
        while let Some(release) = order.release(time_ns, &visited) {
            names.push((release.wait.name.clone(), release.wait.gap_ns / MS));
            let Some(next) = release.predecessor.map(|(_, start)| start).or(release.continue_ns) else { break };
            visited.extend(release.predecessor.map(|(index, _)| index));
            time_ns = next;
        }
        names
    }

    fn names(walk: &[(String, i64)]) -> Vec<&str> {
        walk.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_start_waits_for_the_unit_that_finished_right_before() {
        let units = [
            ("first.service", 100, 600),
            ("wait-online.service", 603, 9_600),
            // Longer, but nothing started after it.
            ("parallel.service", 610, 11_950),
            ("needs-network.service", 9_605, 13_000),
        ];
        assert_eq!(names(&walk(&units, 13_004)), ["needs-network.service", "wait-online.service", "first.service"]);
    }

    #[test]
    fn among_units_that_finished_together_the_one_during_which_nothing_started_counts() {
        let units = [("slow.service", 100, 8_000), ("timer.service", 7_900, 7_990), ("late.service", 8_005, 8_500)];
        assert_eq!(names(&walk(&units, 8_501)), ["late.service", "slow.service"]);
        // A long unit that ends in the middle of other starts was not waited for.
        let mut busy: Vec<(String, i64, i64)> =
            (0..40).map(|i| (format!("step{i}.service"), 100 + i * 200, 298 + i * 200)).collect();
        busy.push(("background.service".to_owned(), 100, 8_060));
        let busy: Vec<_> = busy.iter().map(|(name, start, end)| (name.as_str(), *start, *end)).collect();
        let found = walk(&busy, 8_100);
        assert_eq!(found.len(), 40, "{found:?}");
        assert!(found.iter().all(|(name, _)| name != "background.service"), "{found:?}");
    }

    #[test]
    fn a_unit_after_whose_end_nothing_starts_held_up_nobody() {
        let units = [("first.service", 100, 600), ("slow.service", 605, 9_000), ("last.service", 20_000, 20_500)];
        let found = walk(&units, 20_501);
        assert_eq!(names(&found), ["last.service", "slow.service", "first.service"]);
        assert_eq!(found[1].1, 11_000, "the gap is not the unit's");
    }

    #[test]
    fn a_device_counts_if_only_devices_were_starting() {
        let units = [
            ("first.service", 100, 600),
            ("dev-sdb1.device", 150, 6_600),
            ("dev-sda1.device", 150, 6_600),
            ("data.mount", 6_640, 6_700),
        ];
        let found = walk(&units, 6_701);
        assert!(names(&found)[1].ends_with(".device"), "{found:?}");
        assert_eq!(names(&found)[2], "first.service");
        // It appeared early; something else was starting.
        let units = [("first.service", 100, 6_600), ("dev-sda1.device", 150, 700), ("data.mount", 6_640, 6_700)];
        assert_eq!(names(&walk(&units, 6_701)), ["data.mount", "first.service"]);
    }

    #[test]
    fn brief_unit_before_a_gap_is_named() {
        let units = [
            ("a.service", 1_000, 2_000),
            ("brief.service", 5_000, 5_000),
            ("later.service", 20_000, 22_000),
            ("beside.service", 20_000, 20_000),
        ];
        let found = walk_log(&units, 22_000, 1_000 * MS);
        assert_eq!(found[1], ("brief.service".to_owned(), 15_000), "{found:?}");
        // In a log with exact times, such a unit did nothing.
        let found = walk_log(&units, 22_000, 0);
        assert_eq!(found[1], ("a.service".to_owned(), 18_000), "{found:?}");
        // A longer one that finished in the same second is more likely.
        let units = [units[0], ("longer.service", 3_000, 5_000), units[1], units[2]];
        let found = walk_log(&units, 22_000, 1_000 * MS);
        assert_eq!(found[1], ("longer.service".to_owned(), 15_000), "{found:?}");
    }

    #[test]
    fn whole_seconds_widen_the_window() {
        let units = [
            ("a.service", 1_000, 2_000),
            ("b.service", 2_000, 9_000),
            ("c.service", 2_000, 4_000),
            ("d.service", 10_000, 12_000),
            ("e.service", 12_000, 12_000),
        ];
        let found = walk_log(&units, 12_000, 1_000 * MS);
        assert_eq!(names(&found), ["d.service", "b.service", "a.service"]);
    }
}
