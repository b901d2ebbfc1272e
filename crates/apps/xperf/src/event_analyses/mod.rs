//! Analyses of event types that the model has no table for.
//!
//! Each analysis is a struct that receives [`DescribedEvent`]s in time order through `take`, ignores unrelated events,
//! and returns a result from `finish`. Memory is bounded: entries beyond the limit are counted but not stored.

pub mod driver_calls;
pub mod focus;
pub mod hardware_counters;
pub mod heap;
pub mod pool;
pub mod prefetch;
pub mod process_counters;
pub mod ready_boot;
pub mod registry;
pub mod spin_locks;
#[cfg(test)]
mod synthetic;
pub mod work;

use std::cmp::Reverse;
use std::hash::Hash;

use hashbrown::HashMap;
use onoff_trace::{DescribedEvent, EventOrigin};

/// Maximum number of entries that an analysis stores.
const MAX_KEYS: usize = 1 << 20;

/// Sums by key, for at most [`MAX_KEYS`] keys.
#[derive(Clone, Debug)]
struct Tally<K, V> {
    sums: HashMap<K, V>,
    omitted: u64,
}

impl<K, V> Default for Tally<K, V> {
    fn default() -> Self {
        Self { sums: HashMap::new(), omitted: 0 }
    }
}

impl<K: Eq + Hash, V: Default> Tally<K, V> {
    /// Returns the sum of `key`. `None`, counted in `omitted`, if the key is new and the limit is reached.
    fn entry(&mut self, key: K) -> Option<&mut V> {
        if self.sums.len() >= MAX_KEYS && !self.sums.contains_key(&key) {
            self.omitted += 1;
            return None;
        }
        Some(self.sums.entry(key).or_default())
    }
}

/// Rows of a report, at most [`MAX_KEYS`]; the others are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited<T> {
    pub rows: Vec<T>,
    /// Rows beyond the limit.
    pub omitted: u64,
    limit: usize,
}

impl<T> Default for Limited<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), omitted: 0, limit: MAX_KEYS }
    }
}

impl<T> Limited<T> {
    #[cfg(test)]
    const fn with_limit(limit: usize) -> Self {
        Self { rows: Vec::new(), omitted: 0, limit }
    }

    /// Adds a row, and returns its index. `None` if the limit is reached; the row is counted in `omitted`.
    fn push(&mut self, row: T) -> Option<usize> {
        if self.rows.len() >= self.limit {
            self.omitted += 1;
            return None;
        }
        self.rows.push(row);
        Some(self.rows.len() - 1)
    }
}

/// Count, sum and maximum of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationStats {
    pub count: u64,
    pub total_ns: i64,
    pub max_ns: i64,
}

impl DurationStats {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Allocated memory, total and outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub allocations: u64,
    pub bytes: u64,
    /// Allocations not freed by the end.
    pub outstanding: u64,
    /// Bytes not freed by the end.
    pub outstanding_bytes: u64,
}

impl Memory {
    fn allocate(&mut self, bytes: u64) {
        self.allocations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn add_outstanding(&mut self, bytes: u64) {
        self.outstanding += 1;
        self.outstanding_bytes = self.outstanding_bytes.saturating_add(bytes);
    }

    fn release(&mut self, bytes: u64) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.outstanding_bytes = self.outstanding_bytes.saturating_sub(bytes);
    }

    /// Returns the key for sorting by outstanding bytes, then by allocated bytes, largest first.
    fn sort_key(&self) -> Reverse<(u64, u64)> {
        Reverse((self.outstanding_bytes, self.bytes))
    }
}

/// A process as known when an event was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessRef {
    /// Empty if unknown.
    pub image: String,
    pub pid: Option<u32>,
}

impl ProcessRef {
    /// Returns the process that has `pid` at the time of `event`.
    fn from_pid(event: &DescribedEvent<'_>, pid: Option<u32>) -> Self {
        let image = pid.and_then(|pid| event.directory.process(pid));
        Self { image: image.unwrap_or_default().to_owned(), pid }
    }

    fn from_event(event: &DescribedEvent<'_>) -> Self {
        Self::from_pid(event, event.pid)
    }
}

fn hook(event: &DescribedEvent<'_>) -> Option<u16> {
    match event.origin {
        EventOrigin::Kernel { hook } => Some(hook),
        _ => None,
    }
}

/// Returns the value of a numeric field; 0 if missing.
fn number(event: &DescribedEvent<'_>, field: &str) -> u64 {
    event.number(field).unwrap_or(0)
}

/// Returns the value of a text field; empty if missing.
fn text<'e>(event: &'e DescribedEvent<'_>, field: &str) -> &'e str {
    event.field(field).and_then(|value| value.as_text()).unwrap_or_default()
}
