//! Process and thread lifetimes. Windows and Linux reuse process and thread ids within seconds, so an id identifies a
//! process or thread only together with a time.
//!
//! ```text
//!   pid 4000   ├─ first.exe ─┤   ├─ second.exe ────►      a lifetime = a row of the processes table (Upid)
//!   tid 4004     ├─────────┤       ├───────────►         a lifetime = a row of the threads table (Utid), within one process
//! ```
//!
//! All lookups of a process or thread go through this module. Results are stored by row, never by id.

use crate::Trace;
use crate::tables::{Processes, Threads};

/// Lifetime of a process: its row in the processes table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Upid(pub u32);

/// Lifetime of a thread: its row in the threads table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Utid(pub u32);

impl Upid {
    /// Returns the row in the processes table.
    #[must_use]
    pub const fn row(self) -> usize {
        self.0 as usize
    }
}

impl Utid {
    /// Returns the row in the threads table.
    #[must_use]
    pub const fn row(self) -> usize {
        self.0 as usize
    }
}

/// Key for per-thread data: the lifetime, or the id of a thread that the recording does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadKey {
    /// A thread in the threads table.
    Listed(Utid),
    /// The id of a thread that is not in the threads table.
    Unlisted(u32),
}

/// A lifetime of an id. `start_ns` is `i64::MIN` if the start is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lifetime {
    id: u32,
    start_ns: i64,
    row: u32,
}

/// Lifetimes sorted by id and start.
#[derive(Clone, Debug, Default)]
struct LifetimeIndex {
    lifetimes: Vec<Lifetime>,
}

impl LifetimeIndex {
    fn from_ids(ids: impl Iterator<Item = (u32, Option<i64>)>) -> Self {
        let mut lifetimes: Vec<Lifetime> = (0_u32..)
            .zip(ids)
            .map(|(row, (id, start_ns))| Lifetime { id, start_ns: start_ns.unwrap_or(i64::MIN), row })
            .collect();
        lifetimes.sort_unstable();
        Self { lifetimes }
    }

    /// Returns the row of the latest lifetime of `id` that started by `time_ns`, or of the first lifetime if none had
    /// started.
    fn row_at(&self, id: u32, time_ns: i64) -> Option<u32> {
        let lifetime = self.lifetimes.get(self.indexes_at(id, time_ns).1)?;
        (lifetime.id == id).then_some(lifetime.row)
    }

    /// Returns the interval around `time_ns` in which [`Self::row_at`] returns the same row.
    fn interval_at(&self, id: u32, time_ns: i64) -> (i64, i64) {
        let (first_index, index) = self.indexes_at(id, time_ns);
        let start_ns = |index: usize| {
            self.lifetimes.get(index).filter(|lifetime| lifetime.id == id).map(|lifetime| lifetime.start_ns)
        };
        let from_ns = start_ns(index).filter(|_| index > first_index).unwrap_or(i64::MIN);
        (from_ns, start_ns(index.saturating_add(1)).unwrap_or(i64::MAX))
    }

    /// Returns the indexes of the first lifetime of `id` and of the one at `time_ns`.
    fn indexes_at(&self, id: u32, time_ns: i64) -> (usize, usize) {
        let first_index = self.lifetimes.partition_point(|lifetime| lifetime.id < id);
        let end_index = self.lifetimes.partition_point(|lifetime| (lifetime.id, lifetime.start_ns) <= (id, time_ns));
        (first_index, first_index.max(end_index.saturating_sub(1)))
    }

    fn contains(&self, id: u32) -> bool {
        let first_index = self.lifetimes.partition_point(|lifetime| lifetime.id < id);
        self.lifetimes.get(first_index).is_some_and(|lifetime| lifetime.id == id)
    }
}

/// Lifetimes of all processes and threads of a recording.
#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    processes: LifetimeIndex,
    threads: LifetimeIndex,
    /// Process of each thread, by the thread's row.
    thread_processes: Vec<Option<Upid>>,
}

impl Lifetimes {
    /// Builds the lookup from the two tables.
    #[must_use]
    pub fn new(processes: &Processes, threads: &Threads) -> Self {
        let processes = LifetimeIndex::from_ids(processes.iter().map(|row| (row.pid, row.start_ns)));
        // A thread starts in the latest lifetime of its process id; a thread that existed before the recording, in the
        // first lifetime.
        let thread_processes =
            threads.iter().map(|row| processes.row_at(row.pid, row.start_ns.unwrap_or(i64::MIN)).map(Upid)).collect();
        Self {
            processes,
            threads: LifetimeIndex::from_ids(threads.iter().map(|row| (row.tid, row.start_ns))),
            thread_processes,
        }
    }

