//! Divides the time after the desktop or a resume by the measure of the idle rule: each busy slice is divided among the
//! subjects that used the busy resource.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::Trace;

use super::disks::ServiceTime;
use super::ledger::{Attribution, Ledger, Part, SubjectId};
use super::subject_resolver::SubjectResolver;
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{AccountAction, UnknownReason};
use onoff_usage::cpu::{self, CpuSource};
use onoff_usage::idle::{Settling, Slice};
use onoff_usage::modules::Modules;
use onoff_usage::owners::{IDLE, NORMAL_PRIORITY, Owners};

/// Resource use of each subject in one slice, ns.
#[derive(Debug, Default)]
struct SliceUsage {
    cpu: BTreeMap<SubjectId, i64>,
    /// By disk and subject.
    disk: BTreeMap<(u32, SubjectId), i64>,
}

/// Divides the slices of `settling`. A phase may end before its last slice does.
pub(super) fn divide<'t>(
    trace: &'t Trace,
    owners: &mut Owners,
    settling: &Settling,
    resolver: &mut SubjectResolver<'t>,
    modules: &Modules,
    ledger: &mut Ledger,
) {
    let slice_ns = settling.metric.slice_ns.max(1);
    let Some(first) = settling.slices.first() else { return };
    let count = settling.slices.len();
    let mut boundaries: Vec<i64> = settling.slices.iter().map(|slice| slice.start_ns).collect();
    boundaries.push(settling.slices.last().map_or(first.start_ns, |slice| slice.start_ns.saturating_add(slice_ns)));
    let mut usage: Vec<SliceUsage> = Vec::new();
    usage.resize_with(count, SliceUsage::default);
    let is_busy = |index: usize| settling.slices.get(index).is_some_and(|slice| !slice.idle);

    let mut cpu_times: HashMap<(usize, u32, u32), i64> = HashMap::new();
    let source = cpu::charge(trace, owners, &boundaries, |cpu_interval| {
        if cpu_interval.owner != IDLE && cpu_interval.priority >= NORMAL_PRIORITY && is_busy(cpu_interval.interval) {
            let sum = cpu_times.entry((cpu_interval.interval, cpu_interval.tid, cpu_interval.life)).or_default();
            *sum = sum.saturating_add(cpu_interval.ns);
        }
    });
    let mut cpu_times: Vec<((usize, u32, u32), i64)> = cpu_times.into_iter().collect();
    cpu_times.sort();
    for ((index, tid, _), ns) in cpu_times {
        let time_ns = boundaries.get(index + 1).copied().unwrap_or(first.start_ns).saturating_sub(1);
        if let (Some(id), Some(usage)) = (resolver.user(tid, time_ns, modules), usage.get_mut(index)) {
            let sum = usage.cpu.entry(id).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    add_disk_time(trace, &boundaries, slice_ns, resolver, modules, &is_busy, &mut usage);

    let certainty = match source {
        CpuSource::ContextSwitches => Certainty::Measured,
        _ => Certainty::Inferred,
    };
    let capacity = i128::from(cpu::processors(trace).max(1));
    for (slice, usage) in settling.slices.iter().zip(&usage) {
        let end_ns = slice.start_ns.saturating_add(slice_ns);
        let limit = settling.metric.busy_limit_percent;
        if slice.idle {
            let part = Part {
                start_ns: slice.start_ns,
                end_ns,
                attribution: Attribution::Idle,
                action: AccountAction::Nothing,
                certainty: Certainty::Measured,
            };
            ledger.add(part);
        } else {
            divide_slice(slice, end_ns, limit, capacity, usage, certainty, ledger);
        }
    }
}

/// Adds the disk time of each subject, except for low-priority requests. The first of several overlapping requests has
/// the disk until it completes.
fn add_disk_time<'t>(
    trace: &'t Trace,
    boundaries: &[i64],
    slice_ns: i64,
    resolver: &mut SubjectResolver<'t>,
    modules: &Modules,
    is_busy: &impl Fn(usize) -> bool,
    usage: &mut [SliceUsage],
) {
    let (Some(&begin), Some(&end)) = (boundaries.first(), boundaries.last()) else { return };
    let mut requests: Vec<(u32, ServiceTime)> = trace
        .disk_ios_between(begin, end)
        .filter(|row| !row.priority.is_low())
        .map(|row| {
            let start_ns = row.complete_ns.saturating_sub(row.service_ns.max(0)).max(begin);
            (row.disk, ServiceTime { start_ns, end_ns: row.complete_ns.min(end), tid: row.tid, pid: row.pid })
        })
        .filter(|(_, served)| served.start_ns < served.end_ns)
        .collect();
    requests.sort();
    let mut done_by_disk: HashMap<u32, i64> = HashMap::new();
    for (disk, ServiceTime { start_ns, end_ns, tid, pid }) in requests {
        let disk_done_ns = done_by_disk.entry(disk).or_insert(begin);
        let mut time_ns = start_ns.max(*disk_done_ns);
        *disk_done_ns = end_ns.max(*disk_done_ns);
        let mut attribution = None;
        while time_ns < end_ns {
            let slice = usize::try_from((time_ns - begin) / slice_ns).unwrap_or(usize::MAX);
            let (Some(slot), Some(&slice_end)) = (usage.get_mut(slice), boundaries.get(slice.saturating_add(1))) else {
                break;
            };
            let part_end_ns = end_ns.min(slice_end);
            if is_busy(slice) {
                if attribution.is_none() {
                    let thread_subject = tid.and_then(|tid| resolver.user(tid, start_ns, modules));
                    attribution = thread_subject.or_else(|| pid.and_then(|pid| resolver.process(pid, start_ns)));
                }
                if let Some(id) = attribution {
                    let sum = slot.disk.entry((disk, id)).or_default();
                    *sum = sum.saturating_add(part_end_ns - time_ns);
                }
            }
            time_ns = part_end_ns;
        }
    }
}

/// Divides a busy slice by CPU usage if CPU load exceeded the limit, by usage of the busiest disk if its load did, or
/// by both.
fn divide_slice(
    slice: &Slice,
    end_ns: i64,
    limit: f64,
    capacity: i128,
    usage: &SliceUsage,
    certainty: Certainty,
    ledger: &mut Ledger,
) {
    let exceeds_limit = |percent: Option<f64>| percent.is_some_and(|percent| percent > limit);
    let (mut counts_cpu, mut counts_disk) =
        (exceeds_limit(slice.cpu_busy_percent), exceeds_limit(slice.disk_busy_percent));
    if !counts_cpu && !counts_disk {
        // A slice exactly at the limit may count as busy.
        (counts_cpu, counts_disk) = (true, true);
    }
    // Both as shares of the slice: CPU time is divided by the number of processors.
    let mut weights: BTreeMap<SubjectId, i128> = BTreeMap::new();
    if counts_cpu {
        for (&id, &ns) in &usage.cpu {
            *weights.entry(id).or_default() += i128::from(ns);
        }
    }
    if counts_disk {
        let mut totals: BTreeMap<u32, i64> = BTreeMap::new();
        for (&(disk, _), &ns) in &usage.disk {
            let sum = totals.entry(disk).or_default();
            *sum = sum.saturating_add(ns);
        }
        let busiest = totals.into_iter().max_by_key(|&(disk, ns)| (ns, std::cmp::Reverse(disk))).map(|(disk, _)| disk);
        for (&(disk, id), &ns) in &usage.disk {
            if Some(disk) == busiest {
                *weights.entry(id).or_default() += i128::from(ns).saturating_mul(capacity);
            }
        }
    }
    let total: i128 = weights.values().sum();
    if total <= 0 {
        let attribution = Attribution::Unattributed(UnknownReason::NothingRecorded);
        let part = Part {
            start_ns: slice.start_ns,
            end_ns,
            attribution,
            action: AccountAction::Nothing,
            certainty: Certainty::Missing,
        };
        ledger.add(part);
        return;
    }
    let length = i128::from(end_ns.saturating_sub(slice.start_ns));
    let mut cumulative_weight: i128 = 0;
    let mut start_ns = slice.start_ns;
    for (id, weight) in weights {
        cumulative_weight += weight;
        let offset_ns = i64::try_from(length * cumulative_weight / total).unwrap_or(0);
        let part_end = slice.start_ns.saturating_add(offset_ns);
        ledger.add(Part {
            start_ns,
            end_ns: part_end,
            attribution: Attribution::Subject(id),
            action: AccountAction::KeptBusy,
            certainty,
        });
        start_ns = part_end;
    }
}
