//! Maps (thread id, time) to a process, fast enough for every context switch.
//!
//! Thread and process ids are reused. Callers mostly query in order of time, so each thread id has a cursor with its
//! current lifetime and the start of the next lifetime. A query costs one array lookup and two comparisons. A query for
//! an earlier time walks back through the lifetimes of that thread id.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_trace::{StringId, Trace};

use crate::asleep::SleepIntervals;

/// Thread ids below this limit are stored in an array. Higher ids, which are rare, are stored in a map.
const DENSE_THREADS: usize = 1 << 20;

/// An owner of threads: an index into [`Owners::list`].
pub(crate) type OwnerIndex = u32;

/// The idle threads of all CPUs.
pub const IDLE: OwnerIndex = 0;
/// Threads of unknown processes.
pub const UNKNOWN: OwnerIndex = 1;

/// One lifetime of a process, as the owner of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id; `None` for [`UNKNOWN`].
    pub pid: Option<u32>,
    /// Image file name; empty if unknown.
    pub image: StringId,
}

#[derive(Clone, Copy, Debug)]
struct Life {
    start_ns: i64,
    /// Whether it is the first lifetime of its thread id.
    is_first: bool,
    /// Start of the next lifetime of the thread id; `i64::MAX` for the last lifetime.
    until_ns: i64,
    owner: OwnerIndex,
    /// Row in the table of threads.
    thread: u32,
    /// Base priority if recorded, otherwise 8 (normal).
    base_priority: u8,
}

/// The current lifetime of a thread id. Sixteen bytes, so that thousands of threads fit into the CPU cache.
#[derive(Clone, Copy, Debug)]
struct CurrentLife {
    /// Start of the next lifetime; `i64::MAX` in the last lifetime.
    until_ns: i64,
    owner: OwnerIndex,
    /// Index of the current lifetime in [`Owners::lives`].
    life: u32,
}

const UNLISTED: CurrentLife = CurrentLife { until_ns: i64::MAX, owner: UNKNOWN, life: u32::MAX };

/// The lowest thread priority that counts as normal work; 0 to 7 are the idle priority class and below (source: Windows
/// priority classes; `NORMAL_PRIORITY_CLASS` is 8).
pub const NORMAL_PRIORITY: u8 = 8;

/// Finds the owners of threads. Queries in order of time are fastest.
#[derive(Clone, Debug)]
pub struct Owners {
    list: Vec<Owner>,
    /// The lifetimes of all thread ids, grouped by id and sorted by start.
    lives: Vec<Life>,
    dense: Vec<CurrentLife>,
    sparse: HashMap<u32, CurrentLife>,
    /// Latest queried time, ns: no current lifetime starts after it.
    latest_ns: i64,
    asleep: Arc<SleepIntervals>,
}

impl Owners {
    /// Returns the times in which the machine was asleep and no thread ran.
    pub(crate) fn asleep(&self) -> Arc<SleepIntervals> {
        Arc::clone(&self.asleep)
    }