    /// Returns the process that had id `pid` at `time_ns`: the latest process that started by then, otherwise the first
    /// process with this id; `None` if no process with this id is listed.
    #[must_use]
    pub fn process(&self, pid: u32, time_ns: i64) -> Option<Upid> {
        self.processes.row_at(pid, time_ns).map(Upid)
    }

    /// Returns the thread that had id `tid` at `time_ns`: the latest thread that started by then, otherwise the first
    /// thread with this id; `None` if no thread with this id is listed.
    #[must_use]
    pub fn thread(&self, tid: u32, time_ns: i64) -> Option<Utid> {
        self.threads.row_at(tid, time_ns).map(Utid)
    }

    /// Returns the interval around `time_ns`, without its end, in which [`Lifetimes::thread`] returns the same thread.
    #[must_use]
    pub fn thread_interval(&self, tid: u32, time_ns: i64) -> (i64, i64) {
        self.threads.interval_at(tid, time_ns)
    }

    /// Like [`Lifetimes::thread`], but returns the id if the thread is not listed.
    #[must_use]
    pub fn key(&self, tid: u32, time_ns: i64) -> ThreadKey {
        self.thread(tid, time_ns).map_or(ThreadKey::Unlisted(tid), ThreadKey::Listed)
    }

    /// Returns the process of a thread; `None` if the process is not listed.
    #[must_use]
    pub fn process_of(&self, thread: Utid) -> Option<Upid> {
        self.thread_processes.get(thread.row()).copied().flatten()
    }

    /// True if a thread with this id is listed, at any time.
    #[must_use]
    pub fn has_thread(&self, tid: u32) -> bool {
        self.threads.contains(tid)
    }
}

impl Trace {
    /// Returns the lifetimes of the trace's processes and threads.
    #[must_use]
    pub fn lifetimes(&self) -> Lifetimes {
        Lifetimes::new(&self.processes, &self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Thread};

    fn trace() -> Trace {
        let mut trace = Trace::default();
        for (pid, start_ns) in [(300, Some(50)), (4, None), (300, Some(10)), (300, None)] {
            trace.processes.push(Process { start_ns, ..Process::unknown(pid) });
        }
        for (tid, pid, start_ns) in
            [(44, 300, Some(12)), (8, 4, None), (44, 4, Some(40)), (44, 300, Some(55)), (48, 9, None)]
        {
            trace.threads.push(Thread { start_ns, ..Thread::unknown(tid, pid) });
        }
        trace
    }

    #[test]
    fn looks_up_ids_by_time() {
        let lifetimes = trace().lifetimes();
        let process = |time_ns| lifetimes.process(300, time_ns).map(Upid::row);
        assert_eq!([9, 10, 49, 50, i64::MAX].map(process), [Some(3), Some(2), Some(2), Some(0), Some(0)]);
        // A process that existed before the recording matches any earlier time.
        assert_eq!(lifetimes.process(300, i64::MIN).map(Upid::row), Some(3));
        assert_eq!(lifetimes.process(301, 20), None);
        let thread = |time_ns| lifetimes.thread(44, time_ns).map(Utid::row);
        // Times before the first start match the first lifetime.
        assert_eq!([0, 12, 39, 40, 55].map(thread), [Some(0), Some(0), Some(0), Some(2), Some(3)]);
        assert!(lifetimes.has_thread(44) && !lifetimes.has_thread(45));
        let interval = |time_ns| lifetimes.thread_interval(44, time_ns);
        assert_eq!([0, 39, 40, 99].map(interval), [(i64::MIN, 40), (i64::MIN, 40), (40, 55), (55, i64::MAX)]);
        assert_eq!(lifetimes.thread_interval(45, 7), (i64::MIN, i64::MAX));
    }

    #[test]
    fn assigns_threads_to_the_process_they_started_in() {
        let lifetimes = trace().lifetimes();
        let process_at = |tid, time_ns| {
            let thread = lifetimes.thread(tid, time_ns).unwrap();
            lifetimes.process_of(thread).map(Upid::row)
        };
        assert_eq!([15, 40, 60].map(|time_ns| process_at(44, time_ns)), [Some(2), Some(1), Some(0)]);
        // The thread keeps its process after the process's id was reused.
        assert_eq!(process_at(8, 1_000), Some(1));
        assert_eq!(process_at(48, 0), None);
    }
}
