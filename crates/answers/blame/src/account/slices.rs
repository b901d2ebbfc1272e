//! The time after the desktop or the resume, divided by the idle rule's own measure: in every busy slice, among those who used
//! what the rule found busy.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::Trace;

use super::actors::Actors;
use super::disks::Served;
use super::ledger::{Ledger, Part, SubjectId, Who};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{Did, NotKnown};
use onoff_usage::cpu::{self, CpuSource};
use onoff_usage::idle::{Settling, Slice};
use onoff_usage::modules::Modules;
use onoff_usage::owners::{IDLE, NORMAL_PRIORITY, Owners};

/// What each subject used of one slice, ns.
#[derive(Debug, Default)]
struct Used {
    cpu: BTreeMap<SubjectId, i64>,
    /// By disk.
    disk: BTreeMap<(u32, SubjectId), i64>,
}

/// Divides the slices of `settling`; a phase may end before its last one does.
pub(super) fn divide<'t>(
    trace: &'t Trace,
    owners: &mut Owners,
    settling: &Settling,
    actors: &mut Actors<'t>,
    modules: &Modules,
    ledger: &mut Ledger,
) {
    let slice_ns = settling.metric.slice_ns.max(1);
    let Some(first) = settling.slices.first() else { return };
    let count = settling.slices.len();
    let mut cuts: Vec<i64> = settling.slices.iter().map(|slice| slice.start_ns).collect();
    cuts.push(settling.slices.last().map_or(first.start_ns, |slice| slice.start_ns.saturating_add(slice_ns)));
    let mut used: Vec<Used> = Vec::new();
    used.resize_with(count, Used::default);
    let is_busy = |at: usize| settling.slices.get(at).is_some_and(|slice| !slice.idle);

    let mut ran: HashMap<(usize, u32, u32), i64> = HashMap::new();
    let source = cpu::charge(trace, owners, &cuts, |stretch| {
        if stretch.owner != IDLE && stretch.priority >= NORMAL_PRIORITY && is_busy(stretch.interval) {
            let sum = ran.entry((stretch.interval, stretch.tid, stretch.life)).or_default();
            *sum = sum.saturating_add(stretch.ns);
        }
    });
    let mut ran: Vec<((usize, u32, u32), i64)> = ran.into_iter().collect();
    ran.sort();
    for ((at, tid, _), ns) in ran {
        let time_ns = cuts.get(at + 1).copied().unwrap_or(first.start_ns).saturating_sub(1);
        if let (Some(id), Some(used)) = (actors.user(tid, time_ns, modules), used.get_mut(at)) {
            let sum = used.cpu.entry(id).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    disks(trace, &cuts, slice_ns, actors, modules, &is_busy, &mut used);

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
                who: Who::Idle,
                did: Did::Nothing,
                certainty: Certainty::Measured,
            };
            ledger.add(part);
        } else {
            share_out(slice, end_ns, limit, capacity, used, certainty, ledger);
        }
    }
}

/// Time that each subject's requests kept a disk busy, requests at low priority left out. Requests that overlap share the
/// disk: the one that began first has it until it is done.
fn disks<'t>(
    trace: &'t Trace,
    cuts: &[i64],
    slice_ns: i64,
    actors: &mut Actors<'t>,
    modules: &Modules,
    is_busy: &impl Fn(usize) -> bool,
    used: &mut [Used],
) {
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else { return };
    let mut requests: Vec<(u32, Served)> = trace
        .disk_ios_between(begin, end)
        .filter(|row| !row.priority.is_low())
        .map(|row| {
            let start_ns = row.complete_ns.saturating_sub(row.service_ns.max(0)).max(begin);
            (row.disk, Served { start_ns, end_ns: row.complete_ns.min(end), tid: row.tid, pid: row.pid })
        })
        .filter(|(_, served)| served.start_ns < served.end_ns)
        .collect();
    requests.sort();
    let mut done: HashMap<u32, i64> = HashMap::new();
    for (disk, Served { start_ns: from, end_ns: to, tid, pid }) in requests {
        let done = done.entry(disk).or_insert(begin);
        let mut at = from.max(*done);
        *done = to.max(*done);
        let mut who = None;
        while at < to {
            let slice = usize::try_from((at - begin) / slice_ns).unwrap_or(usize::MAX);
            let (Some(slot), Some(&slice_end)) = (used.get_mut(slice), cuts.get(slice.saturating_add(1))) else {
                break;
            };
            let until = to.min(slice_end);
            if is_busy(slice) {
                if who.is_none() {
                    let by_thread = tid.and_then(|tid| actors.user(tid, from, modules));
                    who = by_thread.or_else(|| pid.and_then(|pid| actors.process(pid, from)));
                }
                if let Some(id) = who {
                    let sum = slot.disk.entry((disk, id)).or_default();
                    *sum = sum.saturating_add(until - at);
                }
            }
            at = until;
        }
    }
}

/// Divides a busy slice: by use of the processors where they were beyond the rule's limit, by use of the busiest disk where
/// that was, by both where both were.
fn share_out(
    slice: &Slice,
    end_ns: i64,
    limit: f64,
    capacity: i128,
    used: &Used,
    certainty: Certainty,
    ledger: &mut Ledger,
) {
    let beyond = |percent: Option<f64>| percent.is_some_and(|percent| percent > limit);
    let (mut by_cpu, mut by_disk) = (beyond(slice.cpu_busy_percent), beyond(slice.disk_busy_percent));
    if !by_cpu && !by_disk {
        // A rule may count a slice at its very limit as busy.
        (by_cpu, by_disk) = (true, true);
    }
    // Both as shares of the slice: processor time is divided by the number of processors.
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
        let who = Who::Nobody(NotKnown::NothingRecorded);
        let part = Part { start_ns: slice.start_ns, end_ns, who, did: Did::Nothing, certainty: Certainty::Missing };
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
        ledger.add(Part { start_ns, end_ns: part_end, who: Who::Subject(id), did: Did::KeptBusy, certainty });
        start_ns = part_end;
    }
}
