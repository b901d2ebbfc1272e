//! Registry operations by kind and key, with counts and durations.
//!
//! An operation identifies its key by a handle (the address of a key control block) and a relative name. The path of a
//! handle is recorded when the block is created, and for existing blocks in the rundown at the start or end.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{DurationStats, MAX_KEYS, Tally, hook, number, text};

/// Hooks of registry events, as filter patterns.
pub const EVENTS: [&str; 20] = [
    "0x090a", "0x090b", "0x090c", "0x090d", "0x090e", "0x090f", "0x0910", "0x0911", "0x0912", "0x0913", "0x0914",
    "0x0915", "0x0916", "0x0917", "0x0918", "0x0919", "0x091a", "0x091b", "0x091c", "0x091d",
];

/// Operations by the low byte of their hook.
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

/// Operations on one key, or of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryWork {
    pub durations: DurationStats,
    pub failed: u64,
}

impl RegistryWork {
    fn add(&mut self, ns: i64, failed: bool) {
        self.durations.add(ns);
        self.failed += u64::from(failed);
    }

    fn merge(&mut self, other: Self) {
        self.durations.count += other.durations.count;
        self.durations.total_ns = self.durations.total_ns.saturating_add(other.durations.total_ns);
        self.durations.max_ns = self.durations.max_ns.max(other.durations.max_ns);
        self.failed += other.failed;
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryKey {
    /// Full path; `{0x…}` and the relative name for a handle without a recorded path.
    pub path: String,
    /// True if the path is complete.
    pub is_resolved: bool,
    pub work: RegistryWork,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryUse {
    /// By kind, in the order of [`OPERATIONS`].
    pub operations: Vec<(&'static str, RegistryWork)>,
    /// Most operations first.
    pub keys: Vec<RegistryKey>,
    /// Operations on keys beyond the limit.
    pub omitted: u64,
}

#[derive(Clone, Debug, Default)]
pub struct RegistryListener {
    /// Key paths by handle.
    paths: HashMap<u64, Box<str>>,
    operations: BTreeMap<u16, RegistryWork>,
    resolved: Tally<Box<str>, RegistryWork>,
    unresolved: Tally<(u64, Box<str>), RegistryWork>,
}

impl RegistryListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let Some(operation) = hook(event).filter(|hook| hook >> 8 == 0x09).map(|hook| hook & 0xff) else { return };
        let handle = number(event, "KeyHandle");
        let name = text(event, "KeyName");
        // Creation, deletion and rundown of a key control block: the name is the full path.
        if (0x16..=0x19).contains(&operation) {
            if !name.is_empty() && (self.paths.len() < MAX_KEYS || self.paths.contains_key(&handle)) {
                self.paths.insert(handle, name.into());
            }
            return;
        }
        if !OPERATIONS.iter().any(|&(code, _)| code == operation) {
            return;
        }
        let elapsed_ns = event.derived.elapsed_ns.unwrap_or(0);
        // An NTSTATUS is an error if its two upper bits are set.
        let failed = number(event, "Status") >> 30 & 3 == 3;
        self.operations.entry(operation).or_default().add(elapsed_ns, failed);
        let work = match (handle, self.paths.get(&handle)) {
            (0, _) => self.resolved.entry(name.into()),
            (_, Some(base)) => self.resolved.entry(join(base, name).into()),
            (_, None) => self.unresolved.entry((handle, name.into())),
        };
        if let Some(work) = work {
            work.add(elapsed_ns, failed);
        }
    }

    #[must_use]
    pub fn finish(mut self) -> RegistryUse {
        let mut keys = Vec::new();
        for ((handle, name), work) in self.unresolved.sums {
            match self.paths.get(&handle) {
                Some(base) => {
                    let path: Box<str> = join(base, &name).into();
                    self.resolved.sums.entry(path).or_default().merge(work);
                }
                None => {
                    keys.push(RegistryKey { path: join(&format!("{{{handle:#x}}}"), &name), is_resolved: false, work })
                }
            }
        }
        keys.extend(self.resolved.sums.into_iter().map(|(path, work)| RegistryKey {
            path: path.into(),
            is_resolved: true,
            work,
        }));
        keys.sort_by(|a, b| (b.work.durations.count, &a.path).cmp(&(a.work.durations.count, &b.path)));
        RegistryUse {
            operations: OPERATIONS
                .iter()
                .filter_map(|(code, name)| Some((*name, *self.operations.get(code)?)))
                .collect(),
            keys,
            omitted: self.resolved.omitted + self.unresolved.omitted,
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

    use super::super::synthetic::{EventTemplate, number, text};
    use super::*;

    #[test]
    fn resolves_handles_from_earlier_or_later_events() {
        let directory = Directory::new();
        let mut listener = RegistryListener::default();
        let mut send = |hook: u16, handle: u64, name: &'static str, status: u64, elapsed_ns: i64| {
            let fields = [number("KeyHandle", handle), text("KeyName", name), number("Status", status)];
            let mut template = EventTemplate::new(0, &fields);
            template.elapsed_ns = Some(elapsed_ns);
            listener.take(&template.kernel(hook, "Registry", &directory));
        };
        send(0x0918, 0x10, r"\REGISTRY\MACHINE\SYSTEM", 0, 0);
        send(0x090b, 0x10, "Setup", 0, 5_000);
        send(0x090b, 0x10, "Setup", 0xc000_0034, 7_000);
        send(0x0910, 0x20, "Path", 0, 1_000);
        send(0x0910, 0x30, "", 0, 2_000);
        send(0x091b, 0, r"\REGISTRY\USER", 0, 0);
        // Another key reuses the block at 0x10.
        send(0x0916, 0x10, r"\REGISTRY\MACHINE\SOFTWARE", 0, 0);
        send(0x090b, 0x10, "Setup", 0, 1_000);
        send(0x0919, 0x20, r"\REGISTRY\USER\Environment", 0, 0);
        let report = listener.finish();
        let paths: Vec<(&str, u64, u64, i64)> = report
            .keys
            .iter()
            .map(|key| {
                let RegistryWork { durations, failed } = key.work;
                (key.path.as_str(), durations.count, failed, durations.total_ns)
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
        assert_eq!(report.keys.iter().filter(|key| !key.is_resolved).count(), 1);
        let names: Vec<(&str, u64)> =
            report.operations.iter().map(|(name, work)| (*name, work.durations.count)).collect();
        assert_eq!(names, [("Open", 3), ("QueryValue", 2), ("Close", 1)]);
        assert_eq!(report.omitted, 0);
    }
}
