//! When a computer has settled: slices of time, each idle or not, accumulated until enough idle time is found.
//!
//! Two published metrics:
//!
//! * xperf's PostBoot: slices of 100 ms; a slice is idle when processors and disks are each at least 80 % idle, work at
//!   low priority left out; done when 10 s of idle slices, not necessarily adjacent, have been found (source: the
//!   Microsoft paper "Windows On/Off Transition Performance Analysis", 2011).
//! * the assessments of the Windows Assessment and Deployment Kit (Post On/Off): windows of 500 ms; a window counts when
//!   processor and disk utilization are each below 20 %, work at low priority left out, and then adds its length less
//!   the busier one's time; done at 5 s.
//!
//! What neither source says is decided here: processor utilization is the average over all processors; disk utilization
//! is that of the busiest disk; low priority is a thread priority below 8 or an I/O priority of low or very low.

use std::collections::BTreeMap;

use onoff_trace::{DiskIo, TableName, Trace};
use serde::Serialize;

use crate::cpu::{self, CpuSource};
use crate::owners::{NORMAL_PRIORITY, Owners};
use onoff_evidence::rule::{IdleCutOff, IdleTime, Rule};
use onoff_evidence::{Certainty, touched_by};

/// How a slice adds to the idle time found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Accumulation {
    /// Its whole length, when it is idle.
    WholeSlice,
    /// Its length less the time of the busier of processors and disk, when it is idle.
    LessBusyTime,
}

/// An idle metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleMetric {
    /// Name: `xperf` or `adk`.
    pub name: &'static str,
    /// Length of a slice, ns.
    pub slice_ns: i64,
    /// A slice is idle when processors and disk are each busy at most (or below, see `busy_limit_included`) this
    /// percentage of the slice.
    pub busy_limit_percent: f64,
    /// Whether a slice that is busy by exactly the limit is idle.
    pub busy_limit_included: bool,
    /// How a slice adds to the idle time found.
    pub accumulation: Accumulation,
    /// Idle time to find, ns.
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

/// One slice and what it added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slice {
    /// Begin, ns.
    pub start_ns: i64,
    /// Processors busy, percentage of the slice averaged over all processors, low priority left out; `None` when
    /// processor time was not recorded.
    pub cpu_busy_percent: Option<f64>,
    /// Busiest disk, percentage of the slice, low priority left out; `None` when disk requests were not recorded.
    pub disk_busy_percent: Option<f64>,
    /// Whether the slice is idle.
    pub idle: bool,
    /// Idle time found up to the end of this slice, ns.
    pub accumulated_ns: i64,
}

/// How long a computer took to settle, and how that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settling {
    /// The metric used.
    pub metric: IdleMetric,
    /// Where counting began, ns.
    pub start_ns: Option<i64>,
    /// End of the slice that completed the required idle time, ns; `None` when the recording ended before.
    pub end_ns: Option<i64>,
    /// Idle time found, ns: the required idle time when `end_ns` is known, else what was found until the recording ended.
    pub idle_ns: i64,
    /// Time of slices that did not count as idle, ns: what the boot took on top ("disturbance").
    pub busy_ns: i64,
    /// What processor utilization was taken from.
    pub cpu_source: CpuSource,
    /// Whether disk requests were recorded.
    pub disk_recorded: bool,
    /// The rule, and why there is no end if there is none.
    pub rule: Rule,
    /// How certain the end is.
    pub certainty: Certainty,
    /// What a better answer would have needed.
    pub missing: Vec<Rule>,
    /// The accumulator, slice by slice.
    pub slices: Vec<Slice>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
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
            missing: Vec::new(),
            slices: Vec::new(),
            touched_by: Vec::new(),
        }
    }
}

/// Slices looked at, at most: more than a day of 100 ms slices.
const MAX_SLICES: i64 = 1_000_000;

/// Slices looked at in one go: a minute of 100 ms slices.
const SLICES_AT_ONCE: usize = 600;

/// Disks that are distinguished, at most; further ones count as one disk.
const MAX_DISKS: usize = 64;

