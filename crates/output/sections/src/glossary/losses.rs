//! What each loss means: the book's page of losses, row for row.

use super::Entry;

/// Counters of losses.
pub(super) const LOSSES: &[Entry] = &[
    Entry::new("events_lost", "Events the recorder dropped because its buffers were full, as it counted them itself."),
    Entry::new("buffers_lost", "Whole buffers the recorder could not write, as it counted them itself."),
    Entry::new(
        "buffers_marked_lossy",
        "Buffers that the recorder marked: events or buffers were lost just before them.",
    ),
    Entry::new(
        "unfinished_file",
        "The recorder never closed the file (power loss, crash, or still recording): the last buffers were never written and its own loss counts are unknown.",
    ),
    Entry::new(
        "buffers_absent",
        "Buffers that the recorder says it wrote and that the file does not hold: the file was cut.",
    ),
    Entry::new("buffer_truncated", "The file ends inside a buffer; the records that are whole were read."),
    Entry::new("buffer_size_damaged", "A buffer announces a size that cannot be; the size of the others was taken."),
    Entry::new("unreadable_span", "A part of the file that is not a buffer was stepped over."),
    Entry::new("unused_space", "The end of the file was reserved and never used."),
    Entry::new("duplicate_buffer", "A buffer that the file holds twice, byte for byte, was read once."),
    Entry::new(
        "missing_sequence",
        "Buffer sequence numbers between the first and the last that the file does not hold. Recorders skip some without losing events; when events or buffers were lost it shows here too.",
    ),
    Entry::new(
        "decompression_short",
        "A compressed buffer gave fewer bytes than it announces; the records that are whole were read.",
    ),
    Entry::new(
        "unknown_compression",
        "A buffer is compressed in a format that is not known; its records were not read.",
    ),
    Entry::new(
        "decompression_refused",
        "A compressed buffer announces far more bytes than a recorder could have put there; its records were not read.",
    ),
    Entry::new("bad_record", "Bytes that are no record; the rest of their buffer was stepped over."),
    Entry::new("unwritten_space", "A record was begun and never written; the rest of its buffer was stepped over."),
    Entry::new("untimed_record", "A record without a time stamp took the time of the one before it."),
    Entry::new("time_inversion", "A record older than the one before it in its buffer was put in its place by time."),
    Entry::new(
        "time_contradiction",
        "A record's time contradicts its place in the sequence of buffers; it took the nearest time that does not.",
    ),
    Entry::new(
        "disordered_buffers",
        "Buffers of one processor overlap or run backwards in time (the clock was set, or recordings were joined); they were ordered by time.",
    ),
    Entry::new(
        "clock_restarted",
        "An appended session's clock began again (the machine was restarted); it was placed right behind the session before it, for how long the machine was off is not recorded.",
    ),
    Entry::new("clock_unknown", "The logfile header names no usable clock; times assume ten million ticks a second."),
    Entry::new(
        "unrelated_file",
        "A file that does not share the first one's clock (another boot, another machine or another clock) was placed by its UTC start time, to the accuracy of that.",
    ),
];
