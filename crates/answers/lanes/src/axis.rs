//! The end of the time axis.
//!
//! A damaged record can have a time hours after all others. An axis up to it would shrink everything else to a few
//! pixels, so the axis ends with the last time that is not isolated.

use onoff_trace::{SystemKind, Trace};

/// Maximum number of isolated times, and the minimum number of times per isolated one.
const MAX_ISOLATED: usize = 16;
const MIN_TIMES_PER_ISOLATED: usize = 1_000;
/// Minimum silence before an isolated time, ns. It must also be longer than everything recorded before.
const MIN_SILENCE_NS: i64 = 300_000_000_000;

/// Returns the end of the time axis, ns: the time of the last event, unless few events are long after all others.
#[must_use]
pub fn axis_end_ns(trace: &Trace) -> i64 {
    // The reader of these traces has left out isolated times for all commands.
    if !trace.recorder.is_empty() && trace.system.kind == SystemKind::Windows {
        return trace.duration_ns;
    }
    let mut latest = LatestTimes::default();
    for chunk in trace.context_switches.chunks() {
        latest.add(&chunk.time_ns);
    }
    for chunk in trace.ready_threads.chunks() {
        latest.add(&chunk.time_ns);
    }
    for chunk in trace.samples.chunks() {
        latest.add(&chunk.time_ns);
    }
    for chunk in trace.interrupts.chunks() {
        latest.add(&chunk.end_ns);
    }
    let columns: [&[i64]; 9] = [
        &trace.disk_ios.complete_ns,
        &trace.file_ios.start_ns,
        &trace.hard_faults.end_ns,
        &trace.service_transitions.start_ns,
        &trace.device_operations.start_ns,
        &trace.milestones.time_ns,
        &trace.activities.start_ns,
        &trace.notifications.start_ns,
        &trace.power_requests.start_ns,
    ];
    columns.into_iter().for_each(|times| latest.add(times));
    for chunk in trace.events.chunks() {
        latest.add(&chunk.time_ns);
    }
    latest.end_ns(trace.duration_ns)
}

/// The number of times, and the latest of them.
#[derive(Default)]
struct LatestTimes {
    count: usize,
    latest: Vec<i64>,
}

impl LatestTimes {
    /// Adds a column in order of time.
    fn add(&mut self, times: &[i64]) {
        self.count = self.count.saturating_add(times.len());
        self.latest.extend(times.iter().rev().take(MAX_ISOLATED + 1));
        if self.latest.len() > 64 * MAX_ISOLATED {
            self.keep_latest();
        }
    }

    fn keep_latest(&mut self) {
        self.latest.sort_unstable_by(|a, b| b.cmp(a));
        self.latest.truncate(MAX_ISOLATED + 1);
    }

    fn end_ns(mut self, duration_ns: i64) -> i64 {
        self.latest.push(duration_ns);
        self.keep_latest();
        let isolated = self.latest.iter().zip(self.latest.iter().skip(1)).take(self.count / MIN_TIMES_PER_ISOLATED);
        let mut end_ns = duration_ns;
        for (&later, &earlier) in isolated.take(MAX_ISOLATED) {
            if later.saturating_sub(earlier) > MIN_SILENCE_NS.max(earlier) {
                end_ns = earlier;
            }
        }
        end_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{self, MS};

    const HOUR: i64 = 3_600_000 * MS;

    fn end_with(switches: i64, late: &[i64], duration_ns: i64) -> i64 {
        let mut trace = Trace { duration_ns, ..Trace::default() };
        let times = (0..switches).map(|index| index * MS).chain(late.iter().copied());
        let rows: Vec<(i64, u16, u32, u32, i8)> = times.map(|time_ns| (time_ns, 0, 0, 8, 8)).collect();
        synthetic::switches(&mut trace, &rows);
        axis_end_ns(&trace)
    }

    #[test]
    fn isolated_times_do_not_stretch_the_axis() {
        assert_eq!(end_with(40_000, &[16 * HOUR], 16 * HOUR), 39_999 * MS);
        assert_eq!(end_with(40_000, &[16 * HOUR, 16 * HOUR + 5], 16 * HOUR + 5), 39_999 * MS);
        assert_eq!(end_with(40_000, &[], 16 * HOUR), 39_999 * MS, "a time that is in no table");
    }

    #[test]
    fn axis_ends_with_the_recording() {
        assert_eq!(end_with(40_000, &[], 40_500 * MS), 40_500 * MS);
        // A sleep with its clock running: many events follow it.
        let after_sleep: Vec<i64> = (0..100).map(|index| 16 * HOUR + index).collect();
        assert_eq!(end_with(40_000, &after_sleep, 16 * HOUR + 99), 16 * HOUR + 99);
        assert_eq!(end_with(20, &[16 * HOUR], 16 * HOUR), 16 * HOUR, "a few events of a log");
        assert_eq!(axis_end_ns(&Trace::default()), 0);
    }
}
