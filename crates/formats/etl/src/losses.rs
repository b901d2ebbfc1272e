//! Losses: kinds of missing, damaged or approximated data, with counts and first locations.

/// Severity of a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Informational; no recorded data is missing.
    Notice,
    /// Data is missing or approximate.
    Warning,
    /// Recorded data could not be read.
    Error,
}

impl Severity {
    /// Returns the name used in reports, lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! losses {
    ($($variant:ident, $name:literal, $severity:ident, $help:literal;)+) => {
        /// A kind of loss.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Loss {
            $(#[doc = $help] $variant,)+
        }

        impl Loss {
            /// All kinds, in report order.
            pub const ALL: &'static [Loss] = &[$(Loss::$variant,)+];

            /// Returns the stable name used in reports and JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Loss::$variant => $name,)+ }
            }

            /// Returns how serious the loss is.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Loss::$variant => Severity::$severity,)+ }
            }

            /// Returns the explanation in one or two sentences.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Loss::$variant => $help,)+ }
            }
        }
    };
}

losses! {
    EventsLost, "events_lost", Error,
        "Events the recorder dropped because its buffers were full, according to its own count.";
    BuffersLost, "buffers_lost", Error,
        "Whole buffers the recorder could not write, according to its own count.";
    BuffersMarkedLossy, "buffers_marked_lossy", Warning,
        "Buffers marked by the recorder: events or buffers were lost immediately before them.";
    UnfinishedFile, "unfinished_file", Warning,
        "The recorder never closed the file (power loss, crash, or still recording): the last buffers are missing and the recorder's own loss counts are unknown.";
    BuffersAbsent, "buffers_absent", Error,
        "Buffers that the recorder counted as written but that are not in the file: the file was truncated.";
    BufferTruncated, "buffer_truncated", Error,
        "The file ends inside a buffer; its complete records were read.";
    BufferSizeDamaged, "buffer_size_damaged", Warning,
        "A buffer has an invalid size; the size of the other buffers was used instead.";
    UnreadableSpan, "unreadable_span", Error,
        "A part of the file that is not a buffer was skipped.";
    UnusedSpace, "unused_space", Notice,
        "The end of the file was reserved but never used.";
    DuplicateBuffer, "duplicate_buffer", Notice,
        "A buffer that is in the file twice, byte for byte, was read once.";
    MissingSequence, "missing_sequence", Notice,
        "Gaps in the buffer sequence numbers. Recorders skip some numbers without losing events; lost events or buffers also cause gaps.";
    DecompressionShort, "decompression_short", Error,
        "A compressed buffer contained fewer bytes than declared; its complete records were read.";
    UnknownCompression, "unknown_compression", Error,
        "A buffer uses an unknown compression format; its records were not read.";
    DecompressionRefused, "decompression_refused", Error,
        "A compressed buffer declares far more bytes than a recorder can write to it; its records were not read.";
    BadRecord, "bad_record", Error,
        "Invalid bytes in place of a record; the rest of the buffer was skipped.";
    UnwrittenSpace, "unwritten_space", Warning,
        "A record was started but never written; the rest of the buffer was skipped.";
    UntimedRecord, "untimed_record", Notice,
        "A record without a timestamp was given the time of the previous record.";
    TimeInversion, "time_inversion", Notice,
        "A record older than the previous one in its buffer was moved to its position by time.";
    TimeContradiction, "time_contradiction", Warning,
        "The time of a record contradicts the sequence of buffers; it was given the nearest consistent time.";
    IsolatedTime, "isolated_time", Warning,
        "A record has a time hours after all others, as damaged records do; the recording is taken to end before it.";
    DisorderedBuffers, "disordered_buffers", Warning,
        "Buffers of one processor overlap or run backwards in time (the clock was set, or recordings were merged); they were ordered by time.";
    ClockRestarted, "clock_restarted", Warning,
        "The clock of an appended session restarted with the machine; the session was placed directly after the previous one, because the time in between was not recorded.";
    ClockUnknown, "clock_unknown", Warning,
        "The logfile header has no usable clock; times assume ten million ticks per second.";
    UnrelatedFile, "unrelated_file", Warning,
        "A file with a different clock from the first file (another boot, machine or clock) was placed by its UTC start time, and is only as accurate as that.";
}

/// A position in an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Index of the input.
    pub file: usize,
    /// Offset from the start of the input, in bytes.
    pub offset: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counter {
    count: u64,
    first: Option<Location>,
}

/// Counts of losses by kind, with the location of the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    counters: [Counter; Loss::ALL.len()],
}

impl Losses {
    /// Returns the number of occurrences of `loss`.
    #[must_use]
    pub fn count(&self, loss: Loss) -> u64 {
        self.counter(loss).count
    }

    /// Returns the location of the first occurrence of `loss`: the smallest file and offset. `None` if the loss has no
    /// location.
    #[must_use]
    pub fn first(&self, loss: Loss) -> Option<Location> {
        self.counter(loss).first
    }

    /// Iterates over the kinds with a count above zero: kind, count, first location.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64, Option<Location>)> + '_ {
        let counted = Loss::ALL.iter().map(|&loss| (loss, self.counter(loss)));
        counted.filter(|(_, counter)| counter.count != 0).map(|(loss, counter)| (loss, counter.count, counter.first))
    }

    /// True if there are no losses, not even notices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Losses) {
        for (loss, count, first) in other.iter() {
            self.record(loss, count, first);
        }
    }

    pub(crate) fn add(&mut self, loss: Loss, count: u64) {
        self.record(loss, count, None);
    }

    pub(crate) fn add_at(&mut self, loss: Loss, count: u64, location: Location) {
        self.record(loss, count, Some(location));
    }

    fn counter(&self, loss: Loss) -> Counter {
        self.counters.get(loss as usize).copied().unwrap_or_default()
    }

    fn record(&mut self, loss: Loss, count: u64, location: Option<Location>) {
        let Some(counter) = self.counters.get_mut(loss as usize) else { return };
        if count == 0 {
            return;
        }
        counter.count = counter.count.saturating_add(count);
        counter.first = match (counter.first, location) {
            (Some(current), Some(new)) => Some(current.min(new)),
            (current, new) => current.or(new),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_match_positions() {
        let mut names: Vec<_> = Loss::ALL.iter().map(|loss| loss.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Loss::ALL.len());
        assert!(Loss::ALL.iter().enumerate().all(|(position, &loss)| loss as usize == position));
    }

    #[test]
    fn merge_adds_counts_and_keeps_first_place() {
        let mut losses = Losses::default();
        losses.add(Loss::BadRecord, 0);
        assert!(losses.is_empty());
        losses.add_at(Loss::BadRecord, 1, Location { file: 1, offset: 5 });
        let mut other = Losses::default();
        other.add_at(Loss::BadRecord, 2, Location { file: 0, offset: 9 });
        other.add(Loss::EventsLost, 7);
        losses.merge(&other);
        assert_eq!(losses.count(Loss::BadRecord), 3);
        assert_eq!(losses.first(Loss::BadRecord), Some(Location { file: 0, offset: 9 }));
        assert_eq!(losses.iter().count(), 2);
        assert_eq!(losses.first(Loss::EventsLost), None);
    }
}