/// Finds when the computer has settled, counting from `start_ns`.
///
/// Only slices that lie wholly where processor times were recorded count. Without context switches, samples stand in and the answer is
/// inferred; without either it is not known.
#[must_use]
pub fn settle(trace: &Trace, start_ns: i64, metric: IdleMetric) -> Settling {
    let mut owners = Owners::of(trace);
    // A computer that sleeps is not idle: it has not settled until it slept.
    let latest_ns = owners.asleep().next_after(start_ns).unwrap_or(i64::MAX);
    settle_before(trace, &mut owners, start_ns, latest_ns, metric)
}

/// The same, where the owners of threads are known, and looking no further than `latest_ns`: there the computer may go to sleep again.
/// What comes after it had settled is not looked at.
#[must_use]
pub fn settle_before(
    trace: &Trace,
    owners: &mut Owners,
    start_ns: i64,
    latest_ns: i64,
    metric: IdleMetric,
) -> Settling {
    let slice_ns = metric.slice_ns.max(1);
    let recorded = cpu::recorded(trace).filter(|&(begin, _)| begin <= start_ns);
    let until_ns = recorded.map_or(start_ns, |(_, end)| end.min(latest_ns));
    let count = (until_ns.saturating_sub(start_ns) / slice_ns).clamp(0, MAX_SLICES);
    let cuts: Vec<i64> = (0..=count).map(|at| start_ns.saturating_add(at.saturating_mul(slice_ns))).collect();
    let disk_recorded = !trace.disk_ios.is_empty();
    let cpu_source = cpu::source(trace);
    let mut tables = cpu_source.tables().to_vec();
    tables.push(TableName::DiskIos);
    let mut settling = Settling {
        metric,
        start_ns: Some(start_ns),
        cpu_source,
        disk_recorded,
        touched_by: touched_by(trace, &tables),
        ..Settling::default()
    };
    if cpu_source != CpuSource::ContextSwitches {
        settling.missing.push(Rule::ContextSwitches);
    }
    if !disk_recorded {
        settling.missing.push(Rule::DiskRequests);
    }
    if cpu_source == CpuSource::None {
        settling.missing.push(Rule::ProfileSamples);
        settling.rule = Rule::IdleTimeNotRecorded(metric.idle_time());
        return settling;
    }

    let mut rest = &cuts[..];
    while rest.len() > 1 && settling.end_ns.is_none() {
        let some = &rest[..rest.len().min(SLICES_AT_ONCE + 1)];
        settling.look(trace, owners, some);
        rest = &rest[some.len() - 1..];
    }
    let looked_at = slice_ns.saturating_mul(i64::try_from(settling.slices.len()).unwrap_or(i64::MAX));
    settling.busy_ns = looked_at - settling.idle_ns;
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
                IdleCutOff::LookedAt
            } else if until_ns < trace.duration_ns {
                IdleCutOff::ProcessorTimes
            } else {
                IdleCutOff::Recording
            };
            settling.rule = Rule::IdleTimeCutOff { wanted: metric.idle_time(), ended, found_ns: settling.idle_ns };
            settling.missing.push(Rule::MoreIdleTime { idle_ns: metric.required_idle_ns - settling.idle_ns });
        }
    }
    settling
}

