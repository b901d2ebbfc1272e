//! Looks up the switches and wake-ups of a thread by thread id and time.
//!
//! The tables are sorted by time across all threads. This index has, for each chunk of a table, the list of rows of
//! each thread: four bytes per row and thread (eight for a switch, which involves two threads). A lookup searches one
//! list and touches one chunk. If chunks are spilled to disk, so are their lists, and only the chunks of the times in
//! question are read back.

use super::reason::{self, ThreadState};
use hashbrown::HashMap;
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, ReadyThread, ReadyThreads, SpillStore, Trace, Values};
use onoff_usage::asleep::SleepIntervals;

/// Thread ids below this are indexed by an array; larger ones (damaged recordings) by a map.
const MAX_DENSE_TID: u32 = 1 << 20;
const NO_SLOT: u32 = u32::MAX;
/// Maximum number of wake-ups of one thread examined at one time.
const MAX_CONCURRENT: usize = 256;
/// Flag of a ready-thread event logged inside a DPC or interrupt.
pub(crate) const IN_INTERRUPT: u8 = 1;

/// Direction of a switch, as seen by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchDirection {
    In,
    Out,
}

/// A context switch of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadSwitch {
    /// Index among the switches of the thread.
    pub(crate) place: usize,
    /// Index among all switches of the recording, in logging order.
    pub(crate) number: u32,
    pub(crate) direction: SwitchDirection,
    pub(crate) row: ContextSwitch,
}

/// Table rows by thread: one list per table chunk, grouped by thread.
#[derive(Debug, Default)]
struct RowLists {
    /// The list of each chunk.
    rows: Vec<Values<u32>>,
    /// Time of the first row of each chunk, ns.
    first_ns: Vec<i64>,
    /// Index of the first run of each thread, plus the end.
    starts: Vec<usize>,
    /// Runs of each thread in chunk order.
    runs: Vec<Run>,
}

/// The rows of one thread in one chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    chunk: u32,
    /// Start in the chunk's list.
    first: u32,
    rows: u32,
    /// Number of rows of the thread in earlier chunks.
    before: u32,
}

/// (chunk, row in the chunk).
type RowPosition = (usize, usize);

impl RowLists {
    /// `chunks` gives the times of each chunk and a visitor that reports (thread slot, row) in order. The visitor is
    /// called twice; a row of two threads is reported twice.
    fn new<'a, V>(
        slots: usize,
        chunks: impl Iterator<Item = (&'a [i64], V)>,
        spill_store: Option<&dyn SpillStore>,
    ) -> Self
    where
        V: Fn(&mut dyn FnMut(u32, u32)),
    {
        let mut lists = Self::default();
        let mut counts = vec![0_u32; slots];
        let mut before = vec![0_u32; slots];
        let mut runs: Vec<(u32, Run)> = Vec::new();
        for (chunk, (times, visit)) in (0_u32..).zip(chunks) {
            let mut slots_in_chunk: Vec<u32> = Vec::new();
            visit(&mut |slot, _| {
                if let Some(count) = counts.get_mut(slot as usize) {
                    if *count == 0 {
                        slots_in_chunk.push(slot);
                    }
                    *count += 1;
                }
            });
            let mut total = 0_u32;
            for slot in slots_in_chunk.iter().copied() {
                let (count, before) = (&mut counts[slot as usize], &mut before[slot as usize]);
                runs.push((slot, Run { chunk, first: total, rows: *count, before: *before }));
                *before = before.saturating_add(*count);
                // From here on, `count` is the position of the thread's next row.
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
            slots_in_chunk.iter().for_each(|&slot| counts[slot as usize] = 0);
            let mut list = Values::from(list);
            if let Some(spill_store) = spill_store {
                list.spill(spill_store);
            }
            lists.rows.push(list);
            lists.first_ns.push(times.first().copied().unwrap_or(i64::MAX));
        }
        lists.sort(slots, &runs);
        lists
    }

    /// Groups the runs by thread, keeping their order.
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

    /// The rows of the thread in `slot`; empty without a slot.
    fn get(&self, slot: Option<u32>) -> ThreadRows<'_> {
        let runs = slot.and_then(|slot| {
            let at = slot as usize;
            self.runs.get(*self.starts.get(at)?..*self.starts.get(at.checked_add(1)?)?)
        });
        ThreadRows { lists: self, runs: runs.unwrap_or(&[]) }
    }

