//! Merges the buffers of several processors and files into one sequence ordered by time.
//!
//! A buffer is open from the time of its earliest record until its last record has been visited, so only buffers that
//! overlap in time are open at once: normally one per processor.

use std::ops::ControlFlow;

use crate::recording::Recording;
use crate::scan::BufferRecords;
use crate::{Losses, Record, Walk};

/// The next record of an open buffer: ticks, buffer rank and slot, from high to low bits, so that one branchless
/// comparison orders two heads. Equal times are ordered by rank, then by position in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head(u128);

impl Head {
    fn new(ticks: u64, rank: u32, slot: u32) -> Head {
        Head(u128::from(ticks) << 64 | u128::from(rank) << 32 | u128::from(slot))
    }

    fn ticks(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// A binary min-heap that also exposes the second smallest head: records of the first buffer are visited up to there
/// without touching the heap.
#[derive(Debug, Default)]
struct Heads {
    heap: Vec<Head>,
}

impl Heads {
    fn first(&self) -> Option<Head> {
        self.heap.first().copied()
    }

    fn second(&self) -> Option<Head> {
        match (self.heap.get(1), self.heap.get(2)) {
            (Some(&left_child), Some(&right_child)) => Some(left_child.min(right_child)),
            (left_child, _) => left_child.copied(),
        }
    }

    fn push(&mut self, head: Head) {
        let mut child = self.heap.len();
        self.heap.push(head);
        while child > 0 {
            let parent = (child - 1) / 2;
            match (self.heap.get(parent), self.heap.get(child)) {
                (Some(parent_head), Some(child_head)) if child_head < parent_head => self.heap.swap(parent, child),
                _ => break,
            }
            child = parent;
        }
    }

    fn replace_first(&mut self, head: Head) {
        if let Some(first) = self.heap.first_mut() {
            *first = head;
            self.sink();
        }
    }

    fn remove_first(&mut self) {
        if !self.heap.is_empty() {
            self.heap.swap_remove(0);
            self.sink();
        }
    }

    fn sink(&mut self) {
        let Some(&head) = self.heap.first() else { return };
        let mut index = 0;
        loop {
            let left = 2 * index + 1;
            let Some(&left_head) = self.heap.get(left) else { break };
            let right_head = self.heap.get(left + 1).copied().unwrap_or(Head(u128::MAX));
            let child = left + usize::from(right_head < left_head);
            let smaller = right_head.min(left_head);
            if head <= smaller {
                break;
            }
            if let Some(hole) = self.heap.get_mut(index) {
                *hole = smaller;
            }
            index = child;
        }
        if let Some(hole) = self.heap.get_mut(index) {
            *hole = head;
        }
    }
}

/// An open buffer.
struct Slot<'a> {
    records: BufferRecords<'a>,
    next: usize,
    cpu: u16,
    file: u16,
}

/// An interval of a recording to merge.
pub(crate) struct Part<'p> {
    /// Buffers that start before `start_ticks` and may extend into the part.
    pub carried_buffers: &'p [u32],
    /// Buffers that start in the part, ordered by start time.
    pub starting_buffers: &'p [u32],
    /// First timestamp of the part.
    pub start_ticks: u64,
    /// First timestamp after the part; `None` at the end of the recording.
    pub end_ticks: Option<u64>,
}

