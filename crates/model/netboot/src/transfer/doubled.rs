//! Sorcerer's Apprentice: one duplicated packet makes each side answer every packet twice, to the end of the file.

use serde::Serialize;

/// Blocks behind the highest that may still be repeated.
const UNSETTLED: u64 = 256;
const SLOTS: usize = 512;
/// A run shorter than this is chance.
const MIN_LEN: u64 = 4;

/// A run of consecutive blocks that were each sent exactly twice and acknowledged exactly twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubledRun {
    /// Its first block, from 1.
    pub first_block: u64,
    /// Its blocks.
    pub blocks: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    data: u8,
    acknowledgments: u8,
}

/// Finds the longest run.
#[derive(Clone, Debug)]
pub(super) struct Doubled {
    slots: Box<[Slot; SLOTS]>,
    /// Blocks up to here, this one left out, are judged.
    settled: u64,
    highest: u64,
    run: DoubledRun,
    longest: Option<DoubledRun>,
}

impl Default for Doubled {
    fn default() -> Self {
        Self {
            slots: Box::new([Slot::default(); SLOTS]),
            settled: 1,
            highest: 0,
            run: DoubledRun { first_block: 1, blocks: 0 },
            longest: None,
        }
    }
}

impl Doubled {
    pub(super) fn data(&mut self, block: u64) {
        self.advance(block);
        if let Some(slot) = self.slot(block) {
            slot.data = slot.data.saturating_add(1);
        }
    }

    pub(super) fn acknowledgment(&mut self, block: u64) {
        if let Some(slot) = self.slot(block) {
            slot.acknowledgments = slot.acknowledgments.saturating_add(1);
        }
    }

    pub(super) fn longest(mut self) -> Option<DoubledRun> {
        self.settle(self.highest.saturating_add(1));
        self.end_run();
        self.longest
    }

    fn slot(&mut self, block: u64) -> Option<&mut Slot> {
        (self.settled..=self.highest).contains(&block).then(|| &mut self.slots[block as usize % SLOTS])
    }

    fn advance(&mut self, block: u64) {
        if block <= self.highest {
            return;
        }
        self.settle(block.saturating_sub(UNSETTLED));
        self.highest = block;
    }

    /// Judges all blocks before `end`.
    fn settle(&mut self, end: u64) {
        if end > self.highest.saturating_add(1).max(self.settled) {
            // A jump: what it passes over was never sent.
            let next = self.highest.saturating_add(1).max(self.settled);
            self.settle(next);
            self.end_run();
            self.settled = end;
        }
        while self.settled < end {
            let slot = std::mem::take(&mut self.slots[self.settled as usize % SLOTS]);
            if (slot.data, slot.acknowledgments) == (2, 2) {
                if self.run.blocks == 0 {
                    self.run.first_block = self.settled;
                }
                self.run.blocks += 1;
            } else {
                self.end_run();
            }
            self.settled += 1;
        }
    }

    fn end_run(&mut self) {
        if self.run.blocks >= MIN_LEN && self.longest.is_none_or(|longest| longest.blocks < self.run.blocks) {
            self.longest = Some(self.run);
        }
        self.run.blocks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(doubled: impl Fn(u64) -> bool) -> Option<DoubledRun> {
        let mut finder = Doubled::default();
        for block in 1..=2000 {
            let times = if doubled(block) { 2 } else { 1 };
            for _ in 0..times {
                finder.data(block);
            }
            for _ in 0..times {
                finder.acknowledgment(block);
            }
        }
        finder.longest()
    }

    #[test]
    fn the_longest_run_is_found_to_the_end_of_the_file() {
        assert_eq!(play(|_| false), None);
        assert_eq!(play(|block| block % 3 == 0), None);
        let run = |first_block, blocks| Some(DoubledRun { first_block, blocks });
        assert_eq!(play(|block| block >= 700), run(700, 1301));
        assert_eq!(play(|block| (10..20).contains(&block) || (900..950).contains(&block)), run(900, 50));
    }

    #[test]
    fn jumps_do_not_loop_for_long() {
        let mut finder = Doubled::default();
        for step in 0..1000 {
            finder.data(step * 30_000);
            finder.acknowledgment(step * 30_000);
        }
        assert_eq!(finder.longest(), None);
    }
}
