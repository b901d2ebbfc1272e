//! Index of the running thread of each processor by time. CPU usage in a range is computed from the rows in the range.

use std::ops::Range;
use std::sync::Arc;

use crate::table::Batches;
use crate::tables::ContextSwitches;

/// Minimum number of rows between two marks.
const MARK_ROWS: usize = 512;
/// Minimum number of rows between two marks, per processor. Marks then take 1/40 of the table's memory.
const ROWS_PER_PROCESSOR: usize = 32;

/// Marks in the context-switch table, with the threads that run on the processors at each mark.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchIndex {
    /// Processor numbers in order of first appearance; the position is the processor's slot.
    processors: Vec<u16>,
    /// The thread switched out by the processor's first row, by slot.
    initial_threads: Vec<RunningThread>,
    marks: Vec<Mark>,
    /// Running threads of all marks, concatenated.
    running_threads: Vec<RunningThread>,
}

/// A position in the table with the state of all processors.
#[derive(Clone, Copy, Debug)]
struct Mark {
    chunk: usize,
    row: usize,
    /// Latest time of the rows before the mark, in ns.
    max_time_before_ns: i64,
    /// Earliest time of the rows from the mark on, in ns.
    min_time_after_ns: i64,
    /// Index of the mark's first entry in the running threads of all marks.
    running_threads: usize,
    /// Number of processors seen before the mark.
    processors: usize,
}

/// The thread running on a processor at a position in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunningThread {
    /// Time of the source row, in ns: the row that switched the thread in, or, before a processor's first row, the row
    /// that switches the thread out.
    pub since_ns: i64,
    pub tid: u32,
    /// Thread switched out by the processor's next row; differs from `tid` if rows were lost.
    next_old_tid: u32,
    has_next_row: bool,
    /// Priority, as recorded.
    pub priority: i8,
}

impl RunningThread {
    /// Returns the thread switched out by the processor's next row; `None` after the last row.
    #[must_use]
    pub fn next_switched_out(&self) -> Option<u32> {
        self.has_next_row.then_some(self.next_old_tid)
    }
}

/// The rows that determine which threads ran in a time range, with the state of each processor before them.
#[derive(Clone, Debug)]
pub struct SwitchRange {
    index: Arc<SwitchIndex>,
    /// The mark at which the range starts.
    start_mark: usize,
    /// The mark at which the range ends.
    end_mark: usize,
}

