//! Looks up the switches and wake-ups of a thread by thread id and time.
//!
//! The tables are sorted by time across all threads. This index has, for each chunk of a table, the list of rows of
//! each thread: four bytes per row and thread (eight for a switch, which involves two threads). A lookup searches one
//! list and touches one chunk. If chunks are spilled to disk, so are their lists, and only the chunks of the times in
//! question are read back.

use super::reason::{self, ThreadState};
use hashbrown::HashMap;
use onoff_trace::{Batches, ContextSwitch, ContextSwitches, ReadyThreads, SpillStore, Trace, Values};
use onoff_usage::asleep::SleepIntervals;

/// Thread ids below this are indexed by an array; larger ones (damaged recordings) by a map.
const MAX_DENSE_TID: u32 = 1 << 20;
const NO_SLOT: u32 = u32::MAX;
/// Maximum number of wake-ups of one thread examined at one time.
const MAX_CONCURRENT: usize = 256;
/// Maximum time by which another processor can ready a thread before its switch-out is recorded, ns: 20 µs.
const MAX_EARLY_WAKE_NS: i64 = 20_000;
/// Number of rows examined in order before a binary search.
const MAX_STEPS: usize = 4;
/// Maximum number of switches examined between a wake-up and the switch of an idle processor.
const MAX_IDLE_ROWS: usize = 1 << 16;
/// Flag of a ready-thread event logged inside a DPC or interrupt.
pub(crate) const IN_INTERRUPT: u8 = 1;

/// Direction of a switch, as seen by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchDirection {
    In,
    Out,
}

/// A context switch of a thread. Columns are read when needed: switches of one thread are far apart in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadSwitch<'t> {
    /// Index among the switches of the thread.
    pub(crate) index: usize,
    /// Index among all switches of the recording, in logging order.
    pub(crate) number: u32,
    pub(crate) direction: SwitchDirection,
    pub(crate) time_ns: i64,
    chunk: &'t ContextSwitches,
    chunk_row: usize,
}

impl ThreadSwitch<'_> {
    fn value<T: Copy + Default>(&self, column: &[T]) -> T {
        column.get(self.chunk_row).copied().unwrap_or_default()
    }

    pub(crate) fn cpu(&self) -> u16 {
        self.value(&self.chunk.cpu)
    }

    pub(crate) fn old_tid(&self) -> u32 {
        self.value(&self.chunk.old_tid)
    }

    pub(crate) fn new_priority(&self) -> i8 {
        self.value(&self.chunk.new_priority)
    }

    pub(crate) fn old_priority(&self) -> i8 {
        self.value(&self.chunk.old_priority)
    }

    pub(crate) fn old_state(&self) -> u8 {
        self.value(&self.chunk.old_state)
    }

    pub(crate) fn old_wait_reason(&self) -> u8 {
        self.value(&self.chunk.old_wait_reason)
    }

    pub(crate) fn old_wait_mode(&self) -> u8 {
        self.value(&self.chunk.old_wait_mode)
    }
}

/// What made a thread ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeUp {
    pub(crate) time_ns: i64,
    /// Processor on which the readying code ran.
    pub(crate) cpu: u16,
    pub(crate) readying_tid: Option<u32>,
    /// Flags of the event, e.g. [`IN_INTERRUPT`].
    pub(crate) flags: u8,
    /// Number of context switches logged before it, if known.
    after_switches: Option<u32>,
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
    earlier_rows: u32,
}

/// (chunk, row in the chunk).
type RowPosition = (usize, usize);

