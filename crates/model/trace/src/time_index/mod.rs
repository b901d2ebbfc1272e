//! Time indexes of the largest tables. The cost of a query is proportional to the rows in its range, not to the whole
//! table.
//!
//! Each index is built in one pass on first use and cached in the trace. Results equal the results of a full scan, in
//! any row order; the tests compare both.

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

/// A value that is computed from a table, and computed again after rows were added.
struct Cached<T>(Mutex<Option<(usize, Arc<T>)>>);

impl<T> Cached<T> {
    /// Returns the value for a table with this number of rows.
    fn get_or_compute(&self, rows: usize, compute: impl FnOnce() -> T) -> Arc<T> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*cached {
            Some((cached_rows, value)) if *cached_rows == rows => Arc::clone(value),
            _ => {
                let value = Arc::new(compute());
                *cached = Some((rows, Arc::clone(&value)));
                value
            }
        }
    }
}

/// The indexes of one trace. Rows added after the first query are found, but values changed in place are not, because
/// readers finish before queries start. A clone of the trace builds new indexes, because its tables may change.
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
    /// Returns the context switches that determine which threads ran from `start_ns` to `end_ns`, and a few more.
    #[must_use]
    pub fn switches_between(&self, start_ns: i64, end_ns: i64) -> SwitchRange {
        let switches = &self.context_switches;
        self.time_index.switches.get_or_compute(switches.len(), || SwitchIndex::new(switches)).range(start_ns, end_ns)
    }

    /// Returns the samples from `start_ns` to before `end_ns`, and a few more, as chunks with row ranges, in order.
    pub fn samples_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Samples, Range<usize>)> {
        let chunks = self.samples.chunks();
        let index = self.time_index.samples.get_or_compute(self.samples.len(), || {
            Blocks::new(chunks.iter().map(Samples::len), |chunk, row| {
                (chunks[chunk].time_ns[row], chunks[chunk].time_ns[row])
            })
        });
        let row_ranges = index.rows_between(start_ns, end_ns).into_iter();
        row_ranges.filter_map(|(chunk, rows)| Some((chunks.get(chunk)?, rows)))
    }

    /// Returns the interrupts and DPCs that ran at any time from `start_ns` to before `end_ns`, and a few more, as
    /// chunks with row ranges, in order.
    pub fn interrupts_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = (&Interrupts, Range<usize>)> {
        let chunks = self.interrupts.chunks();
        let index = self.time_index.interrupts.get_or_compute(self.interrupts.len(), || {
            Blocks::new(chunks.iter().map(Interrupts::len), |chunk, row| {
                (chunks[chunk].start_ns[row], chunks[chunk].end_ns[row])
            })
        });
        let row_ranges = index.rows_between(start_ns, end_ns).into_iter();
        row_ranges.filter_map(|(chunk, rows)| Some((chunks.get(chunk)?, rows)))
    }

    /// Returns the disk requests that were in service at any time from `start_ns` to before `end_ns`, or completed at
    /// `start_ns`, and a few more, in table order.
    pub fn disk_ios_between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = DiskIo> + '_ {
        let rows = &self.disk_ios;
        let index = self.time_index.disk_ios.get_or_compute(rows.len(), || {
            Blocks::new([rows.len()], |_, row| {
                let complete_ns = rows.complete_ns[row];
                (complete_ns.saturating_sub(rows.service_ns[row].max(0)), complete_ns)
            })
        });
        index.rows_between(start_ns, end_ns).into_iter().flat_map(|(_, rows)| rows).filter_map(|row| rows.get(row))
    }

    /// Returns the highest processor number in switches and samples plus one; 0 without switches and samples.
    #[must_use]
    pub fn recorded_processors(&self) -> u32 {
        *self.time_index.processors.get_or_compute(self.context_switches.len() + self.samples.len(), || {
            let switch_maxima = self.context_switches.chunks().iter().filter_map(|chunk| chunk.cpu.iter().max());
            let sample_maxima = self.samples.chunks().iter().filter_map(|chunk| chunk.cpu.iter().max());
            switch_maxima.chain(sample_maxima).max().map_or(0, |&cpu| u32::from(cpu) + 1)
        })
    }
}
