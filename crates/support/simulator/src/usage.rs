//! What processors and disk did in a stretch of time, and the measure by which a machine is idle.

use std::collections::BTreeMap;

use serde::Serialize;

use super::span::TICKS_PER_SECOND;

/// Length of a slice of the idle metric.
pub(super) const SLICE: u64 = TICKS_PER_SECOND / 10;
/// Idle slices that make PostBoot complete: 10 s.
pub(super) const REQUIRED_SLICES: usize = 100;
/// Thread priorities below this do not count as busy.
pub(super) const LOW_PRIORITY: u8 = 8;

/// Nanoseconds of a clock tick.
pub(super) const NANOSECONDS: i64 = (1_000_000_000 / TICKS_PER_SECOND) as i64;

/// CPU and disk use of an interval, over all processors and disks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// CPU time by process id, ns.
    pub cpu_by_process_ns: BTreeMap<u32, i64>,
    /// CPU time by thread priority, ns.
    pub cpu_by_priority_ns: BTreeMap<u8, i64>,
    /// Time of the idle threads, ns.
    pub idle_ns: i64,
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read by them.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written by them.
    pub written_bytes: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time the disk was busy within the interval, ns.
    pub disk_busy_ns: i64,
}

/// The idle metric: 100 ms slices from the end of ExplorerInit until 10 s of them were idle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PostBoot {
    /// Idle slices' time, ns: 10 s when the metric was satisfied.
    pub idle_ns: i64,
    /// Other slices' time, ns.
    pub busy_ns: i64,
    /// Whether 10 s were found before the recording ended.
    pub satisfied: bool,
    /// Every slice up to the end of PostBoot.
    pub slices: Vec<Slice>,
}

/// One 100 ms slice; low-priority work is left out of both shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// Busy time of all processors together, ns.
    pub cpu_busy_ns: i64,
    /// Busy time of the disk, ns.
    pub disk_busy_ns: i64,
    /// Whether processors and disk were idle for at least 80 % of it.
    pub idle: bool,
}
