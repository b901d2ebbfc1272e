//! What processors did: who had them, what interrupted them, and where their events were lost.

use crate::interval::union;
use hashbrown::HashMap;
use onoff_trace::{Interrupt, StringId, Trace};

/// Switches looked at on one processor for one stretch, at most.
const MOST_SWITCHES: usize = 1 << 16;

/// Stretches in which a processor's events were lost: it was said to begin one thread, and next to stop another; or the recorder
/// lost events, and nothing at all was recorded for longer than a running machine is silent.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    of_processor: HashMap<u16, Vec<(i64, i64)>>,
    /// Those of all processors, without overlap.
    any: Vec<(i64, i64)>,
}

impl Gaps {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut running: HashMap<u16, (i64, u32)> = HashMap::new();
        let mut of_processor: HashMap<u16, Vec<(i64, i64)>> = HashMap::new();
        for piece in trace.context_switches.pieces() {
            let rows = piece.time_ns.iter().zip(&piece.cpu).zip(piece.new_tid.iter().zip(&piece.old_tid));
            for ((&time_ns, &cpu), (&new_tid, &old_tid)) in rows {
                let before = running.insert(cpu, (time_ns, new_tid));
                if let Some((since_ns, tid)) = before
                    && tid != old_tid
                    && since_ns < time_ns
                {
                    of_processor.entry(cpu).or_default().push((since_ns, time_ns));
                }
            }
        }
        for gaps in of_processor.values_mut() {
            *gaps = union(std::mem::take(gaps));
        }
        let silent = silent_stretches(trace);
        for gaps in of_processor.values_mut() {
            gaps.extend_from_slice(&silent);
            *gaps = union(std::mem::take(gaps));
        }
        for &cpu in running.keys() {
            of_processor.entry(cpu).or_insert_with(|| silent.clone());
        }
        let any = union(of_processor.values().flatten().copied().collect());
        Self { of_processor, any }
    }

    /// The gaps of one processor within a stretch, cut to it, in order of time.
    pub(super) fn of_processor(&self, cpu: u16, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        within(self.of_processor.get(&cpu).map_or(&[][..], Vec::as_slice), start_ns, end_ns)
    }

    /// The gaps of any processor within a stretch, cut to it, in order of time and without overlap.
    pub(super) fn of_any(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        within(&self.any, start_ns, end_ns)
    }
}

/// Stretches without any record of what processors did, in a recording whose recorder says that it lost events or buffers: a
/// machine that runs records a switch, a wake-up or an interrupt many times in each of them.
fn silent_stretches(trace: &Trace) -> Vec<(i64, i64)> {
    if !LOST_BY_RECORDER.iter().any(|counter| trace.losses.count(counter) > 0) {
        return Vec::new();
    }
    let Some((from, to)) = crate::cpu::recorded(trace) else {
        return Vec::new();
    };
    let slots = to.saturating_sub(from) / SILENT_SLOT_NS + 1;
    let Some(slots) = usize::try_from(slots).ok().filter(|&slots| slots <= MOST_SLOTS) else {
        return Vec::new();
    };
    // Of each slot, the first and the last record in it.
    let mut seen: Vec<Option<(i64, i64)>> = vec![None; slots];
    let mut see = |time_ns: i64| {
        let slot = usize::try_from(time_ns.saturating_sub(from) / SILENT_SLOT_NS).ok();
        if let Some(slot) = slot.filter(|_| time_ns >= from).and_then(|slot| seen.get_mut(slot)) {
            *slot = Some(slot.map_or((time_ns, time_ns), |(first, last)| (first.min(time_ns), last.max(time_ns))));
        }
    };
    for piece in trace.context_switches.pieces() {
        piece.time_ns.iter().for_each(|&time_ns| see(time_ns));
    }
    for piece in trace.ready_threads.pieces() {
        piece.time_ns.iter().for_each(|&time_ns| see(time_ns));
    }
    for piece in trace.interrupts.pieces() {
        piece.end_ns.iter().for_each(|&time_ns| see(time_ns));
    }
    let mut silent = Vec::new();
    let mut last = from;
    for (first, latest) in seen.into_iter().flatten() {
        if first.saturating_sub(last) >= LEAST_SILENT_NS {
            silent.push((last, first));
        }
        last = latest;
    }
    silent
}

/// What a recorder says of itself when it loses events.
const LOST_BY_RECORDER: [&str; 7] = [
    "events_lost_by_recorder",
    "buffers_lost_by_recorder",
    "events_lost",
    "buffers_lost",
    "buffers_marked_lossy",
    "trace_events_lost",
    "trace_gaps",
];
/// Slots of this length hold a first and a last record each: what is silent for so long lies between two of them.
const SILENT_SLOT_NS: i64 = LEAST_SILENT_NS;
/// So long no processor of a running machine is without a record, ns: 100 ms, six intervals of the clock of Windows.
const LEAST_SILENT_NS: i64 = 100_000_000;
/// Slots, at most: more than a day of them.
const MOST_SLOTS: usize = 1_000_000;

/// Stretches in order of time, those that meet made one.
fn within(gaps: &[(i64, i64)], start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
    let first = gaps.partition_point(|gap| gap.1 <= start_ns);
    let rest = gaps.get(first..).unwrap_or(&[]);
    rest.iter()
        .take_while(move |gap| gap.0 < end_ns)
        .map(move |gap| (gap.0.max(start_ns), gap.1.min(end_ns)))
        .filter(|(start, end)| start < end)
}

