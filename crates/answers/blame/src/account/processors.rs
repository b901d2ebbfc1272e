//! Processor usage: running threads, interrupts, and gaps in the events.

use hashbrown::HashMap;
use onoff_evidence::interval::union;
use onoff_trace::{Interrupt, StringId, Trace};

/// Maximum number of switches examined for one interval.
const MAX_SWITCHES: usize = 1 << 20;

/// Intervals in which events of a processor were lost: either a switch-in is followed by the switch-out of another
/// thread, or the recorder reported losses and nothing was recorded for longer than a running machine would be silent.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    by_processor: HashMap<u16, Vec<(i64, i64)>>,
    /// Gaps of any processor, without overlap.
    any: Vec<(i64, i64)>,
}

impl Gaps {
    pub(super) fn new(trace: &Trace) -> Self {
        let mut running: HashMap<u16, (i64, u32)> = HashMap::new();
        let mut by_processor: HashMap<u16, Vec<(i64, i64)>> = HashMap::new();
        for chunk in trace.context_switches.chunks() {
            let rows = chunk.time_ns.iter().zip(&chunk.cpu).zip(chunk.new_tid.iter().zip(&chunk.old_tid));
            for ((&time_ns, &cpu), (&new_tid, &old_tid)) in rows {
                let previous = running.insert(cpu, (time_ns, new_tid));
                if let Some((since_ns, tid)) = previous
                    && tid != old_tid
                    && since_ns < time_ns
                {
                    by_processor.entry(cpu).or_default().push((since_ns, time_ns));
                }
            }
        }
        for gaps in by_processor.values_mut() {
            *gaps = union(std::mem::take(gaps));
        }
        let silent = silent_intervals(trace);
        for gaps in by_processor.values_mut() {
            gaps.extend_from_slice(&silent);
            *gaps = union(std::mem::take(gaps));
        }
        for &cpu in running.keys() {
            by_processor.entry(cpu).or_insert_with(|| silent.clone());
        }
        let any = union(by_processor.values().flatten().copied().collect());
        Self { by_processor, any }
    }

    /// Returns the gaps of one processor, clipped to an interval, in order of time.
    pub(super) fn on_processor(&self, cpu: u16, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        clip_gaps(self.by_processor.get(&cpu).map_or(&[][..], Vec::as_slice), start_ns, end_ns)
    }

    /// Returns the gaps of any processor, clipped to an interval, in order of time and without overlap.
    pub(super) fn on_any_processor(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        clip_gaps(&self.any, start_ns, end_ns)
    }
}

/// Intervals without any processor event, in a recording whose recorder reports lost events or buffers. A running
/// machine logs a switch, a wake-up or an interrupt many times in such an interval.
#[must_use]
pub fn silent_intervals(trace: &Trace) -> Vec<(i64, i64)> {
    if !RECORDER_LOSS_COUNTERS.iter().any(|counter| trace.losses.count(counter) > 0) {
        return Vec::new();
    }
    let Some((start_ns, end_ns)) = onoff_usage::cpu::recorded_interval(trace) else { return Vec::new() };
    let slots = end_ns.saturating_sub(start_ns) / SILENT_SLOT_NS + 1;
    let Some(slots) = usize::try_from(slots).ok().filter(|&slots| slots <= MAX_SLOTS) else { return Vec::new() };
    // First and last event in each slot.
    let mut bounds: Vec<Option<(i64, i64)>> = vec![None; slots];
    let mut record = |time_ns: i64| {
        let slot = usize::try_from(time_ns.saturating_sub(start_ns) / SILENT_SLOT_NS).ok();
        if let Some(slot) = slot.filter(|_| time_ns >= start_ns).and_then(|slot| bounds.get_mut(slot)) {
            *slot = Some(
                slot.map_or((time_ns, time_ns), |(first_ns, last_ns)| (first_ns.min(time_ns), last_ns.max(time_ns))),
            );
        }
    };
    for chunk in trace.context_switches.chunks() {
        chunk.time_ns.iter().for_each(|&time_ns| record(time_ns));
    }
    for chunk in trace.ready_threads.chunks() {
        chunk.time_ns.iter().for_each(|&time_ns| record(time_ns));
    }
    for chunk in trace.interrupts.chunks() {
        chunk.end_ns.iter().for_each(|&time_ns| record(time_ns));
    }
    let mut silent = Vec::new();
    let mut last_ns = start_ns;
    for (first_ns, latest_ns) in bounds.into_iter().flatten() {
        if first_ns.saturating_sub(last_ns) >= MIN_SILENT_NS {
            silent.push((last_ns, first_ns));
        }
        last_ns = latest_ns;
    }
    silent
}

