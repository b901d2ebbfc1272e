//! Whose thread it was: from a thread id and a time to a process, fast enough for every context switch.
//!
//! Thread and process ids are reused. Callers ask mostly in order of time, so each id remembers which of its lives is current
//! and when the next begins; a question costs one look-up in an array and two comparisons. Whoever asks about an earlier range goes back
//! through the lives of the threads in it.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_trace::{StringId, Trace};

use crate::asleep::Asleep;

/// Thread ids below this have a place in the array; the few systems and the damaged recordings that go beyond use a map.
const DENSE_THREADS: usize = 1 << 20;

/// An owner of threads; a position in [`Owners::list`].
pub(crate) type OwnerIndex = u32;

/// The idle threads of all processors.
pub const IDLE: OwnerIndex = 0;
/// Threads whose process is not known.
pub const UNKNOWN: OwnerIndex = 1;

/// One life of a process, as the owner of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Process id; `None` for [`UNKNOWN`].
    pub pid: Option<u32>,
    /// Image file name; empty when not known.
    pub image: StringId,
}

#[derive(Clone, Copy, Debug)]
struct Life {
    start_ns: i64,
    /// Whether it is the thread id's first one.
    is_first: bool,
    /// Begin of the thread id's next life; `i64::MAX` for the last one.
    until_ns: i64,
    owner: OwnerIndex,
    /// Row in the table of threads.
    thread: u32,
    /// Base priority when recorded, else 8, the normal one.
    base_priority: u8,
}

/// Where a thread id stands among its lives. Sixteen bytes: thousands of threads stay in the processor's cache.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// When the next life begins; `i64::MAX` in the last one.
    until_ns: i64,
    owner: OwnerIndex,
    /// The current life, a position in [`Owners::lives`].
    life: u32,
}

const NOBODY: Place = Place { until_ns: i64::MAX, owner: UNKNOWN, life: u32::MAX };

/// The lowest thread priority that counts as normal work; 0–7 are the idle class and below (source: Windows' priority
/// classes, of which `NORMAL_PRIORITY_CLASS` is 8).
pub const NORMAL_PRIORITY: u8 = 8;

/// Answers whose thread it was. Questions in order of time are answered fastest.
#[derive(Clone, Debug)]
pub struct Owners {
    list: Vec<Owner>,
    /// Those of one thread id after another, each id's by start.
    lives: Vec<Life>,
    dense: Vec<Place>,
    sparse: HashMap<u32, Place>,
    /// The latest time asked about, ns: no id stands at a life that begins after it.
    latest_ns: i64,
    asleep: Arc<Asleep>,
}

impl Owners {
    /// When nobody's thread ran, because the machine was asleep.
    pub(crate) fn asleep(&self) -> Arc<Asleep> {
        Arc::clone(&self.asleep)
    }

    /// Everything the recording says about threads and processes.
    pub fn of(trace: &Trace) -> Self {
        let mut list =
            vec![Owner { pid: Some(0), image: StringId::EMPTY }, Owner { pid: None, image: StringId::EMPTY }];
        // Lives of each process id by start; the index is that of `list`.
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
                // A thread starts in the latest life of its process; of a life that began before the recording, the
                // first one known.
                Some(lives) => {
                    let after = lives.partition_point(|&(start, _)| start <= start_ns);
                    lives.get(after.saturating_sub(1)).map_or(UNKNOWN, |&(_, index)| index)
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
            dense: vec![NOBODY; dense_length],
            sparse: HashMap::new(),
            latest_ns: i64::MIN,
            asleep: Arc::new(Asleep::of(trace)),
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
            let place = Place { until_ns: first.until_ns, owner: first.owner, life };
            owners.lives.append(&mut lives);
            match owners.dense.get_mut(tid as usize) {
                Some(slot) => *slot = place,
                None => {
                    owners.sparse.insert(tid, place);
                }
            }
        }
        owners
    }

    /// The owner of thread `tid` at `time_ns`.
    #[cfg(test)]
    pub(crate) fn at(&mut self, tid: u32, time_ns: i64) -> OwnerIndex {
        self.place(tid, time_ns).owner
    }

