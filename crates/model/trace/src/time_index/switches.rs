//! Who had each processor, by time: so that what threads used of a range is summed up from the rows in it.

use std::ops::Range;
use std::sync::Arc;

use crate::table::Batches;
use crate::tables::ContextSwitches;

/// Rows between two marks, at least.
const MARK_ROWS: usize = 512;
/// Rows between two marks for each processor, at least: marks then take a fortieth of the table's memory.
const ROWS_PER_PROCESSOR: usize = 32;

/// Marks in the table of switches, with who had each processor there.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchIndex {
    /// Numbers of the processors that switched, in the order in which they first did: a processor's place.
    processors: Vec<u16>,
    /// By place: whom a processor's first row takes off.
    first: Vec<Occupant>,
    marks: Vec<Mark>,
    /// Of all marks.
    occupants: Vec<Occupant>,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Mark {
    piece: usize,
    row: usize,
    /// The latest time of the rows before it, ns.
    reach_ns: i64,
    /// The earliest time of it and the rows after it, ns.
    from_ns: i64,
    /// Its first occupant among those of all marks, and of how many processors a row came before.
    occupants: usize,
    known: usize,
}

/// Who has a processor at a place in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupant {
    /// Time of the row that says so, ns: the one that put it there, or before a processor's first row the one that
    /// takes it off.
    pub told_ns: i64,
    /// Thread.
    pub tid: u32,
    /// The thread that the processor's next row takes off, which is another one where rows were lost.
    next_off: u32,
    has_next: bool,
    /// Priority, as recorded.
    pub priority: i8,
}

impl Occupant {
    /// The thread that the processor's next row takes off; `None` after its last row.
    #[must_use]
    pub fn next_off(&self) -> Option<u32> {
        self.has_next.then_some(self.next_off)
    }
}

/// The rows among which are all that say who had the processors in a range of time, with who had each before them.
#[derive(Clone, Debug)]
pub struct SwitchRange {
    index: Arc<SwitchIndex>,
    /// The mark that it begins at, and the one that it ends before; one more than there are where it ends with the
    /// table.
    first: usize,
    until: usize,
}

impl SwitchIndex {
    pub(super) fn of(switches: &Batches<ContextSwitches>) -> Self {
        let mut index = Self::default();
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut now: Vec<Occupant> = Vec::new();
        // By place: the first mark since its last row, whose occupant does not know its next row yet.
        let mut open: Vec<usize> = Vec::new();
        let mut reach_ns = i64::MIN;
        let mut since_mark = usize::MAX;
        for (piece, rows) in switches.pieces().iter().enumerate() {
            let threads = rows.new_tid.iter().zip(&rows.old_tid).zip(rows.new_priority.iter().zip(&rows.old_priority));
            for (row, ((&time_ns, &cpu), ((&new_tid, &old_tid), (&new_priority, &old_priority)))) in
                rows.time_ns.iter().zip(&rows.cpu).zip(threads).enumerate()
            {
                if since_mark >= MARK_ROWS.max(now.len() * ROWS_PER_PROCESSOR) {
                    since_mark = 0;
                    let (occupants, known) = (index.occupants.len(), now.len());
                    index.marks.push(Mark { piece, row, reach_ns, from_ns: i64::MAX, occupants, known });
                    index.occupants.extend_from_slice(&now);
                }
                since_mark += 1;
                reach_ns = reach_ns.max(time_ns);
                if let Some(mark) = index.marks.last_mut() {
                    mark.from_ns = mark.from_ns.min(time_ns);
                }
                let number = usize::from(cpu);
                if number >= places.len() {
                    places.resize(number + 1, None);
                }
                let place = *places[number].get_or_insert_with(|| {
                    index.processors.push(cpu);
                    index.first.push(Occupant {
                        told_ns: time_ns,
                        tid: old_tid,
                        next_off: old_tid,
                        has_next: true,
                        priority: old_priority,
                    });
                    now.push(Occupant::default());
                    open.push(index.marks.len());
                    now.len() - 1
                });
                for mark in index.marks.get(open[place]..).unwrap_or_default() {
                    if let Some(occupant) = index.occupants.get_mut(mark.occupants + place) {
                        (occupant.next_off, occupant.has_next) = (old_tid, true);
                    }
                }
                open[place] = index.marks.len();
                let priority = new_priority;
                now[place] = Occupant { told_ns: time_ns, tid: new_tid, next_off: 0, has_next: false, priority };
            }
        }
        // The end of the table is a mark too.
        let (occupants, known) = (index.occupants.len(), now.len());
        index.marks.push(Mark { piece: usize::MAX, row: 0, reach_ns, from_ns: i64::MAX, occupants, known });
        index.occupants.append(&mut now);
        let mut from_ns = i64::MAX;
        for mark in index.marks.iter_mut().rev() {
            from_ns = from_ns.min(mark.from_ns);
            mark.from_ns = from_ns;
        }
        index
    }

