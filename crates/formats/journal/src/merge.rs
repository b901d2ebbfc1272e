//! Merges the entries of several files.

use std::cmp::Ordering;

use crate::entry::{Entry, FieldErrors};
use crate::file::JournalFile;
use crate::losses::Losses;

/// Size budget of all decompressed fields per byte of the files. Many entries share one field, and text compresses by a
/// factor of 100 at most.
const BUDGET_PER_BYTE: u64 = 256;
/// Size budget for small files, in bytes.
const MIN_BUDGET: u64 = 64 << 20;

/// Calls `visit` with every entry of `files`. Entries of one file are visited in written order. Several files are
/// merged in the order of `journalctl`: by sequence number if they share a sequence, by monotonic time within a boot,
/// otherwise by wall-clock time. Duplicate entries are visited once.
pub fn read<'f>(files: &[JournalFile<'f>], mut visit: impl FnMut(&Entry<'_, 'f>)) -> Losses {
    let mut losses = Losses::default();
    let bytes: u64 = files.iter().map(JournalFile::length).sum();
    let errors = FieldErrors::default();
    errors.budget.set(bytes.saturating_mul(BUDGET_PER_BYTE).saturating_add(MIN_BUDGET));
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
        visit(&Entry { errors: Some(&errors), ..entry });
        for queue in &mut queues {
            let same = |next: &Entry<'_, '_>| is_same(next, &entry);
            if queue.index == entry.file_index || queue.next.as_ref().is_some_and(same) {
                queue.advance();
            }
        }
        queues.retain(|queue| queue.next.is_some());
    }
    losses.unreadable_fields = errors.unreadable.get();
    losses.fields_beyond_budget = errors.beyond_budget.get();
    if let Some(first_error) = errors.first.get() {
        losses.at(first_error.file, first_error.offset);
    }
    losses
}

/// The entries of one file that have not been visited.
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

/// Index of the queue with the earliest next entry. If entries are equal, the first file wins.
fn first_of(queues: &[Queue<'_>]) -> Option<usize> {
    let mut first: Option<(usize, &Entry<'_, '_>)> = None;
    for (at, queue) in queues.iter().enumerate() {
        if let Some(next) = &queue.next
            && first.is_none_or(|(_, earliest)| order(next, earliest).is_lt())
        {
            first = Some((at, next));
        }
    }
    first.map(|(at, _)| at)
}

/// The order of `journalctl`. It is not a total order, because wall-clock times and sequence numbers may disagree.
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
