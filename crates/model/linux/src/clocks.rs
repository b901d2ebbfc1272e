//! The clocks of a Linux recording, and how their times come onto the axis, which is `CLOCK_MONOTONIC`.
//!
//! Nothing is assumed: a clock is converted by pairs of times, one of it and one of the axis, that the recording holds of the
//! same moment. What was done is told in [`Trace::clock_conversions`](onoff_trace::Trace::clock_conversions).

use onoff_trace::ClockConversion;

/// A clock that stamps times in some part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SourceClock {
    /// The tracer's, whichever was set.
    Trace,
    /// The kernel log's (`sched_clock`).
    KernelLog,
    /// `CLOCK_BOOTTIME`: goes on while the machine sleeps.
    BootTime,
    /// `CLOCK_REALTIME`, since 1970-01-01 UTC.
    RealTime,
}

impl SourceClock {
    const ALL: [Self; 4] = [Self::Trace, Self::KernelLog, Self::BootTime, Self::RealTime];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::KernelLog => "kernel log",
            Self::BootTime => "CLOCK_BOOTTIME",
            Self::RealTime => "CLOCK_REALTIME",
        }
    }
}

/// The same moment by two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    from_ns: i64,
    offset_ns: i64,
}

/// How good a kind of pair is; the better replaces the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// The later of two ends of a delay: the smallest delay counts.
    Receipt,
    /// Two records of the same step, microseconds to milliseconds apart.
    SameStep,
    /// Two clocks read one after the other, or a clock known to be the axis.
    Reading,
}

/// Pairs as they are found, of all clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    found: Vec<(SourceClock, Evidence, &'static str, Vec<Pair>)>,
    /// Clocks that are another clock; `None` for the axis itself.
    same: Vec<(SourceClock, Option<SourceClock>)>,
}

/// More pairs of one kind than are of use.
const MAX_PAIRS: usize = 100_000;

impl Pairs {
    /// `from_ns` by `clock` is `axis_ns` on the axis; `how` says what was compared, e.g. `initcalls in trace and log`.
    pub(super) fn add(
        &mut self,
        clock: SourceClock,
        evidence: Evidence,
        how: &'static str,
        from_ns: i64,
        axis_ns: i64,
    ) {
        let Some(offset_ns) = axis_ns.checked_sub(from_ns) else { return };
        let pair = Pair { from_ns, offset_ns };
        let of_kind = self.found.iter_mut().find(|(of, _, by, _)| (*of, *by) == (clock, how));
        match of_kind {
            Some((.., pairs)) if pairs.len() < MAX_PAIRS => pairs.push(pair),
            Some(_) => {}
            None => self.found.push((clock, evidence, how, vec![pair])),
        }
    }

    /// What to add to the times of `clock`, by the first pair found.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        let (.., pairs) = self.found.iter().find(|(of, ..)| *of == clock)?;
        Some(pairs.first()?.offset_ns)
    }

    /// `clock` is the axis.
    pub(super) fn is_axis(&mut self, clock: SourceClock) {
        self.same.push((clock, None));
    }

    /// `clock` is the same as `other`.
    pub(super) fn is_same(&mut self, clock: SourceClock, other: SourceClock) {
        self.same.push((clock, Some(other)));
    }

    /// Whether anything is known of `clock`.
    pub(super) fn knows(&self, clock: SourceClock) -> bool {
        self.found.iter().any(|(of, ..)| *of == clock) || self.same.iter().any(|(of, _)| *of == clock)
    }

    /// The conversions that the pairs give: of each clock by its best kind of evidence.
    pub(super) fn finish(mut self) -> Clocks {
        let mut clocks = Clocks { same: std::mem::take(&mut self.same), ..Clocks::default() };
        for clock in SourceClock::ALL {
            let best = self
                .found
                .iter_mut()
                .filter(|(of, ..)| *of == clock)
                .max_by_key(|(_, evidence, _, pairs)| (*evidence, pairs.len()));
            if let Some((_, evidence, how, pairs)) = best {
                clocks.conversions.push((clock, Conversion::of(std::mem::take(pairs), *evidence, how)));
            }
        }
        clocks
    }
}

/// How one clock's times come onto the axis.
#[derive(Clone, Debug)]
struct Conversion {
    how: &'static str,
    pairs: u64,
    /// Smoothed, by time.
    steps: Vec<Pair>,
}

/// How many neighbors the offset at a pair is the median of: one record that came late does not count.
const NEIGHBORS: usize = 9;

impl Conversion {
    fn of(mut pairs: Vec<Pair>, evidence: Evidence, how: &'static str) -> Self {
        pairs.sort();
        pairs.dedup();
        let count = pairs.len() as u64;
        let steps = match evidence {
            Evidence::Receipt => pairs.iter().min_by_key(|pair| pair.offset_ns).copied().into_iter().collect(),
            Evidence::Reading => pairs,
            Evidence::SameStep => (0..pairs.len())
                .filter_map(|at| {
                    let from = at.saturating_sub(NEIGHBORS / 2);
                    let until = (from + NEIGHBORS).min(pairs.len());
                    let mut near: Vec<i64> =
                        pairs.get(until.saturating_sub(NEIGHBORS)..until)?.iter().map(|pair| pair.offset_ns).collect();
                    near.sort();
                    Some(Pair { from_ns: pairs.get(at)?.from_ns, offset_ns: *near.get(near.len() / 2)? })
                })
                .collect(),
        };
        Self { how, pairs: count, steps }
    }

