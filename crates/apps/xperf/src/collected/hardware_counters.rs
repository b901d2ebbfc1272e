//! Hardware counters by thread: what each counted while a thread ran, from the values that are kept with context switches.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{ProcessLabel, Tally, hook};

/// A processor leaves one thread and runs another.
pub const SWITCH: &str = "0x0524";

const SWITCH_HOOK: u16 = 0x0524;

/// What was counted while a thread ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Its process.
    pub process: ProcessLabel,
    /// The thread; `None` in sums of a process.
    pub tid: Option<u32>,
    /// Times it ran.
    pub runs: u64,
    /// How long it ran, ns.
    pub ran_ns: i64,
    /// By how much each counter grew meanwhile.
    pub counts: Vec<u64>,
}

impl Counted {
    fn add(&mut self, runs: u64, ran_ns: i64, counts: impl Iterator<Item = u64>) {
        self.runs += runs;
        self.ran_ns = self.ran_ns.saturating_add(ran_ns);
        for (at, count) in counts.enumerate() {
            match self.counts.get_mut(at) {
                Some(sum) => *sum = sum.saturating_add(count),
                None => self.counts.push(count),
            }
        }
    }
}

/// Hardware counters by thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HardwareCounters {
    /// Names of the counters, as far as the recording tells them.
    pub names: Vec<String>,
    /// By thread, longest first.
    pub threads: Vec<Counted>,
    /// Runs that are in no row: a counter ran backwards in them, or a switch is missing before their end.
    pub not_counted: u64,
}

impl HardwareCounters {
    /// Sums of processes, longest first.
    #[must_use]
    pub fn by_process(&self) -> Vec<Counted> {
        let mut sums: HashMap<&ProcessLabel, Counted> = HashMap::new();
        for thread in &self.threads {
            let sum = sums.entry(&thread.process).or_default();
            sum.process.clone_from(&thread.process);
            sum.add(thread.runs, thread.ran_ns, thread.counts.iter().copied());
        }
        in_order(sums.into_values().collect())
    }
}

/// Longest first.
fn in_order(mut rows: Vec<Counted>) -> Vec<Counted> {
    rows.sort_by(|a, b| {
        let key = |row: &Counted| (std::cmp::Reverse(row.ran_ns), row.process.pid, row.tid);
        key(a).cmp(&key(b)).then_with(|| a.process.image.cmp(&b.process.image))
    });
    rows
}

/// The last switch of a processor.
#[derive(Clone, Debug)]
struct Running {
    tid: u32,
    since_ns: i64,
    counters: Vec<u64>,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct HardwareCounterListener {
    names: Vec<String>,
    running: HashMap<u16, Running>,
    threads: Tally<(ProcessLabel, u32), Counted>,
    not_counted: u64,
}

impl HardwareCounterListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let id = |field: &str| event.number(field).and_then(|id| u32::try_from(id).ok());
        let (Some(SWITCH_HOOK), Some(old), Some(new)) = (hook(event), id("OldThreadId"), id("NewThreadId")) else {
            return;
        };
        let counters = event.derived.counters;
        if counters.is_empty() {
            return;
        }
        if self.names.len() < event.derived.counter_names.len() {
            self.names = event.derived.counter_names.iter().map(ToString::to_string).collect();
        }
        let running = Running { tid: new, since_ns: event.time_ns, counters: counters.to_vec() };
        let Some(before) = self.running.insert(event.cpu, running) else { return };
        let grew = before.counters.len() == counters.len()
            && before.counters.iter().zip(counters).all(|(before, now)| before <= now);
        if before.tid != old || !grew {
            self.not_counted += 1;
            return;
        }
        let process = match old {
            0 => ProcessLabel { image: "Idle".to_owned(), pid: Some(0) },
            tid => ProcessLabel::at(event, event.directory.process_of_thread(tid)),
        };
        let Some(sum) = self.threads.of((process.clone(), old)) else { return };
        sum.process = process;
        sum.tid = Some(old);
        let ran_ns = event.time_ns.saturating_sub(before.since_ns);
        sum.add(1, ran_ns, before.counters.iter().zip(counters).map(|(before, now)| now.saturating_sub(*before)));
    }

    /// The sums by thread.
    #[must_use]
    pub fn finish(self) -> HardwareCounters {
        HardwareCounters {
            names: self.names,
            threads: in_order(self.threads.sums.into_values().collect()),
            not_counted: self.not_counted.saturating_add(self.threads.left_out),
        }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{Derived, Directory};

    use super::super::synthetic::{Made, number};
    use super::*;

    /// Switches of one processor: when, from, to, the counters.
    fn counted(switches: &[(i64, u64, u64, &[u64])]) -> HardwareCounters {
        let mut directory = Directory::new();
        directory.set_process(100, "spin.exe");
        directory.set_thread(101, 100, 0);
        directory.set_thread(102, 100, 0);
        let names: [Box<str>; 1] = ["Cycles".into()];
        let mut listener = HardwareCounterListener::default();
        for &(time_ns, old, new, counters) in switches {
            let fields = [number("NewThreadId", new), number("OldThreadId", old)];
            let mut event = Made::at(time_ns, &fields).kernel(0x0524, "CSwitch", &directory);
            event.derived = Derived { counters, counter_names: &names, ..Derived::default() };
            listener.take(&event);
        }
        listener.finish()
    }

    #[test]
    fn what_is_counted_between_two_switches_is_of_the_thread_that_ran() {
        let answer =
            counted(&[(0, 0, 101, &[10, 1]), (50, 101, 102, &[40, 2]), (60, 102, 0, &[41, 2]), (90, 0, 101, &[50, 9])]);
        let rows: Vec<_> = answer.threads.iter().map(|row| (row.tid, row.runs, row.ran_ns, &row.counts[..])).collect();
        assert_eq!(rows, [(Some(101), 1, 50, &[30, 1][..]), (Some(0), 1, 30, &[9, 7]), (Some(102), 1, 10, &[1, 0])]);
        assert_eq!((answer.names, answer.not_counted), (vec!["Cycles".to_owned()], 0));
    }

    #[test]
    fn processes_are_the_sums_of_their_threads() {
        let answer = counted(&[(0, 0, 101, &[1]), (50, 101, 102, &[4]), (60, 102, 101, &[6]), (65, 101, 0, &[6])]);
        let rows: Vec<_> =
            answer.by_process().into_iter().map(|row| (row.process.image, row.runs, row.ran_ns, row.counts)).collect();
        assert_eq!(rows, [("spin.exe".to_owned(), 3, 65, vec![5])]);
    }

    #[test]
    fn what_cannot_be_told_is_in_no_row() {
        // A counter that ran backwards, a switch that is missing, and one without counters.
        let answer = counted(&[(0, 0, 101, &[9]), (5, 101, 0, &[4]), (9, 102, 0, &[7]), (10, 0, 101, &[])]);
        assert_eq!((answer.threads.len(), answer.not_counted), (0, 2));
    }
}
