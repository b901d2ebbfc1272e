//! Entries of several files in one order.

use std::cmp::Ordering;

use crate::entry::{Entry, FieldFaults};
use crate::file::JournalFile;
use crate::losses::Losses;

/// Bytes that the fields of all entries may expand to, for each byte of the files: many entries share one field, and text
/// compresses a hundredfold at best.
const EXPANSION: u64 = 256;
/// Bytes that they may expand to however small the files are.
const FREE: u64 = 64 << 20;

/// Calls `take` with every entry of `files`: those of one file in the order in which they were written, those of several in the
/// order of `journalctl`: by sequence number where files share a sequence, by the monotonic clock within a boot, by the wall
/// clock otherwise. An entry that two files hold comes once.
pub fn read<'f>(files: &[JournalFile<'f>], mut take: impl FnMut(&Entry<'_, 'f>)) -> Losses {
    let mut losses = Losses::default();
    let bytes: u64 = files.iter().map(JournalFile::length).sum();
    let faults = FieldFaults::default();
    faults.budget.set(bytes.saturating_mul(EXPANSION).saturating_add(FREE));
    let mut queues: Vec<Queue<'f>> = files
        .iter()
        .enumerate()
        .filter_map(|(index, file)| {
            let offsets = file.entry_offsets(index, &mut losses);
            let mut queue = Queue { file: *file, index, offsets: offsets.into_iter(), next: None };
            queue.advance();
            queue.next.is_some().then_some(queue)
        })
        .collect();
    while let Some(first) = first_of(&queues) {
        let Some(entry) = queues.get(first).and_then(|queue| queue.next) else { break };
        take(&Entry { faults: Some(&faults), ..entry });
        for queue in &mut queues {
            let same = |next: &Entry<'_, '_>| is_same(next, &entry);
            if queue.index == entry.file_index || queue.next.as_ref().is_some_and(same) {
                queue.advance();
            }
        }
        queues.retain(|queue| queue.next.is_some());
    }
    losses.fields_unreadable = faults.unreadable.get();
    losses.fields_beyond_budget = faults.beyond_budget.get();
    if let Some(place) = faults.first.get() {
        losses.at(place.file, place.offset);
    }
    losses
}

/// The entries of one file that were not given out.
#[derive(Debug)]
struct Queue<'f> {
    file: JournalFile<'f>,
    index: usize,
    offsets: std::vec::IntoIter<u64>,
    next: Option<Entry<'static, 'f>>,
}

impl Queue<'_> {
    fn advance(&mut self) {
        self.next = self.offsets.by_ref().find_map(|offset| Entry::read(self.file, self.index, offset));
    }
}

/// The queue whose next entry comes first; of equal ones that of the file given first.
fn first_of(queues: &[Queue<'_>]) -> Option<usize> {
    let mut first: Option<(usize, &Entry<'_, '_>)> = None;
    for (at, queue) in queues.iter().enumerate() {
        if let Some(next) = &queue.next
            && first.is_none_or(|(_, least)| order(next, least).is_lt())
        {
            first = Some((at, next));
        }
    }
    first.map(|(at, _)| at)
}

/// The order of `journalctl`. It is no total order: a wall clock may say otherwise than a sequence.
fn order(one: &Entry<'_, '_>, other: &Entry<'_, '_>) -> Ordering {
    let sequence = |entry: &Entry<'_, '_>| entry.file.header().sequence;
    let by_sequence = one.sequence_number.cmp(&other.sequence_number);
    if sequence(one) == sequence(other) && by_sequence.is_ne() {
        return by_sequence;
    }
    let by_monotonic = one.monotonic_us.cmp(&other.monotonic_us);
    if one.boot == other.boot && by_monotonic.is_ne() {
        return by_monotonic;
    }
    one.realtime_us.cmp(&other.realtime_us).then(one.hash.cmp(&other.hash))
}

fn is_same(one: &Entry<'_, '_>, other: &Entry<'_, '_>) -> bool {
    one.boot == other.boot
        && one.hash == other.hash
        && one.monotonic_us == other.monotonic_us
        && one.realtime_us == other.realtime_us
}
