//! Measures the time that ready threads waited for a CPU.
//!
//! A wait starts when the thread is readied, or when it is preempted, and ends when it is switched in.

use hashbrown::HashMap;
use onoff_trace::{ContextSwitches, ReadyThreads, Trace};

use super::charge::CpuInterval;
use crate::owners::{IDLE, OwnerIndex, Owners};
use onoff_evidence::interval::Interval;

/// State of a ready thread (`KTHREAD_STATE`).
const READY: u8 = 1;

/// A wait for a CPU, clipped to the requested range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyWait {
    pub tid: u32,
    pub owner: OwnerIndex,
    /// Lifetime of the thread id.
    pub life: u32,
    /// Priority of the thread when it was switched in.
    pub priority: u8,
    /// CPU on which the thread was switched in.
    pub processor: u16,
    /// Length, ns.
    pub ns: i64,
}

impl ReadyWait {
    /// Returns an empty CPU interval with the thread and CPU of the wait.
    pub const fn interval(&self) -> CpuInterval {
        CpuInterval {
            interval: 0,
            processor: self.processor,
            tid: self.tid,
            owner: self.owner,
            life: self.life,
            priority: self.priority,
            address: 0,
            start_ns: 0,
            ns: 0,
            resumes_after_sleep: false,
        }
    }
}

/// Calls `report` for every wait for a CPU that overlaps `range` and ended in the recording.
pub fn ready_waits(trace: &Trace, owners: &mut Owners, range: Interval, mut report: impl FnMut(ReadyWait)) {
    let asleep = owners.asleep();
    let mut ready_since: HashMap<u32, i64> = HashMap::new();
    let mut readies = trace
        .ready_threads
        .chunks()
        .iter()
        .flat_map(|chunk: &ReadyThreads| chunk.time_ns.iter().zip(&chunk.ready_tid))
        .peekable();
    for chunk in trace.context_switches.chunks() {
        let chunk: &ContextSwitches = chunk;
        let rows = chunk
            .time_ns
            .iter()
            .zip(chunk.cpu.iter().zip(&chunk.new_priority))
            .zip(chunk.new_tid.iter().zip(&chunk.old_tid))
            .zip(&chunk.old_state);
        for (((&time_ns, (&processor, &priority)), (&new_tid, &old_tid)), &old_state) in rows {
            while let Some((&ready_ns, &tid)) = readies.next_if(|&(&ready, _)| ready <= time_ns) {
                if ready_ns < range.end_ns {
                    ready_since.entry(tid).or_insert(ready_ns);
                }
            }
            if time_ns >= range.end_ns && ready_since.is_empty() {
                return;
            }
            if let Some(ready_ns) = ready_since.remove(&new_tid) {
                let (start_ns, end_ns) = (ready_ns.max(range.start_ns), time_ns.min(range.end_ns));
                let ns = end_ns.saturating_sub(start_ns).saturating_sub(asleep.silent_ns(start_ns, end_ns));
                let (owner, life) = owners.owner_at(new_tid, time_ns);
                if ns > 0 && owner != IDLE {
                    report(ReadyWait {
                        tid: new_tid,
                        owner,
                        life,
                        priority: priority.clamp(0, 31).unsigned_abs(),
                        processor,
                        ns,
                    });
                }
            }
            if old_tid != 0 {
                if old_state == READY && time_ns < range.end_ns {
                    ready_since.insert(old_tid, time_ns);
                } else {
                    // The thread ran until now, so any earlier ready-thread event is obsolete.
                    ready_since.remove(&old_tid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process, ready_threads, switches, thread};

    #[test]
    fn a_wait_lasts_from_ready_to_switch_in_within_the_range() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        process(&mut trace, 100, "busy.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        thread(&mut trace, 12, 100, Some(0), None);
        ready_threads(&mut trace, &[(10 * MS, 8, 12), (15 * MS, 8, 12), (20 * MS, 12, 8)]);
        // Thread 8 is ready at 10 and runs at 18; thread 12 is ready at 20 and runs at 40.
        switches(&mut trace, &[(18 * MS, 0, 0, 8, 9), (40 * MS, 0, 8, 12, 4)]);
        let mut waits = Vec::new();
        let mut owners = Owners::from_trace(&trace);
        ready_waits(&trace, &mut owners, Interval::new(12 * MS, 30 * MS), |wait| {
            waits.push((wait.tid, wait.priority, wait.ns / MS));
        });
        assert_eq!(waits, [(8, 9, 6), (12, 4, 10)]);
    }
}
