//! What processors did: who had them, what interrupted them, and where their events were lost.

use hashbrown::HashMap;
use onoff_evidence::interval::union;
use onoff_trace::{Interrupt, StringId, Trace};

/// Switches looked at for one stretch, at most.
const MAX_CHANGES: usize = 1 << 20;

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
    let Some((from, to)) = onoff_usage::cpu::recorded(trace) else { return Vec::new() };
    let slots = to.saturating_sub(from) / SILENT_SLOT_NS + 1;
    let Some(slots) = usize::try_from(slots).ok().filter(|&slots| slots <= MAX_SLOTS) else { return Vec::new() };
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
        if first.saturating_sub(last) >= MIN_SILENT_NS {
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
const SILENT_SLOT_NS: i64 = MIN_SILENT_NS;
/// So long no processor of a running machine is without a record, ns: 100 ms, six intervals of the clock of Windows.
const MIN_SILENT_NS: i64 = 100_000_000;
/// Slots, at most: more than a day of them.
const MAX_SLOTS: usize = 1_000_000;

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

/// What routines took of a stretch of a processor, in order of time and without overlap: of nested ones, the inner one has the time in
/// which it ran.
pub(super) fn taken_by_routines(trace: &Trace, cpu: u16, start_ns: i64, end_ns: i64) -> Vec<Taken> {
    let mut found: Vec<Interrupt> = Vec::new();
    for (piece, rows) in trace.interrupts_between(start_ns, end_ns) {
        for row in rows {
            let (Some(&from), Some(&to)) = (piece.start_ns.get(row), piece.end_ns.get(row)) else { continue };
            if piece.cpu.get(row) == Some(&cpu) && from < end_ns && to > start_ns && from < to {
                found.extend(piece.get(row));
            }
        }
    }
    flat(&mut found, start_ns, end_ns)
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

/// Calls `each` for every stretch between two times in which no processor changed hands, with the thread on each. Who had them after
/// the first million of switches is not said: there are no threads then.
pub(super) fn occupied(trace: &Trace, start_ns: i64, end_ns: i64, each: &mut impl FnMut(i64, i64, &[u32])) {
    let range = trace.switches_between(start_ns, end_ns);
    let (mut places, mut threads) = (Vec::new(), Vec::new());
    for (place, (cpu, occupant)) in range.before().enumerate() {
        let cpu = usize::from(cpu);
        if cpu >= places.len() {
            places.resize(cpu + 1, usize::MAX);
        }
        places[cpu] = place;
        threads.push(occupant.tid);
    }
    let (mut from, mut changes) = (start_ns, 0);
    'rows: for (piece, rows) in range.rows(&trace.context_switches) {
        for row in rows {
            let (Some(&time_ns), Some(&cpu), Some(&tid)) =
                (piece.time_ns.get(row), piece.cpu.get(row), piece.new_tid.get(row))
            else {
                continue;
            };
            if time_ns >= end_ns || changes > MAX_CHANGES {
                break 'rows;
            }
            if time_ns > from {
                each(from, time_ns, &threads);
                from = time_ns;
            }
            changes += usize::from(time_ns > start_ns);
            if let Some(thread) = places.get(usize::from(cpu)).and_then(|&place| threads.get_mut(place)) {
                *thread = tid;
            }
        }
    }
    if changes > MAX_CHANGES {
        threads.clear();
    }
    if from < end_ns {
        each(from, end_ns, &threads);
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{ContextSwitch, ContextSwitches, InterruptKind, Interrupts};
    use proptest::prelude::*;

    use super::*;

    /// Rows in pieces of several lengths, so that blocks end anywhere.
    fn in_pieces<T>(rows: Vec<T>) -> Vec<Vec<T>> {
        let mut pieces = vec![Vec::new()];
        for (number, row) in rows.into_iter().enumerate() {
            if number % 1777 == 1500 || number % 1777 == 1600 {
                pieces.push(Vec::new());
            }
            pieces.last_mut().unwrap().push(row);
        }
        pieces
    }

    fn switched(rows: &[(i64, u16, u32)]) -> Trace {
        let mut now = [0; 4];
        let rows = rows.iter().map(|&(time_ns, cpu, new_tid)| {
            let old_tid = std::mem::replace(&mut now[usize::from(cpu)], new_tid);
            ContextSwitch { time_ns, cpu, new_tid, old_tid, ..ContextSwitch::UNKNOWN }
        });
        let pieces = in_pieces(rows.collect()).into_iter().map(|piece| piece.into_iter().collect::<ContextSwitches>());
        Trace { context_switches: pieces.collect(), ..Trace::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn who_had_the_processors_is_what_the_switches_before_say(
            steps in prop::collection::vec((0_i64..3, 0_u16..4, 1_u32..9), 1..6000),
            asked in prop::collection::vec((0_i64..6000, 1_i64..40), 20),
        ) {
            let mut time_ns = 10;
            let rows: Vec<(i64, u16, u32)> = steps.into_iter().map(|(later, cpu, tid)| {
                time_ns += later;
                (time_ns, cpu, tid)
            }).collect();
            let trace = switched(&rows);
            for (start_ns, length) in asked {
                let end_ns = start_ns + length;
                let mut next = start_ns;
                occupied(&trace, start_ns, end_ns, &mut |from, to, threads| {
                    assert_eq!(from, next);
                    assert!(from < to);
                    next = to;
                    for at in from..to {
                        let mut expected: Vec<u32> = (0..4).filter(|cpu| rows.iter().any(|row| row.1 == *cpu)).map(|cpu| {
                            rows.iter().rfind(|row| row.1 == cpu && row.0 <= at).map_or(0, |row| row.2)
                        }).collect();
                        let mut threads = threads.to_vec();
                        expected.sort_unstable();
                        threads.sort_unstable();
                        assert_eq!(threads, expected, "at {at}");
                    }
                });
                prop_assert_eq!(next, end_ns);
            }
        }

        #[test]
        fn what_routines_took_is_what_those_of_the_processor_did(
            steps in prop::collection::vec((0_i64..4, 1_i64..30, 0_u16..4), 1..6000),
            asked in prop::collection::vec((0_i64..9000, 1_i64..40, 0_u16..4), 20),
        ) {
            let mut end_ns = 10;
            let rows: Vec<Interrupt> = steps.into_iter().zip(1..).map(|((later, length, cpu), routine)| {
                end_ns += later;
                // Few are long.
                let length = if routine % 100 == 0 { length * 50 } else { length };
                let start_ns = end_ns - length;
                Interrupt { start_ns, end_ns, cpu, kind: InterruptKind::Dpc, routine, vector: 0, name: StringId::EMPTY }
            }).collect();
            let pieces = in_pieces(rows.clone()).into_iter().map(|piece| piece.into_iter().collect::<Interrupts>());
            let trace = Trace { interrupts: pieces.collect(), ..Trace::default() };
            for (from, length, cpu) in asked {
                let to = from + length;
                let mut expected: Vec<Interrupt> =
                    rows.iter().filter(|row| row.cpu == cpu && row.start_ns < to && row.end_ns > from).copied().collect();
                prop_assert_eq!(taken_by_routines(&trace, cpu, from, to), flat(&mut expected, from, to));
            }
        }
    }
}