impl RowLists {
    /// `chunks` yields the times of each chunk and a visitor that reports (thread slot, row) in order. The visitor is
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
        let mut earlier_rows = vec![0_u32; slots];
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
                let (count, earlier_rows) = (&mut counts[slot as usize], &mut earlier_rows[slot as usize]);
                runs.push((slot, Run { chunk, first: total, rows: *count, earlier_rows: *earlier_rows }));
                *earlier_rows = earlier_rows.saturating_add(*count);
                // From here on, `count` is the position of the thread's next row.
                (*count, total) = (total, total.saturating_add(*count));
            }
            let mut list = vec![0_u32; total as usize];
            visit(&mut |slot, row| {
                if let Some(next_index) = counts.get_mut(slot as usize) {
                    if let Some(entry) = list.get_mut(*next_index as usize) {
                        *entry = row;
                    }
                    *next_index += 1;
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
        lists.group_runs(slots, &runs);
        lists
    }

    /// Groups the runs by thread, keeping their order.
    fn group_runs(&mut self, slots: usize, runs: &[(u32, Run)]) {
        self.starts = vec![0; slots + 1];
        for &(slot, _) in runs {
            self.starts[slot as usize + 1] += 1;
        }
        for index in 1..self.starts.len() {
            self.starts[index] += self.starts[index - 1];
        }
        let mut next_positions = self.starts.clone();
        self.runs = vec![Run::default(); runs.len()];
        for &(slot, run) in runs {
            let position = &mut next_positions[slot as usize];
            self.runs[*position] = run;
            *position += 1;
        }
    }

    /// Returns the rows of the thread in `slot`; empty without a slot.
    fn get(&self, slot: Option<u32>) -> ThreadRows<'_> {
        let runs = slot.and_then(|slot| {
            let index = slot as usize;
            self.runs.get(*self.starts.get(index)?..*self.starts.get(index.checked_add(1)?)?)
        });
        ThreadRows { lists: self, runs: runs.unwrap_or(&[]) }
    }

    fn run_rows(&self, run: &Run) -> &[u32] {
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
    /// Returns the position of the thread's row with this index.
    fn get(self, index: usize) -> Option<RowPosition> {
        let run = self.runs.get(self.runs.partition_point(|run| run.earlier_rows as usize <= index).checked_sub(1)?)?;
        let row = self.lists.run_rows(run).get(index - run.earlier_rows as usize)?;
        Some((run.chunk as usize, *row as usize))
    }

    /// Returns the number of rows before `time_ns`; `times` returns the times of a chunk.
    fn count_before(self, time_ns: i64, times: impl Fn(usize) -> &'l [i64]) -> usize {
        // All rows of earlier chunks are before the time, and no row of later chunks is.
        let last_chunk = self.lists.first_ns.partition_point(|&first| first < time_ns).saturating_sub(1);
        let run = self.runs.partition_point(|run| (run.chunk as usize) < last_chunk);
        match self.runs.get(run) {
            Some(run) if run.chunk as usize == last_chunk => {
                let times = times(last_chunk);
                let is_before = |&row: &u32| times.get(row as usize).is_some_and(|&time| time < time_ns);
                run.earlier_rows as usize + self.lists.run_rows(run).partition_point(is_before)
            }
            Some(later_run) => later_run.earlier_rows as usize,
            None => self.runs.last().map_or(0, |run| run.earlier_rows as usize + run.rows as usize),
        }
    }

    /// Like [`Self::count_before`], if at least `min` rows are before the time: faster if few more are.
    fn count_before_from(self, min: usize, time_ns: i64, times: impl Fn(usize) -> &'l [i64]) -> usize {
        for index in min..min.saturating_add(MAX_STEPS) {
            let time = self.get(index).and_then(|(chunk, row)| times(chunk).get(row));
            if time.is_none_or(|&time| time >= time_ns) {
                return index;
            }
        }
        self.count_before(time_ns, times)
    }

    fn positions_from(self, index: usize) -> impl Iterator<Item = RowPosition> + 'l {
        (index..).map_while(move |index| self.get(index))
    }
}

/// Number of rows before each chunk of a table.
///
/// Rows beyond 2³² cannot be numbered: their chunks are skipped.
fn chunk_starts(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut total = 0_u32;
    for length in lengths {
        let Some(new_total) = u32::try_from(length).ok().and_then(|length| total.checked_add(length)) else { break };
        starts.push(total);
        total = new_total;
    }
    starts
}

/// True if a wake-up is known to have been logged before a switch.
pub(crate) fn was_logged_before(ready: &WakeUp, switch: &ThreadSwitch<'_>) -> bool {
    ready.time_ns < switch.time_ns
        || ready.time_ns == switch.time_ns
            && ready.after_switches.is_some_and(|switches_before| switches_before <= switch.number)
}