    fn list(&self, run: &Run) -> &[u32] {
        let rows = self.rows.get(run.chunk as usize).map_or(&[][..], |rows| rows);
        let first = run.first as usize;
        rows.get(first..first.saturating_add(run.rows as usize)).unwrap_or(&[])
    }
}

/// The rows of one thread in a table, in order.
#[derive(Clone, Copy)]
struct ThreadRows<'l> {
    lists: &'l RowLists,
    runs: &'l [Run],
}

impl<'l> ThreadRows<'l> {
    /// The thread's row number `place`.
    fn get(self, place: usize) -> Option<RowPosition> {
        let run = self.runs.get(self.runs.partition_point(|run| run.before as usize <= place).checked_sub(1)?)?;
        let row = self.lists.list(run).get(place - run.before as usize)?;
        Some((run.chunk as usize, *row as usize))
    }

    /// Number of rows before `time_ns`; `times` gives the times of a chunk.
    fn before(self, time_ns: i64, times: impl Fn(usize) -> &'l [i64]) -> usize {
        // All rows of earlier chunks come before, no row of later ones does.
        let last = self.lists.first_ns.partition_point(|&first| first < time_ns).saturating_sub(1);
        let run = self.runs.partition_point(|run| (run.chunk as usize) < last);
        match self.runs.get(run) {
            Some(run) if run.chunk as usize == last => {
                let times = times(last);
                let is_before = |&row: &u32| times.get(row as usize).is_some_and(|&time| time < time_ns);
                run.before as usize + self.lists.list(run).partition_point(is_before)
            }
            Some(later) => later.before as usize,
            None => self.runs.last().map_or(0, |run| run.before as usize + run.rows as usize),
        }
    }

    fn from(self, place: usize) -> impl Iterator<Item = RowPosition> + 'l {
        (place..).map_while(move |place| self.get(place))
    }
}

/// Number of rows before each chunk of a table.
///
/// Rows beyond 2³² cannot be numbered: their chunks are skipped.
fn chunk_starts(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut total = 0_u32;
    for length in lengths {
        let Some(sum) = u32::try_from(length).ok().and_then(|length| total.checked_add(length)) else { break };
        starts.push(total);
        total = sum;
    }
    starts
}

/// True if a wake-up is known to have been logged before a switch.
pub(crate) fn was_logged_before(ready: &ReadyThread, switch: &ThreadSwitch) -> bool {
    ready.time_ns < switch.row.time_ns
        || ready.time_ns == switch.row.time_ns && ready.after_switches.is_some_and(|before| before <= switch.number)
}

/// True if a wake-up is known to have been logged after a switch.
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
    /// Number of switches before each chunk.
    chunk_starts: Vec<u32>,
    switches: RowLists,
    readies: RowLists,
    /// True if any wake-up is marked as logged in an interrupt: only then does a missing mark mean anything.
    marks_interrupts: bool,
    asleep: SleepIntervals,
}