impl Settling {
    /// Adds the slices between consecutive `cuts`, up to the one that completes the required idle time.
    fn look(&mut self, trace: &Trace, owners: &mut Owners, cuts: &[i64]) {
        let metric = self.metric;
        let slice_ns = metric.slice_ns.max(1);
        let (_, cpu_busy) = cpu::busy(trace, owners, cuts, NORMAL_PRIORITY);
        let disk_busy = busiest_disk(trace, cuts, slice_ns);
        let processors = i64::from(cpu::processors(trace));
        let capacity_ns = slice_ns.saturating_mul(processors);
        for ((&at, &cpu_ns), &disk_ns) in cuts.iter().zip(&cpu_busy).zip(&disk_busy) {
            let cpu_percent = cpu::percent_of(cpu_ns.min(capacity_ns), capacity_ns);
            let disk_percent = cpu::percent_of(disk_ns.min(slice_ns), slice_ns);
            let idle = metric.is_idle(cpu_percent) && metric.is_idle(disk_percent);
            if idle {
                self.idle_ns += match metric.accumulation {
                    Accumulation::WholeSlice => slice_ns,
                    Accumulation::LessBusyTime => (slice_ns - (cpu_ns / processors).max(disk_ns)).max(0),
                };
            }
            self.slices.push(Slice {
                start_ns: at,
                cpu_busy_percent: Some(cpu_percent),
                disk_busy_percent: self.disk_recorded.then_some(disk_percent),
                idle,
                accumulated_ns: self.idle_ns,
            });
            if self.idle_ns >= metric.required_idle_ns {
                self.idle_ns = metric.required_idle_ns;
                self.end_ns = Some(at + slice_ns);
                return;
            }
        }
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

    /// The idle time that it asks for.
    pub fn idle_time(&self) -> IdleTime {
        IdleTime {
            required_idle_ns: self.required_idle_ns,
            slice_ns: self.slice_ns,
            busy_limit_per_mille: (self.busy_limit_percent * 10.0).round() as i64,
            busy_limit_included: self.busy_limit_included,
        }
    }
}

/// Time in each slice in which the busiest disk worked at normal priority, ns.
fn busiest_disk(trace: &Trace, cuts: &[i64], slice_ns: i64) -> Vec<i64> {
    let mut busiest = vec![0_i64; cuts.len().saturating_sub(1)];
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else { return busiest };
    let mut by_disk: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for DiskIo { complete_ns, service_ns, priority, disk, .. } in trace.disk_ios_between(begin, end) {
        let from = complete_ns.saturating_sub(service_ns.max(0)).max(begin);
        let to = complete_ns.min(end);
        if priority.is_low() || from >= to {
            continue;
        }
        let disk = if by_disk.len() < MAX_DISKS || by_disk.contains_key(&disk) { disk } else { u32::MAX };
        by_disk.entry(disk).or_default().push((from, to));
    }

    let mut busy = vec![0_i64; busiest.len()];
    for mut stretches in by_disk.into_values() {
        stretches.sort_unstable();
        busy.fill(0);
        let mut done = begin;
        for (from, to) in stretches {
            // Requests that overlap keep the disk busy once.
            let mut at = from.max(done);
            while at < to {
                let slice = usize::try_from((at - begin) / slice_ns).unwrap_or(usize::MAX);
                let (Some(sum), Some(&slice_end)) = (busy.get_mut(slice), cuts.get(slice + 1)) else { break };
                *sum += to.min(slice_end) - at;
                at = slice_end;
            }
            done = done.max(to);
        }
        for (most, &sum) in busiest.iter_mut().zip(&busy) {
            *most = sum.max(*most);
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

    /// One processor; thread 8 works from each begin for the given time, ms.
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
        // A request before everything: disk requests were recorded.
        disk(&mut trace, 0, 0, IoPriority::Normal, "a.dll");
        trace
    }

    #[test]
    fn an_idle_machine_settles_after_the_required_time() {
        let trace = working(20 * SECOND, &[]);
        let settling = settle(&trace, 2 * SECOND, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(12 * SECOND));
        assert_eq!((settling.idle_ns, settling.busy_ns), (10 * SECOND, 0));
        assert_eq!(settling.certainty, Certainty::Measured);
        assert_eq!(settling.slices.len(), 100);
        assert_eq!(settling.slices[99].accumulated_ns, 10 * SECOND);
    }

    #[test]
    fn a_slice_of_exactly_eighty_percent_idle_is_idle() {
        let trace = working(20 * SECOND, &[(0, 20, 8), (150, 21, 8)]);
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        let idle: Vec<bool> = settling.slices.iter().take(3).map(|slice| slice.idle).collect();
        assert_eq!(idle, [true, false, true]);
        assert_eq!(settling.busy_ns, 100 * MS);
        assert_eq!(settling.end_ns, Some(10 * SECOND + 100 * MS));
    }

    #[test]
    fn gaps_between_busy_stretches_add_up() {
        // 3 s idle, 4 s busy, and idle again: 10 s of idle time end at 14 s.
        let trace = working(30 * SECOND, &[(3000, 4000, 8)]);
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(14 * SECOND));
        assert_eq!(settling.busy_ns, 4 * SECOND);
    }

    #[test]
    fn work_at_low_priority_is_left_out() {
        let mut trace = working(20 * SECOND, &[(0, 15_000, 7)]);
        disk(&mut trace, 5 * SECOND, 5 * SECOND, IoPriority::VeryLow, "low.dat");
        disk(&mut trace, 9 * SECOND, 4 * SECOND, IoPriority::Low, "low.dat");
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, Some(10 * SECOND));
        let trace = working(20 * SECOND, &[(0, 5_000, 8)]);
        assert_eq!(settle(&trace, 0, IdleMetric::XPERF).end_ns, Some(15 * SECOND));
    }

