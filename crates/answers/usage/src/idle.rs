//! Idle detection: finds when a computer becomes idle, by accumulating idle time slices.
//!
//! There are two published metrics:
//!
//! * xperf's PostBoot uses slices of 100 ms. A slice is idle if CPU and disk are each at least 80 % idle, excluding
//!   work at low priority. The computer is idle when 10 s of idle slices, not necessarily adjacent, have accumulated
//!   (source: the Microsoft paper "Windows On/Off Transition Performance Analysis", 2011).
//! * The assessments of the Windows Assessment and Deployment Kit (Post On/Off) use windows of 500 ms. A window counts
//!   if CPU and disk utilization are each below 20 %, excluding work at low priority. It then adds its length minus the
//!   busy time of CPU or disk, whichever is higher. The computer is idle when 5 s have accumulated.
//!
//! Where both sources leave terms undefined, onoff defines them: CPU utilization is the average over all CPUs; disk
//! utilization is the utilization of the busiest disk; low priority is a thread priority below 8, or a low or very low
//! I/O priority.

use std::collections::BTreeMap;

use onoff_trace::{DiskIo, TableName, Trace, milestone};
use serde::Serialize;

use crate::cpu::{self, CpuSource};
use crate::owners::{NORMAL_PRIORITY, Owners};
use onoff_evidence::rule::{IdleCutOff, IdleTime, Rule};
use onoff_evidence::{Certainty, affecting_losses};

/// How an idle slice adds to the accumulated idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Accumulation {
    /// By its whole length.
    WholeSlice,
    /// By its length minus the busy time of CPU or disk, whichever is higher.
    LessBusyTime,
}

/// An idle metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleMetric {
    /// `xperf` or `adk`.
    pub name: &'static str,
    /// Length of a slice, ns.
    pub slice_ns: i64,
    /// A slice is idle if CPU and disk are each busy for less than this percentage (or exactly this percentage, see
    /// `busy_limit_included`).
    pub busy_limit_percent: f64,
    /// Whether a slice that is busy for exactly the limit is idle.
    pub busy_limit_included: bool,
    /// How an idle slice adds to the accumulated idle time.
    pub accumulation: Accumulation,
    /// Idle time to accumulate, ns.
    pub required_idle_ns: i64,
}

impl IdleMetric {
    /// xperf's PostBoot metric: 100 ms, at least 80 % idle, 10 s.
    pub const XPERF: IdleMetric = IdleMetric {
        name: "xperf",
        slice_ns: 100_000_000,
        busy_limit_percent: 20.0,
        busy_limit_included: true,
        accumulation: Accumulation::WholeSlice,
        required_idle_ns: 10_000_000_000,
    };

    /// The assessments' Post On/Off metric: 500 ms, less than 20 % busy, 5 s.
    pub const ADK: IdleMetric = IdleMetric {
        name: "adk",
        slice_ns: 500_000_000,
        busy_limit_percent: 20.0,
        busy_limit_included: false,
        accumulation: Accumulation::LessBusyTime,
        required_idle_ns: 5_000_000_000,
    };
}

impl Default for IdleMetric {
    fn default() -> Self {
        Self::XPERF
    }
}

/// A slice and its contribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slice {
    /// Start, ns.
    pub start_ns: i64,
    /// CPU utilization, averaged over all CPUs, excluding low priority, percent; `None` if CPU usage was not recorded.
    pub cpu_busy_percent: Option<f64>,
    /// Utilization of the busiest disk, excluding low priority, percent; `None` if disk requests were not recorded.
    pub disk_busy_percent: Option<f64>,
    pub idle: bool,
    /// Accumulated idle time at the end of this slice, ns.
    pub accumulated_ns: i64,
}

/// How long a computer took to become idle, and how that was determined.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settling {
    pub metric: IdleMetric,
    /// Where counting started, ns.
    pub start_ns: Option<i64>,
    /// End of the slice that completed the required idle time, ns; `None` if the recording ended earlier.
    pub end_ns: Option<i64>,
    /// Accumulated idle time, ns: the required idle time if `end_ns` is known, otherwise the idle time up to the end of
    /// the recording.
    pub idle_ns: i64,
    /// Time in busy slices, ns ("disturbance" in xperf's terms).
    pub busy_ns: i64,
    /// Source of CPU utilization.
    pub cpu_source: CpuSource,
    pub disk_recorded: bool,
    /// The rule that set the end, or why there is none.
    pub rule: Rule,
    /// Certainty of the end.
    pub certainty: Certainty,
    /// Preferred rules that did not match.
    pub unmatched_rules: Vec<Rule>,
    /// The slices, in order.
    pub slices: Vec<Slice>,
    /// Names of the losses that can affect the result.
    pub affecting_losses: Vec<String>,
}

