//! The set of tables that a caller requests. Readers do not decode the others.

use crate::registry::TableName;

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables(u64);

impl Tables {
    /// No tables: only the header and the system configuration.
    pub const NONE: Tables = Tables(0);

    #[must_use]
    pub fn all() -> Tables {
        Tables::of(TableName::ALL)
    }

    #[must_use]
    pub const fn of(names: &[TableName]) -> Tables {
        let mut bits = 0;
        let mut at = 0;
        while at < names.len() {
            bits |= 1 << names[at] as u64;
            at += 1;
        }
        Tables(bits)
    }

    #[must_use]
    pub const fn contains(self, name: TableName) -> bool {
        self.0 & (1 << name as u64) != 0
    }

    #[must_use]
    pub const fn with(self, name: TableName) -> Tables {
        Tables(self.0 | (1 << name as u64))
    }

    #[must_use]
    pub const fn without(self, name: TableName) -> Tables {
        Tables(self.0 & !(1 << name as u64))
    }

    #[must_use]
    pub const fn union(self, other: Tables) -> Tables {
        Tables(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_contains_added_tables() {
        let set = Tables::of(&[TableName::Processes, TableName::Inventory]);
        assert!(set.contains(TableName::Processes) && set.contains(TableName::Inventory));
        assert!(!set.contains(TableName::Stacks));
        assert!(!set.without(TableName::Processes).contains(TableName::Processes));
        assert!(TableName::ALL.iter().all(|&name| Tables::all().contains(name)));
    }
}
