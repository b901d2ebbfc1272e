//! Isolated times: a damaged record can have a time hours after all others. If the recording lasted until then, every
//! rate would be too low and every axis too long, so a recording ends with the last time that is not isolated.

/// Maximum number of isolated times, and the minimum size of the recording per isolated time, bytes.
const MAX_ISOLATED: usize = 16;
const MIN_BYTES_PER_ISOLATED: usize = 64 << 10;
/// Minimum silence before an isolated time, seconds. It must also be longer than everything recorded before.
const MIN_SILENCE_SECONDS: u64 = 300;

/// The latest times of records, in ticks of the recording's clock.
#[derive(Debug, Default)]
pub(crate) struct LatestTimes(Vec<u64>);

impl LatestTimes {
    /// Number of times that are kept, and how many of a buffer can matter.
    pub(crate) const MAX: usize = MAX_ISOLATED + 1;

    /// Adds times.
    pub(crate) fn add(&mut self, times: impl Iterator<Item = u64>) {
        self.0.extend(times);
        self.0.sort_unstable_by(|a, b| b.cmp(a));
        self.0.truncate(Self::MAX);
    }

    /// Returns the minimum silence before an isolated time, in ticks.
    pub(crate) const fn min_silence(ticks_per_second: u64) -> u64 {
        ticks_per_second.saturating_mul(MIN_SILENCE_SECONDS)
    }

    /// Returns the latest time that is not isolated, and the number of times after it. `end_ticks` is the latest time
    /// of all records, including those without a time.
    pub(crate) fn end(
        &self,
        (start_ticks, end_ticks): (u64, u64),
        ticks_per_second: u64,
        recording_bytes: usize,
    ) -> (u64, u64) {
        let min_silence = Self::min_silence(ticks_per_second);
        let max_isolated = (recording_bytes / MIN_BYTES_PER_ISOLATED).min(MAX_ISOLATED);
        let mut end = (end_ticks, 0);
        let pairs = self.0.iter().zip(self.0.iter().skip(1)).zip(1_u64..).take(max_isolated);
        for ((&later, &earlier), isolated) in pairs {
            if later.saturating_sub(earlier) > min_silence.max(earlier.saturating_sub(start_ticks)) {
                end = (earlier, isolated);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::LatestTimes;

    const SECOND: u64 = 10_000_000;
    const HOUR: u64 = 3_600 * SECOND;
    const START: u64 = 77 * HOUR;

    fn end(times: &[u64], recording_bytes: usize) -> (u64, u64) {
        let mut latest = LatestTimes::default();
        times.iter().for_each(|&time| latest.add([START + time].into_iter()));
        let last = START + times.iter().max().unwrap();
        let (end, isolated) = latest.end((START, last), SECOND, recording_bytes);
        (end - START, isolated)
    }

    #[test]
    fn few_times_long_after_all_others_are_isolated() {
        assert_eq!(end(&[SECOND, 30 * SECOND, 16 * HOUR], 1 << 20), (30 * SECOND, 1));
        assert_eq!(end(&[30 * SECOND, 16 * HOUR, 16 * HOUR + 5], 1 << 20), (30 * SECOND, 2));
        assert_eq!(end(&[30 * SECOND, 2 * HOUR, 90 * HOUR], 1 << 20), (30 * SECOND, 2));
    }

    #[test]
    fn recording_ends_with_its_last_record() {
        assert_eq!(end(&[29 * SECOND, 30 * SECOND], 1 << 20), (30 * SECOND, 0));
        // A sleep with its clock running: many events follow it.
        let after_sleep: Vec<u64> = (0..100).map(|index| 16 * HOUR + index).collect();
        assert_eq!(end(&after_sleep, 1 << 20), (16 * HOUR + 99, 0));
        assert_eq!(end(&[30 * SECOND, 16 * HOUR], 4_096), (16 * HOUR, 0), "a few events of a log");
        assert_eq!(end(&[HOUR, HOUR + 200 * SECOND], 1 << 20), (HOUR + 200 * SECOND, 0), "a quiet end");
        assert_eq!(end(&[3 * HOUR, 5 * HOUR], 1 << 20), (5 * HOUR, 0), "a logger that is mostly silent");
    }
}
