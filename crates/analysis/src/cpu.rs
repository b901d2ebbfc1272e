//! Who used the processors: by process, by priority, idle; exact from context switches, else estimated from samples.

use serde::Serialize;

use crate::evidence::Certainty;

/// What processor times were taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// Context switches: exact.
    ContextSwitches,
    /// Profile samples: each stands for the time to the next one; an estimate.
    Samples,
    /// Neither was recorded.
    #[default]
    None,
}

/// Processor time of one process in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessCpu {
    /// Process id; `None` for threads whose process is not known.
    pub pid: Option<u32>,
    /// Image file name; empty when not known.
    pub image: String,
    /// Processor time, ns.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Processor time at one thread priority in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PriorityCpu {
    /// Priority, 0–31.
    pub priority: u8,
    /// Processor time, ns; the idle thread's left out.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Who used the processors in an interval. `capacity_ns` = `busy_ns` + `idle_ns` + `unknown_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuUsage {
    /// What it was taken from.
    pub source: CpuSource,
    /// How certain it is.
    pub certainty: Certainty,
    /// Logical processors.
    pub processors: u32,
    /// The interval's length times the number of processors, ns.
    pub capacity_ns: i64,
    /// Time in which threads ran, ns.
    pub busy_ns: i64,
    /// Time in which idle threads ran, ns.
    pub idle_ns: i64,
    /// Time about which the recording says nothing, ns.
    pub unknown_ns: i64,
    /// By process, most first; the idle thread's time is `idle_ns` only.
    pub by_process: Vec<ProcessCpu>,
    /// By priority, highest priority first.
    pub by_priority: Vec<PriorityCpu>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}
