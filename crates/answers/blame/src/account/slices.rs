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
    let mut cuts: Vec<i64> = settling.slices.iter().map(|slice| slice.start_ns).collect();
    cuts.push(settling.slices.last().map_or(first.start_ns, |slice| slice.start_ns.saturating_add(slice_ns)));
    let mut used: Vec<SliceUsage> = Vec::new();
    used.resize_with(count, SliceUsage::default);
    let is_busy = |at: usize| settling.slices.get(at).is_some_and(|slice| !slice.idle);

    let mut ran: HashMap<(usize, u32, u32), i64> = HashMap::new();
    let source = cpu::charge(trace, owners, &cuts, |charged| {
        if charged.owner != IDLE && charged.priority >= NORMAL_PRIORITY && is_busy(charged.interval) {
            let sum = ran.entry((charged.interval, charged.tid, charged.life)).or_default();
            *sum = sum.saturating_add(charged.ns);
        }
    });
    let mut ran: Vec<((usize, u32, u32), i64)> = ran.into_iter().collect();
    ran.sort();
    for ((at, tid, _), ns) in ran {
        let time_ns = cuts.get(at + 1).copied().unwrap_or(first.start_ns).saturating_sub(1);
        if let (Some(id), Some(used)) = (resolver.user(tid, time_ns, modules), used.get_mut(at)) {
            let sum = used.cpu.entry(id).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    add_disk_time(trace, &cuts, slice_ns, resolver, modules, &is_busy, &mut used);

    let certainty = match source {
        CpuSource::ContextSwitches => Certainty::Measured,
        _ => Certainty::Inferred,
    };
    let capacity = i128::from(cpu::processors(trace).max(1));
    for (slice, used) in settling.slices.iter().zip(&used) {
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
            divide_slice(slice, end_ns, limit, capacity, used, certainty, ledger);
        }
    }
}

/// Adds the disk time of each subject, except for low-priority requests. The first of several overlapping requests has
/// the disk until it completes.
fn add_disk_time<'t>(
    trace: &'t Trace,
    cuts: &[i64],
    slice_ns: i64,
    resolver: &mut SubjectResolver<'t>,
    modules: &Modules,
    is_busy: &impl Fn(usize) -> bool,
    used: &mut [SliceUsage],
) {
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else { return };
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
    let mut done: HashMap<u32, i64> = HashMap::new();
    for (disk, ServiceTime { start_ns: from, end_ns: to, tid, pid }) in requests {
        let done = done.entry(disk).or_insert(begin);
        let mut at = from.max(*done);
        *done = to.max(*done);
        let mut attribution = None;
        while at < to {
            let slice = usize::try_from((at - begin) / slice_ns).unwrap_or(usize::MAX);
            let (Some(slot), Some(&slice_end)) = (used.get_mut(slice), cuts.get(slice.saturating_add(1))) else {
                break;
            };
            let until = to.min(slice_end);
            if is_busy(slice) {
                if attribution.is_none() {
                    let by_thread = tid.and_then(|tid| resolver.user(tid, from, modules));
                    attribution = by_thread.or_else(|| pid.and_then(|pid| resolver.process(pid, from)));
                }
                if let Some(id) = attribution {
                    let sum = slot.disk.entry((disk, id)).or_default();
                    *sum = sum.saturating_add(until - at);
                }
            }
            at = until;
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
    used: &SliceUsage,
    certainty: Certainty,
    ledger: &mut Ledger,
) {
    let beyond = |percent: Option<f64>| percent.is_some_and(|percent| percent > limit);
    let (mut by_cpu, mut by_disk) = (beyond(slice.cpu_busy_percent), beyond(slice.disk_busy_percent));
    if !by_cpu && !by_disk {
        // A slice exactly at the limit may count as busy.
        (by_cpu, by_disk) = (true, true);
    }
    // Both as shares of the slice: CPU time is divided by the number of processors.
    let mut weights: BTreeMap<SubjectId, i128> = BTreeMap::new();
    if by_cpu {
        for (&id, &ns) in &used.cpu {
            *weights.entry(id).or_default() += i128::from(ns);
        }
    }
    if by_disk {
        let mut totals: BTreeMap<u32, i64> = BTreeMap::new();
        for (&(disk, _), &ns) in &used.disk {
            let sum = totals.entry(disk).or_default();
            *sum = sum.saturating_add(ns);
        }
        let busiest = totals.into_iter().max_by_key(|&(disk, ns)| (ns, std::cmp::Reverse(disk))).map(|(disk, _)| disk);
        for (&(disk, id), &ns) in &used.disk {
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
    let mut before: i128 = 0;
    let mut start_ns = slice.start_ns;
    for (id, weight) in weights {
        before += weight;
        let until = i64::try_from(length * before / total).unwrap_or(0);
        let part_end = slice.start_ns.saturating_add(until);
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