pub(crate) fn merge<B>(
    recording: &Recording<'_>,
    part: &Part<'_>,
    mut visit: impl FnMut(&Record<'_>) -> ControlFlow<B>,
) -> Walk<B> {
    let mut open_buffers = OpenBuffers {
        recording,
        start_ticks: part.start_ticks,
        slots: Vec::new(),
        free: Vec::new(),
        heads: Heads::default(),
    };
    let mut losses = Losses::default();
    // A buffer's losses belong to the part in which it starts.
    let mut ignored_losses = Losses::default();
    for &buffer in part.carried_buffers {
        open_buffers.open(buffer, &mut ignored_losses);
    }
    let mut records = 0;
    let mut pending = part.starting_buffers.iter().copied().peekable();
    loop {
        let mut limit = (part.end_ticks.unwrap_or(u64::MAX), if part.end_ticks.is_some() { 0 } else { u32::MAX });
        while let Some(&buffer) = pending.peek() {
            let start = recording.start(buffer);
            if open_buffers.heads.first().is_some_and(|head| (head.ticks(), head.rank()) < start) {
                limit = limit.min(start);
                break;
            }
            open_buffers.open(buffer, &mut losses);
            pending.next();
        }
        let Some(head) = open_buffers.heads.first() else { break };
        if part.end_ticks.is_some_and(|end_ticks| head.ticks() >= end_ticks) {
            break;
        }
        if let Some(second) = open_buffers.heads.second() {
            limit = limit.min((second.ticks(), second.rank()));
        }
        let outcome = open_buffers.run(head, limit, &mut records, &mut visit);
        if outcome.is_break() {
            return Walk { outcome, losses, records };
        }
    }
    Walk { outcome: ControlFlow::Continue(()), losses, records }
}

struct OpenBuffers<'r, 'a> {
    recording: &'r Recording<'a>,
    start_ticks: u64,
    slots: Vec<Slot<'a>>,
    free: Vec<u32>,
    heads: Heads,
}

impl OpenBuffers<'_, '_> {
    fn open(&mut self, buffer: u32, losses: &mut Losses) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { records: BufferRecords::default(), next: 0, cpu: 0, file: 0 });
            self.slots.len() as u32 - 1
        });
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        (slot.cpu, slot.file) = self.recording.load(buffer, &mut slot.records, losses);
        slot.next = slot.records.entries.partition_point(|entry| entry.ticks < self.start_ticks);
        match slot.records.entries.get(slot.next) {
            Some(entry) => {
                let (_, rank) = self.recording.start(buffer);
                self.heads.push(Head::new(entry.ticks, rank, index));
            }
            None => self.free.push(index),
        }
    }

    /// Visits the records of the first open buffer up to `limit`.
    #[inline]
    fn run<B>(
        &mut self,
        head: Head,
        limit: (u64, u32),
        records: &mut u64,
        visit: &mut impl FnMut(&Record<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let Some(slot) = self.slots.get_mut(head.slot() as usize) else { return ControlFlow::Continue(()) };
        let clock = self.recording.clock();
        let rank = head.rank();
        let payload = slot.records.payload.bytes();
        let remaining_entries = slot.records.entries.get(slot.next..).unwrap_or_default();
        let mut visited = 0;
        for entry in remaining_entries {
            if (entry.ticks, rank) >= limit {
                break;
            }
            visited += 1;
            let start = entry.offset as usize;
            let Some(bytes) = payload.get(start..start + entry.shape.size as usize) else { continue };
            let record =
                Record::from_shape(bytes, entry.shape, entry.ticks, clock.ns(entry.ticks), slot.cpu, slot.file);
            *records += 1;
            visit(&record)?;
        }
        slot.next += visited;
        match remaining_entries.get(visited) {
            Some(entry) => self.heads.replace_first(Head::new(entry.ticks, head.rank(), head.slot())),
            None => {
                self.heads.remove_first();
                self.free.push(head.slot());
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_sorted_and_second_is_next() {
        let mut heads = Heads::default();
        for ticks in [5u64, 3, 9, 1, 7, 3, 8, 2] {
            heads.push(Head::new(ticks, ticks as u32, 0));
        }
        let mut seen = Vec::new();
        while let Some(head) = heads.first() {
            let second = heads.second();
            seen.push(head.ticks());
            if head.ticks() == 2 {
                heads.replace_first(Head::new(6, 2, 0));
                continue;
            }
            heads.remove_first();
            assert_eq!(second, heads.first(), "after {seen:?}");
        }
        assert_eq!(seen, [1, 2, 3, 3, 5, 6, 7, 8, 9]);
    }
}