/// True if a wake-up is known to have been logged after a switch.
fn was_logged_after(ready: &WakeUp, switch: &ThreadSwitch<'_>) -> bool {
    ready.time_ns > switch.time_ns
        || ready.time_ns == switch.time_ns
            && ready.after_switches.is_some_and(|switches_before| switches_before > switch.number)
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
                let index = tid as usize;
                if index >= dense.len() {
                    dense.resize(index + 1, NO_SLOT);
                }
                &mut dense[index]
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
            asleep: SleepIntervals::from_trace(trace),
        };
        let (slots, spill_store) = (slots as usize, trace.spill_store.as_deref());
        let numbered_chunks = switches.chunks().iter().zip(&index.chunk_starts);
        let chunk_rows = numbered_chunks.map(|(chunk, _)| {
            let visit = |report: &mut dyn FnMut(u32, u32)| {
                for (row, (&new_tid, &old_tid)) in (0..).zip(chunk.new_tid.iter().zip(&chunk.old_tid)) {
                    if let Some(slot) = index.slot(old_tid) {
                        report(slot, row);
                    }
                    if new_tid != old_tid
                        && let Some(slot) = index.slot(new_tid)
                    {
                        report(slot, row);
                    }
                }
            };
            (&*chunk.time_ns, visit)
        });
        let switches = RowLists::new(slots, chunk_rows, spill_store);
        let chunk_rows = readies.chunks().iter().map(|chunk| {
            let visit = |report: &mut dyn FnMut(u32, u32)| {
                for (row, &tid) in (0..).zip(&chunk.ready_tid) {
                    if let Some(slot) = index.slot(tid) {
                        report(slot, row);
                    }
                }
            };
            (&*chunk.time_ns, visit)
        });
        let readies = RowLists::new(slots, chunk_rows, spill_store);
        Self { switches, readies, ..index }
    }

    pub(crate) const fn trace(&self) -> &'t Trace {
        self.trace
    }

    pub(crate) const fn asleep(&self) -> &SleepIntervals {
        &self.asleep
    }

    /// Returns the time of the first switch on any processor, ns; `i64::MAX` if none.
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

    fn ready(&self, (chunk, row): RowPosition) -> Option<WakeUp> {
        let chunk = self.trace.ready_threads.chunks().get(chunk)?;
        Some(WakeUp {
            time_ns: *chunk.time_ns.get(row)?,
            cpu: *chunk.cpu.get(row)?,
            readying_tid: chunk.readying_tid.get(row),
            flags: *chunk.flags.get(row)?,
            after_switches: chunk.after_switches.get(row),
        })
    }

    /// Returns the thread's switch with this index.
    pub(crate) fn switch(&self, tid: u32, index: usize) -> Option<ThreadSwitch<'t>> {
        let (chunk_index, chunk_row) = self.switch_rows(tid).get(index)?;
        let chunk = self.trace.context_switches.chunks().get(chunk_index)?;
        let number = self.chunk_starts.get(chunk_index)?.checked_add(u32::try_from(chunk_row).ok()?)?;
        let time_ns = *chunk.time_ns.get(chunk_row)?;
        let direction = if *chunk.new_tid.get(chunk_row)? == tid { SwitchDirection::In } else { SwitchDirection::Out };
        Some(ThreadSwitch { index, number, direction, time_ns, chunk, chunk_row })
    }

    /// Returns the number of switches of the thread before `time_ns`.
    pub(crate) fn switches_before(&self, tid: u32, time_ns: i64) -> usize {
        let chunks = self.trace.context_switches.chunks();
        self.switch_rows(tid).count_before(time_ns, |chunk| chunks.get(chunk).map_or(&[], |chunk| &*chunk.time_ns))
    }

    /// Returns the number of wake-ups of the thread before `time_ns`.
    fn readies_before(&self, tid: u32, time_ns: i64) -> usize {
        self.ready_rows(tid).count_before(time_ns, self.ready_times())
    }

    /// Returns a function that returns the times of a chunk of wake-ups, ns.
    fn ready_times(&self) -> impl Fn(usize) -> &'t [i64] {
        let chunks = self.trace.ready_threads.chunks();
        |chunk| chunks.get(chunk).map_or(&[], |chunk| &*chunk.time_ns)
    }

    pub(crate) fn last_switch_before(&self, tid: u32, time_ns: i64) -> Option<ThreadSwitch<'t>> {
        self.switch(tid, self.switches_before(tid, time_ns).checked_sub(1)?)
    }

    /// Returns the first wake-up of the thread at or after `from_ns`.
    pub(crate) fn first_ready(&self, tid: u32, from_ns: i64) -> Option<WakeUp> {
        self.ready(self.ready_rows(tid).get(self.readies_before(tid, from_ns))?)
    }

    /// Returns the wake-up that ended the wait between switches `out` and `next`, if it ended.
    ///
    /// With a coarse clock many records share one time: a wake-up logged before `out` ended an earlier wait, and one
    /// logged after `next` a later one. Between two processors the logging order at one time is unknown: a wake-up then
    /// counts if the thread cannot have waited for it at another time.
    pub(crate) fn ready_of_wait(
        &self,
        tid: u32,
        out: &ThreadSwitch<'_>,
        next: Option<&ThreadSwitch<'_>>,
    ) -> Option<WakeUp> {
        self.ready_from(tid, out, next, self.readies_before(tid, out.time_ns))
    }

    /// Like [`Self::ready_of_wait`], for the waits of a thread in order: `before` is the number of wake-ups before an
    /// earlier wait, and is raised to those before this one.
    pub(crate) fn ready_of_next_wait(
        &self,
        tid: u32,
        out: &ThreadSwitch<'_>,
        next: &ThreadSwitch<'_>,
        before: &mut usize,
    ) -> Option<WakeUp> {
        *before = self.ready_rows(tid).count_before_from(*before, out.time_ns, self.ready_times());
        self.ready_from(tid, out, Some(next), *before)
    }

    /// Returns the wake-up that ended a wait, from the thread's wake-up with index `first` on.
    fn ready_from(
        &self,
        tid: u32,
        out: &ThreadSwitch<'_>,
        next: Option<&ThreadSwitch<'_>>,
        first: usize,
    ) -> Option<WakeUp> {
        let mut from_other_processor = None;
        for position in self.ready_rows(tid).positions_from(first).take(MAX_CONCURRENT) {
            let ready = self.ready(position)?;
            if next.is_some_and(|next| ready.time_ns > next.time_ns) {
                break;
            }
            if was_logged_before(&ready, out) {
                let ran_before = || {
                    let previous = out.index.checked_sub(1).and_then(|index| self.switch(tid, index));
                    previous.is_none_or(|previous| previous.time_ns < out.time_ns)
                };
                if ready.cpu != out.cpu() && ran_before() {
                    from_other_processor = Some(ready);
                }
                continue;
            }
            let Some(next) = next.filter(|next| was_logged_after(&ready, next)) else {
                // On another processor at the time the wait started, it may have ended an earlier one.
                if ready.time_ns == out.time_ns
                    && ready.cpu != out.cpu()
                    && next.is_some_and(|next| next.time_ns > out.time_ns)
                    && self.readies_at(tid, out.time_ns) <= self.wakes_at(tid, out)
                {
                    continue;
                }
                return Some(ready);
            };
            let runs_on = || {
                let following = self.switch(tid, next.index + 1);
                following.is_none_or(|following| {
                    let is_wait = following.direction == SwitchDirection::Out
                        && reason::state_after_switch_out(following.old_state()) == ThreadState::Waiting;
                    following.time_ns > next.time_ns || !is_wait
                })
            };
            if from_other_processor.is_none() && ready.cpu != next.cpu() && runs_on() {
                from_other_processor = Some(ready);
            }
        }
        from_other_processor
    }

    /// True if the thread was readied just before switch `out` was recorded, while still running.
    pub(crate) fn was_woken_while_leaving(&self, tid: u32, out: &ThreadSwitch<'_>) -> bool {
        let previous = out.index.checked_sub(1).and_then(|index| self.switch(tid, index));
        let from_ns = out.time_ns.saturating_sub(MAX_EARLY_WAKE_NS);
        let from_ns = previous.map_or(from_ns, |previous| previous.time_ns.max(from_ns));
        let ready = self.first_ready(tid, from_ns).filter(|ready| ready.time_ns < out.time_ns);
        ready.is_some_and(|ready| previous.is_none_or(|previous| !was_logged_before(&ready, &previous)))
    }

    /// Returns the ids of all threads in the switches and wake-ups, ascending, without the idle threads.
    pub(crate) fn tids(&self) -> Vec<u32> {
        let dense = (0_u32..).zip(&self.dense).filter(|&(_, &slot)| slot != NO_SLOT).map(|(tid, _)| tid);
        let mut tids: Vec<u32> = dense.chain(self.sparse.keys().copied()).collect();
        tids.sort_unstable();
        tids
    }

    /// Returns the number of wake-ups of the thread at one time.
    fn readies_at(&self, tid: u32, time_ns: i64) -> usize {
        self.readies_before(tid, time_ns.saturating_add(1)).saturating_sub(self.readies_before(tid, time_ns))
    }

    /// Returns the number of switches at the time of `out`, up to `out`, that need a wake-up at that time.
    fn wakes_at(&self, tid: u32, out: &ThreadSwitch<'_>) -> usize {
        let time_ns = out.time_ns;
        let earlier = (0..out.index).rev().take(MAX_CONCURRENT).filter_map(|index| self.switch(tid, index));
        let simultaneous = earlier
            .take_while(|switch| switch.time_ns == time_ns)
            .filter(|switch| switch.direction == SwitchDirection::In);
        let needs_ready = |switch: &ThreadSwitch<'_>| {
            let switch_out = switch.index.checked_sub(1).and_then(|index| self.switch(tid, index));
            match switch_out {
                None => true,
                Some(switch_out) if reason::state_after_switch_out(switch_out.old_state()) == ThreadState::Ready => {
                    false
                }
                Some(switch_out) if switch_out.time_ns == time_ns => true,
                // It may have been readied earlier and waited for a processor.
                Some(switch_out) => self
                    .first_ready(tid, switch_out.time_ns.saturating_add(1))
                    .is_none_or(|ready| ready.time_ns >= time_ns),
            }
        };
        simultaneous.filter(needs_ready).count()
    }

    /// True if the processor of `switch` became idle after `from_ns` and before the switch. Also true if that is not
    /// known, because too many switches were recorded in between.
    pub(crate) fn became_idle_between(&self, from_ns: i64, switch: &ThreadSwitch<'_>) -> bool {
        let cpu = switch.cpu();
        let end_index = self.chunk_starts.partition_point(|&start| start <= switch.number);
        let chunks = self.trace.context_switches.chunks().get(..end_index).unwrap_or_default();
        let mut end_row = Some(switch.chunk_row);
        let mut rows_left = MAX_IDLE_ROWS;
        for chunk in chunks.iter().rev() {
            let rows = ..end_row.take().unwrap_or(chunk.len());
            let (times, processors) = (chunk.time_ns.get(rows), chunk.cpu.get(rows));
            let columns = times.unwrap_or_default().iter().zip(processors.unwrap_or_default());
            let columns = columns.zip(chunk.new_tid.get(rows).unwrap_or_default());
            for ((&time_ns, &row_cpu), &new_tid) in columns.rev() {
                if time_ns <= from_ns {
                    return false;
                }
                if rows_left == 0 || (row_cpu == cpu && new_tid == 0 && time_ns < switch.time_ns) {
                    return true;
                }
                rows_left -= 1;
            }
        }
        false
    }

    /// Returns the last `max` switches of all processors up to `time_ns`, last first.
    pub(crate) fn switches_back(&self, time_ns: i64, max: usize) -> impl Iterator<Item = ContextSwitch> + '_ {
        let chunks = self.trace.context_switches.chunks();
        let end_index = chunks.partition_point(|chunk| chunk.time_ns.first().is_some_and(|&first| first <= time_ns));
        chunks
            .get(..end_index)
            .unwrap_or(&[])
            .iter()
            .rev()
            .flat_map(move |chunk| {
                let row_count = chunk.time_ns.partition_point(|&time| time <= time_ns);
                (0..row_count).rev().filter_map(|row| chunk.get(row))
            })
            .take(max)
    }
}