impl Default for Settling {
    fn default() -> Self {
        Self {
            metric: IdleMetric::XPERF,
            start_ns: None,
            end_ns: None,
            idle_ns: 0,
            busy_ns: 0,
            cpu_source: CpuSource::None,
            disk_recorded: false,
            rule: Rule::None,
            certainty: Certainty::Missing,
            unmatched_rules: Vec::new(),
            slices: Vec::new(),
            affecting_losses: Vec::new(),
        }
    }
}

/// Maximum number of slices: more than a day of 100 ms slices.
const MAX_SLICES: i64 = 1_000_000;

/// Slices per batch: 15 s of 100 ms slices, half as much again as the idle time that ends a search.
const SLICES_PER_BATCH: usize = 150;

/// Maximum number of disks to distinguish; all further disks count as one.
const MAX_DISKS: usize = 64;

/// Finds when the computer becomes idle, counting from `start_ns`.
///
/// Only slices that are entirely covered by CPU usage data count. Without context switches, samples are used and the
/// result is inferred; without either it is unknown.
#[must_use]
pub fn find_settling(trace: &Trace, start_ns: i64, metric: IdleMetric) -> Settling {
    let mut owners = Owners::from_trace(trace);
    // Time asleep is not idle time, so the search ends at the next sleep.
    let latest_ns = owners.asleep().next_start(start_ns).unwrap_or(i64::MAX);
    find_settling_before(trace, &mut owners, start_ns, latest_ns, metric)
}

/// Like [`find_settling`], with given thread owners, up to `latest_ns`. Data after the end is not read.
#[must_use]
pub fn find_settling_before(
    trace: &Trace,
    owners: &mut Owners,
    start_ns: i64,
    latest_ns: i64,
    metric: IdleMetric,
) -> Settling {
    let slice_ns = metric.slice_ns.max(1);
    let recorded_interval = cpu::recorded_interval(trace).filter(|&(begin, _)| begin <= start_ns);
    let until_ns = recorded_interval.map_or(start_ns, |(_, end)| end.min(latest_ns));
    let count = (until_ns.saturating_sub(start_ns) / slice_ns).clamp(0, MAX_SLICES);
    let cuts: Vec<i64> = (0..=count).map(|index| start_ns.saturating_add(index.saturating_mul(slice_ns))).collect();
    let disk_recorded = !trace.disk_ios.is_empty();
    let cpu_source = cpu::source(trace);
    let mut tables = cpu_source.tables().to_vec();
    tables.push(TableName::DiskIos);
    let mut settling = Settling {
        metric,
        start_ns: Some(start_ns),
        cpu_source,
        disk_recorded,
        affecting_losses: affecting_losses(trace, &tables),
        ..Settling::default()
    };
    if cpu_source != CpuSource::ContextSwitches {
        settling.unmatched_rules.push(Rule::ContextSwitches);
    }
    if !disk_recorded {
        settling.unmatched_rules.push(Rule::DiskRequests);
    }
    if cpu_source == CpuSource::None {
        if let Some(settling) = settling.by_windows_account(trace) {
            return settling;
        }
        settling.unmatched_rules.push(Rule::ProfileSamples);
        settling.rule = Rule::IdleTimeNotRecorded(metric.idle_time());
        return settling;
    }

    let mut remaining_cuts = &cuts[..];
    while remaining_cuts.len() > 1 && settling.end_ns.is_none() {
        let batch = &remaining_cuts[..remaining_cuts.len().min(SLICES_PER_BATCH + 1)];
        settling.add_slices(trace, owners, batch);
        remaining_cuts = &remaining_cuts[batch.len() - 1..];
    }
    let total_ns = slice_ns.saturating_mul(i64::try_from(settling.slices.len()).unwrap_or(i64::MAX));
    settling.busy_ns = total_ns - settling.idle_ns;
    match settling.end_ns {
        Some(_) => {
            settling.rule = Rule::IdleTime(metric.idle_time());
            settling.certainty = match (cpu_source, disk_recorded) {
                (CpuSource::ContextSwitches, true) => Certainty::Measured,
                _ => Certainty::Inferred,
            };
        }
        None => {
            let ended = if until_ns == latest_ns {
                IdleCutOff::AnalyzedInterval
            } else if until_ns < trace.duration_ns {
                IdleCutOff::ProcessorTimes
            } else {
                IdleCutOff::Recording
            };
            settling.rule = Rule::IdleTimeCutOff { wanted: metric.idle_time(), ended, found_ns: settling.idle_ns };
            settling.unmatched_rules.push(Rule::MoreIdleTime { idle_ns: metric.required_idle_ns - settling.idle_ns });
        }
    }
    settling
}

