//! Converts the clocks of a Linux recording to the axis, which is `CLOCK_MONOTONIC`.
//!
//! Nothing is assumed: a clock is converted by pairs of times (one of that clock, one on the axis) that the recording
//! has of the same moment. [`Trace::clock_conversions`](onoff_trace::Trace::clock_conversions) lists the conversions.

use onoff_trace::ClockConversion;

/// A clock used for timestamps in some part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SourceClock {
    /// The tracer's clock, whichever was configured.
    Trace,
    /// The kernel log's (`sched_clock`).
    KernelLog,
    /// `CLOCK_BOOTTIME`: also counts while the machine sleeps.
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

/// One moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    from_ns: i64,
    offset_ns: i64,
}

/// Quality of a kind of pair, worst first. The best kind available is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// When a message was sent and received: the pair with the smallest delay counts.
    Receipt,
    /// Two records of the same step, microseconds to milliseconds apart.
    SameStep,
    /// Two clocks read one after the other, or a clock known to be the axis.
    Reading,
}

/// All pairs found so far, for all clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockPairs {
    found: Vec<(SourceClock, Evidence, &'static str, Vec<Pair>)>,
    /// Clocks identical to another clock; `None` for the axis itself.
    same: Vec<(SourceClock, Option<SourceClock>)>,
}

/// Maximum number of pairs of one kind.
const MAX_PAIRS: usize = 100_000;

impl ClockPairs {
    /// Adds a pair: `from_ns` on `clock` is `axis_ns` on the axis. `how` names what was compared, e.g. `initcalls in
    /// trace and log`.
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

    /// Offset to add to the times of `clock`, from the first pair found.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        let (.., pairs) = self.found.iter().find(|(of, ..)| *of == clock)?;
        Some(pairs.first()?.offset_ns)
    }

    /// Records that `clock` is the axis itself.
    pub(super) fn set_axis(&mut self, clock: SourceClock) {
        self.same.push((clock, None));
    }

    /// Records that `clock` is identical to `other`.
    pub(super) fn set_same(&mut self, clock: SourceClock, other: SourceClock) {
        self.same.push((clock, Some(other)));
    }

    /// True if `clock` has a pair or is identical to another clock.
    pub(super) fn has(&self, clock: SourceClock) -> bool {
        self.found.iter().any(|(of, ..)| *of == clock) || self.same.iter().any(|(of, _)| *of == clock)
    }

    /// Builds the conversions, each from the best kind of evidence for its clock.
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

#[derive(Clone, Debug)]
struct Conversion {
    how: &'static str,
    pairs: u64,
    /// Smoothed offsets, sorted by time.
    steps: Vec<Pair>,
}

/// Window of the median filter over offsets: a single late record has no effect.
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

    /// The offset of the nearest pair.
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

#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    conversions: Vec<(SourceClock, Conversion)>,
    same: Vec<(SourceClock, Option<SourceClock>)>,
}

impl Clocks {
    /// Converts a time of `clock` to the axis; `None` if the recording has no pair for it.
    pub(super) fn axis_ns(&self, clock: SourceClock, from_ns: i64) -> Option<i64> {
        let clock = match self.same.iter().find(|(of, _)| *of == clock) {
            Some((_, None)) => return Some(from_ns),
            Some((_, Some(other))) => *other,
            None => clock,
        };
        from_ns.checked_add(self.conversion(clock)?.offset_ns(from_ns)?)
    }

    /// How long the machine slept between two times on the axis, which stops during sleep. `None` if the recording does
    /// not have both clocks before and after.
    pub(super) fn slept_ns(&self, from_ns: i64, until_ns: i64) -> Option<i64> {
        let steps = &self.conversion(SourceClock::BootTime)?.steps;
        let axis = |pair: &&Pair| pair.from_ns.saturating_add(pair.offset_ns);
        let before = steps.iter().rev().find(|pair| axis(pair) <= from_ns)?;
        let after = steps.iter().find(|pair| axis(pair) >= until_ns)?;
        before.offset_ns.checked_sub(after.offset_ns)
    }

    /// Like [`Clocks::axis_ns`], but returns the time unchanged if the clock cannot be converted. For clocks that start
    /// together with the axis.
    pub(super) fn axis_ns_or_unchanged(&self, clock: SourceClock, from_ns: i64) -> i64 {
        self.axis_ns(clock, from_ns).unwrap_or(from_ns)
    }

    fn conversion(&self, clock: SourceClock) -> Option<&Conversion> {
        self.conversions.iter().find(|(of, _)| *of == clock).map(|(_, conversion)| conversion)
    }

    /// Offset of `clock` at its first pair, ns.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        Some(self.conversion(clock)?.steps.first()?.offset_ns)
    }

    /// The conversions, for the reports.
    pub(super) fn summary(&self) -> Vec<ClockConversion> {
        let same = self.same.iter().map(|(clock, other)| ClockConversion {
            from: clock.as_str(),
            how: match other {
                None => "is the axis",
                Some(SourceClock::BootTime) => "is CLOCK_BOOTTIME",
                Some(_) => "is the kernel log's clock",
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
    fn uses_nearest_pair_and_ignores_one_late_record() {
        let mut pairs = ClockPairs::default();
        for step in 0..20 {
            let late = if step == 10 { 5_000 } else { 0 };
            pairs.add(SourceClock::KernelLog, Evidence::SameStep, "steps", step * 100, step * 100 + 40 + late);
        }
        // Ignored: a receipt is weaker evidence.
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
    fn uses_receipt_with_smallest_delay() {
        let mut pairs = ClockPairs::default();
        for (from, axis) in [(0, 900), (500, 560), (700, 790)] {
            pairs.add(SourceClock::KernelLog, Evidence::Receipt, "r", from, axis);
        }
        let clocks = pairs.finish();
        assert_eq!(clocks.axis_ns(SourceClock::KernelLog, 1000), Some(1060));
    }
}
