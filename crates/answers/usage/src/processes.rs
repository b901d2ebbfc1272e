//! Classifies the processes of a transition by lifetime.
//!
//! xperf's summary has four classes, but its thresholds are undocumented. The classes here agree with every published
//! sample: `Idle`, `System` and the processes that the caller lists are *expected*. Other processes that still run when
//! the recording ends are *long-lived*. Processes that exit within [`VERY_SHORT_LIVED_NS`] of their start are *very
//! short-lived*. All others are *short-lived*.

use onoff_trace::{Lifetimes, Process, Trace, Upid};
use serde::Serialize;

use crate::owners::file_name;

/// Maximum lifetime of very short-lived processes, ns: 1 s.
pub const VERY_SHORT_LIVED_NS: i64 = 1_000_000_000;

/// The lifetime class of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Part of the system, or listed by the caller.
    Expected,
    /// Still running when the recording ended.
    LongLived,
    /// Exited during the recording.
    ShortLived,
    /// Exited within [`VERY_SHORT_LIVED_NS`].
    VeryShortLived,
}

/// One lifetime of a process id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessLifetime {
    pub pid: u32,
    /// Process id of the parent.
    pub parent_pid: Option<u32>,
    pub image: String,
    /// Command line; empty if not recorded.
    pub command_line: String,
    pub session: Option<u32>,
    /// Creation, ns; `None` if the process existed before the recording.
    pub start_ns: Option<i64>,
    /// Exit, ns; `None` if it was still running when the recording ended.
    pub end_ns: Option<i64>,
    /// Lifetime, ns, counted from the start of the recording if the process existed before; `None` if it was still
    /// running when the recording ended.
    pub lifetime_ns: Option<i64>,
    pub exit_status: Option<i32>,
    pub lifetime: Lifetime,
}

/// Number of processes in each class; the classes are disjoint and complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessSummary {
    pub total: u64,
    pub expected: u64,
    /// Long-lived, not expected.
    pub long_lived: u64,
    /// Short-lived, not expected.
    pub short_lived: u64,
    /// Very short-lived, not expected.
    pub very_short_lived: u64,
    /// The threshold for very short-lived processes, ns.
    pub very_short_lived_below_ns: i64,
}

/// Returns the processes in a recording, ordered by start, and the number in each class.
#[must_use]
pub fn process_lifetimes(trace: &Trace, expected: &[String]) -> (Vec<ProcessLifetime>, ProcessSummary) {
    let mut summary = ProcessSummary { very_short_lived_below_ns: VERY_SHORT_LIVED_NS, ..ProcessSummary::default() };
    let mut lives: Vec<ProcessLifetime> =
        trace.processes.iter().map(|row| process_lifetime(trace, &row, expected)).collect();
    lives.sort_by_key(|life| (life.start_ns, life.pid));
    for life in &lives {
        summary.total += 1;
        *match life.lifetime {
            Lifetime::Expected => &mut summary.expected,
            Lifetime::LongLived => &mut summary.long_lived,
            Lifetime::ShortLived => &mut summary.short_lived,
            Lifetime::VeryShortLived => &mut summary.very_short_lived,
        } += 1;
    }
    (lives, summary)
}

/// Returns the lifetime in one row of the table of processes.
pub fn process_lifetime(trace: &Trace, row: &Process, expected: &[String]) -> ProcessLifetime {
    let image = file_name(trace.text(row.image)).to_owned();
    let lifetime_ns = row.end_ns.map(|end| end.saturating_sub(row.start_ns.unwrap_or(0)).max(0));
    // The idle process has pid 0 and any name; the System process of Windows has pid 4.
    let is_expected = row.pid == 0
        || (row.pid == 4 && image.eq_ignore_ascii_case("System"))
        || expected.iter().any(|name| name.eq_ignore_ascii_case(&image));
    let lifetime = match lifetime_ns {
        _ if is_expected => Lifetime::Expected,
        None => Lifetime::LongLived,
        Some(ns) if ns < VERY_SHORT_LIVED_NS && row.start_ns.is_some() => Lifetime::VeryShortLived,
        Some(_) => Lifetime::ShortLived,
    };
    ProcessLifetime {
        pid: row.pid,
        parent_pid: row.parent_pid,
        image,
        command_line: trace.text(row.command_line).to_owned(),
        session: row.session,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        lifetime_ns,
        exit_status: row.exit_status,
        lifetime,
    }
}