/// Part of a routine's time on a processor that nothing inside it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) routine: u64,
    pub(super) name: StringId,
}

/// Interrupts and deferred procedure calls by processor.
#[derive(Debug, Default)]
pub(super) struct InterruptIndex {
    /// Rows of the table by processor, in order of their ends: piece and place.
    by_processor: HashMap<u16, Vec<(u32, u32)>>,
    /// The longest routine, ns.
    longest_ns: i64,
}

impl InterruptIndex {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut index = Self::default();
        for (piece, rows) in (0_u32..).zip(trace.interrupts.pieces()) {
            let times = rows.start_ns.iter().zip(&rows.end_ns).zip(&rows.cpu);
            for (place, ((&start, &end), &cpu)) in (0_u32..).zip(times) {
                if end > start {
                    index.longest_ns = index.longest_ns.max(end.saturating_sub(start));
                    index.by_processor.entry(cpu).or_default().push((piece, place));
                }
            }
        }
        index
    }

    /// What routines took of a stretch of a processor, in order of time and without overlap: of nested ones, the inner one has
    /// the time in which it ran.
    pub(super) fn within(&self, trace: &Trace, cpu: u16, start_ns: i64, end_ns: i64) -> Vec<Taken> {
        let Some(rows) = self.by_processor.get(&cpu) else {
            return Vec::new();
        };
        let at = |&(piece, place): &(u32, u32)| -> Option<Interrupt> {
            trace.interrupts.pieces().get(piece as usize)?.get(place as usize)
        };
        let ended = |row: &(u32, u32)| at(row).is_none_or(|row| row.end_ns <= start_ns);
        let first = rows.partition_point(ended);
        let mut found: Vec<Interrupt> = Vec::new();
        for row in rows.get(first..).unwrap_or(&[]).iter().filter_map(at) {
            if row.end_ns.saturating_sub(self.longest_ns) >= end_ns {
                break;
            }
            if row.start_ns < end_ns && row.end_ns > start_ns {
                found.push(row);
            }
        }
        flat(&mut found, start_ns, end_ns)
    }
}

/// Nested routines, cut so that each moment is the innermost one's.
fn flat(found: &mut [Interrupt], start_ns: i64, end_ns: i64) -> Vec<Taken> {
    found.sort_by_key(|row| (row.start_ns, std::cmp::Reverse(row.end_ns)));
    let mut flat: Vec<Taken> = Vec::new();
    let mut open: Vec<Interrupt> = Vec::new();
    let mut now = start_ns;
    let mut emit = |row: &Interrupt, from: i64, to: i64| {
        let (from, to) = (from.max(start_ns), to.min(end_ns));
        if from < to {
            flat.push(Taken { start_ns: from, end_ns: to, routine: row.routine, name: row.name });
        }
    };
    for row in found.iter() {
        while let Some(outer) = open.last().copied()
            && outer.end_ns <= row.start_ns
        {
            emit(&outer, now.max(outer.start_ns), outer.end_ns);
            now = now.max(outer.end_ns);
            open.pop();
        }
        if let Some(outer) = open.last() {
            emit(outer, now.max(outer.start_ns), row.start_ns);
        }
        now = now.max(row.start_ns);
        open.push(*row);
    }
    while let Some(outer) = open.pop() {
        emit(&outer, now.max(outer.start_ns), outer.end_ns);
        now = now.max(outer.end_ns);
    }
    flat
}

/// Who had each processor when.
#[derive(Debug, Default)]
pub(super) struct Occupants {
    /// Time and thread of each switch, by processor.
    switches: Vec<Vec<(i64, u32)>>,
}

impl Occupants {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut switches: Vec<Vec<(i64, u32)>> = Vec::new();
        for piece in trace.context_switches.pieces() {
            let rows = piece.time_ns.iter().zip(&piece.cpu).zip(piece.new_tid.iter().zip(&piece.old_tid));
            for ((&time_ns, &cpu), (&new_tid, &old_tid)) in rows {
                let cpu = usize::from(cpu);
                if cpu >= switches.len() {
                    switches.resize_with(cpu + 1, Vec::new);
                }
                if let Some(list) = switches.get_mut(cpu) {
                    if list.is_empty() {
                        list.push((i64::MIN, old_tid));
                    }
                    list.push((time_ns, new_tid));
                }
            }
        }
        Self { switches }
    }

    /// Calls `each` for every stretch between two times in which no processor changed hands, with the thread on each.
    pub(super) fn each(&self, start_ns: i64, end_ns: i64, each: &mut impl FnMut(i64, i64, &[u32])) {
        let mut threads: Vec<u32> = Vec::new();
        let mut changes: Vec<(i64, usize, u32)> = Vec::new();
        for list in &self.switches {
            if list.is_empty() {
                continue;
            }
            let after = list.partition_point(|&(time, _)| time <= start_ns);
            let at = threads.len();
            threads.push(after.checked_sub(1).and_then(|at| list.get(at)).map_or(0, |&(_, tid)| tid));
            let later = list.get(after..).unwrap_or(&[]).iter().take(MOST_SWITCHES);
            changes.extend(later.take_while(|&&(time, _)| time < end_ns).map(|&(time, tid)| (time, at, tid)));
        }
        changes.sort_unstable();
        let mut from = start_ns;
        for (time, at, tid) in changes {
            if time > from {
                each(from, time, &threads);
                from = time;
            }
            if let Some(slot) = threads.get_mut(at) {
                *slot = tid;
            }
        }
        if from < end_ns {
            each(from, end_ns, &threads);
        }
    }
}
