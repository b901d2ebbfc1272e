//! Which tables a caller wants. A reader does not decode what nobody wants.

use serde::Serialize;

macro_rules! table_names {
    ($($(#[$meta:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// A table of the model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[repr(u8)]
        pub enum TableName { $($(#[$meta])* #[serde(rename = $text)] $name),* }

        impl TableName {
            /// Every table.
            pub const ALL: &'static [TableName] = &[$(Self::$name),*];
            /// The table's name in exports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

table_names! {
    /// Processes.
    Processes = "processes",
    /// Threads.
    Threads = "threads",
    /// Modules.
    Images = "images",
    /// Context switches.
    ContextSwitches = "context_switches",
    /// Threads made ready.
    ReadyThreads = "ready_threads",
    /// Profile samples.
    Samples = "samples",
    /// Call stacks.
    Stacks = "stacks",
    /// Interrupts and deferred procedure calls.
    Interrupts = "interrupts",
    /// Disk requests.
    DiskIos = "disk_ios",
    /// File operations.
    FileIos = "file_ios",
    /// Hard faults.
    HardFaults = "hard_faults",
    /// Service transitions.
    ServiceTransitions = "service_transitions",
    /// Declared dependencies of services.
    ServiceDependencies = "service_dependencies",
    /// Device operations.
    DeviceOperations = "device_operations",
    /// Milestones.
    Milestones = "milestones",
    /// Activities.
    Activities = "activities",
    /// Notifications of a transition.
    Notifications = "notifications",
    /// Power requests to devices.
    PowerRequests = "power_requests",
    /// Generic events with their fields.
    Events = "events",
    /// The count of every provider and kind of event.
    Inventory = "inventory",
}

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tables(u32);

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
            bits |= 1 << names[at] as u32;
            at += 1;
        }
        Tables(bits)
    }

    /// Whether `name` is in the set.
    #[must_use]
    pub const fn contains(self, name: TableName) -> bool {
        self.0 & (1 << name as u32) != 0
    }

    /// This set and `name`.
    #[must_use]
    pub const fn with(self, name: TableName) -> Tables {
        Tables(self.0 | (1 << name as u32))
    }

    /// This set without `name`.
    #[must_use]
    pub const fn without(self, name: TableName) -> Tables {
        Tables(self.0 & !(1 << name as u32))
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
