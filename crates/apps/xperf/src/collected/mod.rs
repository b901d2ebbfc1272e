//! Analyses that are told the events one by one: for kinds of event that are in no table of the model.
//!
//! Each is a struct that takes [`DescribedEvent`]s in the order of time with `take`, passes over those that it
//! does not know, and gives its result with `finish`. How much each keeps is bounded; what is beyond is counted.

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

/// Most different things that are distinguished.
const MAX_KEYS: usize = 1 << 20;

/// Sums by key, of no more than [`MAX_KEYS`] keys.
#[derive(Clone, Debug)]
struct Tally<K, V> {
    sums: HashMap<K, V>,
    left_out: u64,
}

impl<K, V> Default for Tally<K, V> {
    fn default() -> Self {
        Self { sums: HashMap::new(), left_out: 0 }
    }
}

impl<K: Eq + Hash, V: Default> Tally<K, V> {
    /// The sum of `key`, to add to; a new one is counted as left out when there are too many.
    fn of(&mut self, key: K) -> Option<&mut V> {
        if self.sums.len() >= MAX_KEYS && !self.sums.contains_key(&key) {
            self.left_out += 1;
            return None;
        }
        Some(self.sums.entry(key).or_default())
    }
}

/// Sum, largest, and number of lengths of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// How many.
    pub count: u64,
    /// Their sum, ns.
    pub total_ns: i64,
    /// The longest, ns.
    pub longest_ns: i64,
}

impl Lengths {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// Memory that was allocated, and what of it was not given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Allocations.
    pub allocations: u64,
    /// Bytes allocated.
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

    fn hold(&mut self, bytes: u64) {
        self.outstanding += 1;
        self.outstanding_bytes = self.outstanding_bytes.saturating_add(bytes);
    }

    fn give_back(&mut self, bytes: u64) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.outstanding_bytes = self.outstanding_bytes.saturating_sub(bytes);
    }

    /// By what most memory is outstanding, then by what most was allocated, first.
    fn most_first(&self) -> Reverse<(u64, u64)> {
        Reverse((self.outstanding_bytes, self.bytes))
    }
}

/// A process as an event named it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessLabel {
    /// Image name; empty when not known.
    pub image: String,
    /// Process id.
    pub pid: Option<u32>,
}

impl ProcessLabel {
    /// The process of that id as it is known by `event`.
    fn at(event: &DescribedEvent<'_>, pid: Option<u32>) -> Self {
        let image = pid.and_then(|pid| event.directory.process(pid));
        Self { image: image.unwrap_or_default().to_owned(), pid }
    }

    fn of(event: &DescribedEvent<'_>) -> Self {
        Self::at(event, event.pid)
    }
}

/// The hook of a kernel event.
fn hook(event: &DescribedEvent<'_>) -> Option<u16> {
    match event.origin {
        EventOrigin::Kernel { hook } => Some(hook),
        _ => None,
    }
}

/// The number in a field, 0 where there is none.
fn number(event: &DescribedEvent<'_>, field: &str) -> u64 {
    event.number(field).unwrap_or(0)
}

/// The text in a field, empty where there is none.
fn text<'e>(event: &'e DescribedEvent<'_>, field: &str) -> &'e str {
    event.field(field).and_then(|value| value.as_text()).unwrap_or_default()
}
