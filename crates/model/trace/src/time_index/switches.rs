//! Index of the running thread of each processor by time, so that CPU usage in a range is computed from the rows in it.

use std::ops::Range;
use std::sync::Arc;

use crate::table::Batches;
use crate::tables::ContextSwitches;

/// Minimum number of rows between two marks.
const MARK_ROWS: usize = 512;
/// Minimum number of rows between two marks per processor; marks then take 1/40 of the table's memory.
const ROWS_PER_PROCESSOR: usize = 32;

/// Marks in the context-switch table, with the thread running on each processor there.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchIndex {
    /// Processor numbers in order of first appearance; the position is the processor's slot.
    processors: Vec<u16>,
    /// By slot: the thread switched out by the processor's first row.
    first: Vec<RunningThread>,
    marks: Vec<Mark>,
    /// Occupants of all marks, concatenated.
    running_threads: Vec<RunningThread>,
}

/// A position in the table with the state of all processors.
#[derive(Clone, Copy, Debug)]
struct Mark {
    chunk: usize,
    row: usize,
    /// Latest time of the rows before the mark, ns.
    reach_ns: i64,
    /// Earliest time of the rows from the mark on, ns.
    from_ns: i64,
    /// Index of its first entry in the running threads of all marks, and the number of processors seen before the mark.
    running_threads: usize,
    known: usize,
}

/// The thread running on a processor at a position in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunningThread {
    /// Time of the row this is taken from, ns: the row that switched the thread in, or, before a processor's first row,
    /// the row that switches it out.
    pub since_ns: i64,
    pub tid: u32,
    /// Thread switched out by the processor's next row; differs from `tid` where rows were lost.
    next_off: u32,
    has_next: bool,
    /// Priority, as recorded.
    pub priority: i8,
}

impl RunningThread {
    /// Thread switched out by the processor's next row; `None` after its last row.
    #[must_use]
    pub fn next_switched_out(&self) -> Option<u32> {
        self.has_next.then_some(self.next_off)
    }
}

/// The rows that determine which threads ran in a time range, with the state of each processor before them.
#[derive(Clone, Debug)]
pub struct SwitchRange {
    index: Arc<SwitchIndex>,
    /// First mark, and the mark before which the range ends; one past the last mark at the end of the table.
    first: usize,
    until: usize,
}

impl SwitchIndex {
    pub(super) fn of(switches: &Batches<ContextSwitches>) -> Self {
        let mut index = Self::default();
        let mut slots: Vec<Option<usize>> = Vec::new();
        let mut now: Vec<RunningThread> = Vec::new();
        // By slot: the first mark since its last row, whose next row is not known yet.
        let mut open: Vec<usize> = Vec::new();
        let mut reach_ns = i64::MIN;
        let mut since_mark = usize::MAX;
        for (chunk, rows) in switches.chunks().iter().enumerate() {
            let threads = rows.new_tid.iter().zip(&rows.old_tid).zip(rows.new_priority.iter().zip(&rows.old_priority));
            for (row, ((&time_ns, &cpu), ((&new_tid, &old_tid), (&new_priority, &old_priority)))) in
                rows.time_ns.iter().zip(&rows.cpu).zip(threads).enumerate()
            {
                if since_mark >= MARK_ROWS.max(now.len() * ROWS_PER_PROCESSOR) {
                    since_mark = 0;
                    let (running_threads, known) = (index.running_threads.len(), now.len());
                    index.marks.push(Mark { chunk, row, reach_ns, from_ns: i64::MAX, running_threads, known });
                    index.running_threads.extend_from_slice(&now);
                }
                since_mark += 1;
                reach_ns = reach_ns.max(time_ns);
                if let Some(mark) = index.marks.last_mut() {
                    mark.from_ns = mark.from_ns.min(time_ns);
                }
                let number = usize::from(cpu);
                if number >= slots.len() {
                    slots.resize(number + 1, None);
                }
                let slot = *slots[number].get_or_insert_with(|| {
                    index.processors.push(cpu);
                    index.first.push(RunningThread {
                        since_ns: time_ns,
                        tid: old_tid,
                        next_off: old_tid,
                        has_next: true,
                        priority: old_priority,
                    });
                    now.push(RunningThread::default());
                    open.push(index.marks.len());
                    now.len() - 1
                });
                for mark in index.marks.get(open[slot]..).unwrap_or_default() {
                    if let Some(running_thread) = index.running_threads.get_mut(mark.running_threads + slot) {
                        (running_thread.next_off, running_thread.has_next) = (old_tid, true);
                    }
                }
                open[slot] = index.marks.len();
                let priority = new_priority;
                now[slot] = RunningThread { since_ns: time_ns, tid: new_tid, next_off: 0, has_next: false, priority };
            }
        }
        // The end of the table is a mark too.
        let (running_threads, known) = (index.running_threads.len(), now.len());
        index.marks.push(Mark { chunk: usize::MAX, row: 0, reach_ns, from_ns: i64::MAX, running_threads, known });
        index.running_threads.append(&mut now);
        let mut from_ns = i64::MAX;
        for mark in index.marks.iter_mut().rev() {
            from_ns = from_ns.min(mark.from_ns);
            mark.from_ns = from_ns;
        }
        index
    }

    /// The rows that determine which threads ran from `start_ns` to `end_ns`, and few others.
    pub(super) fn between(self: Arc<Self>, start_ns: i64, end_ns: i64) -> SwitchRange {
        // No row before the first mark is later than the start, and no row from the second mark on is earlier than the
        // end.
        let first = self.marks.partition_point(|mark| mark.reach_ns <= start_ns).saturating_sub(1);
        let until = self.marks.partition_point(|mark| mark.from_ns < end_ns).clamp(first, self.marks.len() - 1);
        SwitchRange { index: self, first, until }
    }