impl Settling {
    /// Takes the end from Windows' own account, which leaves out the idle time it waited for or counts wall time.
    fn by_windows_account(&self, trace: &Trace) -> Option<Self> {
        let account = trace.windows_account.as_ref()?;
        let idle = trace.strings.find(milestone::ACCOUNT_IDLE)?;
        let row = trace.milestones.iter().find(|row| row.name == idle)?;
        Some(Self {
            end_ns: Some(row.time_ns),
            busy_ns: account.post_boot_ns,
            rule: Rule::WindowsAccount { field: "BootPostBootTime" },
            certainty: Certainty::Measured,
            ..self.clone()
        })
    }

    /// Adds the slices between consecutive `cuts`, up to the slice that completes the required idle time.
    fn add_slices(&mut self, trace: &Trace, owners: &mut Owners, cuts: &[i64]) {
        let slice_ns = self.metric.slice_ns.max(1);
        let (_, cpu_busy) = cpu::busy_times(trace, owners, cuts, NORMAL_PRIORITY);
        let disk_busy = busiest_disk_times(trace, cuts, slice_ns);
        let mut counter = IdleCounter::new(self.metric, cpu::processors(trace));
        counter.idle_ns = self.idle_ns;
        for ((&start_ns, &cpu_ns), &disk_ns) in cuts.iter().zip(&cpu_busy).zip(&disk_busy) {
            self.slices.push(counter.add(start_ns, cpu_ns, self.disk_recorded.then_some(disk_ns)));
            self.idle_ns = counter.idle_ns;
            if counter.is_complete() {
                self.end_ns = Some(start_ns + slice_ns);
                return;
            }
        }
    }
}

/// Accumulates idle time slice by slice, from loads that are recorded or simulated.
#[derive(Clone, Debug)]
pub struct IdleCounter {
    metric: IdleMetric,
    processors: i64,
    idle_ns: i64,
}

impl IdleCounter {
    #[must_use]
    pub fn new(metric: IdleMetric, processors: u32) -> Self {
        Self { metric, processors: i64::from(processors.max(1)), idle_ns: 0 }
    }

    /// Adds the slice from `start_ns`: `cpu_ns` is the time of all processors at normal priority, `disk_ns` the time of
    /// the busiest disk (`None` if disk requests were not recorded).
    pub fn add(&mut self, start_ns: i64, cpu_ns: i64, disk_ns: Option<i64>) -> Slice {
        let metric = self.metric;
        let slice_ns = metric.slice_ns.max(1);
        let capacity_ns = slice_ns.saturating_mul(self.processors);
        let recorded_disk_ns = disk_ns.unwrap_or(0);
        let cpu_percent = cpu::percent_of(cpu_ns.min(capacity_ns), capacity_ns);
        let disk_percent = cpu::percent_of(recorded_disk_ns.min(slice_ns), slice_ns);
        let is_idle = metric.is_idle(cpu_percent) && metric.is_idle(disk_percent);
        if is_idle {
            self.idle_ns += match metric.accumulation {
                Accumulation::WholeSlice => slice_ns,
                Accumulation::LessBusyTime => (slice_ns - (cpu_ns / self.processors).max(recorded_disk_ns)).max(0),
            };
        }
        let accumulated_ns = self.idle_ns;
        self.idle_ns = self.idle_ns.min(metric.required_idle_ns);
        Slice {
            start_ns,
            cpu_busy_percent: Some(cpu_percent),
            disk_busy_percent: disk_ns.map(|_| disk_percent),
            idle: is_idle,
            accumulated_ns,
        }
    }

