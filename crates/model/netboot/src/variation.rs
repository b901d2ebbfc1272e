//! Measures how much the pace of one end varies within a transfer, in bounded memory.

/// Turns in the smallest batch. Pauses are left out of each.
const GROUP: usize = 4;
/// Batches are merged in pairs when there are this many.
const MAX_BATCHES: usize = 16;
/// Minimum number of batches for a variation.
const MIN_BATCHES: usize = 6;

/// Number and sum of turns that follow one another.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    count: u64,
    sum_ns: i128,
}

impl Batch {
    fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64
    }

    fn merged(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum_ns: self.sum_ns + other.sum_ns }
    }
}

/// Means of consecutive batches of turns. A busy machine is slower for a while, which the distribution of single turns
/// does not show: its means differ from batch to batch.
#[derive(Clone, Debug)]
pub struct TurnBatches {
    group: Vec<i64>,
    open: Batch,
    /// Groups in `open`.
    open_groups: u64,
    /// Groups in each batch of `batches`.
    groups_per_batch: u64,
    batches: Vec<Batch>,
}

impl Default for TurnBatches {
    fn default() -> Self {
        Self {
            group: Vec::with_capacity(GROUP),
            open: Batch::default(),
            open_groups: 0,
            groups_per_batch: 1,
            batches: Vec::new(),
        }
    }
}

impl TurnBatches {
    /// Adds a turn. Negative ones, which occur if the clock was set back, are ignored.
    pub fn add(&mut self, ns: i64) {
        if ns < 0 {
            return;
        }
        self.group.push(ns);
        if self.group.len() < GROUP {
            return;
        }
        // The shortest turn is no pause, even where many turns are.
        let limit_ns = crate::turnaround::pause_limit_ns(self.group.iter().copied().min().unwrap_or(0));
        for ns in self.group.drain(..).filter(|&ns| ns <= limit_ns) {
            self.open = self.open.merged(Batch { count: 1, sum_ns: i128::from(ns) });
        }
        self.open_groups += 1;
        if self.open_groups < self.groups_per_batch {
            return;
        }
        self.batches.push(std::mem::take(&mut self.open));
        self.open_groups = 0;
        if self.batches.len() == MAX_BATCHES {
            self.batches =
                self.batches.chunks(2).map(|pair| pair.iter().copied().fold(Batch::default(), Batch::merged)).collect();
            self.groups_per_batch = self.groups_per_batch.saturating_mul(2);
        }
    }

    /// Returns the coefficient of variation of the batches' means, in percent; `None` for too few turns.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        if self.batches.len() < MIN_BATCHES {
            return None;
        }
        let count = self.batches.len() as f64;
        let mean = self.batches.iter().map(Batch::mean_ns).sum::<f64>() / count;
        let squares = self.batches.iter().map(|batch| (batch.mean_ns() - mean).powi(2)).sum::<f64>();
        (mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn percent(turns: impl Iterator<Item = i64>) -> Option<f64> {
        let mut batches = TurnBatches::default();
        turns.for_each(|ns| batches.add(ns));
        batches.percent()
    }

    #[test]
    fn a_machine_that_slows_down_varies() {
        // Half of the transfer takes 1.5 times as long: 20 % around the mean, with 8 to 15 batches.
        let slower = percent((0..5_600).map(|turn| if turn < 2_800 { 400_000 } else { 600_000 })).unwrap();
        assert!((20.0..22.0).contains(&slower), "{slower}");
    }

    #[test]
    fn a_steady_machine_does_not_vary() {
        assert_eq!(percent((0..5_600).map(|_| 400_000)), Some(0.0));
        // Single turns differ, but each batch has the same mixture.
        let mixed = percent((0..5_600).map(|turn| if turn % 2 == 0 { 200_000 } else { 600_000 })).unwrap();
        assert!(mixed < 1.0, "{mixed}");
    }

    #[test]
    fn pauses_are_not_a_slower_pace() {
        let paused = percent((0..5_600).map(|turn| if turn % 700 == 0 { 90_000_000 } else { 400_000 })).unwrap();
        assert!(paused < 1.0, "{paused}");
        // One turn in eight is a pause; some groups have several.
        let busy =
            percent((0..5_600).map(|turn| if turn * turn % 8 == 1 && turn % 3 == 0 { 9_000_000 } else { 400_000 }));
        assert!(busy.unwrap() < 1.0, "{busy:?}");
        assert_eq!(percent((0..23).map(|_| 400_000)), None);
    }

    proptest! {
        #[test]
        fn memory_is_bounded(turns in proptest::collection::vec(0..i64::MAX, 0..3_000)) {
            let mut batches = TurnBatches::default();
            for ns in turns {
                batches.add(ns);
                prop_assert!(batches.batches.len() < MAX_BATCHES && batches.group.len() < GROUP);
            }
            prop_assert!(batches.percent().is_none_or(f64::is_finite));
        }
    }
}
