//! Each thread's switches and wake-ups, found from a thread id and a time.
//!
//! The tables lie in the order of time, whatever thread a row is about. Here every thread has the list of its rows: four
//! bytes per row and thread, eight for a switch, which is about two. A question costs a search in one list.

use super::reason::{self, Off};
use hashbrown::HashMap;
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, ReadyThread, ReadyThreads, Trace};

/// Thread ids below this have a place in an array; those of damaged recordings may go beyond and use a map.
const DENSE_THREADS: u32 = 1 << 20;
const NO_SLOT: u32 = u32::MAX;
/// Wake-ups of one thread at one time that are looked at.
const MOST_AT_ONE_TIME: usize = 256;
/// Set in the flags of a thread made ready by a deferred procedure call or an interrupt.
pub(super) const IN_INTERRUPT: u8 = 1;

/// What happened to a thread at one of its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It was put on a processor.
    In,
    /// It was taken off one.
    Out,
}

/// A thread's switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadSwitch {
    /// Position among the thread's switches.
    pub(super) place: usize,
    /// Position among all switches of the recording, which is the order in which they were logged.
    pub(super) number: u32,
    /// What it was for the thread.
    pub(super) turn: Turn,
    /// The row.
    pub(super) row: ContextSwitch,
}

/// The rows of every thread, one list after the other.
#[derive(Debug, Default)]
struct Lists {
    /// Begin of each thread's list; one more than threads.
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Lists {
    /// `visit` tells (slot, row) of every row in order; it is called twice.
    fn of(slots: usize, mut visit: impl FnMut(&mut dyn FnMut(u32, u32))) -> Self {
        let mut starts = vec![0_usize; slots + 1];
        visit(&mut |slot, _| {
            if let Some(count) = starts.get_mut(slot as usize + 1) {
                *count += 1;
            }
        });
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; starts.last().copied().unwrap_or(0)];
        visit(&mut |slot, row| {
            if let Some(at) = next.get_mut(slot as usize) {
                if let Some(place) = rows.get_mut(*at) {
                    *place = row;
                }
                *at += 1;
            }
        });
        Self { starts, rows }
    }

    fn get(&self, slot: u32) -> &[u32] {
        let at = slot as usize;
        match (self.starts.get(at), self.starts.get(at.saturating_add(1))) {
            (Some(&start), Some(&end)) => self.rows.get(start..end).unwrap_or(&[]),
            _ => &[],
        }
    }
}

/// Where each piece of a table begins among all rows.
#[derive(Debug, Default)]
struct Pieces {
    starts: Vec<u32>,
}

impl Pieces {
    /// Rows beyond 2³² have no number and are left out.
    fn of(lengths: impl Iterator<Item = usize>) -> Self {
        let mut starts = Vec::new();
        let mut total = 0_u32;
        for length in lengths {
            starts.push(total);
            match u32::try_from(length).ok().and_then(|n| total.checked_add(n)) {
                Some(sum) => total = sum,
                None => break,
            }
        }
        Self { starts }
    }

    fn locate(&self, row: u32) -> (usize, usize) {
        let piece = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
        let start = self.starts.get(piece).copied().unwrap_or(0);
        (piece, row.saturating_sub(start) as usize)
    }
}

/// Whether a wake-up was logged before a switch; `false` where that is not known.
pub(super) fn was_logged_before(ready: &ReadyThread, switch: &ThreadSwitch) -> bool {
    ready.time_ns < switch.row.time_ns
        || ready.time_ns == switch.row.time_ns && ready.after_switches.is_some_and(|before| before <= switch.number)
}

/// Whether a wake-up was logged after a switch; `false` where that is not known.
fn was_logged_after(ready: &ReadyThread, switch: &ThreadSwitch) -> bool {
    ready.time_ns > switch.row.time_ns
        || ready.time_ns == switch.row.time_ns && ready.after_switches.is_some_and(|before| before > switch.number)
}

/// The switches and wake-ups of every thread of a recording.
#[derive(Debug)]
pub(super) struct Timelines<'t> {
    trace: &'t Trace,
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
    switch_pieces: Pieces,
    ready_pieces: Pieces,
    switches: Lists,
    readies: Lists,
    /// Whether any wake-up is marked as done in an interrupt: only then does a mark's absence say something.
    marks_interrupts: bool,
}

