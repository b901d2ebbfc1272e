//! What was gone on without, by name.

/// How much a loss matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing that was recorded is missing.
    Notice,
    /// Something is missing or approximate.
    Warning,
    /// Recorded data could not be read.
    Error,
}

impl Severity {
    /// Name in reports, lower-case.
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
            /// Every kind, in the order in which reports list them.
            pub const ALL: &'static [Loss] = &[$(Loss::$variant,)+];

            /// Stable name, as in reports and JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Loss::$variant => $name,)+ }
            }

            /// How much it matters.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Loss::$variant => Severity::$severity,)+ }
            }

            /// What it means.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Loss::$variant => $help,)+ }
            }
        }
    };
}

losses! {
    EventsLost, "events_lost", Error,
        "Events the recorder dropped because its buffers were full, as it counted them itself.";
    BuffersLost, "buffers_lost", Error,
        "Whole buffers the recorder could not write, as it counted them itself.";
    BuffersMarkedLossy, "buffers_marked_lossy", Warning,
        "Buffers that the recorder marked: events or buffers were lost just before them.";
    UnfinishedFile, "unfinished_file", Warning,
        "The recorder never closed the file (power loss, crash, or still recording): the last buffers were never written and its own loss counts are unknown.";
    BuffersAbsent, "buffers_absent", Error,
        "Buffers that the recorder says it wrote and that the file does not hold: the file was cut.";
    BufferTruncated, "buffer_truncated", Error,
        "The file ends inside a buffer; the records that are whole were read.";
    BufferSizeDamaged, "buffer_size_damaged", Warning,
        "A buffer announces a size that cannot be; the size of the others was taken.";
    UnreadableSpan, "unreadable_span", Error,
        "A part of the file that is not a buffer was stepped over.";
    UnusedSpace, "unused_space", Notice,
        "The end of the file was reserved and never used.";
    DuplicateBuffer, "duplicate_buffer", Notice,
        "A buffer that the file holds twice, byte for byte, was read once.";
    MissingSequence, "missing_sequence", Notice,
        "Buffer sequence numbers between the first and the last that the file does not hold. Recorders skip some without losing events; when events or buffers were lost it shows here too.";
    DecompressionShort, "decompression_short", Error,
        "A compressed buffer gave fewer bytes than it announces; the records that are whole were read.";
    UnknownCompression, "unknown_compression", Error,
        "A buffer is compressed in a format that is not known; its records were not read.";
    DecompressionRefused, "decompression_refused", Error,
        "A compressed buffer announces far more bytes than a recorder could have put there; its records were not read.";
    BadRecord, "bad_record", Error,
        "Bytes that are no record; the rest of their buffer was stepped over.";
    UnwrittenSpace, "unwritten_space", Warning,
        "A record was begun and never written; the rest of its buffer was stepped over.";
    UntimedRecord, "untimed_record", Notice,
        "A record without a time stamp took the time of the one before it.";
    TimeInversion, "time_inversion", Notice,
        "A record older than the one before it in its buffer was put in its place by time.";
    TimeContradiction, "time_contradiction", Warning,
        "A record's time contradicts its place in the sequence of buffers; it took the nearest time that does not.";
    DisorderedBuffers, "disordered_buffers", Warning,
        "Buffers of one processor overlap or run backwards in time (the clock was set, or recordings were joined); they were ordered by time.";
    ClockRestarted, "clock_restarted", Warning,
        "An appended session's clock began again (the machine was restarted); it was placed right behind the session before it, for how long the machine was off is not recorded.";
    ClockUnknown, "clock_unknown", Warning,
        "The logfile header names no usable clock; times assume ten million ticks a second.";
    UnrelatedFile, "unrelated_file", Warning,
        "A file that does not share the first one's clock (another boot, another machine or another clock) was placed by its UTC start time, to the accuracy of that.";
}

/// A byte of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Which input, by position.
    pub file: usize,
    /// Bytes from its start.
    pub offset: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counter {
    count: u64,
    first: Option<Place>,
}

/// How often each kind of loss happened, and where first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    counters: [Counter; Loss::ALL.len()],
}

impl Losses {
    /// How often `loss` happened.
    #[must_use]
    pub fn count(&self, loss: Loss) -> u64 {
        self.counter(loss).count
    }

    /// Where `loss` happened first: the smallest file and offset seen. `None` when it has no place in a file.
    #[must_use]
    pub fn first(&self, loss: Loss) -> Option<Place> {
        self.counter(loss).first
    }

    /// The kinds that happened, with how often and where first.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, u64, Option<Place>)> + '_ {
        let counted = Loss::ALL.iter().map(|&loss| (loss, self.counter(loss)));
        counted.filter(|(_, counter)| counter.count != 0).map(|(loss, counter)| (loss, counter.count, counter.first))
    }

    /// Whether nothing was counted, notices included.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Losses) {
        for (loss, count, first) in other.iter() {
            self.record(loss, count, first);
        }
    }

    pub(crate) fn add(&mut self, loss: Loss, count: u64) {
        self.record(loss, count, None);
    }

    pub(crate) fn add_at(&mut self, loss: Loss, count: u64, place: Place) {
        self.record(loss, count, Some(place));
    }

    fn counter(&self, loss: Loss) -> Counter {
        self.counters.get(loss as usize).copied().unwrap_or_default()
    }

    fn record(&mut self, loss: Loss, count: u64, place: Option<Place>) {
        let Some(counter) = self.counters.get_mut(loss as usize) else { return };
        if count == 0 {
            return;
        }
        counter.count = counter.count.saturating_add(count);
        counter.first = match (counter.first, place) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_positions_match() {
        let mut names: Vec<_> = Loss::ALL.iter().map(|loss| loss.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Loss::ALL.len());
        assert!(Loss::ALL.iter().enumerate().all(|(position, &loss)| loss as usize == position));
    }

    #[test]
    fn counts_add_up_and_the_first_place_is_kept() {
        let mut losses = Losses::default();
        losses.add(Loss::BadRecord, 0);
        assert!(losses.is_empty());
        losses.add_at(Loss::BadRecord, 1, Place { file: 1, offset: 5 });
        let mut other = Losses::default();
        other.add_at(Loss::BadRecord, 2, Place { file: 0, offset: 9 });
        other.add(Loss::EventsLost, 7);
        losses.merge(&other);
        assert_eq!(losses.count(Loss::BadRecord), 3);
        assert_eq!(losses.first(Loss::BadRecord), Some(Place { file: 0, offset: 9 }));
        assert_eq!(losses.iter().count(), 2);
        assert_eq!(losses.first(Loss::EventsLost), None);
    }
}
