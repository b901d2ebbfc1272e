//! When a processor was idle.

use hashbrown::HashMap;
use onoff_trace::Trace;

/// The times at which at least one processor was idle.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTimes {
    /// Disjoint intervals in order, each with the idle time before it, ns.
    intervals: Vec<(i64, i64, i64)>,
}

impl IdleTimes {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut idle_since: HashMap<u16, i64> = HashMap::new();
        let mut intervals: Vec<(i64, i64)> = Vec::new();
        for row in trace.context_switches.chunks().iter().flat_map(|chunk| chunk.iter()) {
            if row.new_tid == 0 {
                idle_since.entry(row.cpu).or_insert(row.time_ns);
            } else if let Some(since_ns) = idle_since.remove(&row.cpu) {
                intervals.push((since_ns, row.time_ns));
            }
        }
        intervals.sort_unstable();
        let mut merged: Vec<(i64, i64, i64)> = Vec::new();
        let mut idle_ns = 0_i64;
        for (start_ns, end_ns) in intervals {
            match merged.last_mut() {
                Some((_, last_ns, _)) if start_ns <= *last_ns => {
                    idle_ns = idle_ns.saturating_add(end_ns.saturating_sub(*last_ns).max(0));
                    *last_ns = end_ns.max(*last_ns);
                }
                _ => {
                    merged.push((start_ns, end_ns, idle_ns));
                    idle_ns = idle_ns.saturating_add(end_ns.saturating_sub(start_ns).max(0));
                }
            }
        }
        Self { intervals: merged }
    }

    /// Returns how long a processor was idle between two times, ns.
    pub(crate) fn between(&self, from_ns: i64, to_ns: i64) -> i64 {
        self.until(to_ns).saturating_sub(self.until(from_ns)).max(0)
    }

    fn until(&self, time_ns: i64) -> i64 {
        let count = self.intervals.partition_point(|&(start_ns, ..)| start_ns <= time_ns);
        let last = count.checked_sub(1).and_then(|last| self.intervals.get(last));
        last.map_or(0, |&(start_ns, end_ns, before_ns)| {
            before_ns.saturating_add(time_ns.min(end_ns).saturating_sub(start_ns))
        })
    }
}

#[cfg(test)]
mod tests {
    use onoff_testkit::synthetic::{MS, switches_in_ms};

    use super::*;

    #[test]
    fn a_processor_is_idle_while_another_works() {
        let mut trace = Trace::default();
        let state = (5, 0);
        switches_in_ms(
            &mut trace,
            &[
                (10, 0, 7, state, 0),
                (20, 1, 8, state, 0),
                (30, 0, 0, state, 7),
                (40, 1, 0, state, 8),
                (60, 0, 7, state, 0),
                (65, 0, 0, state, 7),
            ],
        );
        let idle = IdleTimes::new(&trace);
        let between_ms = |from: i64, to: i64| idle.between(from * MS, to * MS) / MS;
        assert_eq!(between_ms(0, 100), 35);
        assert_eq!(between_ms(15, 35), 20);
        assert_eq!(between_ms(40, 60), 0);
        assert_eq!(between_ms(62, 63), 1);
    }
}
