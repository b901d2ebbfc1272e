//! Time indexes of the largest tables: a query costs in proportion to the rows in its range, not to the whole table.
//!
//! Each index is built in one pass on first use and cached in the trace. Results equal those of a full scan, in any row
//! order; the tests compare both.

mod blocks;
mod switches;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Trace;
use crate::tables::{DiskIo, Interrupts, Samples};
use blocks::Blocks;
use switches::SwitchIndex;
pub use switches::{RunningThread, SwitchRange};

/// A value computed once from a table, and again if rows were added since.
struct Cached<T>(Mutex<Option<(usize, Arc<T>)>>);

impl<T> Cached<T> {
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

/// The indexes of one trace. Rows added after the first query are found, values changed in place are not: readers
/// finish before queries start. A clone of the trace builds its own indexes, because its tables may change.
#[derive(Default)]
pub struct TimeIndex {
    switches: Cached<SwitchIndex>,
    samples: Cached<Blocks>,
    interrupts: Cached<Blocks>,
    disk_ios: Cached<Blocks>,
    processors: Cached<u32>,
}

impl<T> Default for Cached<T> {
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
    /// The context switches that determine which threads ran from `start_ns` to `end_ns`, and few others.
    #[must_use]
    pub fn switches_between(&self, start_ns: i64, end_ns: i64) -> SwitchRange {
        let switches = &self.context_switches;
        self.time_index.switches.of(switches.len(), || SwitchIndex::of(switches)).between(start_ns, end_ns)
    }

    /// The samples from `start_ns` to before `end_ns`, and few others, as chunks with row ranges, in order.
    pub fn samples_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Samples, Range<usize>)> {
        let chunks = self.samples.chunks();
        let index = self.time_index.samples.of(self.samples.len(), || {
            Blocks::of(chunks.iter().map(Samples::len), |chunk, row| {
                (chunks[chunk].time_ns[row], chunks[chunk].time_ns[row])
            })
        });
        let found = index.between(start_ns, end_ns).into_iter();
        found.filter_map(|(chunk, rows)| Some((chunks.get(chunk)?, rows)))
    }

    /// The interrupts and DPCs that ran at any time from `start_ns` to before `end_ns`, and few others, as chunks with
    /// row ranges, in order.
    pub fn interrupts_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Interrupts, Range<usize>)> {
        let chunks = self.interrupts.chunks();
        let index = self.time_index.interrupts.of(self.interrupts.len(), || {
            Blocks::of(chunks.iter().map(Interrupts::len), |chunk, row| {
                (chunks[chunk].start_ns[row], chunks[chunk].end_ns[row])
            })
        });
        let found = index.between(start_ns, end_ns).into_iter();
        found.filter_map(|(chunk, rows)| Some((chunks.get(chunk)?, rows)))
    }

    /// The disk requests that were in service at any time from `start_ns` to before `end_ns`, or completed at
    /// `start_ns`, and few others, in table order.
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

    /// One more than the highest processor number in switches and samples; 0 without any.
    #[must_use]
    pub fn recorded_processors(&self) -> u32 {
        *self.time_index.processors.of(self.context_switches.len() + self.samples.len(), || {
            let switching = self.context_switches.chunks().iter().filter_map(|chunk| chunk.cpu.iter().max());
            let sampled = self.samples.chunks().iter().filter_map(|chunk| chunk.cpu.iter().max());
            switching.chain(sampled).max().map_or(0, |&cpu| u32::from(cpu) + 1)
        })
    }
}
