//! Which tables a caller wants. A reader does not decode what nobody wants.

use crate::registry::TableName;

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables(u64);

impl Tables {
    /// No table: the header and system configuration only.
    pub const NONE: Tables = Tables(0);

    /// Every table.
    #[must_use]
    pub fn all() -> Tables {
        Tables::of(TableName::ALL)
    }

    /// These tables.
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

    /// Whether `name` is in the set.
    #[must_use]
    pub const fn contains(self, name: TableName) -> bool {
        self.0 & (1 << name as u64) != 0
    }

    /// This set and `name`.
    #[must_use]
    pub const fn with(self, name: TableName) -> Tables {
        Tables(self.0 | (1 << name as u64))
    }

    /// This set without `name`.
    #[must_use]
    pub const fn without(self, name: TableName) -> Tables {
        Tables(self.0 & !(1 << name as u64))
    }

    /// Both sets.
    #[must_use]
    pub const fn union(self, other: Tables) -> Tables {
        Tables(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set = Tables::of(&[TableName::Processes, TableName::Inventory]);
        assert!(set.contains(TableName::Processes) && set.contains(TableName::Inventory));
        assert!(!set.contains(TableName::Stacks));
        assert!(!set.without(TableName::Processes).contains(TableName::Processes));
        assert!(TableName::ALL.iter().all(|&name| Tables::all().contains(name)));
    }
}
