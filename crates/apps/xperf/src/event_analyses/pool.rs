//! Kernel pool allocations: total and outstanding memory by tag.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, Memory, Tally, hook, number};

/// Allocations and frees in system and session pool.
pub const EVENTS: [&str; 4] = ["0x0e20", "0x0e21", "0x0e22", "0x0e23"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTag {
    /// Four characters.
    pub tag: String,
    /// `POOL_TYPE` as recorded: even is nonpaged, odd is paged.
    pub pool_type: u32,
    pub memory: Memory,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Most outstanding bytes first.
    pub tags: Vec<PoolTag>,
    /// Frees without a recorded allocation.
    pub unmatched_frees: u64,
    /// Allocations beyond the limit.
    pub omitted: u64,
}

#[derive(Clone, Debug, Default)]
pub struct PoolListener {
    tags: Tally<(u32, u32), Memory>,
    /// Key in `tags` and size in bytes of the live allocations, by address.
    live: HashMap<u64, ((u32, u32), u64)>,
    unmatched_frees: u64,
    omitted: u64,
}

impl PoolListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let address = number(event, "Entry");
        match hook(event) {
            Some(0x0e20 | 0x0e21) => {
                let bytes = number(event, "NumberOfBytes");
                let key = (number(event, "Tag") as u32, number(event, "Type") as u32);
                if self.live.len() >= MAX_KEYS {
                    self.omitted += 1;
                } else {
                    // The free of a previous allocation at this address may not have been recorded.
                    self.free(address);
                    self.live.insert(address, (key, bytes));
                    if let Some(memory) = self.tags.entry(key) {
                        memory.allocate(bytes);
                        memory.add_outstanding(bytes);
                    }
                }
            }
            Some(0x0e22 | 0x0e23) if !self.free(address) => self.unmatched_frees += 1,
            _ => {}
        }
    }

    /// Removes a live allocation; returns false if there is none at this address.
    fn free(&mut self, address: u64) -> bool {
        let Some((key, bytes)) = self.live.remove(&address) else { return false };
        if let Some(memory) = self.tags.entry(key) {
            memory.release(bytes);
        }
        true
    }

    #[must_use]
    pub fn finish(self) -> PoolUse {
        let mut tags: Vec<PoolTag> = self
            .tags
            .sums
            .into_iter()
            .map(|((tag, pool_type), memory)| PoolTag {
                tag: tag.to_le_bytes().map(char::from).iter().collect(),
                pool_type,
                memory,
            })
            .collect();
        tags.sort_by(|a, b| {
            (a.memory.sort_key(), &a.tag, a.pool_type).cmp(&(b.memory.sort_key(), &b.tag, b.pool_type))
        });
        PoolUse { tags, unmatched_frees: self.unmatched_frees, omitted: self.omitted + self.tags.omitted }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn freed_memory_is_not_outstanding() {
        let directory = Directory::new();
        let mut listener = PoolListener::default();
        let mut send = |hook: u16, tag: &[u8; 4], bytes: u64, entry: u64| {
            let fields = [
                number("Type", 1),
                number("Tag", u32::from_le_bytes(*tag).into()),
                number("NumberOfBytes", bytes),
                number("Entry", entry),
            ];
            listener.take(&EventTemplate::new(0, &fields).kernel(hook, "Pool", &directory));
        };
        send(0x0e20, b"File", 100, 1);
        send(0x0e20, b"File", 50, 2);
        send(0x0e21, b"Gdi ", 4096, 3);
        send(0x0e22, b"File", 100, 1);
        send(0x0e22, b"None", 8, 9);
        let report = listener.finish();
        let rows: Vec<_> = report
            .tags
            .iter()
            .map(|PoolTag { tag, memory, .. }| {
                (tag.as_str(), memory.allocations, memory.bytes, memory.outstanding, memory.outstanding_bytes)
            })
            .collect();
        assert_eq!(rows, [("Gdi ", 1, 4096, 1, 4096), ("File", 2, 150, 1, 50)]);
        assert_eq!(report.unmatched_frees, 1);
    }
}