/// Loss counters of the recorders.
const RECORDER_LOSS_COUNTERS: [&str; 7] = [
    "events_lost_by_recorder",
    "buffers_lost_by_recorder",
    "events_lost",
    "buffers_lost",
    "buffers_marked_lossy",
    "trace_events_lost",
    "trace_gaps",
];
/// Length of a slot. Only the first and the last event of a slot are stored, which is enough to find silent intervals
/// of at least this length.
const SILENT_SLOT_NS: i64 = MIN_SILENT_NS;
/// Minimum silence that means lost events, ns: 100 ms, six ticks of the Windows clock.
const MIN_SILENT_NS: i64 = 100_000_000;
/// Maximum number of slots: more than a day.
const MAX_SLOTS: usize = 1_000_000;

/// Returns the gaps within a range, clipped to it.
fn clip_gaps(gaps: &[(i64, i64)], start_ns: i64, end_ns: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
    let first = gaps.partition_point(|&(_, gap_end)| gap_end <= start_ns);
    let remaining_gaps = gaps.get(first..).unwrap_or(&[]);
    remaining_gaps
        .iter()
        .take_while(move |&&(gap_start, _)| gap_start < end_ns)
        .map(move |&(gap_start, gap_end)| (gap_start.max(start_ns), gap_end.min(end_ns)))
        .filter(|(start, end)| start < end)
}

/// Time of an interrupt routine, without nested routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoutineTime {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) routine: u64,
    pub(super) name: StringId,
}

/// Returns the time of interrupt routines on a processor in an interval, in order and without overlap: time in nested
/// routines belongs to the inner one.
pub(super) fn routine_times(trace: &Trace, cpu: u16, start_ns: i64, end_ns: i64) -> Vec<RoutineTime> {
    let mut routines: Vec<Interrupt> = Vec::new();
    for (chunk, rows) in trace.interrupts_between(start_ns, end_ns) {
        for row in rows {
            let (Some(&routine_start), Some(&routine_end)) = (chunk.start_ns.get(row), chunk.end_ns.get(row)) else {
                continue;
            };
            if chunk.cpu.get(row) == Some(&cpu)
                && routine_start < end_ns
                && routine_end > start_ns
                && routine_start < routine_end
            {
                routines.extend(chunk.get(row));
            }
        }
    }
    flatten(&mut routines, start_ns, end_ns)
}

/// Returns the time of all interrupt routines by processor, like [`routine_times`].
pub(super) fn all_routine_times(trace: &Trace) -> HashMap<u16, Vec<RoutineTime>> {
    let mut routines: HashMap<u16, Vec<Interrupt>> = HashMap::new();
    for row in trace.interrupts.iter().filter(|row| row.start_ns < row.end_ns) {
        routines.entry(row.cpu).or_default().push(row);
    }
    routines.into_iter().map(|(cpu, mut rows)| (cpu, flatten(&mut rows, i64::MIN, i64::MAX))).collect()
}

/// Flattens nested routines so that each moment belongs to the innermost one.
fn flatten(routines: &mut [Interrupt], start_ns: i64, end_ns: i64) -> Vec<RoutineTime> {
    routines.sort_by_key(|row| (row.start_ns, std::cmp::Reverse(row.end_ns)));
    let mut times: Vec<RoutineTime> = Vec::new();
    let mut open_routines: Vec<Interrupt> = Vec::new();
    let mut position_ns = start_ns;
    let mut add_time = |row: &Interrupt, start: i64, end: i64| {
        let (start, end) = (start.max(start_ns), end.min(end_ns));
        if start < end {
            times.push(RoutineTime { start_ns: start, end_ns: end, routine: row.routine, name: row.name });
        }
    };
    for row in routines.iter() {
        while let Some(outer) = open_routines.last().copied()
            && outer.end_ns <= row.start_ns
        {
            add_time(&outer, position_ns.max(outer.start_ns), outer.end_ns);
            position_ns = position_ns.max(outer.end_ns);
            open_routines.pop();
        }
        if let Some(outer) = open_routines.last() {
            add_time(outer, position_ns.max(outer.start_ns), row.start_ns);
        }
        position_ns = position_ns.max(row.start_ns);
        open_routines.push(*row);
    }
    while let Some(outer) = open_routines.pop() {
        add_time(&outer, position_ns.max(outer.start_ns), outer.end_ns);
        position_ns = position_ns.max(outer.end_ns);
    }
    times
}

