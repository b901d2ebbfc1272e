//! Registry keys: what was done to which, how often, and how long it took.
//!
//! An operation names its key by a handle and a name relative to it. What a handle stands for is told when its key is opened
//! for the first time, and for keys that were open all along at the recording's begin or end.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{Lengths, MAX_KEYS, Tally, hook, number, text};

/// Events of registry operations: hooks, as a filter takes them.
pub const EVENTS: [&str; 20] = [
    "0x090a", "0x090b", "0x090c", "0x090d", "0x090e", "0x090f", "0x0910", "0x0911", "0x0912", "0x0913", "0x0914",
    "0x0915", "0x0916", "0x0917", "0x0918", "0x0919", "0x091a", "0x091b", "0x091c", "0x091d",
];

/// Kinds of operation, by the low byte of their hooks.
const OPERATIONS: [(u16, &str); 16] = [
    (0x0a, "Create"),
    (0x0b, "Open"),
    (0x0c, "Delete"),
    (0x0d, "Query"),
    (0x0e, "SetValue"),
    (0x0f, "DeleteValue"),
    (0x10, "QueryValue"),
    (0x11, "EnumerateKey"),
    (0x12, "EnumerateValueKey"),
    (0x13, "QueryMultipleValue"),
    (0x14, "SetInformation"),
    (0x15, "Flush"),
    (0x1a, "Virtualize"),
    (0x1b, "Close"),
    (0x1c, "SetSecurity"),
    (0x1d, "QuerySecurity"),
];

/// What was done to one key, or in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryWork {
    /// Operations and how long they took.
    pub lengths: Lengths,
    /// Operations that failed.
    pub failed: u64,
}

impl RegistryWork {
    fn add(&mut self, ns: i64, failed: bool) {
        self.lengths.add(ns);
        self.failed += u64::from(failed);
    }

    fn merge(&mut self, other: Self) {
        self.lengths.count += other.lengths.count;
        self.lengths.total_ns = self.lengths.total_ns.saturating_add(other.lengths.total_ns);
        self.lengths.longest_ns = self.lengths.longest_ns.max(other.lengths.longest_ns);
        self.failed += other.failed;
    }
}

/// A key with what was done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryKey {
    /// Path; for a handle that was never explained, `{0x…}` and the relative name.
    pub path: String,
    /// Whether the path is whole.
    pub known: bool,
    /// What was done.
    pub work: RegistryWork,
}

/// What was done to the registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryUse {
    /// By kind of operation, in the order of their numbers.
    pub operations: Vec<(&'static str, RegistryWork)>,
    /// By key, most operations first.
    pub keys: Vec<RegistryKey>,
    /// Operations on keys beyond the number that is kept.
    pub left_out: u64,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct RegistryListener {
    names: HashMap<u64, Box<str>>,
    operations: BTreeMap<u16, RegistryWork>,
    known: Tally<Box<str>, RegistryWork>,
    unknown: Tally<(u64, Box<str>), RegistryWork>,
}

impl RegistryListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let Some(operation) = hook(event).filter(|hook| hook >> 8 == 0x09).map(|hook| hook & 0xff) else { return };
        let handle = number(event, "KeyHandle");
        let name = text(event, "KeyName");
        // A key's block is made, goes away, or is listed at the begin or end: the name is the whole path.
        if (0x16..=0x19).contains(&operation) {
            if self.names.len() < MAX_KEYS && !name.is_empty() {
                self.names.insert(handle, name.into());
            }
            return;
        }
        if !OPERATIONS.iter().any(|&(number, _)| number == operation) {
            return;
        }
        let took = event.derived.elapsed_ns.unwrap_or(0);
        // The two upper bits of an NT status are set when it is an error.
        let failed = number(event, "Status") >> 30 & 3 == 3;
        self.operations.entry(operation).or_default().add(took, failed);
        let work = match (handle, self.names.get(&handle)) {
            (0, _) => self.known.of(name.into()),
            (_, Some(base)) => self.known.of(join(base, name).into()),
            (_, None) => self.unknown.of((handle, name.into())),
        };
        if let Some(work) = work {
            work.add(took, failed);
        }
    }

    /// What was done.
    #[must_use]
    pub fn finish(mut self) -> RegistryUse {
        let mut keys = Vec::new();
        for ((handle, name), work) in self.unknown.sums {
            match self.names.get(&handle) {
                Some(base) => {
                    let path: Box<str> = join(base, &name).into();
                    self.known.sums.entry(path).or_default().merge(work);
                }
                None => keys.push(RegistryKey { path: join(&format!("{{{handle:#x}}}"), &name), known: false, work }),
            }
        }
        keys.extend(self.known.sums.into_iter().map(|(path, work)| RegistryKey {
            path: path.into(),
            known: true,
            work,
        }));
        keys.sort_by(|a, b| (b.work.lengths.count, &a.path).cmp(&(a.work.lengths.count, &b.path)));
        RegistryUse {
            operations: OPERATIONS
                .iter()
                .filter_map(|(number, name)| Some((*name, *self.operations.get(number)?)))
                .collect(),
            keys,
            left_out: self.known.left_out + self.unknown.left_out,
        }
    }
}