    /// Reads the threads and processes in `trace`.
    pub fn from_trace(trace: &Trace) -> Self {
        let mut list =
            vec![Owner { pid: Some(0), image: StringId::EMPTY }, Owner { pid: None, image: StringId::EMPTY }];
        // Lifetimes of each process id by start; the index refers to `list`.
        let mut by_pid: HashMap<u32, Vec<(i64, OwnerIndex)>> = HashMap::new();
        for process in trace.processes.iter().filter(|process| process.pid != 0) {
            let Ok(index) = OwnerIndex::try_from(list.len()) else { break };
            list.push(Owner { pid: Some(process.pid), image: process.image });
            by_pid.entry(process.pid).or_default().push((process.start_ns.unwrap_or(i64::MIN), index));
        }
        for lives in by_pid.values_mut() {
            lives.sort();
        }

        let mut by_tid: HashMap<u32, Vec<Life>> = HashMap::new();
        for (row, thread) in (0_u32..).zip(trace.threads.iter()) {
            if thread.tid == 0 {
                continue;
            }
            let start_ns = thread.start_ns.unwrap_or(i64::MIN);
            let owner = match by_pid.get(&thread.pid) {
                _ if thread.pid == 0 => IDLE,
                // A thread belongs to the latest process with this id that had started by then. If the thread started
                // before the recording, use the first process.
                Some(lives) => {
                    let count = lives.partition_point(|&(start, _)| start <= start_ns);
                    lives.get(count.saturating_sub(1)).map_or(UNKNOWN, |&(_, index)| index)
                }
                None => match OwnerIndex::try_from(list.len()) {
                    Ok(index) => {
                        list.push(Owner { pid: Some(thread.pid), image: StringId::EMPTY });
                        by_pid.insert(thread.pid, vec![(i64::MIN, index)]);
                        index
                    }
                    Err(_) => UNKNOWN,
                },
            };
            by_tid.entry(thread.tid).or_default().push(Life {
                start_ns,
                is_first: false,
                until_ns: i64::MAX,
                owner,
                thread: row,
                base_priority: thread.base_priority.unwrap_or(NORMAL_PRIORITY),
            });
        }

        let dense_length =
            by_tid.keys().map(|&tid| tid as usize + 1).filter(|&length| length <= DENSE_THREADS).max().unwrap_or(1);
        let mut owners = Self {
            list,
            lives: Vec::new(),
            dense: vec![UNLISTED; dense_length],
            sparse: HashMap::new(),
            latest_ns: i64::MIN,
            asleep: Arc::new(SleepIntervals::from_trace(trace)),
        };
        owners.dense[0].owner = IDLE;
        for (tid, mut lives) in by_tid {
            lives.sort_by_key(|life| life.start_ns);
            if let Some(first) = lives.first_mut() {
                first.is_first = true;
            }
            for next in 1..lives.len() {
                lives[next - 1].until_ns = lives[next].start_ns;
            }
            let (Some(first), Ok(life)) = (lives.first(), u32::try_from(owners.lives.len())) else { continue };
            let current = CurrentLife { until_ns: first.until_ns, owner: first.owner, life };
            owners.lives.append(&mut lives);
            match owners.dense.get_mut(tid as usize) {
                Some(slot) => *slot = current,
                None => {
                    owners.sparse.insert(tid, current);
                }
            }
        }
        owners
    }

    /// Returns the owner of thread `tid` at `time_ns`.
    #[cfg(test)]
    pub(crate) fn owner_index(&mut self, tid: u32, time_ns: i64) -> OwnerIndex {
        self.current(tid, time_ns).owner
    }

    /// Returns the owner of thread `tid` at `time_ns`, and the lifetime of the thread id. The lifetime is [`u32::MAX`]
    /// for a thread that is not in the table of threads.
    #[inline]
    pub fn owner_at(&mut self, tid: u32, time_ns: i64) -> (OwnerIndex, u32) {
        let current = self.current(tid, time_ns);
        (current.owner, current.life)
    }

    /// Returns the base priority of a thread lifetime; the normal priority if not recorded.
    pub(crate) fn base_priority(&self, life: u32) -> u8 {
        self.lives.get(life as usize).map_or(NORMAL_PRIORITY, |life| life.base_priority)
    }

    /// Returns the row in the table of threads for a thread lifetime.
    pub fn thread_row(&self, life: u32) -> Option<usize> {
        self.lives.get(life as usize).map(|life| life.thread as usize)
    }