    fn at(&self, mark: usize) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        let mark = self.marks.get(mark);
        let known = mark.map_or(0, |mark| mark.known);
        self.processors.iter().zip(&self.first).enumerate().map(move |(slot, (&processor, &first))| {
            let known_occupant =
                mark.filter(|_| slot < known).and_then(|mark| self.running_threads.get(mark.running_threads + slot));
            (processor, known_occupant.copied().unwrap_or(first))
        })
    }
}

impl SwitchRange {
    /// Every processor in the table, with its running thread before the first of the rows.
    pub fn before(&self) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        self.index.at(self.first)
    }

    /// Every processor in the table, with its running thread after the last of the rows.
    pub fn after(&self) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        self.index.at(self.until)
    }

    /// The rows of `switches`, which must be the indexed table, as chunks with row ranges.
    pub fn rows<'t>(
        &self,
        switches: &'t Batches<ContextSwitches>,
    ) -> impl Iterator<Item = (&'t ContextSwitches, Range<usize>)> + use<'t> {
        let mark = |at: usize| self.index.marks.get(at).map_or((0, 0), |mark| (mark.chunk, mark.row));
        let (from, until) = (mark(self.first), mark(self.until));
        switches.chunks().iter().enumerate().skip(from.0).map_while(move |(number, chunk)| {
            let first_row = if number == from.0 { from.1 } else { 0 };
            let end_row = if number == until.0 { until.1 } else { chunk.len() };
            (number <= until.0).then_some((chunk, first_row..end_row))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::ContextSwitch;
    use proptest::prelude::*;

    fn row(time_ns: i64, cpu: u16, old_tid: u32, new_tid: u32) -> ContextSwitch {
        ContextSwitch { time_ns, cpu, new_tid, old_tid, new_priority: 8, old_priority: 9, ..ContextSwitch::UNKNOWN }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn range_and_boundary_states_match_a_full_scan(
            steps in prop::collection::vec((-1_i64..3, 0_u16..4, 1_u32..9, 1_u32..9), 0..6000),
            ranges in prop::collection::vec((-10_i64..6000, 0_i64..400), 20),
            in_order: bool,
        ) {
            let mut time_ns = 10;
            let rows: Vec<ContextSwitch> = steps.into_iter().map(|(later, cpu, old_tid, new_tid)| {
                time_ns += if in_order { later.max(0) } else { later };
                row(time_ns, cpu, old_tid, new_tid)
            }).collect();
            let mut switches = Batches::default();
            for rows in rows.chunks(1777) {
                switches.push(rows.iter().copied().collect());
            }
            let index = Arc::new(SwitchIndex::of(&switches));
            for (start_ns, length) in ranges {
                let range = Arc::clone(&index).between(start_ns, start_ns + length);
                let taken: Vec<ContextSwitch> =
                    range.rows(&switches).flat_map(|(chunk, rows)| rows.filter_map(|at| chunk.get(at))).collect();
                // The returned rows are consecutive; all rows before them are early enough, all after late enough.
                let first = (0..=rows.len()).find(|&at| rows[at..].starts_with(&taken) && {
                    let (before, after) = (&rows[..at], &rows[at + taken.len()..]);
                    before.iter().all(|row| row.time_ns <= start_ns)
                        && after.iter().all(|row| row.time_ns >= start_ns + length)
                        && range.before().eq(running_threads(&rows, at))
                        && range.after().eq(running_threads(&rows, at + taken.len()))
                });
                prop_assert!(first.is_some(), "{} rows of {} from {start_ns} for {length}", taken.len(), rows.len());
            }
        }
    }

    /// The running thread of each processor before row `at`, from a full scan.
    fn running_threads(rows: &[ContextSwitch], at: usize) -> Vec<(u16, RunningThread)> {
        let mut processors: Vec<u16> = Vec::new();
        for row in rows {
            if !processors.contains(&row.cpu) {
                processors.push(row.cpu);
            }
        }
        let of = |cpu: u16| {
            let next = rows[at..].iter().find(|row| row.cpu == cpu);
            let (next_off, has_next) = (next.map_or(0, |row| row.old_tid), next.is_some());
            match rows[..at].iter().rfind(|row| row.cpu == cpu) {
                Some(row) => RunningThread { since_ns: row.time_ns, tid: row.new_tid, next_off, has_next, priority: 8 },
                None => RunningThread {
                    since_ns: next.map_or(0, |row| row.time_ns),
                    tid: next_off,
                    next_off,
                    has_next,
                    priority: 9,
                },
            }
        };
        processors.into_iter().map(|cpu| (cpu, of(cpu))).collect()
    }

    #[test]
    fn short_range_returns_few_rows() {
        let rows = (0..200_000).map(|at| row(at * 10, (at % 4) as u16, 1, 1));
        let mut switches = Batches::default();
        switches.push(rows.collect());
        let range = Arc::new(SwitchIndex::of(&switches)).between(1_000_000, 1_000_100);
        let rows: usize = range.rows(&switches).map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * MARK_ROWS).contains(&rows), "{rows}");
    }

    #[test]
    fn empty_table_has_no_occupants() {
        let switches = Batches::default();
        let range = Arc::new(SwitchIndex::of(&switches)).between(0, 10);
        assert_eq!((range.before().count(), range.after().count(), range.rows(&switches).count()), (0, 0, 0));
    }
}
