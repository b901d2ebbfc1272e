//! Heap memory of processes: how much each heap allocated, and what was not given back.

use hashbrown::HashMap;
use onoff_order::InOrder;
use onoff_trace::DescribedEvent;

use super::{MOST_KEYS, ProcessLabel, Tally, hook, number};

/// Heaps made and destroyed, allocations, reallocations and frees.
pub const EVENTS: [&str; 5] = ["0x1020", "0x1021", "0x1022", "0x1023", "0x1024"];

/// Memory of one heap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// Whose.
    pub process: ProcessLabel,
    /// Handle: the heap's address.
    pub handle: u64,
    /// Allocations, reallocations counted.
    pub allocations: u64,
    /// Bytes allocated.
    pub bytes: u64,
    /// Frees, reallocations counted.
    pub frees: u64,
    /// Allocations not freed by the end.
    pub outstanding: u64,
    /// Bytes not freed by the end.
    pub outstanding_bytes: u64,
}

/// Heap memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapUse {
    /// By heap, most outstanding bytes first.
    pub heaps: Vec<Heap>,
    /// Allocations beyond the number that is kept.
    pub left_out: u64,
    /// Events of another layout than the published one, which says nothing of 64-bit machines; they count nowhere.
    pub unreadable: u64,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    process: ProcessLabel,
    allocations: u64,
    bytes: u64,
    frees: u64,
    outstanding: u64,
    outstanding_bytes: u64,
}

type Key = (Option<u32>, u64);

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct HeapListener {
    heaps: Tally<Key, Sums>,
    live: HashMap<(Option<u32>, u64), (Key, u64)>,
    left_out: u64,
    unreadable: u64,
}

impl HeapListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if !matches!(hook(event), Some(0x1020..=0x1024)) {
            return;
        }
        if !event.complete {
            self.unreadable += 1;
            return;
        }
        let key = (event.pid, number(event, "HeapHandle"));
        match hook(event) {
            Some(0x1021) => {
                let (address, bytes) = (number(event, "AllocAddress"), number(event, "AllocSize"));
                self.allocate(event, key, address, bytes);
            }
            Some(0x1022) => {
                self.free(key, number(event, "OldAllocAddress"));
                let (address, bytes) = (number(event, "NewAllocAddress"), number(event, "NewAllocSize"));
                self.allocate(event, key, address, bytes);
            }
            Some(0x1024) => self.free(key, number(event, "FreeAddress")),
            Some(0x1020 | 0x1023) => {
                if let Some(sums) = self.heaps.of(key) {
                    sums.process = ProcessLabel::of(event);
                    if hook(event) == Some(0x1023) {
                        sums.outstanding = 0;
                        sums.outstanding_bytes = 0;
                    }
                }
            }
            _ => {}
        }
    }

    fn allocate(&mut self, event: &DescribedEvent<'_>, key: Key, address: u64, bytes: u64) {
        let Some(sums) = self.heaps.of(key) else {
            return;
        };
        if sums.process.image.is_empty() {
            sums.process = ProcessLabel::of(event);
        }
        sums.allocations += 1;
        sums.bytes = sums.bytes.saturating_add(bytes);
        if self.live.len() >= MOST_KEYS {
            self.left_out += 1;
            return;
        }
        sums.outstanding += 1;
        sums.outstanding_bytes = sums.outstanding_bytes.saturating_add(bytes);
        if let Some((before, bytes)) = self.live.insert((key.0, address), (key, bytes)) {
            // Its free was not recorded: what it held is gone.
            self.give_back(before, bytes);
        }
    }

    fn free(&mut self, key: Key, address: u64) {
        if let Some(sums) = self.heaps.of(key) {
            sums.frees += 1;
        }
        if let Some((key, bytes)) = self.live.remove(&(key.0, address)) {
            self.give_back(key, bytes);
        }
    }

    fn give_back(&mut self, key: Key, bytes: u64) {
        if let Some(sums) = self.heaps.of(key) {
            sums.outstanding = sums.outstanding.saturating_sub(1);
            sums.outstanding_bytes = sums.outstanding_bytes.saturating_sub(bytes);
        }
    }

    /// Heap memory by heap.
    #[must_use]
    pub fn finish(self) -> HeapUse {
        let mut heaps: Vec<Heap> = self
            .heaps
            .sums
            .into_iter()
            .map(|((_, handle), sums)| Heap {
                process: sums.process,
                handle,
                allocations: sums.allocations,
                bytes: sums.bytes,
                frees: sums.frees,
                outstanding: sums.outstanding,
                outstanding_bytes: sums.outstanding_bytes,
            })
            .collect();
        heaps.order_by(|a, b| {
            (b.outstanding_bytes, b.bytes, &a.process, a.handle).cmp(&(
                a.outstanding_bytes,
                a.bytes,
                &b.process,
                b.handle,
            ))
        });
        HeapUse { heaps, left_out: self.left_out + self.heaps.left_out, unreadable: self.unreadable }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::hand_made::{Made, number};
    use super::*;

    #[test]
    fn a_reallocation_frees_the_old_and_a_destroyed_heap_holds_nothing() {
        let mut directory = Directory::new();
        directory.set_process(4, "a.exe");
        let mut listener = HeapListener::default();
        let mut tell = |hook: u16, fields: &[(&'static str, u64)]| {
            let fields: Vec<_> = fields.iter().map(|&(name, value)| number(name, value)).collect();
            listener.take(&Made::at(0, &fields).kernel(hook, "Heap", &directory));
        };
        tell(0x1021, &[("HeapHandle", 1), ("AllocSize", 10), ("AllocAddress", 0x10)]);
        tell(0x1021, &[("HeapHandle", 1), ("AllocSize", 20), ("AllocAddress", 0x20)]);
        tell(0x1022, &[("HeapHandle", 1), ("NewAllocAddress", 0x30), ("OldAllocAddress", 0x10), ("NewAllocSize", 15)]);
        tell(0x1024, &[("HeapHandle", 1), ("FreeAddress", 0x20)]);
        tell(0x1021, &[("HeapHandle", 2), ("AllocSize", 7), ("AllocAddress", 0x40)]);
        tell(0x1023, &[("HeapHandle", 2)]);
        let answer = listener.finish();
        let rows: Vec<_> = answer
            .heaps
            .iter()
            .map(|heap| {
                (heap.handle, heap.allocations, heap.bytes, heap.frees, heap.outstanding, heap.outstanding_bytes)
            })
            .collect();
        assert_eq!(rows, [(1, 3, 45, 2, 1, 15), (2, 1, 7, 0, 0, 0)]);
        assert!(answer.heaps.iter().all(|heap| heap.process.image == "a.exe"));
    }
}