    #[inline]
    fn current(&mut self, tid: u32, time_ns: i64) -> CurrentLife {
        let current = match self.dense.get_mut(tid as usize) {
            Some(current) => current,
            None => match self.sparse.get_mut(&tid) {
                Some(current) => current,
                None => return UNLISTED,
            },
        };
        if time_ns >= self.latest_ns {
            self.latest_ns = time_ns;
        } else {
            while let Some(life) = self.lives.get(current.life as usize)
                && !life.is_first
                && time_ns < life.start_ns
                && let Some(previous) = self.lives.get(current.life as usize - 1)
            {
                *current = CurrentLife { until_ns: previous.until_ns, owner: previous.owner, life: current.life - 1 };
            }
        }
        while time_ns >= current.until_ns {
            // The next lifetime of the same thread id follows in the list.
            let Some(next) = self.lives.get(current.life as usize + 1) else {
                current.until_ns = i64::MAX;
                break;
            };
            current.life += 1;
            current.owner = next.owner;
            current.until_ns = next.until_ns;
        }
        *current
    }

    /// Returns all owners; [`IDLE`] and [`UNKNOWN`] come first.
    pub fn list(&self) -> &[Owner] {
        &self.list
    }
}

/// Returns the file name of an image path. Names of kernel threads such as `kworker/u4:1` are not paths.
pub fn file_name(path: &str) -> &str {
    if is_kernel_thread_name(path) {
        return path;
    }
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// Returns the lowercase extension of a file name, or an empty string if it has none. A name that starts with its only
/// dot has no extension.
pub(crate) fn extension(path: &str) -> String {
    match file_name(path).rsplit_once('.') {
        Some((name, extension)) if !name.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// Returns whether this is the name of a Linux kernel thread: `ksoftirqd/0`, `kworker/u4:1`, `irq/24-pciehp`.
fn is_kernel_thread_name(name: &str) -> bool {
    let Some((stem, number)) = name.split_once('/') else { return false };
    let number = number.strip_prefix('u').unwrap_or(number);
    number.starts_with(|first: char| first.is_ascii_digit())
        && !number.contains(['/', '\\'])
        && !stem.is_empty()
        && !stem.contains(['\\', ':', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{process, thread};

    #[test]
    fn kernel_thread_names_are_not_paths() {
        for (name, short) in [
            ("kworker/u4:1", "kworker/u4:1"),
            ("ksoftirqd/0", "ksoftirqd/0"),
            ("/usr/bin/7z", "7z"),
            ("usr/lib/7z", "7z"),
            (r"C:\Windows\explorer.exe", "explorer.exe"),
            ("C:/7zip", "7zip"),
            ("systemd", "systemd"),
        ] {
            assert_eq!(file_name(name), short);
        }
    }

    #[test]
    fn reused_ids_are_distinguished_by_time() {
        let mut trace = Trace::default();
        process(&mut trace, 100, "first.exe", Some(0), Some(50));
        process(&mut trace, 100, "second.exe", Some(100), None);
        thread(&mut trace, 8, 100, Some(10), Some(50));
        thread(&mut trace, 8, 100, Some(110), None);
        thread(&mut trace, 3_000_000, 100, Some(110), None);
        let mut owners = Owners::from_trace(&trace);
        let mut image = |tid, time_ns| {
            let owner = owners.owner_index(tid, time_ns);
            trace.text(owners.list()[owner as usize].image).to_owned()
        };
        assert_eq!(image(8, 20), "first.exe");
        assert_eq!(image(8, 109), "first.exe");
        assert_eq!(image(8, 110), "second.exe");
        assert_eq!(image(3_000_000, 120), "second.exe");
        // An earlier range.
        assert_eq!(image(8, 20), "first.exe");
        assert_eq!(image(8, 110), "second.exe");
        assert_eq!(owners.owner_index(12, 20), UNKNOWN);
        assert_eq!(owners.owner_index(0, 20), IDLE);
    }

    #[test]
    fn a_thread_of_an_unlisted_process_keeps_its_process_id() {
        let mut trace = Trace::default();
        thread(&mut trace, 8, 44, None, None);
        let mut owners = Owners::from_trace(&trace);
        let (owner, life) = owners.owner_at(8, 0);
        assert_eq!(owners.list()[owner as usize].pid, Some(44));
        assert_eq!(owners.base_priority(life), NORMAL_PRIORITY);
    }
}