impl<'t> Timelines<'t> {
    pub(super) fn of(trace: &'t Trace) -> Self {
        let switches: &Batches<ContextSwitches> = &trace.context_switches;
        let readies: &Batches<ReadyThreads> = &trace.ready_threads;
        let mut dense: Vec<u32> = Vec::new();
        let mut sparse: HashMap<u32, u32> = HashMap::new();
        let mut slots = 0_u32;
        let mut meet = |tid: u32| {
            if tid == 0 {
                return;
            }
            let slot = if tid < DENSE_THREADS {
                let at = tid as usize;
                if at >= dense.len() {
                    dense.resize(at + 1, NO_SLOT);
                }
                &mut dense[at]
            } else {
                sparse.entry(tid).or_insert(NO_SLOT)
            };
            if *slot == NO_SLOT {
                *slot = slots;
                slots += 1;
            }
        };
        for piece in switches.pieces() {
            piece.new_tid.iter().for_each(|&tid| meet(tid));
            piece.old_tid.iter().for_each(|&tid| meet(tid));
        }
        for piece in readies.pieces() {
            piece.ready_tid.iter().for_each(|&tid| meet(tid));
        }
        let mut index = Self {
            trace,
            dense,
            sparse,
            switch_pieces: Pieces::of(switches.pieces().iter().map(ContextSwitches::len)),
            ready_pieces: Pieces::of(readies.pieces().iter().map(ReadyThreads::len)),
            switches: Lists::default(),
            readies: Lists::default(),
            marks_interrupts: readies
                .pieces()
                .iter()
                .any(|piece| piece.flags.iter().any(|flags| flags & IN_INTERRUPT != 0)),
        };
        let slots = slots as usize;
        index.switches = Lists::of(slots, |tell| {
            for (piece, &start) in switches.pieces().iter().zip(&index.switch_pieces.starts) {
                for (row, (&new, &old)) in (start..).zip(piece.new_tid.iter().zip(&piece.old_tid)) {
                    if let Some(slot) = index.slot(old) {
                        tell(slot, row);
                    }
                    if new != old
                        && let Some(slot) = index.slot(new)
                    {
                        tell(slot, row);
                    }
                }
            }
        });
        index.readies = Lists::of(slots, |tell| {
            for (piece, &start) in readies.pieces().iter().zip(&index.ready_pieces.starts) {
                for (row, &tid) in (start..).zip(&piece.ready_tid) {
                    if let Some(slot) = index.slot(tid) {
                        tell(slot, row);
                    }
                }
            }
        });
        index
    }

    pub(super) const fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// When the first switch of any processor was recorded, ns.
    pub(super) fn first_switch_ns(&self) -> i64 {
        let pieces = self.trace.context_switches.pieces();
        let first = pieces.iter().find_map(|piece| piece.time_ns.first());
        first.copied().unwrap_or(i64::MAX)
    }

    /// Whether wake-ups done in interrupts are marked as such.
    pub(super) const fn marks_interrupts(&self) -> bool {
        self.marks_interrupts
    }

    fn slot(&self, tid: u32) -> Option<u32> {
        let slot = if tid < DENSE_THREADS { *self.dense.get(tid as usize)? } else { *self.sparse.get(&tid)? };
        (slot != NO_SLOT).then_some(slot)
    }

    fn switch_rows(&self, tid: u32) -> &[u32] {
        self.slot(tid).map_or(&[], |slot| self.switches.get(slot))
    }

    fn switch_time(&self, row: u32) -> i64 {
        let (piece, at) = self.switch_pieces.locate(row);
        let pieces = self.trace.context_switches.pieces();
        let time = pieces.get(piece).and_then(|piece| piece.time_ns.get(at));
        time.copied().unwrap_or(i64::MAX)
    }

    fn ready_time(&self, row: u32) -> i64 {
        let (piece, at) = self.ready_pieces.locate(row);
        let pieces = self.trace.ready_threads.pieces();
        let time = pieces.get(piece).and_then(|piece| piece.time_ns.get(at));
        time.copied().unwrap_or(i64::MAX)
    }

    /// The switch at `place` of a thread's list.
    pub(super) fn switch(&self, tid: u32, place: usize) -> Option<ThreadSwitch> {
        let number = *self.switch_rows(tid).get(place)?;
        let (piece, at) = self.switch_pieces.locate(number);
        let row = self.trace.context_switches.pieces().get(piece)?.get(at)?;
        let turn = if row.new_tid == tid { Turn::In } else { Turn::Out };
        Some(ThreadSwitch { place, number, turn, row })
    }

    /// How many of the thread's switches come before `time_ns`.
    pub(super) fn switches_before(&self, tid: u32, time_ns: i64) -> usize {
        self.switch_rows(tid).partition_point(|&row| self.switch_time(row) < time_ns)
    }

    /// The thread's last switch before `time_ns`.
    pub(super) fn last_before(&self, tid: u32, time_ns: i64) -> Option<ThreadSwitch> {
        self.switch(tid, self.switches_before(tid, time_ns).checked_sub(1)?)
    }

    /// The first time from `from_ns` on that the thread was made ready.
    pub(super) fn first_ready(&self, tid: u32, from_ns: i64) -> Option<ReadyThread> {
        let rows = self.slot(tid).map_or(&[][..], |slot| self.readies.get(slot));
        let place = rows.partition_point(|&row| self.ready_time(row) < from_ns);
        let (piece, at) = self.ready_pieces.locate(*rows.get(place)?);
        self.trace.ready_threads.pieces().get(piece)?.get(at)
    }

