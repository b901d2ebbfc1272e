//! Measures the time that interrupts and deferred procedure calls (DPCs) took from the interrupted threads, per CPU.

use onoff_evidence::interval::union;
use onoff_trace::Trace;

/// Interrupt time per CPU. Queries for a CPU must be in ascending order of time.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    processors: Vec<InterruptTime>,
}

/// Interrupt time of one CPU: disjoint intervals in order of time, and the index of the interval of the last query.
#[derive(Clone, Debug, Default)]
struct InterruptTime {
    intervals: Vec<(i64, i64)>,
    position: usize,
}

impl Interruptions {
    /// Reads the interrupts in `trace`. Nested interrupts count once.
    pub fn from_trace(trace: &Trace) -> Self {
        let mut interruptions = Self::default();
        for chunk in trace.interrupts.chunks() {
            let rows = chunk.start_ns.iter().zip(&chunk.end_ns).zip(&chunk.cpu);
            for ((&start_ns, &end_ns), &cpu) in rows {
                let cpu = usize::from(cpu);
                if cpu >= interruptions.processors.len() {
                    interruptions.processors.resize_with(cpu + 1, InterruptTime::default);
                }
                interruptions.processors[cpu].add(start_ns, end_ns);
            }
        }
        for processor in &mut interruptions.processors {
            processor.make_disjoint();
        }
        interruptions
    }

    /// Returns the interrupt time on `processor` between `start_ns` and `end_ns`, in ns.
    #[inline]
    pub fn total_ns(&mut self, processor: u16, start_ns: i64, end_ns: i64) -> i64 {
        self.processors.get_mut(usize::from(processor)).map_or(0, |time| time.total_ns(start_ns, end_ns))
    }
}

impl InterruptTime {
    /// Adds an interval. Intervals are added in order of their end, so an enclosing interval comes after the intervals
    /// it contains.
    #[inline]
    fn add(&mut self, mut start_ns: i64, end_ns: i64) {
        if end_ns <= start_ns {
            return;
        }
        while let Some(&(last_start, last_end)) = self.intervals.last() {
            if last_end < start_ns || last_end > end_ns {
                break;
            }
            start_ns = start_ns.min(last_start);
            self.intervals.pop();
        }
        self.intervals.push((start_ns, end_ns));
    }

    /// Restores the order if the times of a damaged recording go backwards.
    fn make_disjoint(&mut self) {
        let is_disjoint = |pair: &[(i64, i64)]| pair[0].1 <= pair[1].0;
        if self.intervals.windows(2).all(is_disjoint) {
            return;
        }
        self.intervals = union(std::mem::take(&mut self.intervals));
    }

    #[inline]
    fn total_ns(&mut self, start_ns: i64, end_ns: i64) -> i64 {
        while self.intervals.get(self.position).is_some_and(|interval| interval.1 <= start_ns) {
            self.position += 1;
        }
        let mut total_ns = 0_i64;
        for &(start, end) in self.intervals.get(self.position..).unwrap_or_default() {
            if start >= end_ns {
                break;
            }
            let part_ns = end.min(end_ns).saturating_sub(start.max(start_ns));
            total_ns = total_ns.saturating_add(part_ns.max(0));
        }
        total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::interrupts;
    use onoff_trace::InterruptKind;

    #[test]
    fn nested_interrupts_count_once_and_only_on_their_cpu() {
        let mut trace = Trace::default();
        let isr = InterruptKind::Interrupt;
        let dpc = InterruptKind::Dpc;
        interrupts(&mut trace, &[(20, 30, 0, isr, 1), (10, 50, 0, dpc, 2), (60, 70, 1, dpc, 2), (80, 90, 0, isr, 1)]);
        let mut interruptions = Interruptions::from_trace(&trace);
        assert_eq!(interruptions.total_ns(0, 0, 15), 5);
        assert_eq!(interruptions.total_ns(0, 15, 40), 25);
        assert_eq!(interruptions.total_ns(0, 40, 100), 20);
        assert_eq!(interruptions.total_ns(1, 0, 100), 10);
        assert_eq!(interruptions.total_ns(7, 0, 100), 0);
    }

    #[test]
    fn intervals_out_of_order_are_sorted() {
        let mut trace = Trace::default();
        let dpc = InterruptKind::Dpc;
        interrupts(&mut trace, &[(80, 90, 0, dpc, 1), (10, 20, 0, dpc, 1), (15, 30, 0, dpc, 1)]);
        let mut interruptions = Interruptions::from_trace(&trace);
        assert_eq!(interruptions.total_ns(0, 0, 100), 30);
    }
}
