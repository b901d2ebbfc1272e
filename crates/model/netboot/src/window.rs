//! How many blocks each acknowledgment covered, over time.

use serde::Serialize;

use crate::limits::WINDOW_CHANGES;

/// From here on the window had this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowChange {
    /// Time of the first acknowledgment of this size, ns.
    pub time_ns: i64,
    /// Blocks that it covered.
    pub blocks: u32,
    /// Blocks that the client asked for next, with Microsoft's variable window.
    pub asked_next: Option<u8>,
}

/// Windows of a transfer.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    changes: Vec<WindowChange>,
    left_out: u64,
    count: u64,
    blocks: u64,
    largest: u32,
    last: Option<(u32, Option<u8>)>,
}

impl Windows {
    /// An acknowledgment went on by `blocks`.
    pub fn see(&mut self, time_ns: i64, blocks: u64, asked_next: Option<u8>) {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        self.count += 1;
        self.blocks = self.blocks.saturating_add(u64::from(blocks));
        self.largest = self.largest.max(blocks);
        if self.last == Some((blocks, asked_next)) {
            return;
        }
        self.last = Some((blocks, asked_next));
        if self.changes.len() < WINDOW_CHANGES {
            self.changes.push(WindowChange { time_ns, blocks, asked_next });
        } else {
            self.left_out += 1;
        }
    }

    /// Acknowledgments that went on.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Blocks per acknowledgment.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.blocks as f64 / self.count as f64)
    }

    /// Most blocks of one acknowledgment.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// The changes, as far as they are kept, and how many more there were.
    #[must_use]
    pub fn into_changes(self) -> (Vec<WindowChange>, u64) {
        (self.changes, self.left_out)
    }
}
