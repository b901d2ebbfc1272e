//! Counts of missing or damaged data.

/// A position in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index of the file.
    pub file: usize,
    /// Offset in bytes.
    pub offset: u64,
}

/// Missing or damaged data in journal files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that were not closed: the machine was still running, or lost power.
    pub unclosed: u64,
    /// Files that are shorter than their header declares.
    pub truncated: u64,
    /// Files with damaged entry arrays, which were searched object by object.
    pub damaged_arrays: u64,
    /// Entries found only by the search.
    pub recovered_entries: u64,
    /// Declared but unreadable entries.
    pub unreadable_entries: u64,
    /// Unreadable fields.
    pub unreadable_fields: u64,
    /// Fields skipped because their decompressed size exceeds the budget.
    pub fields_beyond_budget: u64,
    /// Position of the first damage.
    pub first_location: Option<Location>,
}

impl Losses {
    /// Stores the location if it is the first.
    pub(crate) fn record_location(&mut self, file: usize, offset: u64) {
        self.first_location.get_or_insert(Location { file, offset });
    }
}
