//! Detects the Sorcerer's Apprentice bug: a single duplicated packet makes both ends duplicate every packet until the
//! end of the file.

use serde::Serialize;

/// Blocks at least this far behind the highest one are final; closer blocks may still be retransmitted.
const WINDOW: u64 = 256;
const SLOTS: usize = 512;
/// Minimum length of a run; shorter runs are likely to be coincidence.
const MIN_RUN_LEN: u64 = 4;

/// A run of consecutive blocks that were each sent and acknowledged exactly twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DuplicatedRun {
    /// First block, from 1.
    pub first_block: u64,
    /// Number of blocks.
    pub blocks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    data: u8,
    acknowledgments: u8,
}

/// Finds the longest run.
#[derive(Clone, Debug)]
pub(super) struct DuplicatedRunFinder {
    slots: Box<[Slot; SLOTS]>,
    /// Blocks before this block are evaluated.
    evaluated: u64,
    highest: u64,
    run: DuplicatedRun,
    longest: Option<DuplicatedRun>,
}

impl Default for DuplicatedRunFinder {
    fn default() -> Self {
        Self {
            slots: Box::new([Slot::default(); SLOTS]),
            evaluated: 1,
            highest: 0,
            run: DuplicatedRun { first_block: 1, blocks: 0 },
            longest: None,
        }
    }
}

impl DuplicatedRunFinder {
    pub(super) fn on_data(&mut self, block: u64) {
        self.advance(block);
        if let Some(slot) = self.slot(block) {
            slot.data = slot.data.saturating_add(1);
        }
    }

    pub(super) fn on_acknowledgment(&mut self, block: u64) {
        if let Some(slot) = self.slot(block) {
            slot.acknowledgments = slot.acknowledgments.saturating_add(1);
        }
    }

    pub(super) fn longest(mut self) -> Option<DuplicatedRun> {
        self.evaluate_until(self.highest.saturating_add(1));
        self.end_run();
        self.longest
    }

    fn slot(&mut self, block: u64) -> Option<&mut Slot> {
        (self.evaluated..=self.highest).contains(&block).then(|| &mut self.slots[block as usize % SLOTS])
    }

    fn advance(&mut self, block: u64) {
        if block <= self.highest {
            return;
        }
        self.evaluate_until(block.saturating_sub(WINDOW));
        self.highest = block;
    }

    /// Evaluates all blocks before `end`.
    fn evaluate_until(&mut self, end: u64) {
        if end > self.highest.saturating_add(1).max(self.evaluated) {
            // The blocks skipped by a jump were never sent.
            let next = self.highest.saturating_add(1).max(self.evaluated);
            self.evaluate_until(next);
            self.end_run();
            self.evaluated = end;
        }
        while self.evaluated < end {
            let slot = std::mem::take(&mut self.slots[self.evaluated as usize % SLOTS]);
            if (slot.data, slot.acknowledgments) == (2, 2) {
                if self.run.blocks == 0 {
                    self.run.first_block = self.evaluated;
                }
                self.run.blocks += 1;
            } else {
                self.end_run();
            }
            self.evaluated += 1;
        }
    }

    fn end_run(&mut self) {
        if self.run.blocks >= MIN_RUN_LEN && self.longest.is_none_or(|longest| longest.blocks < self.run.blocks) {
            self.longest = Some(self.run);
        }
        self.run.blocks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest_run(is_doubled: impl Fn(u64) -> bool) -> Option<DuplicatedRun> {
        let mut finder = DuplicatedRunFinder::default();
        for block in 1..=2000 {
            let copies = if is_doubled(block) { 2 } else { 1 };
            for _ in 0..copies {
                finder.on_data(block);
            }
            for _ in 0..copies {
                finder.on_acknowledgment(block);
            }
        }
        finder.longest()
    }

    #[test]
    fn finds_longest_run() {
        assert_eq!(longest_run(|_| false), None);
        assert_eq!(longest_run(|block| block % 3 == 0), None);
        let run = |first_block, blocks| Some(DuplicatedRun { first_block, blocks });
        assert_eq!(longest_run(|block| block >= 700), run(700, 1301));
        assert_eq!(longest_run(|block| (10..20).contains(&block) || (900..950).contains(&block)), run(900, 50));
    }

    #[test]
    fn handles_large_jumps() {
        let mut finder = DuplicatedRunFinder::default();
        for step in 0..1000 {
            finder.on_data(step * 30_000);
            finder.on_acknowledgment(step * 30_000);
        }
        assert_eq!(finder.longest(), None);
    }
}
