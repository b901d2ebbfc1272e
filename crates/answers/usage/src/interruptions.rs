//! Time that interrupts and deferred procedure calls took from whatever thread they interrupted, per processor.

use onoff_evidence::interval::union;
use onoff_trace::Trace;

/// Time taken by interrupts, per processor. Ask about one processor in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    processors: Vec<Taken>,
}

/// Of one processor: disjoint stretches in the order of time, and where the last question ended.
#[derive(Clone, Debug, Default)]
struct Taken {
    stretches: Vec<(i64, i64)>,
    at: usize,
}

impl Interruptions {
    /// Of `trace`. One interrupt may interrupt another: such time counts once.
    pub fn of(trace: &Trace) -> Self {
        let mut this = Self::default();
        for piece in trace.interrupts.pieces() {
            let rows = piece.start_ns.iter().zip(&piece.end_ns).zip(&piece.cpu);
            for ((&start_ns, &end_ns), &cpu) in rows {
                let cpu = usize::from(cpu);
                if cpu >= this.processors.len() {
                    this.processors.resize_with(cpu + 1, Taken::default);
                }
                this.processors[cpu].add(start_ns, end_ns);
            }
        }
        for taken in &mut this.processors {
            taken.settle();
        }
        this
    }

    /// How much of the time from `start_ns` to `end_ns` interrupts took on `processor`, ns.
    #[inline]
    pub fn taken_ns(&mut self, processor: u16, start_ns: i64, end_ns: i64) -> i64 {
        self.processors.get_mut(usize::from(processor)).map_or(0, |taken| taken.within(start_ns, end_ns))
    }
}

impl Taken {
    /// Adds a stretch. They come by their end, so that one that encloses others comes after them.
    #[inline]
    fn add(&mut self, mut start_ns: i64, end_ns: i64) {
        if end_ns <= start_ns {
            return;
        }
        while let Some(&(last_start, last_end)) = self.stretches.last() {
            if last_end < start_ns || last_end > end_ns {
                break;
            }
            start_ns = start_ns.min(last_start);
            self.stretches.pop();
        }
        self.stretches.push((start_ns, end_ns));
    }

    /// Mends the order where a damaged recording goes back in time.
    fn settle(&mut self) {
        let disjoint = |pair: &[(i64, i64)]| pair[0].1 <= pair[1].0;
        if self.stretches.windows(2).all(disjoint) {
            return;
        }
        self.stretches = union(std::mem::take(&mut self.stretches));
    }

    #[inline]
    fn within(&mut self, start_ns: i64, end_ns: i64) -> i64 {
        while self.stretches.get(self.at).is_some_and(|stretch| stretch.1 <= start_ns) {
            self.at += 1;
        }
        let mut taken_ns = 0_i64;
        for &(start, end) in self.stretches.get(self.at..).unwrap_or_default() {
            if start >= end_ns {
                break;
            }
            let part = end.min(end_ns).saturating_sub(start.max(start_ns));
            taken_ns = taken_ns.saturating_add(part.max(0));
        }
        taken_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::interrupts;
    use onoff_trace::InterruptKind;

    #[test]
    fn nested_interrupts_count_once_and_only_on_their_processor() {
        let mut trace = Trace::default();
        let isr = InterruptKind::Interrupt;
        let dpc = InterruptKind::Dpc;
        interrupts(&mut trace, &[(20, 30, 0, isr, 1), (10, 50, 0, dpc, 2), (60, 70, 1, dpc, 2), (80, 90, 0, isr, 1)]);
        let mut taken = Interruptions::of(&trace);
        assert_eq!(taken.taken_ns(0, 0, 15), 5);
        assert_eq!(taken.taken_ns(0, 15, 40), 25);
        assert_eq!(taken.taken_ns(0, 40, 100), 20);
        assert_eq!(taken.taken_ns(1, 0, 100), 10);
        assert_eq!(taken.taken_ns(7, 0, 100), 0);
    }

    #[test]
    fn time_that_goes_backwards_is_put_in_order() {
        let mut trace = Trace::default();
        let dpc = InterruptKind::Dpc;
        interrupts(&mut trace, &[(80, 90, 0, dpc, 1), (10, 20, 0, dpc, 1), (15, 30, 0, dpc, 1)]);
        let mut taken = Interruptions::of(&trace);
        assert_eq!(taken.taken_ns(0, 0, 100), 30);
    }
}
