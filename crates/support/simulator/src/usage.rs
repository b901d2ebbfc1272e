//! CPU and disk use of an interval, and the metric that decides when a machine is idle.

use std::collections::BTreeMap;

use serde::Serialize;

use super::units::TICKS_PER_SECOND;

/// Length of a slice of the idle metric, ticks.
pub(super) const SLICE: u64 = TICKS_PER_SECOND / 10;
/// Idle slices that end PostBoot: 10 s.
pub(super) const REQUIRED_SLICES: usize = 100;
/// Threads below this priority do not count as busy.
pub(super) const LOW_PRIORITY: u8 = 8;

/// Nanoseconds per clock tick.
pub(super) const NS_PER_TICK: i64 = (1_000_000_000 / TICKS_PER_SECOND) as i64;

/// CPU and disk use of an interval, summed over all processors and disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// CPU time by process id, ns.
    pub cpu_by_process_ns: BTreeMap<u32, i64>,
    /// CPU time by thread priority, ns.
    pub cpu_by_priority_ns: BTreeMap<u8, i64>,
    /// Time of the idle threads, ns.
    pub idle_ns: i64,
    /// Completed read requests.
    pub reads: u64,
    pub read_bytes: u64,
    /// Completed write requests.
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    pub disk_busy_ns: i64,
}

/// The idle metric: 100 ms slices from the end of ExplorerInit until 10 s of them were idle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PostBoot {
    /// Total length of the idle slices: 10 s if the metric was satisfied.
    pub idle_ns: i64,
    /// Total length of the other slices.
    pub busy_ns: i64,
    /// 10 s of idle slices were found before the recording ended.
    #[serde(rename = "satisfied")]
    pub is_satisfied: bool,
    /// Slices up to the end of PostBoot.
    pub slices: Vec<Slice>,
}

/// A 100 ms slice. Low-priority work does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// Summed over all processors.
    pub cpu_busy_ns: i64,
    pub disk_busy_ns: i64,
    /// CPU and disk were idle for at least 80 % of the slice.
    #[serde(rename = "idle")]
    pub is_idle: bool,
}
