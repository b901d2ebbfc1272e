//! Memory and handle counters of each process when it ended, or at the end of the recording.

use onoff_trace::DescribedEvent;

use super::{Limited, ProcessRef, hook, number};

/// Counters at the end of a process, and the rundown of all processes at the end of the recording.
pub const EVENTS: [&str; 2] = ["0x0320", "0x0321"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCounters {
    pub time_ns: i64,
    pub process: ProcessRef,
    /// True if the process was still running at the end of the recording.
    pub is_running: bool,
    pub page_faults: u64,
    pub handles: u64,
    /// Bytes: last and peak.
    pub working_set: (u64, u64),
    /// Bytes: last and peak.
    pub virtual_size: (u64, u64),
    /// Bytes: last and peak.
    pub pagefile: (u64, u64),
    /// Quota in bytes: last and peak.
    pub paged_pool: (u64, u64),
    /// Quota in bytes: last and peak.
    pub nonpaged_pool: (u64, u64),
    /// As recorded.
    pub private_pages: u64,
}

#[derive(Clone, Debug, Default)]
pub struct ProcessCounterListener {
    rows: Limited<ProcessCounters>,
}

impl ProcessCounterListener {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        let is_running = match hook(event) {
            Some(0x0320) => false,
            Some(0x0321) => true,
            _ => return,
        };
        let pid = event.number("ProcessId").and_then(|pid| u32::try_from(pid).ok());
        let last_and_peak = |last: &str, peak: &str| (number(event, last), number(event, peak));
        self.rows.push(ProcessCounters {
            time_ns: event.time_ns,
            process: ProcessRef::from_pid(event, pid),
            is_running,
            page_faults: number(event, "PageFaultCount"),
            handles: number(event, "HandleCount"),
            working_set: last_and_peak("WorkingSetSize", "PeakWorkingSetSize"),
            virtual_size: last_and_peak("VirtualSize", "PeakVirtualSize"),
            pagefile: last_and_peak("PagefileUsage", "PeakPagefileUsage"),
            paged_pool: last_and_peak("QuotaPagedPoolUsage", "QuotaPeakPagedPoolUsage"),
            nonpaged_pool: last_and_peak("QuotaNonPagedPoolUsage", "QuotaPeakNonPagedPoolUsage"),
            private_pages: number(event, "PrivatePageCount"),
        });
    }

    #[must_use]
    pub fn finish(self) -> Limited<ProcessCounters> {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn rows_beyond_the_limit_are_counted() {
        let directory = Directory::new();
        let mut listener = ProcessCounterListener { rows: Limited::with_limit(2) };
        for pid in 0..5 {
            let fields = [number("ProcessId", pid)];
            listener.take(&EventTemplate::new(1, &fields).kernel(0x0320, "Process", &directory));
        }
        let report = listener.finish();
        assert_eq!((report.rows.len(), report.omitted), (2, 3));
    }
}