impl SwitchIndex {
    pub(super) fn new(switches: &Batches<ContextSwitches>) -> Self {
        let mut index = Self::default();
        let mut slots: Vec<Option<usize>> = Vec::new();
        let mut current_threads: Vec<RunningThread> = Vec::new();
        // The first mark after the last row of each slot. The next row of these marks is not known yet.
        let mut open_marks: Vec<usize> = Vec::new();
        let mut max_time_ns = i64::MIN;
        let mut rows_since_mark = usize::MAX;
        for (chunk, rows) in switches.chunks().iter().enumerate() {
            let threads = rows.new_tid.iter().zip(&rows.old_tid).zip(rows.new_priority.iter().zip(&rows.old_priority));
            for (row, ((&time_ns, &cpu), ((&new_tid, &old_tid), (&new_priority, &old_priority)))) in
                rows.time_ns.iter().zip(&rows.cpu).zip(threads).enumerate()
            {
                if rows_since_mark >= MARK_ROWS.max(current_threads.len() * ROWS_PER_PROCESSOR) {
                    rows_since_mark = 0;
                    index.marks.push(Mark {
                        chunk,
                        row,
                        max_time_before_ns: max_time_ns,
                        min_time_after_ns: i64::MAX,
                        running_threads: index.running_threads.len(),
                        processors: current_threads.len(),
                    });
                    index.running_threads.extend_from_slice(&current_threads);
                }
                rows_since_mark += 1;
                max_time_ns = max_time_ns.max(time_ns);
                if let Some(mark) = index.marks.last_mut() {
                    mark.min_time_after_ns = mark.min_time_after_ns.min(time_ns);
                }
                let cpu_index = usize::from(cpu);
                if cpu_index >= slots.len() {
                    slots.resize(cpu_index + 1, None);
                }
                let slot = *slots[cpu_index].get_or_insert_with(|| {
                    index.processors.push(cpu);
                    index.initial_threads.push(RunningThread {
                        since_ns: time_ns,
                        tid: old_tid,
                        next_old_tid: old_tid,
                        has_next_row: true,
                        priority: old_priority,
                    });
                    current_threads.push(RunningThread::default());
                    open_marks.push(index.marks.len());
                    current_threads.len() - 1
                });
                for mark in index.marks.get(open_marks[slot]..).unwrap_or_default() {
                    if let Some(running_thread) = index.running_threads.get_mut(mark.running_threads + slot) {
                        (running_thread.next_old_tid, running_thread.has_next_row) = (old_tid, true);
                    }
                }
                open_marks[slot] = index.marks.len();
                current_threads[slot] = RunningThread {
                    since_ns: time_ns,
                    tid: new_tid,
                    next_old_tid: 0,
                    has_next_row: false,
                    priority: new_priority,
                };
            }
        }
        // The end of the table is also a mark.
        index.marks.push(Mark {
            chunk: usize::MAX,
            row: 0,
            max_time_before_ns: max_time_ns,
            min_time_after_ns: i64::MAX,
            running_threads: index.running_threads.len(),
            processors: current_threads.len(),
        });
        index.running_threads.append(&mut current_threads);
        let mut min_time_ns = i64::MAX;
        for mark in index.marks.iter_mut().rev() {
            min_time_ns = min_time_ns.min(mark.min_time_after_ns);
            mark.min_time_after_ns = min_time_ns;
        }
        index
    }

    /// Returns the rows that determine which threads ran from `start_ns` to `end_ns`, and a few more.
    pub(super) fn range(self: Arc<Self>, start_ns: i64, end_ns: i64) -> SwitchRange {
        // No row before the start mark is later than the start, and no row from the end mark on is earlier than the
        // end.
        let start_mark = self.marks.partition_point(|mark| mark.max_time_before_ns <= start_ns).saturating_sub(1);
        let end_mark =
            self.marks.partition_point(|mark| mark.min_time_after_ns < end_ns).clamp(start_mark, self.marks.len() - 1);
        SwitchRange { index: self, start_mark, end_mark }
    }

    /// Returns every processor in the table, with its running thread at a mark.
    fn threads_at(&self, mark: usize) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        let mark = self.marks.get(mark);
        let seen_processors = mark.map_or(0, |mark| mark.processors);
        self.processors.iter().zip(&self.initial_threads).enumerate().map(
            move |(slot, (&processor, &initial_thread))| {
                let running_thread = mark
                    .filter(|_| slot < seen_processors)
                    .and_then(|mark| self.running_threads.get(mark.running_threads + slot));
                (processor, running_thread.copied().unwrap_or(initial_thread))
            },
        )
    }
}