    /// True if the required idle time has accumulated.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.idle_ns >= self.metric.required_idle_ns
    }

    /// Returns the accumulated idle time, ns; at most the required idle time.
    #[must_use]
    pub const fn idle_ns(&self) -> i64 {
        self.idle_ns
    }
}

impl IdleMetric {
    fn is_idle(&self, busy_percent: f64) -> bool {
        if self.busy_limit_included {
            busy_percent <= self.busy_limit_percent
        } else {
            busy_percent < self.busy_limit_percent
        }
    }

    /// Returns the required idle time, as an argument of rules.
    pub fn idle_time(&self) -> IdleTime {
        IdleTime {
            required_idle_ns: self.required_idle_ns,
            slice_ns: self.slice_ns,
            busy_limit_per_mille: (self.busy_limit_percent * 10.0).round() as i64,
            busy_limit_included: self.busy_limit_included,
        }
    }
}

/// Returns, for each slice, the time that the busiest disk worked at normal priority, in ns.
fn busiest_disk_times(trace: &Trace, cuts: &[i64], slice_ns: i64) -> Vec<i64> {
    let mut busiest = vec![0_i64; cuts.len().saturating_sub(1)];
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else { return busiest };
    let mut by_disk: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for DiskIo { complete_ns, service_ns, priority, disk, .. } in trace.disk_ios_between(begin, end) {
        let request_start = complete_ns.saturating_sub(service_ns.max(0)).max(begin);
        let request_end = complete_ns.min(end);
        if priority.is_low() || request_start >= request_end {
            continue;
        }
        let disk = if by_disk.len() < MAX_DISKS || by_disk.contains_key(&disk) { disk } else { u32::MAX };
        by_disk.entry(disk).or_default().push((request_start, request_end));
    }

    let mut busy = vec![0_i64; busiest.len()];
    for mut intervals in by_disk.into_values() {
        intervals.sort_unstable();
        busy.fill(0);
        let mut counted_until = begin;
        for (request_start, request_end) in intervals {
            // Overlapping requests count once.
            let mut time_ns = request_start.max(counted_until);
            while time_ns < request_end {
                let slice = usize::try_from((time_ns - begin) / slice_ns).unwrap_or(usize::MAX);
                let (Some(sum), Some(&slice_end)) = (busy.get_mut(slice), cuts.get(slice + 1)) else { break };
                *sum += request_end.min(slice_end) - time_ns;
                time_ns = slice_end;
            }
            counted_until = counted_until.max(request_end);
        }
        for (max, &sum) in busiest.iter_mut().zip(&busy) {
            *max = sum.max(*max);
        }
    }
    busiest
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, disk, process, switches, thread};
    use onoff_trace::IoPriority;

    const SECOND: i64 = 1000 * MS;

    /// Returns a trace of one CPU, on which thread 8 runs from each start for the given time, ms.
    fn working(duration_ns: i64, work: &[(i64, i64, i8)]) -> Trace {
        let mut trace = Trace { duration_ns, ..Trace::default() };
        trace.system.processors = 1;
        process(&mut trace, 100, "work.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        let mut rows = vec![(0, 0, 0, 0, 0)];
        for &(start, length, priority) in work {
            rows.push((start * MS, 0, 0, 8, priority));
            rows.push(((start + length) * MS, 0, 8, 0, 0));
        }
        rows.push((duration_ns, 0, 0, 0, 0));
        switches(&mut trace, &rows);
        // An initial request, so that disk requests count as recorded.
        disk(&mut trace, 0, 0, IoPriority::Normal, "a.dll");
        trace
    }

    #[test]
    fn an_idle_machine_is_idle_after_the_required_time() {
        let trace = working(20 * SECOND, &[]);
        let settling = find_settling(&trace, 2 * SECOND, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(12 * SECOND));
        assert_eq!((settling.idle_ns, settling.busy_ns), (10 * SECOND, 0));
        assert_eq!(settling.certainty, Certainty::Measured);
        assert_eq!(settling.slices.len(), 100);
        assert_eq!(settling.slices[99].accumulated_ns, 10 * SECOND);
    }

    #[test]
    fn a_slice_that_is_exactly_eighty_percent_idle_counts() {
        let trace = working(20 * SECOND, &[(0, 20, 8), (150, 21, 8)]);
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        let idle: Vec<bool> = settling.slices.iter().take(3).map(|slice| slice.idle).collect();
        assert_eq!(idle, [true, false, true]);
        assert_eq!(settling.busy_ns, 100 * MS);
        assert_eq!(settling.end_ns, Some(10 * SECOND + 100 * MS));
    }

    #[test]
    fn idle_gaps_between_busy_intervals_add_up() {
        // 3 s idle, 4 s busy, then idle again: 10 s of idle time end at 14 s.
        let trace = working(30 * SECOND, &[(3000, 4000, 8)]);
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(14 * SECOND));
        assert_eq!(settling.busy_ns, 4 * SECOND);
    }

    #[test]
    fn low_priority_work_does_not_count() {
        let mut trace = working(20 * SECOND, &[(0, 15_000, 7)]);
        disk(&mut trace, 5 * SECOND, 5 * SECOND, IoPriority::VeryLow, "low.dat");
        disk(&mut trace, 9 * SECOND, 4 * SECOND, IoPriority::Low, "low.dat");
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(10 * SECOND));
        let trace = working(20 * SECOND, &[(0, 5_000, 8)]);
        assert_eq!(find_settling(&trace, 0, IdleMetric::XPERF).end_ns, Some(15 * SECOND));
    }

    #[test]
    fn overlapping_disk_requests_count_once() {
        let mut trace = working(20 * SECOND, &[]);
        // 30 ms of the first slice; 20 ms of the third, in two overlapping requests.
        disk(&mut trace, 40 * MS, 30 * MS, IoPriority::Normal, "a.dll");
        disk(&mut trace, 220 * MS, 20 * MS, IoPriority::Normal, "a.dll");
        disk(&mut trace, 218 * MS, 15 * MS, IoPriority::Critical, "a.dll");
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.busy_ns, 100 * MS);
        assert_eq!(settling.slices[0].disk_busy_percent, Some(30.0));
        assert_eq!(settling.slices[2].disk_busy_percent, Some(20.0));
        assert!(settling.slices[2].idle && !settling.slices[0].idle);
    }

    #[test]
    fn cpu_utilization_is_averaged_over_all_cpus() {
        let mut trace = working(20 * SECOND, &[(0, 10_000, 8)]);
        trace.system.processors = 8;
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.slices[0].cpu_busy_percent, Some(12.5));
        assert_eq!(settling.busy_ns, 0);
    }

    #[test]
    fn the_adk_metric_adds_the_idle_part_of_a_window() {
        // A window of 500 ms that is 10 % busy adds 450 ms; a window that is exactly 20 % busy adds nothing.
        let trace = working(20 * SECOND, &[(0, 50, 8), (500, 100, 8)]);
        let settling = find_settling(&trace, 0, IdleMetric::ADK);
        let accumulated: Vec<i64> = settling.slices.iter().take(3).map(|slice| slice.accumulated_ns / MS).collect();
        assert_eq!(accumulated, [450, 450, 950]);
        // 450 ms + 10 windows of 500 ms: the eleventh full window overshoots and ends it.
        assert_eq!(settling.end_ns, Some(6 * SECOND));
        assert_eq!(settling.idle_ns, 5 * SECOND);
        assert_eq!(settling.busy_ns, SECOND);
    }

    #[test]
    fn a_recording_that_ends_too_soon_reports_the_idle_time_so_far() {
        let trace = working(4 * SECOND + 50 * MS, &[(0, 1_000, 8)]);
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, None);
        assert_eq!((settling.idle_ns, settling.busy_ns), (3 * SECOND, SECOND));
        assert_eq!(settling.certainty, Certainty::Missing);
        assert!(settling.rule.to_string().contains("after 3.00 s of idle time"));
        assert_eq!(settling.unmatched_rules, [Rule::MoreIdleTime { idle_ns: 7_000_000_000 }]);
    }

    #[test]
    fn time_without_context_switches_is_not_idle_time() {
        // The recorder of context switches stopped after 6 s; another recorder continued.
        let mut trace = working(6 * SECOND, &[]);
        trace.duration_ns = 60 * SECOND;
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!((settling.end_ns, settling.idle_ns), (None, 6 * SECOND));
        assert!(settling.rule.to_string().contains("CPU usage data ended after 6.00 s"));
    }

    #[test]
    fn without_cpu_usage_the_result_is_unknown() {
        let trace = Trace { duration_ns: 30 * SECOND, ..Trace::default() };
        let settling = find_settling(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, None);
        assert_eq!(settling.certainty, Certainty::Missing);
        assert!(settling.slices.is_empty());
    }
}