    /// The offset of the pair that is nearest.
    fn offset_ns(&self, from_ns: i64) -> Option<i64> {
        let behind = self.steps.partition_point(|pair| pair.from_ns <= from_ns);
        let before = behind.checked_sub(1).and_then(|at| self.steps.get(at));
        let distance = |pair: &Pair| pair.from_ns.abs_diff(from_ns);
        before.into_iter().chain(self.steps.get(behind)).min_by_key(|pair| distance(pair)).map(|pair| pair.offset_ns)
    }

    fn summary(&self, clock: SourceClock) -> Option<ClockConversion> {
        let mut offsets: Vec<i64> = self.steps.iter().map(|pair| pair.offset_ns).collect();
        offsets.sort();
        let (first, last) = (*offsets.first()?, *offsets.last()?);
        Some(ClockConversion {
            from: clock.as_str(),
            offset_ns: *offsets.get(offsets.len() / 2)?,
            spread_ns: last.saturating_sub(first),
            pairs: self.pairs,
            how: self.how,
        })
    }
}

/// What is known of the clocks of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    conversions: Vec<(SourceClock, Conversion)>,
    same: Vec<(SourceClock, Option<SourceClock>)>,
}

impl Clocks {
    /// A time of `clock` on the axis; `None` when the recording holds no pair of it.
    pub(super) fn axis_ns(&self, clock: SourceClock, from_ns: i64) -> Option<i64> {
        let clock = match self.same.iter().find(|(of, _)| *of == clock) {
            Some((_, None)) => return Some(from_ns),
            Some((_, Some(other))) => *other,
            None => clock,
        };
        from_ns.checked_add(self.conversion(clock)?.offset_ns(from_ns)?)
    }

    /// How long the machine slept between two times of the axis, which stands meanwhile; `None` when the recording does not
    /// hold both clocks before and after.
    pub(super) fn slept_ns(&self, from_ns: i64, until_ns: i64) -> Option<i64> {
        let steps = &self.conversion(SourceClock::BootTime)?.steps;
        let axis = |pair: &&Pair| pair.from_ns.saturating_add(pair.offset_ns);
        let before = steps.iter().rev().find(|pair| axis(pair) <= from_ns)?;
        let after = steps.iter().find(|pair| axis(pair) >= until_ns)?;
        before.offset_ns.checked_sub(after.offset_ns)
    }

    /// As [`Clocks::axis_ns`], and the time itself where the clock cannot be converted: for clocks that begin with the axis.
    pub(super) fn axis_or_same_ns(&self, clock: SourceClock, from_ns: i64) -> i64 {
        self.axis_ns(clock, from_ns).unwrap_or(from_ns)
    }

    fn conversion(&self, clock: SourceClock) -> Option<&Conversion> {
        self.conversions.iter().find(|(of, _)| *of == clock).map(|(_, conversion)| conversion)
    }

    /// Offset of `clock` at its first pair.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        Some(self.conversion(clock)?.steps.first()?.offset_ns)
    }

    /// What was done, for the reports.
    pub(super) fn summary(&self) -> Vec<ClockConversion> {
        let same = self.same.iter().map(|(clock, other)| ClockConversion {
            from: clock.as_str(),
            how: match other {
                None => "it is the axis",
                Some(SourceClock::BootTime) => "it is CLOCK_BOOTTIME",
                Some(_) => "it is the kernel log's clock",
            },
            ..ClockConversion::default()
        });
        let converted = self.conversions.iter().filter_map(|(clock, conversion)| conversion.summary(*clock));
        same.chain(converted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_pair_decides_and_one_late_record_does_not_count() {
        let mut pairs = Pairs::default();
        for step in 0..20 {
            let late = if step == 10 { 5_000 } else { 0 };
            pairs.add(SourceClock::KernelLog, Evidence::SameStep, "steps", step * 100, step * 100 + 40 + late);
        }
        // The receipt is no match for it.
        pairs.add(SourceClock::KernelLog, Evidence::Receipt, "receipt", 0, 9);
        for (from, axis) in [(0, 1), (1000, 501)] {
            pairs.add(SourceClock::BootTime, Evidence::Reading, "r", from, axis);
        }
        let clocks = pairs.finish();
        assert_eq!(clocks.axis_ns(SourceClock::KernelLog, 1000), Some(1040));
        assert_eq!(clocks.axis_ns(SourceClock::BootTime, 400), Some(401));
        assert_eq!(clocks.axis_ns(SourceClock::BootTime, 600), Some(101));
        assert_eq!(clocks.axis_ns(SourceClock::RealTime, 600), None);
        let summary = clocks.summary();
        assert_eq!(summary.len(), 2);
        assert_eq!((summary[0].offset_ns, summary[0].spread_ns, summary[0].pairs), (40, 0, 20));
    }

    #[test]
    fn of_receipts_the_quickest_counts() {
        let mut pairs = Pairs::default();
        for (from, axis) in [(0, 900), (500, 560), (700, 790)] {
            pairs.add(SourceClock::KernelLog, Evidence::Receipt, "r", from, axis);
        }
        let clocks = pairs.finish();
        assert_eq!(clocks.axis_ns(SourceClock::KernelLog, 1000), Some(1060));
    }
}