/// Calls `visit` for every interval between two times without a context switch, with the thread on each processor.
/// After the first million switches it passes no threads.
pub(super) fn for_each_assignment(trace: &Trace, start_ns: i64, end_ns: i64, visit: &mut impl FnMut(i64, i64, &[u32])) {
    let range = trace.switches_between(start_ns, end_ns);
    let (mut slots, mut threads) = (Vec::new(), Vec::new());
    for (slot, (cpu, occupant)) in range.threads_before().enumerate() {
        let cpu = usize::from(cpu);
        if cpu >= slots.len() {
            slots.resize(cpu + 1, usize::MAX);
        }
        slots[cpu] = slot;
        threads.push(occupant.tid);
    }
    let (mut interval_start, mut switches) = (start_ns, 0);
    'rows: for (chunk, rows) in range.rows(&trace.context_switches) {
        for row in rows {
            let (Some(&time_ns), Some(&cpu), Some(&tid)) =
                (chunk.time_ns.get(row), chunk.cpu.get(row), chunk.new_tid.get(row))
            else {
                continue;
            };
            if time_ns >= end_ns || switches > MAX_SWITCHES {
                break 'rows;
            }
            if time_ns > interval_start {
                visit(interval_start, time_ns, &threads);
                interval_start = time_ns;
            }
            switches += usize::from(time_ns > start_ns);
            if let Some(thread) = slots.get(usize::from(cpu)).and_then(|&slot| threads.get_mut(slot)) {
                *thread = tid;
            }
        }
    }
    if switches > MAX_SWITCHES {
        threads.clear();
    }
    if interval_start < end_ns {
        visit(interval_start, end_ns, &threads);
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{ContextSwitch, ContextSwitches, InterruptKind, Interrupts};
    use proptest::prelude::*;

    use super::*;

    /// Splits rows into chunks of several lengths, so that chunk boundaries fall anywhere.
    fn chunked<T>(rows: Vec<T>) -> Vec<Vec<T>> {
        let mut chunks = vec![Vec::new()];
        for (number, row) in rows.into_iter().enumerate() {
            if number % 1777 == 1500 || number % 1777 == 1600 {
                chunks.push(Vec::new());
            }
            chunks.last_mut().unwrap().push(row);
        }
        chunks
    }

    fn switched(rows: &[(i64, u16, u32)]) -> Trace {
        let mut now = [0; 4];
        let rows = rows.iter().map(|&(time_ns, cpu, new_tid)| {
            let old_tid = std::mem::replace(&mut now[usize::from(cpu)], new_tid);
            ContextSwitch { time_ns, cpu, new_tid, old_tid, ..ContextSwitch::UNKNOWN }
        });
        let chunks = chunked(rows.collect()).into_iter().map(|chunk| chunk.into_iter().collect::<ContextSwitches>());
        Trace { context_switches: chunks.collect(), ..Trace::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

        #[test]
        fn assignments_match_preceding_switches(
            steps in prop::collection::vec((0_i64..3, 0_u16..4, 1_u32..9), 1..6000),
            ranges in prop::collection::vec((0_i64..6000, 1_i64..40), 20),
        ) {
            let mut time_ns = 10;
            let rows: Vec<(i64, u16, u32)> = steps.into_iter().map(|(later, cpu, tid)| {
                time_ns += later;
                (time_ns, cpu, tid)
            }).collect();
            let trace = switched(&rows);
            for (start_ns, length) in ranges {
                let end_ns = start_ns + length;
                let mut next = start_ns;
                for_each_assignment(&trace, start_ns, end_ns, &mut |start, end, threads| {
                    assert_eq!(start, next);
                    assert!(start < end);
                    next = end;
                    for time_ns in start..end {
                        let mut expected: Vec<u32> = (0..4).filter(|cpu| rows.iter().any(|row| row.1 == *cpu)).map(|cpu| {
                            rows.iter().rfind(|row| row.1 == cpu && row.0 <= time_ns).map_or(0, |row| row.2)
                        }).collect();
                        let mut threads = threads.to_vec();
                        expected.sort_unstable();
                        threads.sort_unstable();
                        assert_eq!(threads, expected, "at {time_ns}");
                    }
                });
                prop_assert_eq!(next, end_ns);
            }
        }

        #[test]
        fn routine_times_match_routines_of_processor(
            steps in prop::collection::vec((0_i64..4, 1_i64..30, 0_u16..4), 1..6000),
            ranges in prop::collection::vec((0_i64..9000, 1_i64..40, 0_u16..4), 20),
        ) {
            let mut end_ns = 10;
            let rows: Vec<Interrupt> = steps.into_iter().zip(1..).map(|((later, length, cpu), routine)| {
                end_ns += later;
                // A few are long.
                let length = if routine % 100 == 0 { length * 50 } else { length };
                let start_ns = end_ns - length;
                Interrupt { start_ns, end_ns, cpu, kind: InterruptKind::Dpc, routine, vector: 0, name: StringId::EMPTY }
            }).collect();
            let chunks = chunked(rows.clone()).into_iter().map(|chunk| chunk.into_iter().collect::<Interrupts>());
            let trace = Trace { interrupts: chunks.collect(), ..Trace::default() };
            for (from, length, cpu) in ranges {
                let to = from + length;
                let mut expected: Vec<Interrupt> =
                    rows.iter().filter(|row| row.cpu == cpu && row.start_ns < to && row.end_ns > from).copied().collect();
                prop_assert_eq!(routine_times(&trace, cpu, from, to), flatten(&mut expected, from, to));
            }
        }
    }
}
