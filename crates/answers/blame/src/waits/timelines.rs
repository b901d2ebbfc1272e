//! Each thread's switches and wake-ups, found from a thread id and a time.
//!
//! The tables are in the order of time, whatever thread a row is about. Here every thread has a list of its rows for each piece of a
//! table: four bytes per row and thread, eight for a switch, which is about two. A question costs a search in one list, and touches one
//! piece: where pieces are on a shelf, so are their lists, and those of other times stay there.

use super::reason::{self, Off};
use hashbrown::HashMap;
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, ReadyThread, ReadyThreads, Shelf, Trace, Values};
use onoff_usage::asleep::Asleep;

/// Thread ids below this have a place in an array; those of damaged recordings may go beyond and use a map.
const DENSE_THREADS: u32 = 1 << 20;
const NO_SLOT: u32 = u32::MAX;
/// Wake-ups of one thread at one time that are looked at.
const MAX_CONCURRENT: usize = 256;
/// Set in the flags of a thread made ready by a deferred procedure call or an interrupt.
pub(crate) const IN_INTERRUPT: u8 = 1;

/// What happened to a thread at one of its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It was put on a processor.
    In,
    /// It was taken off one.
    Out,
}

/// A thread's switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadSwitch {
    /// Position among the thread's switches.
    pub(crate) place: usize,
    /// Position among all switches of the recording, which is the order in which they were logged.
    pub(crate) number: u32,
    /// What it was for the thread.
    pub(crate) turn: Turn,
    /// The row.
    pub(crate) row: ContextSwitch,
}

/// The rows of a table by thread: each piece of the table has a list, in which those of one thread come after those of another.
#[derive(Debug, Default)]
struct Lists {
    /// By piece: its list.
    rows: Vec<Values<u32>>,
    /// By piece: time of its first row, ns.
    first_ns: Vec<i64>,
    /// Where the runs of each thread begin; one more than threads.
    starts: Vec<usize>,
    /// In order of their pieces, for each thread.
    runs: Vec<Run>,
}

/// A thread's rows in one piece.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    piece: u32,
    /// Its place in the piece's list.
    first: u32,
    rows: u32,
    /// The thread's rows in the pieces before.
    before: u32,
}

/// A row of a table: its piece, and the row there.
type Place = (usize, usize);

impl Lists {
    /// `pieces` gives the times of each piece, and a visitor, called twice, that says the slot of each row's thread, in order; of a row that two
    /// threads have, twice.
    fn of<'a, V>(slots: usize, pieces: impl Iterator<Item = (&'a [i64], V)>, shelf: Option<&dyn Shelf>) -> Self
    where
        V: Fn(&mut dyn FnMut(u32, u32)),
    {
        let mut lists = Self::default();
        let mut counts = vec![0_u32; slots];
        let mut before = vec![0_u32; slots];
        let mut runs: Vec<(u32, Run)> = Vec::new();
        for (piece, (times, visit)) in (0_u32..).zip(pieces) {
            let mut met: Vec<u32> = Vec::new();
            visit(&mut |slot, _| {
                if let Some(count) = counts.get_mut(slot as usize) {
                    if *count == 0 {
                        met.push(slot);
                    }
                    *count += 1;
                }
            });
            let mut total = 0_u32;
            for slot in met.iter().copied() {
                let (count, before) = (&mut counts[slot as usize], &mut before[slot as usize]);
                runs.push((slot, Run { piece, first: total, rows: *count, before: *before }));
                *before = before.saturating_add(*count);
                // From here on, where the thread's next row goes.
                (*count, total) = (total, total.saturating_add(*count));
            }
            let mut list = vec![0_u32; total as usize];
            visit(&mut |slot, row| {
                if let Some(next) = counts.get_mut(slot as usize) {
                    if let Some(place) = list.get_mut(*next as usize) {
                        *place = row;
                    }
                    *next += 1;
                }
            });
            met.iter().for_each(|&slot| counts[slot as usize] = 0);
            let mut list = Values::from(list);
            if let Some(shelf) = shelf {
                list.shelve(shelf);
            }
            lists.rows.push(list);
            lists.first_ns.push(times.first().copied().unwrap_or(i64::MAX));
        }
        lists.sort(slots, &runs);
        lists
    }

    /// Puts the runs of each thread together, which keep their order.
    fn sort(&mut self, slots: usize, runs: &[(u32, Run)]) {
        self.starts = vec![0; slots + 1];
        for &(slot, _) in runs {
            self.starts[slot as usize + 1] += 1;
        }
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        let mut next = self.starts.clone();
        self.runs = vec![Run::default(); runs.len()];
        for &(slot, run) in runs {
            let at = &mut next[slot as usize];
            self.runs[*at] = run;
            *at += 1;
        }
    }

    /// The rows of the thread in `slot`; none without a slot.
    fn get(&self, slot: Option<u32>) -> ThreadRows<'_> {
        let runs = slot.and_then(|slot| {
            let at = slot as usize;
            self.runs.get(*self.starts.get(at)?..*self.starts.get(at.checked_add(1)?)?)
        });
        ThreadRows { lists: self, runs: runs.unwrap_or(&[]) }
    }

    fn list(&self, run: &Run) -> &[u32] {
        let rows = self.rows.get(run.piece as usize).map_or(&[][..], |rows| rows);
        let first = run.first as usize;
        rows.get(first..first.saturating_add(run.rows as usize)).unwrap_or(&[])
    }
}

