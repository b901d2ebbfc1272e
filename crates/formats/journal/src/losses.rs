//! What was gone on without.

/// Where something is: a file, by its place among those given, and a byte offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the file.
    pub file: usize,
    /// Byte offset.
    pub offset: u64,
}

/// What could not be read of journal files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that their writer did not close: the machine runs still, or lost its power.
    pub not_closed: u64,
    /// Files that end before the end that their header names.
    pub truncated: u64,
    /// Files whose list of entries is damaged: entries were looked for object by object.
    pub lists_damaged: u64,
    /// Entries that only the search found.
    pub entries_recovered: u64,
    /// Places of the list at which there is no entry that can be read.
    pub entries_unreadable: u64,
    /// Fields of entries that cannot be read.
    pub fields_unreadable: u64,
    /// Fields of entries that were left out because they would expand to more than the file can mean.
    pub fields_beyond_budget: u64,
    /// Where the first unreadable thing is.
    pub first: Option<Place>,
}

impl Losses {
    /// Remembers the first place.
    pub(crate) fn at(&mut self, file: usize, offset: u64) {
        self.first.get_or_insert(Place { file, offset });
    }
}