fn join(base: &str, name: &str) -> String {
    match name.trim_start_matches('\\') {
        "" => base.to_owned(),
        name => format!("{base}\\{name}"),
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{Made, number, text};
    use super::*;

    #[test]
    fn a_handle_is_explained_before_its_use_or_at_the_end() {
        let directory = Directory::new();
        let mut listener = RegistryListener::default();
        let mut tell = |hook: u16, handle: u64, name: &'static str, status: u64, took: i64| {
            let fields = [number("KeyHandle", handle), text("KeyName", name), number("Status", status)];
            let mut made = Made::at(0, &fields);
            made.elapsed_ns = Some(took);
            listener.take(&made.kernel(hook, "Registry", &directory));
        };
        tell(0x0918, 0x10, r"\REGISTRY\MACHINE\SYSTEM", 0, 0);
        tell(0x090b, 0x10, "Setup", 0, 5_000);
        tell(0x090b, 0x10, "Setup", 0xc000_0034, 7_000);
        tell(0x0910, 0x20, "Path", 0, 1_000);
        tell(0x0910, 0x30, "", 0, 2_000);
        tell(0x091b, 0, r"\REGISTRY\USER", 0, 0);
        // The block of 0x10 goes to another key.
        tell(0x0916, 0x10, r"\REGISTRY\MACHINE\SOFTWARE", 0, 0);
        tell(0x090b, 0x10, "Setup", 0, 1_000);
        tell(0x0919, 0x20, r"\REGISTRY\USER\Environment", 0, 0);
        let answer = listener.finish();
        let paths: Vec<(&str, u64, u64, i64)> = answer
            .keys
            .iter()
            .map(|key| {
                let RegistryWork { lengths, failed } = key.work;
                (key.path.as_str(), lengths.count, failed, lengths.total_ns)
            })
            .collect();
        assert_eq!(
            paths,
            [
                (r"\REGISTRY\MACHINE\SYSTEM\Setup", 2, 1, 12_000),
                (r"\REGISTRY\MACHINE\SOFTWARE\Setup", 1, 0, 1_000),
                (r"\REGISTRY\USER", 1, 0, 0),
                (r"\REGISTRY\USER\Environment\Path", 1, 0, 1_000),
                ("{0x30}", 1, 0, 2_000),
            ]
        );
        assert_eq!(answer.keys.iter().filter(|key| !key.known).count(), 1);
        let names: Vec<(&str, u64)> =
            answer.operations.iter().map(|(name, work)| (*name, work.lengths.count)).collect();
        assert_eq!(names, [("Open", 3), ("QueryValue", 2), ("Close", 1)]);
        assert_eq!(answer.left_out, 0);
    }
}