/// One thread's rows of a table, in order.
#[derive(Clone, Copy)]
struct ThreadRows<'l> {
    lists: &'l Lists,
    runs: &'l [Run],
}

impl<'l> ThreadRows<'l> {
    /// The row at `place` among the thread's.
    fn get(self, place: usize) -> Option<Place> {
        let run = self.runs.get(self.runs.partition_point(|run| run.before as usize <= place).checked_sub(1)?)?;
        let row = self.lists.list(run).get(place - run.before as usize)?;
        Some((run.piece as usize, *row as usize))
    }

    /// How many of them come before `time_ns`; `times` gives those of a piece of the table.
    fn before(self, time_ns: i64, times: impl Fn(usize) -> &'l [i64]) -> usize {
        // All of the pieces before the last that begins earlier come before, and nothing of those behind it.
        let last = self.lists.first_ns.partition_point(|&first| first < time_ns).saturating_sub(1);
        let run = self.runs.partition_point(|run| (run.piece as usize) < last);
        match self.runs.get(run) {
            Some(run) if run.piece as usize == last => {
                let times = times(last);
                let is_before = |&row: &u32| times.get(row as usize).is_some_and(|&time| time < time_ns);
                run.before as usize + self.lists.list(run).partition_point(is_before)
            }
            Some(later) => later.before as usize,
            None => self.runs.last().map_or(0, |run| run.before as usize + run.rows as usize),
        }
    }

    /// From `place` on.
    fn from(self, place: usize) -> impl Iterator<Item = Place> + 'l {
        (place..).map_while(move |place| self.get(place))
    }
}

/// How many rows come before each piece of a table.
///
/// Rows beyond 2³² have no number: their pieces are left out.
fn numbers(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut total = 0_u32;
    for length in lengths {
        let Some(sum) = u32::try_from(length).ok().and_then(|length| total.checked_add(length)) else { break };
        starts.push(total);
        total = sum;
    }
    starts
}

/// Whether a wake-up was logged before a switch; `false` where that is not known.
pub(crate) fn was_logged_before(ready: &ReadyThread, switch: &ThreadSwitch) -> bool {
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
pub(crate) struct Timelines<'t> {
    trace: &'t Trace,
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
    /// How many switches come before each piece of them.
    switches_before: Vec<u32>,
    switches: Lists,
    readies: Lists,
    /// Whether any wake-up is marked as done in an interrupt: only then does a mark's absence say something.
    marks_interrupts: bool,
    asleep: Asleep,
}

impl<'t> Timelines<'t> {
    pub(crate) fn of(trace: &'t Trace) -> Self {
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
        let index = Self {
            trace,
            dense,
            sparse,
            switches_before: numbers(switches.pieces().iter().map(ContextSwitches::len)),
            switches: Lists::default(),
            readies: Lists::default(),
            marks_interrupts: readies
                .pieces()
                .iter()
                .any(|piece| piece.flags.iter().any(|flags| flags & IN_INTERRUPT != 0)),
            asleep: Asleep::of(trace),
        };
        let (slots, shelf) = (slots as usize, trace.shelf.as_deref());
        let numbered = switches.pieces().iter().zip(&index.switches_before);
        let by_thread = numbered.map(|(piece, _)| {
            let visit = |tell: &mut dyn FnMut(u32, u32)| {
                for (row, (&new, &old)) in (0..).zip(piece.new_tid.iter().zip(&piece.old_tid)) {
                    if let Some(slot) = index.slot(old) {
                        tell(slot, row);
                    }
                    if new != old
                        && let Some(slot) = index.slot(new)
                    {
                        tell(slot, row);
                    }
                }
            };
            (&*piece.time_ns, visit)
        });
        let switches = Lists::of(slots, by_thread, shelf);
        let by_thread = readies.pieces().iter().map(|piece| {
            let visit = |tell: &mut dyn FnMut(u32, u32)| {
                for (row, &tid) in (0..).zip(&piece.ready_tid) {
                    if let Some(slot) = index.slot(tid) {
                        tell(slot, row);
                    }
                }
            };
            (&*piece.time_ns, visit)
        });
        let readies = Lists::of(slots, by_thread, shelf);
        Self { switches, readies, ..index }
    }