    /// The wake-up that ended the wait which began with switch `out` and ended with `next`, if it ended.
    ///
    /// Where the clock goes on in steps many records have one time: a wake-up that was logged before `out` ended an earlier wait,
    /// and one logged after `next` a later one. Between two processors the order of logging at one time is not known: there a
    /// wake-up counts if the thread cannot have waited for it at another time.
    pub(super) fn ready_of_wait(
        &self,
        tid: u32,
        out: &ThreadSwitch,
        next: Option<&ThreadSwitch>,
    ) -> Option<ReadyThread> {
        let rows = self.slot(tid).map_or(&[][..], |slot| self.readies.get(slot));
        let first = rows.partition_point(|&row| self.ready_time(row) < out.row.time_ns);
        let mut of_another_processor = None;
        for &row in rows.get(first..).unwrap_or(&[]).iter().take(MOST_AT_ONE_TIME) {
            let (piece, at) = self.ready_pieces.locate(row);
            let ready = self.trace.ready_threads.pieces().get(piece)?.get(at)?;
            if next.is_some_and(|next| ready.time_ns > next.row.time_ns) {
                break;
            }
            if was_logged_before(&ready, out) {
                let ran_before = || {
                    let before = out.place.checked_sub(1).and_then(|place| self.switch(tid, place));
                    before.is_none_or(|before| before.row.time_ns < out.row.time_ns)
                };
                if ready.cpu != out.row.cpu && ran_before() {
                    of_another_processor = Some(ready);
                }
                continue;
            }
            let Some(next) = next.filter(|next| was_logged_after(&ready, next)) else {
                // On another processor at the very time at which the wait began, it may have ended an earlier one.
                if ready.time_ns == out.row.time_ns
                    && ready.cpu != out.row.cpu
                    && next.is_some_and(|next| next.row.time_ns > out.row.time_ns)
                    && self.readies_at(tid, out.row.time_ns) <= self.wakes_at(tid, out)
                {
                    continue;
                }
                return Some(ready);
            };
            let runs_on = || {
                let after = self.switch(tid, next.place + 1);
                after.is_none_or(|after| {
                    let waits = after.turn == Turn::Out && reason::off(after.row.old_state) == Off::Waiting;
                    after.row.time_ns > next.row.time_ns || !waits
                })
            };
            if of_another_processor.is_none() && ready.cpu != next.row.cpu && runs_on() {
                of_another_processor = Some(ready);
            }
        }
        of_another_processor
    }

    /// How often the thread was made ready at one time.
    fn readies_at(&self, tid: u32, time_ns: i64) -> usize {
        let rows = self.slot(tid).map_or(&[][..], |slot| self.readies.get(slot));
        let first = rows.partition_point(|&row| self.ready_time(row) < time_ns);
        rows.get(first..).unwrap_or(&[]).partition_point(|&row| self.ready_time(row) <= time_ns)
    }

    /// How often the thread came to run at the time of its switch `out`, and before it, for which it must have been made ready then.
    fn wakes_at(&self, tid: u32, out: &ThreadSwitch) -> usize {
        let time_ns = out.row.time_ns;
        let before = (0..out.place).rev().take(MOST_AT_ONE_TIME).filter_map(|place| self.switch(tid, place));
        let at_once =
            before.take_while(|switch| switch.row.time_ns == time_ns).filter(|switch| switch.turn == Turn::In);
        let needs_ready = |switch: &ThreadSwitch| {
            let left = switch.place.checked_sub(1).and_then(|place| self.switch(tid, place));
            match left {
                None => true,
                Some(left) if reason::off(left.row.old_state) == Off::Ready => false,
                Some(left) if left.row.time_ns == time_ns => true,
                // It may have been made ready before, and waited for a processor.
                Some(left) => self
                    .first_ready(tid, left.row.time_ns.saturating_add(1))
                    .is_none_or(|ready| ready.time_ns >= time_ns),
            }
        };
        at_once.filter(needs_ready).count()
    }

    /// The switches of all processors up to `time_ns`, last first, at most `most` of them.
    pub(super) fn switches_back(&self, time_ns: i64, most: usize) -> impl Iterator<Item = ContextSwitch> + '_ {
        let pieces = self.trace.context_switches.pieces();
        let after = pieces.partition_point(|piece| piece.time_ns.first().is_some_and(|&first| first <= time_ns));
        pieces
            .get(..after)
            .unwrap_or(&[])
            .iter()
            .rev()
            .flat_map(move |piece| {
                let until = piece.time_ns.partition_point(|&time| time <= time_ns);
                (0..until).rev().filter_map(|at| piece.get(at))
            })
            .take(most)
    }
}
