//! Converts the clocks of a Linux recording to the axis, which is `CLOCK_MONOTONIC`.
//!
//! A clock is converted only with evidence: moments for which the recording has both a time of that clock and a time on
//! the axis. [`Trace::clock_conversions`](onoff_trace::Trace::clock_conversions) lists the conversions.

use onoff_trace::ClockConversion;

/// A clock used for timestamps in some part of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SourceClock {
    /// The clock configured for the tracer.
    Trace,
    /// The clock of the kernel log (`sched_clock`).
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
    source_ns: i64,
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

/// Pairs of one clock that were found by the same comparison.
#[derive(Clone, Debug)]
struct PairGroup {
    clock: SourceClock,
    evidence: Evidence,
    how: &'static str,
    pairs: Vec<Pair>,
}

/// All pairs found so far, for all clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockPairs {
    groups: Vec<PairGroup>,
    /// Clocks identical to another clock; `None` for the axis itself.
    aliases: Vec<(SourceClock, Option<SourceClock>)>,
}

/// Maximum number of pairs in a group.
const MAX_PAIRS: usize = 100_000;

impl ClockPairs {
    /// Adds a pair: `source_ns` on `clock` is `axis_ns` on the axis. `how` names what was compared, e.g. `initcalls in
    /// trace and log`.
    pub(super) fn add(
        &mut self,
        clock: SourceClock,
        evidence: Evidence,
        how: &'static str,
        source_ns: i64,
        axis_ns: i64,
    ) {
        let Some(offset_ns) = axis_ns.checked_sub(source_ns) else { return };
        let pair = Pair { source_ns, offset_ns };
        match self.groups.iter_mut().find(|group| group.clock == clock && group.how == how) {
            Some(group) if group.pairs.len() < MAX_PAIRS => group.pairs.push(pair),
            Some(_) => {}
            None => self.groups.push(PairGroup { clock, evidence, how, pairs: vec![pair] }),
        }
    }

