//! Application prefetch: the pages that the prefetcher read for each program, and how long it took.

use hashbrown::HashMap;
use onoff_trace::DescribedEvent;

use super::{Limited, number, text};

/// Events of Microsoft-Windows-Kernel-Prefetch, as filter patterns.
pub const EVENTS: [&str; 1] = ["Microsoft-Windows-Kernel-Prefetch/*"];

/// One prefetch operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// Program name, or `NTOSBOOT` for the boot.
    pub scenario: String,
    /// Hash of path and command line.
    pub hash: u32,
    /// Scenario type as recorded.
    pub kind: u32,
    /// `PrefetchSections` (pages of files) or `PrefetchMetadata` (of file systems).
    pub task: String,
    /// `None` if it started before the recording.
    pub start_ns: Option<i64>,
    /// `None` if it did not end in the recording.
    pub end_ns: Option<i64>,
    pub pages: Option<u64>,
    pub read_lists: Option<u64>,
}

impl Prefetch {
    #[must_use]
    pub fn duration_ns(&self) -> Option<i64> {
        Some(self.end_ns?.saturating_sub(self.start_ns?).max(0))
    }
}

#[derive(Clone, Debug, Default)]
pub struct PrefetchListener {
    /// Row indexes of open operations, by scenario hash, task and thread.
    open: HashMap<(u32, Box<str>, Option<u32>), usize>,
    rows: Limited<Prefetch>,
}

impl PrefetchListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let is_prefetch = matches!(event.task, "PrefetchSections" | "PrefetchMetadata");
        if event.provider != "Microsoft-Windows-Kernel-Prefetch" || !is_prefetch {
            return;
        }
        let hash = number(event, "ScenarioHashId") as u32;
        let key = (hash, Box::from(event.task), event.tid);
        let open_row = match event.opcode {
            2 => self.open.remove(&key),
            _ => None,
        };
        let new_row = || Prefetch {
            scenario: text(event, "ScenarioName").trim_end_matches('\0').to_owned(),
            hash,
            kind: number(event, "ScenarioType") as u32,
            task: event.task.to_owned(),
            ..Prefetch::default()
        };
        let Some(index) = open_row.or_else(|| self.rows.push(new_row())) else { return };
        let Some(row) = self.rows.rows.get_mut(index) else { return };
        if event.opcode == 1 {
            row.start_ns = Some(event.time_ns);
            self.open.insert(key, index);
        } else {
            row.end_ns = Some(event.time_ns);
            row.pages = event.number("NumPagesPrefetched");
            row.read_lists = event.number("NumReadLists");
        }
    }

    /// Returns the prefetch operations in the order of their first event.
    #[must_use]
    pub fn finish(self) -> Limited<Prefetch> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number, text};
    use super::*;

    #[test]
    fn matches_ends_by_scenario() {
        let directory = Directory::new();
        let mut listener = PrefetchListener::default();
        let mut send = |time_ns: i64, opcode: u8, hash: u64, name: &'static str| {
            let fields = [
                text("ScenarioName", name),
                number("ScenarioHashId", hash),
                number("ScenarioType", 0),
                number("NumPagesPrefetched", 40),
                number("NumReadLists", 2),
            ];
            let template = EventTemplate::new(time_ns, &fields);
            let mut event = template.event("Microsoft-Windows-Kernel-Prefetch/PrefetchSections", "", &directory);
            event.opcode = opcode;
            listener.take(&event);
        };
        send(1, 1, 7, "A.EXE\0");
        send(2, 1, 8, "B.EXE");
        send(5, 2, 7, "A.EXE");
        send(6, 2, 9, "C.EXE");
        let rows: Vec<_> =
            listener.finish().rows.into_iter().map(|row| (row.duration_ns(), row.pages, row.scenario)).collect();
        assert_eq!(
            rows,
            [
                (Some(4), Some(40), "A.EXE".to_owned()),
                (None, None, "B.EXE".to_owned()),
                (None, Some(40), "C.EXE".to_owned())
            ]
        );
    }

    #[test]
    fn operations_beyond_the_limit_are_counted_and_open_ones_still_end() {
        let directory = Directory::new();
        let mut listener = PrefetchListener { rows: Limited::with_limit(1), ..PrefetchListener::default() };
        for (time_ns, opcode, hash) in [(1, 1, 7), (2, 1, 8), (3, 2, 7)] {
            let fields = [number("ScenarioHashId", hash)];
            let template = EventTemplate::new(time_ns, &fields);
            let mut event = template.event("Microsoft-Windows-Kernel-Prefetch/PrefetchSections", "", &directory);
            event.opcode = opcode;
            listener.take(&event);
        }
        let report = listener.finish();
        assert_eq!((report.rows[0].duration_ns(), report.omitted), (Some(2), 1));
    }
}
