//! Tracks the number of blocks per acknowledgment over time.

use serde::Serialize;

use crate::limits::MAX_WINDOW_CHANGES;

/// A change of the window size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowChange {
    /// Time of the first acknowledgment with this size, ns.
    pub time_ns: i64,
    /// Number of acknowledged blocks.
    pub blocks: u32,
    /// Number of blocks that the client requested next, with Microsoft's variable window.
    pub asked_next: Option<u8>,
}

/// The window sizes of a transfer.
#[derive(Clone, Debug, Default)]
pub struct WindowHistory {
    changes: Vec<WindowChange>,
    skipped: u64,
    count: u64,
    blocks: u64,
    largest: u32,
    last: Option<(u32, Option<u8>)>,
}

impl WindowHistory {
    /// Records an acknowledgment that advanced by `blocks`.
    pub fn record(&mut self, time_ns: i64, blocks: u64, asked_next: Option<u8>) {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        self.count += 1;
        self.blocks = self.blocks.saturating_add(u64::from(blocks));
        self.largest = self.largest.max(blocks);
        if self.last == Some((blocks, asked_next)) {
            return;
        }
        self.last = Some((blocks, asked_next));
        if self.changes.len() < MAX_WINDOW_CHANGES {
            self.changes.push(WindowChange { time_ns, blocks, asked_next });
        } else {
            self.skipped += 1;
        }
    }

    /// Returns the number of recorded acknowledgments.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean number of blocks per acknowledgment.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.blocks as f64 / self.count as f64)
    }

    /// Returns the maximum number of blocks per acknowledgment.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Returns the changes, up to the limit, and the number of changes beyond it.
    #[must_use]
    pub fn into_changes(self) -> (Vec<WindowChange>, u64) {
        (self.changes, self.skipped)
    }
}