    #[test]
    fn a_busy_disk_keeps_the_machine_busy_once_where_requests_overlap() {
        let mut trace = working(20 * SECOND, &[]);
        // Together 30 ms of the first slice; 20 ms of the third, in two parts that overlap.
        disk(&mut trace, 40 * MS, 30 * MS, IoPriority::Normal, "a.dll");
        disk(&mut trace, 220 * MS, 20 * MS, IoPriority::Normal, "a.dll");
        disk(&mut trace, 218 * MS, 15 * MS, IoPriority::Critical, "a.dll");
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.busy_ns, 100 * MS);
        assert_eq!(settling.slices[0].disk_busy_percent, Some(30.0));
        assert_eq!(settling.slices[2].disk_busy_percent, Some(20.0));
        assert!(settling.slices[2].idle && !settling.slices[0].idle);
    }

    #[test]
    fn the_average_over_all_processors_counts() {
        let mut trace = working(20 * SECOND, &[(0, 10_000, 8)]);
        trace.system.processors = 8;
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.slices[0].cpu_busy_percent, Some(12.5));
        assert_eq!(settling.busy_ns, 0);
    }

    #[test]
    fn the_assessments_metric_adds_what_is_left_of_a_window() {
        // Windows of 500 ms: one 10 % busy adds 450 ms, one exactly 20 % busy adds nothing.
        let trace = working(20 * SECOND, &[(0, 50, 8), (500, 100, 8)]);
        let settling = settle(&trace, 0, IdleMetric::ADK);
        let accumulated: Vec<i64> = settling.slices.iter().take(3).map(|slice| slice.accumulated_ns / MS).collect();
        assert_eq!(accumulated, [450, 450, 950]);
        // 450 ms + 10 windows of 500 ms: the eleventh full window overshoots and ends it.
        assert_eq!(settling.end_ns, Some(6 * SECOND));
        assert_eq!(settling.idle_ns, 5 * SECOND);
        assert_eq!(settling.busy_ns, SECOND);
    }

    #[test]
    fn a_recording_that_ends_too_soon_says_how_far_it_got() {
        let trace = working(4 * SECOND + 50 * MS, &[(0, 1_000, 8)]);
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, None);
        assert_eq!((settling.idle_ns, settling.busy_ns), (3 * SECOND, SECOND));
        assert_eq!(settling.certainty, Certainty::Missing);
        assert!(settling.rule.to_string().contains("3.00 s of idle time found"));
        assert_eq!(settling.missing, [Rule::MoreIdleTime { idle_ns: 7_000_000_000 }]);
    }

    #[test]
    fn time_without_switches_is_not_idle_time() {
        // The recorder of switches stopped after 6 s, another one went on.
        let mut trace = working(6 * SECOND, &[]);
        trace.duration_ns = 60 * SECOND;
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!((settling.end_ns, settling.idle_ns), (None, 6 * SECOND));
        assert!(settling.rule.to_string().contains("processor times end with 6.00 s"));
    }

    #[test]
    fn without_processor_times_it_cannot_be_told() {
        let trace = Trace { duration_ns: 30 * SECOND, ..Trace::default() };
        let settling = settle(&trace, 0, IdleMetric::XPERF);
        assert_eq!(settling.end_ns, None);
        assert_eq!(settling.certainty, Certainty::Missing);
        assert!(settling.slices.is_empty());
    }
}
