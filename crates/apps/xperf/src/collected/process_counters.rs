//! What each process had used of memory and handles when it ended, or when the recording did.

use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, ProcessLabel, hook, number};

/// Counters at a process's end, and of all processes at the recording's.
pub const EVENTS: [&str; 2] = ["0x0320", "0x0321"];

/// The counters of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCounters {
    /// When, ns.
    pub time_ns: i64,
    /// Which process.
    pub process: ProcessLabel,
    /// Whether it lived on.
    pub lives: bool,
    /// Page faults.
    pub page_faults: u64,
    /// Handles.
    pub handles: u64,
    /// Working set, bytes: last and largest.
    pub working_set: (u64, u64),
    /// Virtual memory, bytes: last and largest.
    pub virtual_size: (u64, u64),
    /// Page-file space, bytes: last and largest.
    pub pagefile: (u64, u64),
    /// Paged pool charged, bytes: last and largest.
    pub paged_pool: (u64, u64),
    /// Nonpaged pool charged, bytes: last and largest.
    pub nonpaged_pool: (u64, u64),
    /// Pages of its own, as recorded.
    pub private_pages: u64,
}

/// Takes the events.
#[derive(Clone, Debug, Default)]
pub struct ProcessCounterListener {
    rows: Vec<ProcessCounters>,
}

impl ProcessCounterListener {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let lives = match hook(event) {
            Some(0x0320) => false,
            Some(0x0321) => true,
            _ => return,
        };
        if self.rows.len() >= MAX_KEYS {
            return;
        }
        let pid = event.number("ProcessId").and_then(|pid| u32::try_from(pid).ok());
        let both = |last: &str, most: &str| (number(event, last), number(event, most));
        self.rows.push(ProcessCounters {
            time_ns: event.time_ns,
            process: ProcessLabel::at(event, pid),
            lives,
            page_faults: number(event, "PageFaultCount"),
            handles: number(event, "HandleCount"),
            working_set: both("WorkingSetSize", "PeakWorkingSetSize"),
            virtual_size: both("VirtualSize", "PeakVirtualSize"),
            pagefile: both("PagefileUsage", "PeakPagefileUsage"),
            paged_pool: both("QuotaPagedPoolUsage", "QuotaPeakPagedPoolUsage"),
            nonpaged_pool: both("QuotaNonPagedPoolUsage", "QuotaPeakNonPagedPoolUsage"),
            private_pages: number(event, "PrivatePageCount"),
        });
    }

    /// The counters, by time.
    #[must_use]
    pub fn finish(self) -> Vec<ProcessCounters> {
        self.rows
    }
}
