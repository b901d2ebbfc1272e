//! Lives in place of numbers: Windows and Linux give process and thread ids to others within seconds, so an id says who
//! only together with a time.
//!
//! ```text
//!   pid 4000   ├─ first.exe ─┤   ├─ second.exe ────►      a life = a row of the table of processes (upid)
//!   tid 4004     ├─────────┤       ├───────────►         a life = a row of the table of threads (utid), in one process's life
//! ```
//!
//! Every question about who somebody was goes through here; what is kept for later is kept by life, never by number.

use crate::Trace;
use crate::tables::{Processes, Threads};

/// A life of a process: its row in the table of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Upid(pub u32);

/// A life of a thread: its row in the table of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Utid(pub u32);

impl Upid {
    /// The row in the table of processes.
    #[must_use]
    pub const fn row(self) -> usize {
        self.0 as usize
    }
}

impl Utid {
    /// The row in the table of threads.
    #[must_use]
    pub const fn row(self) -> usize {
        self.0 as usize
    }
}

/// What is kept by thread is kept by this: its life, or else the number of a thread that the recording does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadKey {
    /// A thread that the recording lists.
    Life(Utid),
    /// The id of one that it does not.
    Unlisted(u32),
}

/// One life of an id: when it began, before everything where that is not known, and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    id: u32,
    start_ns: i64,
    row: u32,
}

/// Lives sorted by id and start.
#[derive(Clone, Debug, Default)]
struct OfIds {
    lives: Vec<Life>,
}

impl OfIds {
    fn of(ids: impl Iterator<Item = (u32, Option<i64>)>) -> Self {
        let lives = (0_u32..).zip(ids);
        let mut lives: Vec<Life> =
            lives.map(|(row, (id, start_ns))| Life { id, start_ns: start_ns.unwrap_or(i64::MIN), row }).collect();
        lives.sort_unstable();
        Self { lives }
    }

    /// The latest life of `id` that began by `time_ns`, else its first.
    fn at(&self, id: u32, time_ns: i64) -> Option<u32> {
        let first = self.lives.partition_point(|life| life.id < id);
        let after = self.lives.partition_point(|life| (life.id, life.start_ns) <= (id, time_ns));
        let life = self.lives.get(first.max(after.saturating_sub(1)))?;
        (life.id == id).then_some(life.row)
    }

    fn has(&self, id: u32) -> bool {
        let first = self.lives.partition_point(|life| life.id < id);
        self.lives.get(first).is_some_and(|life| life.id == id)
    }
}

/// The lives of all processes and threads of a recording.
#[derive(Clone, Debug, Default)]
pub struct Lives {
    processes: OfIds,
    threads: OfIds,
    /// The process of each thread's life, by the thread's row.
    process_of: Vec<Option<Upid>>,
}

impl Lives {
    /// Of these tables.
    #[must_use]
    pub fn of(processes: &Processes, threads: &Threads) -> Self {
        let processes = OfIds::of(processes.iter().map(|row| (row.pid, row.start_ns)));
        // A thread begins in the latest life of its process; of one that existed before the recording, in the first one
        // known.
        let process_of =
            threads.iter().map(|row| processes.at(row.pid, row.start_ns.unwrap_or(i64::MIN)).map(Upid)).collect();
        Self { processes, threads: OfIds::of(threads.iter().map(|row| (row.tid, row.start_ns))), process_of }
    }

    /// The process that had id `pid` at `time_ns`: the latest that began by then, else the first; `None` when none is
    /// listed.
    #[must_use]
    pub fn process(&self, pid: u32, time_ns: i64) -> Option<Upid> {
        self.processes.at(pid, time_ns).map(Upid)
    }

    /// The thread that had id `tid` at `time_ns`: the latest that began by then, else the first; `None` when none is
    /// listed.
    #[must_use]
    pub fn thread(&self, tid: u32, time_ns: i64) -> Option<Utid> {
        self.threads.at(tid, time_ns).map(Utid)
    }

    /// The same, or else the number: of recordings that list no threads.
    #[must_use]
    pub fn key(&self, tid: u32, time_ns: i64) -> ThreadKey {
        self.thread(tid, time_ns).map_or(ThreadKey::Unlisted(tid), ThreadKey::Life)
    }

    /// The process that a thread belongs to; `None` when it is not listed.
    #[must_use]
    pub fn process_of(&self, thread: Utid) -> Option<Upid> {
        self.process_of.get(thread.row()).copied().flatten()
    }

    /// Whether a thread of this id is listed, at any time.
    #[must_use]
    pub fn has_thread(&self, tid: u32) -> bool {
        self.threads.has(tid)
    }
}

impl Trace {
    /// The lives of its processes and threads.
    #[must_use]
    pub fn lives(&self) -> Lives {
        Lives::of(&self.processes, &self.threads)
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
    fn an_id_is_whoever_had_it_then() {
        let lives = trace().lives();
        let process = |time_ns| lives.process(300, time_ns).map(Upid::row);
        assert_eq!([9, 10, 49, 50, i64::MAX].map(process), [Some(3), Some(2), Some(2), Some(0), Some(0)]);
        // Who began before the recording was there at any time before.
        assert_eq!(lives.process(300, i64::MIN).map(Upid::row), Some(3));
        assert_eq!(lives.process(301, 20), None);
        let thread = |time_ns| lives.thread(44, time_ns).map(Utid::row);
        // Before its first start the id had nobody else.
        assert_eq!([0, 12, 39, 40, 55].map(thread), [Some(0), Some(0), Some(0), Some(2), Some(3)]);
        assert!(lives.has_thread(44) && !lives.has_thread(45));
    }

    #[test]
    fn a_thread_belongs_to_the_life_of_the_process_in_which_it_began() {
        let lives = trace().lives();
        let process_at = |tid, time_ns| {
            let thread = lives.thread(tid, time_ns).unwrap();
            lives.process_of(thread).map(Upid::row)
        };
        assert_eq!([15, 40, 60].map(|time_ns| process_at(44, time_ns)), [Some(2), Some(1), Some(0)]);
        // It goes on after another process got its own process's number.
        assert_eq!(process_at(8, 1_000), Some(1));
        assert_eq!(process_at(48, 0), None);
    }
}
