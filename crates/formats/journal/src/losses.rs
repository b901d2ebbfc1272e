//! Counts of missing or damaged data.

/// A position in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the file.
    pub file: usize,
    /// Offset in bytes.
    pub offset: u64,
}

/// Missing or damaged data in journal files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that were not closed: the machine was still running, or lost power.
    pub not_closed: u64,
    /// Files that are shorter than their header declares.
    pub truncated: u64,
    /// Files with damaged entry arrays, which were searched object by object.
    pub lists_damaged: u64,
    /// Entries found only by the search.
    pub entries_recovered: u64,
    /// Declared but unreadable entries.
    pub entries_unreadable: u64,
    /// Unreadable fields.
    pub fields_unreadable: u64,
    /// Fields skipped because their decompressed size exceeds the budget.
    pub fields_beyond_budget: u64,
    /// Position of the first damage.
    pub first: Option<Place>,
}

impl Losses {
    /// Stores the position if it is the first one.
    pub(crate) fn at(&mut self, file: usize, offset: u64) {
        self.first.get_or_insert(Place { file, offset });
    }
}
