//! When a computer has settled: slices of time, each idle or not, accumulated until enough idle time is found.
//!
//! Two published metrics:
//!
//! * xperf's PostBoot: slices of 100 ms; a slice is idle when processors and disks are each at least 80 % idle, work at
//!   low priority left out; done when 10 s of idle slices, not necessarily adjacent, have been found (source: the
//!   Microsoft paper "Windows On/Off Transition Performance Analysis", 2011).
//! * the assessments of the Windows Assessment and Deployment Kit (Post On/Off): windows of 500 ms; a window counts when
//!   processor and disk utilisation are each below 20 %, work at low priority left out, and then adds its length less
//!   the busier one's time; done at 5 s.
//!
//! What neither source says is decided here: processor utilisation is the average over all processors; disk utilisation
//! is that of the busiest disk; low priority is a thread priority below 8 or an I/O priority of low or very low.

use serde::Serialize;

use crate::cpu::CpuSource;
use crate::evidence::Certainty;

/// How a slice adds to the idle time found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accumulation {
    /// Its whole length, when it is idle.
    WholeSlice,
    /// Its length less the time of the busier of processors and disk, when it is idle.
    LessBusyTime,
}

/// An idle metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IdleMetric {
    /// Name: `xperf` or `adk`.
    pub name: &'static str,
    /// Length of a slice, ns.
    pub slice_ns: i64,
    /// A slice is idle when processors and disk are each busy at most (or below, see `busy_limit_included`) this
    /// percentage of the slice.
    pub busy_limit_percent: f64,
    /// Whether a slice that is busy by exactly the limit is idle.
    pub busy_limit_included: bool,
    /// How a slice adds to the idle time found.
    pub accumulation: Accumulation,
    /// Idle time to find, ns.
    pub required_idle_ns: i64,
}

impl IdleMetric {
    /// xperf's PostBoot metric: 100 ms, at least 80 % idle, 10 s.
    pub const XPERF: IdleMetric = IdleMetric {
        name: "xperf",
        slice_ns: 100_000_000,
        busy_limit_percent: 20.0,
        busy_limit_included: true,
        accumulation: Accumulation::WholeSlice,
        required_idle_ns: 10_000_000_000,
    };

    /// The assessments' Post On/Off metric: 500 ms, less than 20 % busy, 5 s.
    pub const ADK: IdleMetric = IdleMetric {
        name: "adk",
        slice_ns: 500_000_000,
        busy_limit_percent: 20.0,
        busy_limit_included: false,
        accumulation: Accumulation::LessBusyTime,
        required_idle_ns: 5_000_000_000,
    };
}

impl Default for IdleMetric {
    fn default() -> Self {
        Self::XPERF
    }
}

/// One slice and what it added.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// Begin, ns.
    pub start_ns: i64,
    /// Processors busy, percentage of the slice averaged over all processors, low priority left out; `None` when
    /// processor time was not recorded.
    pub cpu_busy_percent: Option<f64>,
    /// Busiest disk, percentage of the slice, low priority left out; `None` when disk requests were not recorded.
    pub disk_busy_percent: Option<f64>,
    /// Whether the slice is idle.
    pub idle: bool,
    /// Idle time found up to the end of this slice, ns.
    pub accumulated_ns: i64,
}

/// How long a computer took to settle, and how that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settling {
    /// The metric used.
    pub metric: IdleMetric,
    /// Where counting began, ns.
    pub start_ns: Option<i64>,
    /// End of the slice that completed the required idle time, ns; `None` when the recording ended before.
    pub end_ns: Option<i64>,
    /// Idle time found, ns: the required idle time when `end_ns` is known, else what was found until the recording ended.
    pub idle_ns: i64,
    /// Time of slices that did not count as idle, ns: what the boot took on top ("disturbance").
    pub busy_ns: i64,
    /// What processor utilisation was taken from.
    pub cpu_source: CpuSource,
    /// Whether disk requests were recorded.
    pub disk_recorded: bool,
    /// The rule in words, and why there is no end if there is none.
    pub rule: String,
    /// How certain the end is.
    pub certainty: Certainty,
    /// What a better answer would have needed.
    pub missing: Vec<String>,
    /// The accumulator, slice by slice.
    pub slices: Vec<Slice>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

impl Default for Settling {
    fn default() -> Self {
        Self {
            metric: IdleMetric::XPERF,
            start_ns: None,
            end_ns: None,
            idle_ns: 0,
            busy_ns: 0,
            cpu_source: CpuSource::None,
            disk_recorded: false,
            rule: String::new(),
            certainty: Certainty::Missing,
            missing: Vec::new(),
            slices: Vec::new(),
            touched_by: Vec::new(),
        }
    }
}