    pub(crate) const fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// When the machine was asleep.
    pub(crate) const fn asleep(&self) -> &Asleep {
        &self.asleep
    }

    /// When the first switch of any processor was recorded, ns.
    pub(crate) fn first_switch_ns(&self) -> i64 {
        let pieces = self.trace.context_switches.pieces();
        let first = pieces.iter().find_map(|piece| piece.time_ns.first());
        first.copied().unwrap_or(i64::MAX)
    }

    /// Whether wake-ups done in interrupts are marked as such.
    pub(crate) const fn marks_interrupts(&self) -> bool {
        self.marks_interrupts
    }

    fn slot(&self, tid: u32) -> Option<u32> {
        let slot = if tid < DENSE_THREADS { *self.dense.get(tid as usize)? } else { *self.sparse.get(&tid)? };
        (slot != NO_SLOT).then_some(slot)
    }

    fn switch_rows(&self, tid: u32) -> ThreadRows<'_> {
        self.switches.get(self.slot(tid))
    }

    fn ready_rows(&self, tid: u32) -> ThreadRows<'_> {
        self.readies.get(self.slot(tid))
    }

    fn ready(&self, (piece, row): Place) -> Option<ReadyThread> {
        self.trace.ready_threads.pieces().get(piece)?.get(row)
    }

    /// The switch at `place` of a thread's list.
    pub(crate) fn switch(&self, tid: u32, place: usize) -> Option<ThreadSwitch> {
        let (piece, at) = self.switch_rows(tid).get(place)?;
        let row = self.trace.context_switches.pieces().get(piece)?.get(at)?;
        let number = self.switches_before.get(piece)?.checked_add(u32::try_from(at).ok()?)?;
        let turn = if row.new_tid == tid { Turn::In } else { Turn::Out };
        Some(ThreadSwitch { place, number, turn, row })
    }

    /// How many of the thread's switches come before `time_ns`.
    pub(crate) fn switches_before(&self, tid: u32, time_ns: i64) -> usize {
        let pieces = self.trace.context_switches.pieces();
        self.switch_rows(tid).before(time_ns, |piece| pieces.get(piece).map_or(&[], |piece| &*piece.time_ns))
    }

    /// How many of the thread's wake-ups come before `time_ns`.
    fn readies_before(&self, tid: u32, time_ns: i64) -> usize {
        let pieces = self.trace.ready_threads.pieces();
        self.ready_rows(tid).before(time_ns, |piece| pieces.get(piece).map_or(&[], |piece| &*piece.time_ns))
    }

    /// The thread's last switch before `time_ns`.
    pub(crate) fn last_before(&self, tid: u32, time_ns: i64) -> Option<ThreadSwitch> {
        self.switch(tid, self.switches_before(tid, time_ns).checked_sub(1)?)
    }

    /// The first time from `from_ns` on that the thread was made ready.
    pub(crate) fn first_ready(&self, tid: u32, from_ns: i64) -> Option<ReadyThread> {
        self.ready(self.ready_rows(tid).get(self.readies_before(tid, from_ns))?)
    }

    /// The wake-up that ended the wait which began with switch `out` and ended with `next`, if it ended.
    ///
    /// Where the clock goes on in steps many records have one time: a wake-up that was logged before `out` ended an earlier wait,
    /// and one logged after `next` a later one. Between two processors the order of logging at one time is not known: there a
    /// wake-up counts if the thread cannot have waited for it at another time.
    pub(crate) fn ready_of_wait(
        &self,
        tid: u32,
        out: &ThreadSwitch,
        next: Option<&ThreadSwitch>,
    ) -> Option<ReadyThread> {
        let first = self.readies_before(tid, out.row.time_ns);
        let mut of_another_processor = None;
        for place in self.ready_rows(tid).from(first).take(MAX_CONCURRENT) {
            let ready = self.ready(place)?;
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
        self.readies_before(tid, time_ns.saturating_add(1)).saturating_sub(self.readies_before(tid, time_ns))
    }

    /// How often the thread came to run at the time of its switch `out`, and before it, for which it must have been made ready then.
    fn wakes_at(&self, tid: u32, out: &ThreadSwitch) -> usize {
        let time_ns = out.row.time_ns;
        let before = (0..out.place).rev().take(MAX_CONCURRENT).filter_map(|place| self.switch(tid, place));
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
    pub(crate) fn switches_back(&self, time_ns: i64, most: usize) -> impl Iterator<Item = ContextSwitch> + '_ {
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