    /// The rows that say who had the processors from `start_ns` to `end_ns`, and few others.
    pub(super) fn between(self: Arc<Self>, start_ns: i64, end_ns: i64) -> SwitchRange {
        // No row before the first mark is later than the start, and none from the other mark on earlier than the end.
        let first = self.marks.partition_point(|mark| mark.reach_ns <= start_ns).saturating_sub(1);
        let until = self.marks.partition_point(|mark| mark.from_ns < end_ns).clamp(first, self.marks.len() - 1);
        SwitchRange { index: self, first, until }
    }

    fn at(&self, mark: usize) -> impl Iterator<Item = (u16, Occupant)> + '_ {
        let mark = self.marks.get(mark);
        let known = mark.map_or(0, |mark| mark.known);
        self.processors.iter().zip(&self.first).enumerate().map(move |(place, (&processor, &first))| {
            let told = mark.filter(|_| place < known).and_then(|mark| self.occupants.get(mark.occupants + place));
            (processor, told.copied().unwrap_or(first))
        })
    }
}

impl SwitchRange {
    /// Every processor that ever switches, with who has it before the first of the rows.
    pub fn before(&self) -> impl Iterator<Item = (u16, Occupant)> + '_ {
        self.index.at(self.first)
    }

    /// The same processors, with who has each after the last of the rows.
    pub fn after(&self) -> impl Iterator<Item = (u16, Occupant)> + '_ {
        self.index.at(self.until)
    }

    /// The rows of `switches`, the table that was asked: consecutive pieces and the rows in them.
    pub fn rows<'t>(
        &self,
        switches: &'t Batches<ContextSwitches>,
    ) -> impl Iterator<Item = (&'t ContextSwitches, Range<usize>)> + use<'t> {
        let mark = |at: usize| self.index.marks.get(at).map_or((0, 0), |mark| (mark.piece, mark.row));
        let (from, until) = (mark(self.first), mark(self.until));
        switches.pieces().iter().enumerate().skip(from.0).map_while(move |(number, piece)| {
            let first_row = if number == from.0 { from.1 } else { 0 };
            let end_row = if number == until.0 { until.1 } else { piece.len() };
            (number <= until.0).then_some((piece, first_row..end_row))
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
        fn before_rows_and_after_say_what_the_whole_table_says(
            steps in prop::collection::vec((-1_i64..3, 0_u16..4, 1_u32..9, 1_u32..9), 0..6000),
            asked in prop::collection::vec((-10_i64..6000, 0_i64..400), 20),
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
            for (start_ns, length) in asked {
                let range = Arc::clone(&index).between(start_ns, start_ns + length);
                let taken: Vec<ContextSwitch> =
                    range.rows(&switches).flat_map(|(piece, rows)| rows.filter_map(|at| piece.get(at))).collect();
                // What was taken are consecutive rows; all before them are early enough, all after late enough.
                let first = (0..=rows.len()).find(|&at| rows[at..].starts_with(&taken) && {
                    let (before, after) = (&rows[..at], &rows[at + taken.len()..]);
                    before.iter().all(|row| row.time_ns <= start_ns)
                        && after.iter().all(|row| row.time_ns >= start_ns + length)
                        && range.before().eq(occupants(&rows, at))
                        && range.after().eq(occupants(&rows, at + taken.len()))
                });
                prop_assert!(first.is_some(), "{} rows of {} from {start_ns} for {length}", taken.len(), rows.len());
            }
        }
    }

    /// Who has each processor before row `at`, by a look at every row.
    fn occupants(rows: &[ContextSwitch], at: usize) -> Vec<(u16, Occupant)> {
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
                Some(row) => Occupant { told_ns: row.time_ns, tid: row.new_tid, next_off, has_next, priority: 8 },
                None => Occupant {
                    told_ns: next.map_or(0, |row| row.time_ns),
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
    fn a_short_range_of_a_long_table_takes_few_rows() {
        let rows = (0..200_000).map(|at| row(at * 10, (at % 4) as u16, 1, 1));
        let mut switches = Batches::default();
        switches.push(rows.collect());
        let range = Arc::new(SwitchIndex::of(&switches)).between(1_000_000, 1_000_100);
        let rows: usize = range.rows(&switches).map(|(_, rows)| rows.len()).sum();
        assert!((10..=2 * MARK_ROWS).contains(&rows), "{rows}");
    }

    #[test]
    fn of_an_empty_table_nothing_is_said() {
        let switches = Batches::default();
        let range = Arc::new(SwitchIndex::of(&switches)).between(0, 10);
        assert_eq!((range.before().count(), range.after().count(), range.rows(&switches).count()), (0, 0, 0));
    }
}