    /// Returns the offset to add to the times of `clock`, from the first pair found.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        let group = self.groups.iter().find(|group| group.clock == clock)?;
        Some(group.pairs.first()?.offset_ns)
    }

    /// Records that `clock` is the axis itself.
    pub(super) fn set_axis(&mut self, clock: SourceClock) {
        self.aliases.push((clock, None));
    }

    /// Records that `clock` is identical to `other`.
    pub(super) fn set_same(&mut self, clock: SourceClock, other: SourceClock) {
        self.aliases.push((clock, Some(other)));
    }

    /// True if `clock` has a pair or is identical to another clock.
    pub(super) fn has(&self, clock: SourceClock) -> bool {
        self.groups.iter().any(|group| group.clock == clock) || self.aliases.iter().any(|(alias, _)| *alias == clock)
    }

    /// Builds a conversion for each clock from the best kind of evidence available.
    pub(super) fn finish(mut self) -> Clocks {
        let mut clocks = Clocks { aliases: std::mem::take(&mut self.aliases), ..Clocks::default() };
        for clock in SourceClock::ALL {
            let best = self
                .groups
                .iter_mut()
                .filter(|group| group.clock == clock)
                .max_by_key(|group| (group.evidence, group.pairs.len()));
            if let Some(group) = best {
                let pairs = std::mem::take(&mut group.pairs);
                clocks.conversions.push((clock, Conversion::new(pairs, group.evidence, group.how)));
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
    fn new(mut pairs: Vec<Pair>, evidence: Evidence, how: &'static str) -> Self {
        pairs.sort();
        pairs.dedup();
        let count = pairs.len() as u64;
        let steps = match evidence {
            Evidence::Receipt => pairs.iter().min_by_key(|pair| pair.offset_ns).copied().into_iter().collect(),
            Evidence::Reading => pairs,
            Evidence::SameStep => (0..pairs.len())
                .filter_map(|index| {
                    let end = (index.saturating_sub(NEIGHBORS / 2) + NEIGHBORS).min(pairs.len());
                    let window = pairs.get(end.saturating_sub(NEIGHBORS)..end)?;
                    let mut offsets: Vec<i64> = window.iter().map(|pair| pair.offset_ns).collect();
                    offsets.sort();
                    Some(Pair { source_ns: pairs.get(index)?.source_ns, offset_ns: *offsets.get(offsets.len() / 2)? })
                })
                .collect(),
        };
        Self { how, pairs: count, steps }
    }

    /// Returns the offset of the nearest pair.
    fn offset_ns(&self, source_ns: i64) -> Option<i64> {
        let next_index = self.steps.partition_point(|pair| pair.source_ns <= source_ns);
        let previous = next_index.checked_sub(1).and_then(|index| self.steps.get(index));
        let distance = |pair: &Pair| pair.source_ns.abs_diff(source_ns);
        previous
            .into_iter()
            .chain(self.steps.get(next_index))
            .min_by_key(|pair| distance(pair))
            .map(|pair| pair.offset_ns)
    }

    fn summary(&self, clock: SourceClock) -> Option<ClockConversion> {
        let mut offsets: Vec<i64> = self.steps.iter().map(|pair| pair.offset_ns).collect();
        offsets.sort();
        let (min, max) = (*offsets.first()?, *offsets.last()?);
        Some(ClockConversion {
            from: clock.as_str(),
            offset_ns: *offsets.get(offsets.len() / 2)?,
            spread_ns: max.saturating_sub(min),
            pairs: self.pairs,
            how: self.how,
        })
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    conversions: Vec<(SourceClock, Conversion)>,
    aliases: Vec<(SourceClock, Option<SourceClock>)>,
}

impl Clocks {
    /// Converts a time of `clock` to the axis; `None` if the recording has no pair for it.
    pub(super) fn axis_ns(&self, clock: SourceClock, source_ns: i64) -> Option<i64> {
        let clock = match self.aliases.iter().find(|(alias, _)| *alias == clock) {
            Some((_, None)) => return Some(source_ns),
            Some((_, Some(other))) => *other,
            None => clock,
        };
        source_ns.checked_add(self.conversion(clock)?.offset_ns(source_ns)?)
    }

    /// Returns how long the machine slept between two times on the axis, which stops during sleep, by a clock that
    /// keeps running. `None` if the recording does not have both clocks before and after.
    pub(super) fn slept_ns(&self, from_ns: i64, until_ns: i64) -> Option<i64> {
        self.gain_ns(SourceClock::BootTime, from_ns, until_ns)
            .or_else(|| self.slept_by_wall_clock_ns(from_ns, until_ns))
    }

    /// Returns how long the machine slept by the wall clock. `None` if the clock did not gain at least a second, or so
    /// much that it must have been set.
    pub(super) fn slept_by_wall_clock_ns(&self, from_ns: i64, until_ns: i64) -> Option<i64> {
        /// The shortest sleep that a clock in whole seconds, as read after a resume, can show.
        const MIN_SLEEP_NS: i64 = 1_000_000_000;
        /// 90 days.
        const MAX_SLEEP_NS: i64 = 90 * 86_400 * 1_000_000_000;
        let is_plausible = |gain_ns: &i64| (MIN_SLEEP_NS..=MAX_SLEEP_NS).contains(gain_ns);
        self.gain_ns(SourceClock::RealTime, from_ns, until_ns).filter(is_plausible)
    }

    /// Returns how much further than the axis `clock` went between two times on the axis.
    fn gain_ns(&self, clock: SourceClock, from_ns: i64, until_ns: i64) -> Option<i64> {
        let steps = &self.conversion(clock)?.steps;
        let axis_ns = |pair: &&Pair| pair.source_ns.saturating_add(pair.offset_ns);
        let pair_before = steps.iter().rev().find(|pair| axis_ns(pair) <= from_ns)?;
        let pair_after = steps.iter().find(|pair| axis_ns(pair) >= until_ns)?;
        pair_before.offset_ns.checked_sub(pair_after.offset_ns)
    }

    /// Converts a time like [`Clocks::axis_ns`], but returns it unchanged if the clock cannot be converted. Used for
    /// clocks that start together with the axis.
    pub(super) fn axis_ns_or_unchanged(&self, clock: SourceClock, source_ns: i64) -> i64 {
        self.axis_ns(clock, source_ns).unwrap_or(source_ns)
    }

    fn conversion(&self, clock: SourceClock) -> Option<&Conversion> {
        self.conversions.iter().find(|(source, _)| *source == clock).map(|(_, conversion)| conversion)
    }

    /// Returns the offset of `clock` at its first pair, ns.
    pub(super) fn first_offset_ns(&self, clock: SourceClock) -> Option<i64> {
        Some(self.conversion(clock)?.steps.first()?.offset_ns)
    }

    /// Returns the conversions for the reports.
    pub(super) fn summary(&self) -> Vec<ClockConversion> {
        let alias_rows = self.aliases.iter().map(|(clock, other)| ClockConversion {
            from: clock.as_str(),
            how: match other {
                None => "is the axis",
                Some(SourceClock::BootTime) => "is CLOCK_BOOTTIME",
                Some(_) => "is the kernel log's clock",
            },
            ..ClockConversion::default()
        });
        let converted = self.conversions.iter().filter_map(|(clock, conversion)| conversion.summary(*clock));
        alias_rows.chain(converted).collect()
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
        for (source_ns, axis_ns) in [(0, 1), (1000, 501)] {
            pairs.add(SourceClock::BootTime, Evidence::Reading, "r", source_ns, axis_ns);
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
        for (source_ns, axis_ns) in [(0, 900), (500, 560), (700, 790)] {
            pairs.add(SourceClock::KernelLog, Evidence::Receipt, "r", source_ns, axis_ns);
        }
        let clocks = pairs.finish();
        assert_eq!(clocks.axis_ns(SourceClock::KernelLog, 1000), Some(1060));
    }
}
