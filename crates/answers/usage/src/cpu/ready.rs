//! How long threads that could have run waited for a processor.
//!
//! The wait begins when the thread is made ready, or when it is taken off a processor although it could go on, and ends
//! when it is put on one.

use hashbrown::HashMap;
use onoff_trace::{ContextSwitches, ReadyThreads, Trace};

use super::charge::Stretch;
use crate::owners::{IDLE, OwnerIndex, Owners};
use onoff_evidence::interval::Interval;

/// State of a thread that could run but does not (`KTHREAD_STATE`).
const READY: u8 = 1;

/// A wait for a processor, as far as it lies in the range asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyWait {
    /// Thread.
    pub tid: u32,
    /// Its process.
    pub owner: OwnerIndex,
    /// Which life of the thread id.
    pub life: u32,
    /// Priority it then ran at.
    pub priority: u8,
    /// Processor it then ran on.
    pub processor: u16,
    /// How long, ns.
    pub ns: i64,
}

impl ReadyWait {
    /// As the start of the time it then ran, of no length.
    pub const fn stretch(&self) -> Stretch {
        Stretch {
            interval: 0,
            processor: self.processor,
            tid: self.tid,
            owner: self.owner,
            life: self.life,
            priority: self.priority,
            address: 0,
            start_ns: 0,
            ns: 0,
            continues: false,
        }
    }
}

/// Tells every wait for a processor that overlaps `range` and ended in the recording.
pub fn ready_waits(trace: &Trace, owners: &mut Owners, range: Interval, mut tell: impl FnMut(ReadyWait)) {
    let asleep = owners.asleep();
    let mut since: HashMap<u32, i64> = HashMap::new();
    let mut readies = trace
        .ready_threads
        .pieces()
        .iter()
        .flat_map(|piece: &ReadyThreads| piece.time_ns.iter().zip(&piece.ready_tid))
        .peekable();
    for piece in trace.context_switches.pieces() {
        let piece: &ContextSwitches = piece;
        let rows = piece
            .time_ns
            .iter()
            .zip(piece.cpu.iter().zip(&piece.new_priority))
            .zip(piece.new_tid.iter().zip(&piece.old_tid))
            .zip(&piece.old_state);
        for (((&time_ns, (&processor, &priority)), (&new_tid, &old_tid)), &old_state) in rows {
            while let Some((&ready_ns, &tid)) = readies.next_if(|&(&ready, _)| ready <= time_ns) {
                if ready_ns < range.end_ns {
                    since.entry(tid).or_insert(ready_ns);
                }
            }
            if time_ns >= range.end_ns && since.is_empty() {
                return;
            }
            if let Some(ready_ns) = since.remove(&new_tid) {
                let (from, to) = (ready_ns.max(range.start_ns), time_ns.min(range.end_ns));
                let ns = to.saturating_sub(from).saturating_sub(asleep.silent_ns(from, to));
                let (owner, life) = owners.whose(new_tid, time_ns);
                if ns > 0 && owner != IDLE {
                    tell(ReadyWait {
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
                    since.insert(old_tid, time_ns);
                } else {
                    // It ran until now: whatever made it ready before is answered.
                    since.remove(&old_tid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process, readies, switches, thread};

    #[test]
    fn a_wait_lasts_from_ready_to_running_within_the_range() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        process(&mut trace, 100, "busy.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        thread(&mut trace, 12, 100, Some(0), None);
        readies(&mut trace, &[(10 * MS, 8, 12), (15 * MS, 8, 12), (20 * MS, 12, 8)]);
        // Thread 8 is ready at 10 and runs at 18; thread 12 is ready at 20 and runs at 40.
        switches(&mut trace, &[(18 * MS, 0, 0, 8, 9), (40 * MS, 0, 8, 12, 4)]);
        let mut waits = Vec::new();
        let mut owners = Owners::of(&trace);
        ready_waits(&trace, &mut owners, Interval::new(12 * MS, 30 * MS), |wait| {
            waits.push((wait.tid, wait.priority, wait.ns / MS));
        });
        assert_eq!(waits, [(8, 9, 6), (12, 4, 10)]);
    }
}
