//! Indexes of the largest tables by time: what is asked of a range costs the rows in it, not those of the recording.
//!
//! Each is made when it is first asked for, in one walk over the table, and kept with the trace. Answers are those of a
//! look at every row, which the tests compare them with, whatever order the rows are in.

mod blocks;
mod switches;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Trace;
use crate::tables::{DiskIo, Interrupts, Samples};
use blocks::Blocks;
use switches::SwitchIndex;
pub use switches::{Occupant, SwitchRange};

/// What is made of a table once, and anew where rows came since.
struct Made<T>(Mutex<Option<(usize, Arc<T>)>>);

impl<T> Made<T> {
    fn of(&self, rows: usize, make: impl FnOnce() -> T) -> Arc<T> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((of_rows, index)) if *of_rows == rows => Arc::clone(index),
            _ => {
                let index = Arc::new(make());
                *made = Some((rows, Arc::clone(&index)));
                index
            }
        }
    }
}

/// The indexes of one trace. Rows that come after the first question are found, values changed in place are not:
/// readers are done before anybody asks. A copy of the trace makes its own, as its tables may change.
#[derive(Default)]
pub struct TimeIndex {
    switches: Made<SwitchIndex>,
    samples: Made<Blocks>,
    interrupts: Made<Blocks>,
    disk_ios: Made<Blocks>,
    processors: Made<u32>,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl Clone for TimeIndex {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for TimeIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TimeIndex").finish_non_exhaustive()
    }
}

impl Trace {
    /// The context switches that say who had the processors from `start_ns` to `end_ns`, and few others.
    #[must_use]
    pub fn switches_between(&self, start_ns: i64, end_ns: i64) -> SwitchRange {
        let switches = &self.context_switches;
        self.time_index.switches.of(switches.len(), || SwitchIndex::of(switches)).between(start_ns, end_ns)
    }

    /// The samples from `start_ns` to before `end_ns`, and few others: pieces and the rows in them, in order.
    pub fn samples_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Samples, Range<usize>)> {
        let pieces = self.samples.pieces();
        let index = self.time_index.samples.of(self.samples.len(), || {
            Blocks::of(pieces.iter().map(Samples::len), |piece, row| {
                (pieces[piece].time_ns[row], pieces[piece].time_ns[row])
            })
        });
        let found = index.between(start_ns, end_ns).into_iter();
        found.filter_map(|(piece, rows)| Some((pieces.get(piece)?, rows)))
    }

    /// The interrupts and deferred procedure calls that ran at any time from `start_ns` to before `end_ns`, and few
    /// others: pieces and the rows in them, in order.
    pub fn interrupts_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Interrupts, Range<usize>)> {
        let pieces = self.interrupts.pieces();
        let index = self.time_index.interrupts.of(self.interrupts.len(), || {
            Blocks::of(pieces.iter().map(Interrupts::len), |piece, row| {
                (pieces[piece].start_ns[row], pieces[piece].end_ns[row])
            })
        });
        let found = index.between(start_ns, end_ns).into_iter();
        found.filter_map(|(piece, rows)| Some((pieces.get(piece)?, rows)))
    }

    /// The disk requests that were served at any time from `start_ns` to before `end_ns`, or completed at `start_ns`,
    /// and few others; in the table's order.
    pub fn disk_ios_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = DiskIo> + '_ {
        let rows = &self.disk_ios;
        let index = self.time_index.disk_ios.of(rows.len(), || {
            Blocks::of([rows.len()], |_, row| {
                let complete_ns = rows.complete_ns[row];
                (complete_ns.saturating_sub(rows.service_ns[row].max(0)), complete_ns)
            })
        });
        index.between(start_ns, end_ns).into_iter().flat_map(|(_, rows)| rows).filter_map(|row| rows.get(row))
    }

    /// Processors that switched or were sampled: one more than the highest number; 0 where none did.
    #[must_use]
    pub fn processors_seen(&self) -> u32 {
        *self.time_index.processors.of(self.context_switches.len() + self.samples.len(), || {
            let switching = self.context_switches.pieces().iter().filter_map(|piece| piece.cpu.iter().max());
            let sampled = self.samples.pieces().iter().filter_map(|piece| piece.cpu.iter().max());
            switching.chain(sampled).max().map_or(0, |&cpu| u32::from(cpu) + 1)
        })
    }
}
