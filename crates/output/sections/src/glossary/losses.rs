//! The meaning of each loss, identical to the tables in the book's page on losses.

use super::Entry;

pub(super) const LOSSES: &[Entry] = &[
    Entry::new("events_lost", "Events the recorder dropped because its buffers were full, according to its own count."),
    Entry::new("buffers_lost", "Whole buffers the recorder could not write, according to its own count."),
    Entry::new(
        "buffers_marked_lossy",
        "Buffers marked by the recorder: events or buffers were lost immediately before them.",
    ),
    Entry::new(
        "unfinished_file",
        "The recorder never closed the file (power loss, crash, or still recording): the last buffers are missing and the recorder's own loss counts are unknown.",
    ),
    Entry::new(
        "buffers_absent",
        "Buffers that the recorder counted as written but that are not in the file: the file was truncated.",
    ),
    Entry::new("buffer_truncated", "The file ends inside a buffer; its complete records were read."),
    Entry::new("buffer_size_damaged", "A buffer has an invalid size; the size of the other buffers was used instead."),
    Entry::new("unreadable_span", "A part of the file that is not a buffer was skipped."),
    Entry::new("unused_space", "The end of the file was reserved but never used."),
    Entry::new("duplicate_buffer", "A buffer that is in the file twice, byte for byte, was read once."),
    Entry::new(
        "missing_sequence",
        "Gaps in the buffer sequence numbers. Recorders skip some numbers without losing events; lost events or buffers also cause gaps.",
    ),
    Entry::new(
        "decompression_short",
        "A compressed buffer contained fewer bytes than declared; its complete records were read.",
    ),
    Entry::new("unknown_compression", "A buffer uses an unknown compression format; its records were not read."),
    Entry::new(
        "decompression_refused",
        "A compressed buffer declares far more bytes than a recorder can write to it; its records were not read.",
    ),
    Entry::new("bad_record", "Invalid bytes in place of a record; the rest of the buffer was skipped."),
    Entry::new("unwritten_space", "A record was started but never written; the rest of the buffer was skipped."),
    Entry::new("untimed_record", "A record without a timestamp was given the time of the previous record."),
    Entry::new(
        "time_inversion",
        "A record older than the previous one in its buffer was moved to its position by time.",
    ),
    Entry::new(
        "time_contradiction",
        "The time of a record contradicts the sequence of buffers; it was given the nearest consistent time.",
    ),
    Entry::new(
        "isolated_time",
        "A record has a time hours after all others, as damaged records do; the recording is taken to end before it.",
    ),
    Entry::new(
        "disordered_buffers",
        "Buffers of one processor overlap or run backwards in time (the clock was set, or recordings were merged); they were ordered by time.",
    ),
    Entry::new(
        "clock_restarted",
        "The clock of an appended session restarted with the machine; the session was placed directly after the previous one, because the time in between was not recorded.",
    ),
    Entry::new("clock_unknown", "The logfile header has no usable clock; times assume ten million ticks per second."),
    Entry::new(
        "unrelated_file",
        "A file with a different clock from the first file (another boot, machine or clock) was placed by its UTC start time, and is only as accurate as that.",
    ),
];