impl SwitchRange {
    /// Returns every processor in the table, with its running thread before the first row.
    pub fn threads_before(&self) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        self.index.threads_at(self.start_mark)
    }

    /// Returns every processor in the table, with its running thread after the last row.
    pub fn threads_after(&self) -> impl Iterator<Item = (u16, RunningThread)> + '_ {
        self.index.threads_at(self.end_mark)
    }

    /// Returns the rows of `switches`, which must be the indexed table, as chunks with row ranges.
    pub fn rows<'t>(
        &self,
        switches: &'t Batches<ContextSwitches>,
    ) -> impl Iterator<Item = (&'t ContextSwitches, Range<usize>)> + use<'t> {
        let position = |mark: usize| self.index.marks.get(mark).map_or((0, 0), |mark| (mark.chunk, mark.row));
        let (start_chunk, start_row) = position(self.start_mark);
        let (end_chunk, end_row) = position(self.end_mark);
        switches.chunks().iter().enumerate().skip(start_chunk).map_while(move |(index, chunk)| {
            let first_row = if index == start_chunk { start_row } else { 0 };
            let end_row = if index == end_chunk { end_row } else { chunk.len() };
            (index <= end_chunk).then_some((chunk, first_row..end_row))
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
            let rows: Vec<ContextSwitch> = steps.into_iter().map(|(step_ns, cpu, old_tid, new_tid)| {
                time_ns += if in_order { step_ns.max(0) } else { step_ns };
                row(time_ns, cpu, old_tid, new_tid)
            }).collect();
            let mut switches = Batches::default();
            for rows in rows.chunks(1777) {
                switches.push(rows.iter().copied().collect());
            }
            let index = Arc::new(SwitchIndex::new(&switches));
            for (start_ns, length) in ranges {
                let range = Arc::clone(&index).range(start_ns, start_ns + length);
                let rows_in_range: Vec<ContextSwitch> =
                    range.rows(&switches).flat_map(|(chunk, rows)| rows.filter_map(|row| chunk.get(row))).collect();
                // The returned rows are consecutive, and no row before or after them is in the range.
                let start = (0..=rows.len()).find(|&start| rows[start..].starts_with(&rows_in_range) && {
                    let end = start + rows_in_range.len();
                    let (before, after) = (&rows[..start], &rows[end..]);
                    before.iter().all(|row| row.time_ns <= start_ns)
                        && after.iter().all(|row| row.time_ns >= start_ns + length)
                        && range.threads_before().eq(running_threads(&rows, start))
                        && range.threads_after().eq(running_threads(&rows, end))
                });
                prop_assert!(
                    start.is_some(), "{} rows of {} from {start_ns} for {length}", rows_in_range.len(), rows.len()
                );
            }
        }
    }

    /// Finds the running thread of each processor before row `position` with a full scan.
    fn running_threads(rows: &[ContextSwitch], position: usize) -> Vec<(u16, RunningThread)> {
        let mut processors: Vec<u16> = Vec::new();
        for row in rows {
            if !processors.contains(&row.cpu) {
                processors.push(row.cpu);
            }
        }
        let running_thread = |cpu: u16| {
            let next_row = rows[position..].iter().find(|row| row.cpu == cpu);
            let (next_old_tid, has_next_row) = (next_row.map_or(0, |row| row.old_tid), next_row.is_some());
            match rows[..position].iter().rfind(|row| row.cpu == cpu) {
                Some(row) => {
                    RunningThread { since_ns: row.time_ns, tid: row.new_tid, next_old_tid, has_next_row, priority: 8 }
                }
                None => RunningThread {
                    since_ns: next_row.map_or(0, |row| row.time_ns),
                    tid: next_old_tid,
                    next_old_tid,
                    has_next_row,
                    priority: 9,
                },
            }
        };
        processors.into_iter().map(|cpu| (cpu, running_thread(cpu))).collect()
    }

    #[test]
    fn short_range_returns_few_rows() {
        let rows = (0..200_000).map(|number| row(number * 10, (number % 4) as u16, 1, 1));
        let mut switches = Batches::default();
        switches.push(rows.collect());
        let range = Arc::new(SwitchIndex::new(&switches)).range(1_000_000, 1_000_100);
        let rows: usize = range.rows(&switches).map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * MARK_ROWS).contains(&rows), "{rows}");
    }

    #[test]
    fn empty_table_has_no_running_threads() {
        let switches = Batches::default();
        let range = Arc::new(SwitchIndex::new(&switches)).range(0, 10);
        assert_eq!(
            (range.threads_before().count(), range.threads_after().count(), range.rows(&switches).count()),
            (0, 0, 0)
        );
    }
}
