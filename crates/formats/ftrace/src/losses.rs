//! What was gone on without.

/// What could not be read of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events that the recorder dropped because its buffer was full, as it counted them.
    pub overwritten: u64,
    /// Places where the recorder says that events are missing, without a count.
    pub gaps: u64,
    /// Lines of text that are no event.
    pub unreadable_lines: u64,
    /// Records whose event has no description in the file.
    pub unknown_events: u64,
    /// Lines of the file's lists of the kernel's symbols and of processes' mapped files that are neither.
    pub unreadable_symbols: u64,
    /// Call stacks of text, which has names and no addresses.
    pub text_stacks: u64,
    /// Records and pages that are cut or contradict themselves.
    pub damaged: u64,
    /// Where the first of the unreadable or damaged is, in bytes from the start of the file.
    pub first_at: Option<u64>,
}

impl Losses {
    /// Counts something unreadable at `offset`.
    pub(crate) fn at(&mut self, offset: usize) {
        self.first_at.get_or_insert(offset as u64);
    }
}
