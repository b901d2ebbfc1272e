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
    while let Some(earliest) = earliest_queue(&queues) {
        let Some(entry) = queues.get(earliest).and_then(|queue| queue.next) else { break };
        visit(&Entry { errors: Some(&errors), ..entry });
        for queue in &mut queues {
            let is_duplicate_entry = |next: &Entry<'_, '_>| is_duplicate(next, &entry);
            if queue.index == entry.file_index || queue.next.as_ref().is_some_and(is_duplicate_entry) {
                queue.advance();
            }
        }
        queues.retain(|queue| queue.next.is_some());
    }
    losses.unreadable_fields = errors.unreadable.get();
    losses.fields_beyond_budget = errors.beyond_budget.get();
    if let Some(first_error) = errors.first_location.get() {
        losses.record_location(first_error.file, first_error.offset);
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

/// Returns the index of the queue with the earliest next entry. If entries are equal, the first file wins.
fn earliest_queue(queues: &[Queue<'_>]) -> Option<usize> {
    let mut earliest: Option<(usize, &Entry<'_, '_>)> = None;
    for (index, queue) in queues.iter().enumerate() {
        if let Some(next) = &queue.next
            && earliest.is_none_or(|(_, entry)| compare(next, entry).is_lt())
        {
            earliest = Some((index, next));
        }
    }
    earliest.map(|(index, _)| index)
}

/// Compares two entries like `journalctl` does. This is not a total order, because wall-clock times and sequence
/// numbers may disagree.
fn compare(left: &Entry<'_, '_>, right: &Entry<'_, '_>) -> Ordering {
    let sequence = |entry: &Entry<'_, '_>| entry.file.header().sequence;
    let by_sequence = left.sequence_number.cmp(&right.sequence_number);
    if sequence(left) == sequence(right) && by_sequence.is_ne() {
        return by_sequence;
    }
    let by_monotonic = left.monotonic_us.cmp(&right.monotonic_us);
    if left.boot == right.boot && by_monotonic.is_ne() {
        return by_monotonic;
    }
    left.realtime_us.cmp(&right.realtime_us).then(left.hash.cmp(&right.hash))
}

fn is_duplicate(left: &Entry<'_, '_>, right: &Entry<'_, '_>) -> bool {
    left.boot == right.boot
        && left.hash == right.hash
        && left.monotonic_us == right.monotonic_us
        && left.realtime_us == right.realtime_us
}
