//! Pool memory of the kernel: who allocated how much, and what was not given back.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, Memory, Tally, hook, number};

/// Allocations and frees, of the system and of sessions.
pub const EVENTS: [&str; 4] = ["0x0e20", "0x0e21", "0x0e22", "0x0e23"];

/// Memory of one tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolTag {
    /// The tag's four characters.
    pub tag: String,
    /// Pool type as recorded: even numbers are nonpaged, odd ones paged.
    pub pool_type: u32,
    /// How much.
    pub memory: Memory,
}

/// Pool memory by tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// By tag, most outstanding bytes first.
    pub tags: Vec<PoolTag>,
    /// Frees of what was allocated before the recording, or is not known.
    pub other_frees: u64,
    /// Allocations beyond the number that is kept.
    pub left_out: u64,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct PoolListener {
    tags: Tally<(u32, u32), Memory>,
    live: HashMap<u64, ((u32, u32), u64)>,
    other_frees: u64,
    left_out: u64,
}

impl PoolListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let entry = number(event, "Entry");
        match hook(event) {
            Some(0x0e20 | 0x0e21) => {
                let bytes = number(event, "NumberOfBytes");
                let key = (number(event, "Tag") as u32, number(event, "Type") as u32);
                if self.live.len() >= MAX_KEYS {
                    self.left_out += 1;
                } else {
                    // Its free was not recorded: what it held is gone.
                    self.free(entry);
                    self.live.insert(entry, (key, bytes));
                    if let Some(memory) = self.tags.of(key) {
                        memory.allocate(bytes);
                        memory.hold(bytes);
                    }
                }
            }
            Some(0x0e22 | 0x0e23) if !self.free(entry) => self.other_frees += 1,
            _ => {}
        }
    }

    fn free(&mut self, entry: u64) -> bool {
        let Some((key, bytes)) = self.live.remove(&entry) else { return false };
        if let Some(memory) = self.tags.of(key) {
            memory.give_back(bytes);
        }
        true
    }

    /// Pool memory by tag.
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
            (a.memory.most_first(), &a.tag, a.pool_type).cmp(&(b.memory.most_first(), &b.tag, b.pool_type))
        });
        PoolUse { tags, other_frees: self.other_frees, left_out: self.left_out + self.tags.left_out }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{Made, number};
    use super::*;

    #[test]
    fn what_is_freed_is_no_longer_outstanding() {
        let directory = Directory::new();
        let mut listener = PoolListener::default();
        let mut tell = |hook: u16, tag: &[u8; 4], bytes: u64, entry: u64| {
            let fields = [
                number("Type", 1),
                number("Tag", u32::from_le_bytes(*tag).into()),
                number("NumberOfBytes", bytes),
                number("Entry", entry),
            ];
            listener.take(&Made::at(0, &fields).kernel(hook, "Pool", &directory));
        };
        tell(0x0e20, b"File", 100, 1);
        tell(0x0e20, b"File", 50, 2);
        tell(0x0e21, b"Gdi ", 4096, 3);
        tell(0x0e22, b"File", 100, 1);
        tell(0x0e22, b"None", 8, 9);
        let answer = listener.finish();
        let rows: Vec<_> = answer
            .tags
            .iter()
            .map(|PoolTag { tag, memory, .. }| {
                (tag.as_str(), memory.allocations, memory.bytes, memory.outstanding, memory.outstanding_bytes)
            })
            .collect();
        assert_eq!(rows, [("Gdi ", 1, 4096, 1, 4096), ("File", 2, 150, 1, 50)]);
        assert_eq!(answer.other_frees, 1);
    }
}
