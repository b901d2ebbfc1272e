//! Hardware counters by thread, from the counter values that are recorded with context switches.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{ProcessRef, Tally, hook};

/// Context switch event, as a filter pattern.
pub const SWITCH: &str = "0x0524";

const SWITCH_HOOK: u16 = 0x0524;

/// Counts during the runs of a thread, or of all threads of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    pub process: ProcessRef,
    /// `None` in totals of a process.
    pub tid: Option<u32>,
    /// Number of times the thread was switched in and out.
    pub runs: u64,
    pub ran_ns: i64,
    /// Increase of each counter.
    pub counts: Vec<u64>,
}

impl ThreadCounts {
    fn add(&mut self, runs: u64, ran_ns: i64, counts: impl Iterator<Item = u64>) {
        self.runs += runs;
        self.ran_ns = self.ran_ns.saturating_add(ran_ns);
        for (index, count) in counts.enumerate() {
            match self.counts.get_mut(index) {
                Some(sum) => *sum = sum.saturating_add(count),
                None => self.counts.push(count),
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HardwareCounters {
    /// Recorded names of the counters; may be fewer than the counters.
    pub names: Vec<String>,
    /// Longest run time first.
    pub threads: Vec<ThreadCounts>,
    /// Runs that were skipped: a counter decreased, or a context switch is missing.
    pub skipped_runs: u64,
}

impl HardwareCounters {
    /// Returns the totals by process, longest run time first.
    #[must_use]
    pub fn by_process(&self) -> Vec<ThreadCounts> {
        let mut sums: HashMap<&ProcessRef, ThreadCounts> = HashMap::new();
        for thread in &self.threads {
            let sum = sums.entry(&thread.process).or_default();
            sum.process.clone_from(&thread.process);
            sum.add(thread.runs, thread.ran_ns, thread.counts.iter().copied());
        }
        sorted_by_run_time(sums.into_values().collect())
    }
}

fn sorted_by_run_time(mut rows: Vec<ThreadCounts>) -> Vec<ThreadCounts> {
    rows.sort_by(|a, b| {
        let key = |row: &ThreadCounts| (std::cmp::Reverse(row.ran_ns), row.process.pid, row.tid);
        key(a).cmp(&key(b)).then_with(|| a.process.image.cmp(&b.process.image))
    });
    rows
}

/// The thread that a processor is running, with the counters at its switch-in.
#[derive(Clone, Debug)]
struct Running {
    tid: u32,
    since_ns: i64,
    counters: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct HardwareCounterListener {
    names: Vec<String>,
    running: HashMap<u16, Running>,
    threads: Tally<(ProcessRef, u32), ThreadCounts>,
    skipped_runs: u64,
}

impl HardwareCounterListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let id = |field: &str| event.number(field).and_then(|id| u32::try_from(id).ok());
        let (Some(SWITCH_HOOK), Some(old_tid), Some(new_tid)) = (hook(event), id("OldThreadId"), id("NewThreadId"))
        else {
            return;
        };
        let counters = event.derived.counters;
        if counters.is_empty() {
            return;
        }
        if self.names.len() < event.derived.counter_names.len() {
            self.names = event.derived.counter_names.iter().map(ToString::to_string).collect();
        }
        let running = Running { tid: new_tid, since_ns: event.time_ns, counters: counters.to_vec() };
        let Some(previous) = self.running.insert(event.cpu, running) else { return };
        let is_monotonic = previous.counters.len() == counters.len()
            && previous.counters.iter().zip(counters).all(|(start, end)| start <= end);
        if previous.tid != old_tid || !is_monotonic {
            self.skipped_runs += 1;
            return;
        }
        let process = match old_tid {
            0 => ProcessRef { image: "Idle".to_owned(), pid: Some(0) },
            tid => ProcessRef::from_pid(event, event.directory.thread_process(tid)),
        };
        let Some(sum) = self.threads.entry((process.clone(), old_tid)) else { return };
        sum.process = process;
        sum.tid = Some(old_tid);
        let ran_ns = event.time_ns.saturating_sub(previous.since_ns);
        sum.add(1, ran_ns, previous.counters.iter().zip(counters).map(|(start, end)| end.saturating_sub(*start)));
    }

    #[must_use]
    pub fn finish(self) -> HardwareCounters {
        HardwareCounters {
            names: self.names,
            threads: sorted_by_run_time(self.threads.sums.into_values().collect()),
            skipped_runs: self.skipped_runs.saturating_add(self.threads.omitted),
        }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{DerivedValues, Directory};

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    /// Replays context switches of one processor: (time, old thread, new thread, counters).
    fn replay(switches: &[(i64, u64, u64, &[u64])]) -> HardwareCounters {
        let mut directory = Directory::new();
        directory.set_process(100, "spin.exe");
        directory.set_thread(101, 100, 0);
        directory.set_thread(102, 100, 0);
        let names: [Box<str>; 1] = ["Cycles".into()];
        let mut listener = HardwareCounterListener::default();
        for &(time_ns, old_tid, new_tid, counters) in switches {
            let fields = [number("NewThreadId", new_tid), number("OldThreadId", old_tid)];
            let mut event = EventTemplate::new(time_ns, &fields).kernel(0x0524, "CSwitch", &directory);
            event.derived = DerivedValues { counters, counter_names: &names, ..DerivedValues::default() };
            listener.take(&event);
        }
        listener.finish()
    }

    #[test]
    fn counts_belong_to_the_running_thread() {
        let report =
            replay(&[(0, 0, 101, &[10, 1]), (50, 101, 102, &[40, 2]), (60, 102, 0, &[41, 2]), (90, 0, 101, &[50, 9])]);
        let rows: Vec<_> = report.threads.iter().map(|row| (row.tid, row.runs, row.ran_ns, &row.counts[..])).collect();
        assert_eq!(rows, [(Some(101), 1, 50, &[30, 1][..]), (Some(0), 1, 30, &[9, 7]), (Some(102), 1, 10, &[1, 0])]);
        assert_eq!((report.names, report.skipped_runs), (vec!["Cycles".to_owned()], 0));
    }

    #[test]
    fn process_counts_are_sums_of_threads() {
        let report = replay(&[(0, 0, 101, &[1]), (50, 101, 102, &[4]), (60, 102, 101, &[6]), (65, 101, 0, &[6])]);
        let rows: Vec<_> =
            report.by_process().into_iter().map(|row| (row.process.image, row.runs, row.ran_ns, row.counts)).collect();
        assert_eq!(rows, [("spin.exe".to_owned(), 3, 65, vec![5])]);
    }

    #[test]
    fn skips_inconsistent_runs() {
        // A decreasing counter, a missing switch, and a switch without counters.
        let report = replay(&[(0, 0, 101, &[9]), (5, 101, 0, &[4]), (9, 102, 0, &[7]), (10, 0, 101, &[])]);
        assert_eq!((report.threads.len(), report.skipped_runs), (0, 2));
    }
}