    /// The owner of thread `tid` at `time_ns`, and which of the thread id's lives it was; [`u32::MAX`] for a thread that
    /// the recording does not list.
    #[inline]
    pub fn whose(&mut self, tid: u32, time_ns: i64) -> (OwnerIndex, u32) {
        let place = self.place(tid, time_ns);
        (place.owner, place.life)
    }

    /// The base priority of a thread in one of its lives; the normal one when not recorded.
    pub(crate) fn base_priority(&self, life: u32) -> u8 {
        self.lives.get(life as usize).map_or(NORMAL_PRIORITY, |life| life.base_priority)
    }

    /// The row in the table of threads of one life of a thread.
    pub fn thread_row(&self, life: u32) -> Option<usize> {
        self.lives.get(life as usize).map(|life| life.thread as usize)
    }

    #[inline]
    fn place(&mut self, tid: u32, time_ns: i64) -> Place {
        let place = match self.dense.get_mut(tid as usize) {
            Some(place) => place,
            None => match self.sparse.get_mut(&tid) {
                Some(place) => place,
                None => return NOBODY,
            },
        };
        if time_ns >= self.latest_ns {
            self.latest_ns = time_ns;
        } else {
            while let Some(life) = self.lives.get(place.life as usize)
                && !life.is_first
                && time_ns < life.start_ns
                && let Some(before) = self.lives.get(place.life as usize - 1)
            {
                *place = Place { until_ns: before.until_ns, owner: before.owner, life: place.life - 1 };
            }
        }
        while time_ns >= place.until_ns {
            // A life that ends is followed by another one of the same thread id.
            let Some(next) = self.lives.get(place.life as usize + 1) else {
                place.until_ns = i64::MAX;
                break;
            };
            place.life += 1;
            place.owner = next.owner;
            place.until_ns = next.until_ns;
        }
        *place
    }

    /// Every owner; [`IDLE`] and [`UNKNOWN`] come first.
    pub fn list(&self) -> &[Owner] {
        &self.list
    }
}

/// File name of an image: what follows the last path separator. Names of kernel threads such as `kworker/u4:1` are no paths.
pub fn file_name(path: &str) -> &str {
    if is_kernel_thread_name(path) {
        return path;
    }
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// What follows the last dot of a file's name, in lower case; empty when there is no dot. A name that begins with its
/// only dot, or `$Mft`, has none.
pub(crate) fn extension(path: &str) -> String {
    match file_name(path).rsplit_once('.') {
        Some((name, extension)) if !name.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    }
}

/// Whether a name is one as Linux gives them to threads of its own: `ksoftirqd/0`, `kworker/u4:1`, `irq/24-pciehp`.
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
    fn kernel_threads_keep_their_names() {
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
    fn reused_ids_are_told_apart_by_time() {
        let mut trace = Trace::default();
        process(&mut trace, 100, "first.exe", Some(0), Some(50));
        process(&mut trace, 100, "second.exe", Some(100), None);
        thread(&mut trace, 8, 100, Some(10), Some(50));
        thread(&mut trace, 8, 100, Some(110), None);
        thread(&mut trace, 3_000_000, 100, Some(110), None);
        let mut owners = Owners::of(&trace);
        let mut image = |tid, time_ns| {
            let owner = owners.at(tid, time_ns);
            trace.text(owners.list()[owner as usize].image).to_owned()
        };
        assert_eq!(image(8, 20), "first.exe");
        assert_eq!(image(8, 109), "first.exe");
        assert_eq!(image(8, 110), "second.exe");
        assert_eq!(image(3_000_000, 120), "second.exe");
        // Another range, earlier.
        assert_eq!(image(8, 20), "first.exe");
        assert_eq!(image(8, 110), "second.exe");
        assert_eq!(owners.at(12, 20), UNKNOWN);
        assert_eq!(owners.at(0, 20), IDLE);
    }

    #[test]
    fn a_thread_of_an_unlisted_process_keeps_its_process_id() {
        let mut trace = Trace::default();
        thread(&mut trace, 8, 44, None, None);
        let mut owners = Owners::of(&trace);
        let (owner, life) = owners.whose(8, 0);
        assert_eq!(owners.list()[owner as usize].pid, Some(44));
        assert_eq!(owners.base_priority(life), NORMAL_PRIORITY);
    }
}