/// Maps (process id, time) to a process: its row and image file name. Process ids are reused.
#[derive(Clone, Debug)]
pub struct Images<'a> {
    trace: &'a Trace,
    lives: Lifetimes,
}

impl<'a> Images<'a> {
    /// Reads the processes in `trace`.
    #[must_use]
    pub fn new(trace: &'a Trace) -> Self {
        Self { trace, lives: trace.lifetimes() }
    }

    /// Returns the image file name of the process that had id `pid` at `time_ns`: the latest process that started by
    /// then, otherwise the first process with that id.
    #[must_use]
    pub fn image_at(&self, pid: u32, time_ns: i64) -> Option<&'a str> {
        let image = *self.trace.processes.image.get(self.row_at(pid, time_ns)?)?;
        Some(file_name(self.trace.text(image)))
    }

    /// Returns the row in the table of processes for the process that had id `pid` at `time_ns`.
    #[must_use]
    pub fn row_at(&self, pid: u32, time_ns: i64) -> Option<usize> {
        self.lives.process(pid, time_ns).map(Upid::row)
    }

    #[must_use]
    pub const fn lifetimes(&self) -> &Lifetimes {
        &self.lives
    }
}

/// Returns whether the file name of the process image is `name`, ignoring case.
pub fn has_image_name(trace: &Trace, process: &Process, name: &str) -> bool {
    file_name(trace.text(process.image)).eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process};

    #[test]
    fn lifetime_classes_are_disjoint_and_complete() {
        let mut trace = Trace::default();
        process(&mut trace, 0, "Idle", None, None);
        process(&mut trace, 4, "System", None, None);
        process(&mut trace, 300, "smss.exe", Some(100 * MS), None);
        process(&mut trace, 304, "Smss.exe", Some(200 * MS), Some(1199 * MS));
        process(&mut trace, 308, "autochk.exe", Some(200 * MS), Some(1200 * MS));
        process(&mut trace, 312, "agent.exe", Some(150 * MS), None);
        process(&mut trace, 316, "before.exe", None, Some(10 * MS));
        let (lives, summary) = process_lifetimes(&trace, &["AGENT.EXE".to_owned()]);
        assert_eq!(
            (summary.total, summary.expected, summary.long_lived, summary.short_lived, summary.very_short_lived),
            (7, 3, 1, 2, 1)
        );
        let starts: Vec<_> = lives.iter().map(|life| life.start_ns).collect();
        assert!(starts.is_sorted());
        // The process existed before the recording, so it does not count as very short-lived.
        assert!(lives.iter().any(|life| life.pid == 316 && life.lifetime == Lifetime::ShortLived));
    }

    #[test]
    fn a_reused_process_id_resolves_by_time() {
        let mut trace = Trace::default();
        process(&mut trace, 300, "first.exe", Some(0), Some(50));
        process(&mut trace, 300, "second.exe", Some(100), None);
        process(&mut trace, 304, "late.exe", Some(500), None);
        let images = Images::new(&trace);
        assert_eq!(images.image_at(300, 60), Some("first.exe"));
        assert_eq!(images.image_at(300, 100), Some("second.exe"));
        assert_eq!(images.image_at(304, 100), Some("late.exe"));
        assert_eq!(images.image_at(301, 100), None);
        assert_eq!(images.image_at(900, 100), None);
    }
}