impl<'t> Timelines<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        let switches: &Batches<ContextSwitches> = &trace.context_switches;
        let readies: &Batches<ReadyThreads> = &trace.ready_threads;
        let mut dense: Vec<u32> = Vec::new();
        let mut sparse: HashMap<u32, u32> = HashMap::new();
        let mut slots = 0_u32;
        let mut assign_slot = |tid: u32| {
            if tid == 0 {
                return;
            }
            let slot = if tid < MAX_DENSE_TID {
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
        for chunk in switches.chunks() {
            chunk.new_tid.iter().for_each(|&tid| assign_slot(tid));
            chunk.old_tid.iter().for_each(|&tid| assign_slot(tid));
        }
        for chunk in readies.chunks() {
            chunk.ready_tid.iter().for_each(|&tid| assign_slot(tid));
        }
        let index = Self {
            trace,
            dense,
            sparse,
            chunk_starts: chunk_starts(switches.chunks().iter().map(ContextSwitches::len)),
            switches: RowLists::default(),
            readies: RowLists::default(),
            marks_interrupts: readies
                .chunks()
                .iter()
                .any(|chunk| chunk.flags.iter().any(|flags| flags & IN_INTERRUPT != 0)),
            asleep: SleepIntervals::of(trace),
        };
        let (slots, spill_store) = (slots as usize, trace.spill_store.as_deref());
        let numbered = switches.chunks().iter().zip(&index.chunk_starts);
        let by_thread = numbered.map(|(chunk, _)| {
            let visit = |report: &mut dyn FnMut(u32, u32)| {
                for (row, (&new, &old)) in (0..).zip(chunk.new_tid.iter().zip(&chunk.old_tid)) {
                    if let Some(slot) = index.slot(old) {
                        report(slot, row);
                    }
                    if new != old
                        && let Some(slot) = index.slot(new)
                    {
                        report(slot, row);
                    }
                }
            };
            (&*chunk.time_ns, visit)
        });
        let switches = RowLists::new(slots, by_thread, spill_store);
        let by_thread = readies.chunks().iter().map(|chunk| {
            let visit = |report: &mut dyn FnMut(u32, u32)| {
                for (row, &tid) in (0..).zip(&chunk.ready_tid) {
                    if let Some(slot) = index.slot(tid) {
                        report(slot, row);
                    }
                }
            };
            (&*chunk.time_ns, visit)
        });
        let readies = RowLists::new(slots, by_thread, spill_store);
        Self { switches, readies, ..index }
    }

    pub(crate) const fn trace(&self) -> &'t Trace {
        self.trace
    }

    pub(crate) const fn asleep(&self) -> &SleepIntervals {
        &self.asleep
    }

    /// Time of the first switch on any processor, ns; `i64::MAX` if none.
    pub(crate) fn first_switch_ns(&self) -> i64 {
        let chunks = self.trace.context_switches.chunks();
        let first = chunks.iter().find_map(|chunk| chunk.time_ns.first());
        first.copied().unwrap_or(i64::MAX)
    }

    pub(crate) const fn marks_interrupts(&self) -> bool {
        self.marks_interrupts
    }

    fn slot(&self, tid: u32) -> Option<u32> {
        let slot = if tid < MAX_DENSE_TID { *self.dense.get(tid as usize)? } else { *self.sparse.get(&tid)? };
        (slot != NO_SLOT).then_some(slot)
    }

    fn switch_rows(&self, tid: u32) -> ThreadRows<'_> {
        self.switches.get(self.slot(tid))
    }

    fn ready_rows(&self, tid: u32) -> ThreadRows<'_> {
        self.readies.get(self.slot(tid))
    }

    fn ready(&self, (chunk, row): RowPosition) -> Option<ReadyThread> {
        self.trace.ready_threads.chunks().get(chunk)?.get(row)
    }

    /// The thread's switch number `place`.
    pub(crate) fn switch(&self, tid: u32, place: usize) -> Option<ThreadSwitch> {
        let (chunk, at) = self.switch_rows(tid).get(place)?;
        let row = self.trace.context_switches.chunks().get(chunk)?.get(at)?;
        let number = self.chunk_starts.get(chunk)?.checked_add(u32::try_from(at).ok()?)?;
        let direction = if row.new_tid == tid { SwitchDirection::In } else { SwitchDirection::Out };
        Some(ThreadSwitch { place, number, direction, row })
    }

    /// Number of switches of the thread before `time_ns`.
    pub(crate) fn switches_before(&self, tid: u32, time_ns: i64) -> usize {
        let chunks = self.trace.context_switches.chunks();
        self.switch_rows(tid).before(time_ns, |chunk| chunks.get(chunk).map_or(&[], |chunk| &*chunk.time_ns))
    }

    /// Number of wake-ups of the thread before `time_ns`.
    fn readies_before(&self, tid: u32, time_ns: i64) -> usize {
        let chunks = self.trace.ready_threads.chunks();
        self.ready_rows(tid).before(time_ns, |chunk| chunks.get(chunk).map_or(&[], |chunk| &*chunk.time_ns))
    }

    pub(crate) fn last_before(&self, tid: u32, time_ns: i64) -> Option<ThreadSwitch> {
        self.switch(tid, self.switches_before(tid, time_ns).checked_sub(1)?)
    }

    /// The first wake-up of the thread at or after `from_ns`.
    pub(crate) fn first_ready(&self, tid: u32, from_ns: i64) -> Option<ReadyThread> {
        self.ready(self.ready_rows(tid).get(self.readies_before(tid, from_ns))?)
    }

    /// The wake-up that ended the wait between switches `out` and `next`, if it ended.
    ///
    /// With a coarse clock many records share one time: a wake-up logged before `out` ended an earlier wait, and one
    /// logged after `next` a later one. Between two processors the logging order at one time is unknown: a wake-up then
    /// counts if the thread cannot have waited for it at another time.
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
                // On another processor at the time the wait started, it may have ended an earlier one.
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
                    let waits = after.direction == SwitchDirection::Out
                        && reason::after_switch_out(after.row.old_state) == ThreadState::Waiting;
                    after.row.time_ns > next.row.time_ns || !waits
                })
            };
            if of_another_processor.is_none() && ready.cpu != next.row.cpu && runs_on() {
                of_another_processor = Some(ready);
            }
        }
        of_another_processor
    }

    /// Number of wake-ups of the thread at one time.
    fn readies_at(&self, tid: u32, time_ns: i64) -> usize {
        self.readies_before(tid, time_ns.saturating_add(1)).saturating_sub(self.readies_before(tid, time_ns))
    }

    /// Number of switches at the time of `out`, up to `out`, that need a wake-up at that time.
    fn wakes_at(&self, tid: u32, out: &ThreadSwitch) -> usize {
        let time_ns = out.row.time_ns;
        let before = (0..out.place).rev().take(MAX_CONCURRENT).filter_map(|place| self.switch(tid, place));
        let at_once = before
            .take_while(|switch| switch.row.time_ns == time_ns)
            .filter(|switch| switch.direction == SwitchDirection::In);
        let needs_ready = |switch: &ThreadSwitch| {
            let left = switch.place.checked_sub(1).and_then(|place| self.switch(tid, place));
            match left {
                None => true,
                Some(left) if reason::after_switch_out(left.row.old_state) == ThreadState::Ready => false,
                Some(left) if left.row.time_ns == time_ns => true,
                // It may have been readied earlier and waited for a processor.
                Some(left) => self
                    .first_ready(tid, left.row.time_ns.saturating_add(1))
                    .is_none_or(|ready| ready.time_ns >= time_ns),
            }
        };
        at_once.filter(needs_ready).count()
    }

    /// The last `max` switches of all processors up to `time_ns`, last first.
    pub(crate) fn switches_back(&self, time_ns: i64, max: usize) -> impl Iterator<Item = ContextSwitch> + '_ {
        let chunks = self.trace.context_switches.chunks();
        let after = chunks.partition_point(|chunk| chunk.time_ns.first().is_some_and(|&first| first <= time_ns));
        chunks
            .get(..after)
            .unwrap_or(&[])
            .iter()
            .rev()
            .flat_map(move |chunk| {
                let until = chunk.time_ns.partition_point(|&time| time <= time_ns);
                (0..until).rev().filter_map(|at| chunk.get(at))
            })
            .take(max)
    }
}
