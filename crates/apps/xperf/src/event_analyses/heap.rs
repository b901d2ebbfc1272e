//! Heap allocations of processes: total and outstanding memory by heap.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, Memory, ProcessRef, Tally, hook, number};

/// Heap creation and destruction, allocations, reallocations and frees.
pub const EVENTS: [&str; 5] = ["0x1020", "0x1021", "0x1022", "0x1023", "0x1024"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    pub process: ProcessRef,
    /// Address of the heap.
    pub handle: u64,
    /// Reallocations count as allocations.
    pub memory: Memory,
    /// Includes reallocations.
    pub frees: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapUse {
    /// Most outstanding bytes first.
    pub heaps: Vec<Heap>,
    /// Allocations beyond the limit.
    pub omitted: u64,
    /// Ignored events without the published layout, which does not cover 64-bit computers.
    pub unreadable: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct HeapKey {
    pid: Option<u32>,
    handle: u64,
}

#[derive(Clone, Debug, Default)]
pub struct HeapListener {
    heaps: Tally<HeapKey, Heap>,
    /// Heap and size in bytes of the live allocations, by process id and address.
    live: HashMap<(Option<u32>, u64), (HeapKey, u64)>,
    omitted: u64,
    unreadable: u64,
}

impl HeapListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        if !matches!(hook(event), Some(0x1020..=0x1024)) {
            return;
        }
        if !event.complete {
            self.unreadable += 1;
            return;
        }
        let key = HeapKey { pid: event.pid, handle: number(event, "HeapHandle") };
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
                if let Some(heap) = self.heaps.entry(key) {
                    heap.process = ProcessRef::from_event(event);
                    if hook(event) == Some(0x1023) {
                        heap.memory.outstanding = 0;
                        heap.memory.outstanding_bytes = 0;
                    }
                }
            }
            _ => {}
        }
    }

    fn allocate(&mut self, event: &DescribedEvent<'_>, key: HeapKey, address: u64, bytes: u64) {
        let Some(heap) = self.heaps.entry(key) else { return };
        if heap.process.image.is_empty() {
            heap.process = ProcessRef::from_event(event);
        }
        heap.memory.allocate(bytes);
        if self.live.len() >= MAX_KEYS {
            self.omitted += 1;
            return;
        }
        heap.memory.add_outstanding(bytes);
        if let Some((previous_key, previous_bytes)) = self.live.insert((key.pid, address), (key, bytes)) {
            // The free of the previous allocation at this address was not recorded.
            self.release(previous_key, previous_bytes);
        }
    }

    fn free(&mut self, key: HeapKey, address: u64) {
        if let Some(heap) = self.heaps.entry(key) {
            heap.frees += 1;
        }
        if let Some((key, bytes)) = self.live.remove(&(key.pid, address)) {
            self.release(key, bytes);
        }
    }

    fn release(&mut self, key: HeapKey, bytes: u64) {
        if let Some(heap) = self.heaps.entry(key) {
            heap.memory.release(bytes);
        }
    }

    #[must_use]
    pub fn finish(self) -> HeapUse {
        let heaps = self.heaps.sums.into_iter();
        let mut heaps: Vec<Heap> = heaps.map(|(key, heap)| Heap { handle: key.handle, ..heap }).collect();
        heaps.sort_by(|a, b| {
            (a.memory.sort_key(), &a.process, a.handle).cmp(&(b.memory.sort_key(), &b.process, b.handle))
        });
        HeapUse { heaps, omitted: self.omitted + self.heaps.omitted, unreadable: self.unreadable }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn reallocation_frees_and_destruction_clears() {
        let mut directory = Directory::new();
        directory.set_process(4, "a.exe");
        let mut listener = HeapListener::default();
        let mut send = |hook: u16, fields: &[(&'static str, u64)]| {
            let fields: Vec<_> = fields.iter().map(|&(name, value)| number(name, value)).collect();
            listener.take(&EventTemplate::new(0, &fields).kernel(hook, "Heap", &directory));
        };
        send(0x1021, &[("HeapHandle", 1), ("AllocSize", 10), ("AllocAddress", 0x10)]);
        send(0x1021, &[("HeapHandle", 1), ("AllocSize", 20), ("AllocAddress", 0x20)]);
        send(0x1022, &[("HeapHandle", 1), ("NewAllocAddress", 0x30), ("OldAllocAddress", 0x10), ("NewAllocSize", 15)]);
        send(0x1024, &[("HeapHandle", 1), ("FreeAddress", 0x20)]);
        send(0x1021, &[("HeapHandle", 2), ("AllocSize", 7), ("AllocAddress", 0x40)]);
        send(0x1023, &[("HeapHandle", 2)]);
        let report = listener.finish();
        let rows: Vec<_> = report
            .heaps
            .iter()
            .map(|Heap { handle, memory, frees, .. }| {
                (*handle, memory.allocations, memory.bytes, *frees, memory.outstanding, memory.outstanding_bytes)
            })
            .collect();
        assert_eq!(rows, [(1, 3, 45, 2, 1, 15), (2, 1, 7, 0, 0, 0)]);
        assert!(report.heaps.iter().all(|heap| heap.process.image == "a.exe"));
    }
}
