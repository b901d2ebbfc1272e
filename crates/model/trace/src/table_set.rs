//! The set of tables that a caller requests. Readers do not decode other tables.

use crate::registry::TableName;

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSet(u64);

impl TableSet {
    /// No tables: only the header and the system configuration.
    pub const NONE: TableSet = TableSet(0);

    #[must_use]
    pub fn all() -> TableSet {
        TableSet::from_names(TableName::ALL)
    }

    #[must_use]
    pub const fn from_names(names: &[TableName]) -> TableSet {
        let mut bits = 0;
        let mut index = 0;
        while index < names.len() {
            bits |= 1 << names[index] as u64;
            index += 1;
        }
        TableSet(bits)
    }

    #[must_use]
    pub const fn contains(self, name: TableName) -> bool {
        self.0 & (1 << name as u64) != 0
    }

    #[must_use]
    pub const fn with(self, name: TableName) -> TableSet {
        TableSet(self.0 | (1 << name as u64))
    }

    #[must_use]
    pub const fn without(self, name: TableName) -> TableSet {
        TableSet(self.0 & !(1 << name as u64))
    }

    #[must_use]
    pub const fn union(self, other: TableSet) -> TableSet {
        TableSet(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_contains_added_tables() {
        let set = TableSet::from_names(&[TableName::Processes, TableName::Inventory]);
        assert!(set.contains(TableName::Processes) && set.contains(TableName::Inventory));
        assert!(!set.contains(TableName::Stacks));
        assert!(!set.without(TableName::Processes).contains(TableName::Processes));
        assert!(TableName::ALL.iter().all(|&name| TableSet::all().contains(name)));
    }
}
