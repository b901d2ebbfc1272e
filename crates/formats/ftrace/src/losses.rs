//! Counts of unreadable data.

/// What could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that the recorder dropped because its buffer was full, as counted by the recorder.
    pub overwritten: u64,
    /// Gaps in which the recorder dropped an unknown number of events.
    pub gaps: u64,
    /// Lines of text that are not events.
    pub unreadable_lines: u64,
    /// Records of events that the file does not describe.
    pub unknown_events: u64,
    /// Unreadable lines in the file's lists of kernel symbols and mapped files.
    pub unreadable_symbols: u64,
    /// Call stacks in text, which has names but no addresses.
    pub text_stacks: u64,
    /// Truncated or inconsistent records and pages.
    pub damaged: u64,
    /// Offset of the first unreadable or damaged data in the file, bytes.
    pub first_offset: Option<u64>,
}

impl Losses {
    /// Records the offset of unreadable data.
    pub(crate) fn record_offset(&mut self, offset: usize) {
        self.first_offset.get_or_insert(offset as u64);
    }
}
